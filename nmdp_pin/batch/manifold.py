"""Configurations as points of a manifold: steps, differences and their derivative."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from nmdp_pin.batch.lanes import Lanes, matmul, times
from nmdp_pin.batch.rigid import (
    conjugate,
    log_derivative,
    normalized,
    product,
    rigid_exp,
    rigid_log,
    rotated,
    turn_exp,
    turn_log,
    turn_log_derivative,
)
from nmdp_pin.batch.tree import ANGLE, CIRCLE, LINEAR, PLANE, RIGID, TURN, Tree

_IN_PLANE = np.array([0, 1, 5])  # of a twist
_MIRROR = np.array([[1.0], [-1.0]], dtype=np.float32)  # the conjugate of a (cos, sin) pair


class Manifold:
    """The configurations of a tree, (nq, K), and their tangents, (nv, K).

    Args:
        tree: the robot.
    """

    def __init__(self, tree: Tree) -> None:
        self._kinds = list(tree.groups.items())
        self._to_q = _positions(tree.nq, [group.q for _, group in self._kinds])
        self._to_v = _positions(tree.nv, [group.v for _, group in self._kinds])
        self._nv = tree.nv
        self._bent = [(kind, g) for kind, g in self._kinds if kind in (PLANE, TURN, RIGID)]

    def integrate(self, q: Lanes, dq: Lanes) -> Lanes:
        """The configuration at tangent dq from q."""
        parts = [_moved(kind, q[group.q], dq[group.v]) for kind, group in self._kinds]
        return _gathered(parts, self._to_q)

    def difference(self, q0: Lanes, q1: Lanes) -> Lanes:
        """The tangent that leads from q0 to q1."""
        parts = [_apart(kind, q0[group.q], q1[group.q]) for kind, group in self._kinds]
        return _gathered(parts, self._to_v)

    def slope(self, d: Lanes) -> Slope:
        """dd/dq1 of differences d = difference(q0, q1), shape (nv, K)."""
        return Slope(self._nv, [(g.v, _bend(kind, d[g.v])) for kind, g in self._bent])

    def turning(self, q0: Lanes, q1: Lanes, force: Lanes) -> Lanes:
        """Derivative of (dd/dq1)' force with respect to q1, d = difference(q0, q1); (K, nv, nv).

        Only joints that turn in more than one way have one.
        """
        K = q0.shape[-1]
        result = jnp.zeros((K, self._nv, self._nv), q0.dtype)
        for kind, group in self._bent:
            start, end, f = q0[group.q], q1[group.q], force[group.v]

            def pulled(step: Lanes, kind=kind, start=start, end=end, f=f) -> Lanes:  # type: ignore[no-untyped-def]
                d = _apart(kind, start, _moved(kind, end, step))
                return times(jnp.swapaxes(_bend(kind, d), 1, 2), f)

            def along(unit: Lanes, pulled=pulled, like=f) -> Lanes:  # type: ignore[no-untyped-def]
                direction = jnp.broadcast_to(unit[:, None], like.shape)
                return jax.jvp(pulled, (jnp.zeros_like(like),), (direction,))[1]

            columns = jax.vmap(along, out_axes=2)(jnp.eye(f.shape[1], dtype=f.dtype))
            block = jnp.moveaxis(columns, -1, 0)
            result = result.at[:, group.v[:, :, None], group.v[:, None, :]].add(block)
        return result


class Slope:
    """The matrix D = dd/dq1: one, but for blocks at the joints that turn in more than one way.

    Args:
        nv: its size.
        blocks: dofs of such joints, (n, m), and their blocks, (n, m, m, K).
    """

    def __init__(self, nv: int, blocks: list[tuple[np.ndarray, Lanes]]) -> None:
        self._blocks = blocks
        self._plain = np.ones(nv, dtype=bool)
        for index, _ in blocks:
            self._plain[index] = False

    def scaled(self, weights: Lanes) -> Lanes:
        """diag(weights) D, (nv, K or 1) to (K or 1, nv, nv)."""
        return self._placed(weights, lambda D, w: D * w[:, :, None])

    def squared(self, weights: Lanes) -> Lanes:
        """D' diag(weights) D, (nv, K or 1) to (K or 1, nv, nv)."""
        return self._placed(weights, lambda D, w: matmul(jnp.swapaxes(D, 1, 2) * w[:, None], D))

    def pulled(self, force: Lanes) -> Lanes:
        """D' force, (nv, K)."""
        for index, D in self._blocks:
            force = force.at[index].set(times(jnp.swapaxes(D, 1, 2), force[index]))
        return force

    def _placed(self, weights: Lanes, block: Callable[[Lanes, Lanes], Lanes]) -> Lanes:
        """A matrix of the weights on its diagonal, and of blocks made of D's and the weights."""
        plain = jnp.where(self._plain[:, None], weights, 0.0)
        result = jnp.eye(len(plain), dtype=weights.dtype) * plain.T[:, :, None]
        for index, D in self._blocks:
            part = jnp.moveaxis(block(D, weights[index]), -1, 0)
            if len(result) < len(part):
                result = jnp.broadcast_to(result, (len(part), *result.shape[1:]))
            result = result.at[:, index[:, :, None], index[:, None, :]].add(part)
        return result


def _moved(kind: str, q: Lanes, dq: Lanes) -> Lanes:
    """`integrate` for the joints of one kind, (n, nq, K), (n, nv, K)."""
    if kind in (ANGLE, LINEAR):
        return q + dq
    if kind == CIRCLE:
        return _turned(q, dq[:, 0])
    if kind == TURN:
        return normalized(product(q, turn_exp(dq)))
    v, w = _twist(kind, dq)
    p, a = rigid_exp(v, w)
    if kind == PLANE:
        origin = q[:, :2] + _complex(q[:, 2:], p[:, :2])
        return jnp.concatenate([origin, _turned(q[:, 2:], dq[:, 2])], axis=1)
    origin = q[:, :3] + rotated(q[:, 3:], p)
    return jnp.concatenate([origin, normalized(product(q[:, 3:], a))], axis=1)


def _apart(kind: str, q0: Lanes, q1: Lanes) -> Lanes:
    """`difference` for the joints of one kind, (n, nq, K) twice to (n, nv, K)."""
    if kind in (ANGLE, LINEAR):
        return q1 - q0
    if kind == CIRCLE:
        return _angle(q0, q1)
    if kind == TURN:
        return turn_log(product(conjugate(q0), q1))
    if kind == PLANE:
        mirrored = q0[:, 2:] * _MIRROR
        v, w = _twist(
            kind,
            jnp.concatenate(
                [_complex(mirrored, q1[:, :2] - q0[:, :2]), _angle(q0[:, 2:], q1[:, 2:])], axis=1
            ),
        )
        return rigid_log(v, w)[:, _IN_PLANE]
    back = conjugate(q0[:, 3:])
    p = rotated(back, q1[:, :3] - q0[:, :3])
    return rigid_log(p, turn_log(product(back, q1[:, 3:])))


def _bend(kind: str, d: Lanes) -> Lanes:
    """Derivative of `_apart` with respect to its second argument, (n, nv, nv, K)."""
    if kind == TURN:
        return turn_log_derivative(d)
    if kind == PLANE:
        whole = log_derivative(jnp.concatenate(_twist(kind, d), axis=1))
        return whole[:, _IN_PLANE[:, None], _IN_PLANE]
    return log_derivative(d)


def _twist(kind: str, d: Lanes) -> tuple[Lanes, Lanes]:
    """Linear and angular part in space of a tangent of a planar or free joint."""
    if kind == RIGID:
        return d[:, :3], d[:, 3:]
    o = jnp.zeros_like(d[:, :1])
    return jnp.concatenate([d[:, :2], o], axis=1), jnp.concatenate([o, o, d[:, 2:]], axis=1)


def _complex(a: Lanes, b: Lanes) -> Lanes:
    """Product of complex numbers, (n, 2, K) twice."""
    real = a[:, 0] * b[:, 0] - a[:, 1] * b[:, 1]
    return jnp.stack([real, a[:, 0] * b[:, 1] + a[:, 1] * b[:, 0]], axis=1)


def _turned(pair: Lanes, angle: Lanes) -> Lanes:
    """(cos, sin) pairs turned by an angle, of unit length."""
    turned = _complex(pair, jnp.stack([jnp.cos(angle), jnp.sin(angle)], axis=1))
    return turned / jnp.hypot(turned[:, 0], turned[:, 1])[:, None]


def _angle(a: Lanes, b: Lanes) -> Lanes:
    """Angle from one (cos, sin) pair to another, (n, 1, K)."""
    turn = _complex(a * _MIRROR, b)
    return jnp.arctan2(turn[:, 1:], turn[:, :1])


def _positions(size: int, groups: list[np.ndarray]) -> np.ndarray:
    """Where each coordinate is among those of all groups, one after the other."""
    order = np.concatenate([np.zeros(0, dtype=int), *(index.ravel() for index in groups)])
    result = np.empty(size, dtype=int)
    result[order] = np.arange(size)
    return result


def _gathered(parts: list[Lanes], positions: np.ndarray) -> Lanes:
    """Coordinates in the robot's order, from those of the groups."""
    rows = [part.reshape(-1, part.shape[-1]) for part in parts]
    return jnp.concatenate(rows)[positions]
