"""Configurations of many lanes: integration, differences and their derivatives.

The formulas are those of `nmdp_pin._kernels.algebra.manifold` and `lie`.
"""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from nmdp_pin._jax.scene import FREE, PLANAR, SPHERICAL, UNBOUNDED, Structure
from nmdp_pin._jax.vectors import (
    Components,
    cross,
    dot,
    rotate,
    rotate_back,
    rotation,
    rotation_of_quaternion,
)

_SMALL = 1e-2  # [rad^2] squares of angles below which series replace quotients
_SHORT = 1e-8  # likewise of the vector part of a quaternion


def _series(x: Array, *factors: float) -> Array:
    """1 - x / a (1 - x / b (1 - ...)) of the factors a, b, ..."""
    value = jnp.ones_like(x)
    for factor in reversed(factors):
        value = 1.0 - x / factor * value
    return value


def _product(a: Array, b: Array) -> Array:
    """Product of quaternions (x, y, z, w)."""
    vector = a[3] * b[:3] + b[3] * a[:3] + cross(a, b)
    return jnp.concatenate([vector, (a[3] * b[3] - dot(a, b))[None]])


def _turned(q: Array, w: Array) -> Array:
    """Unit quaternion rotated by a rotation vector."""
    x = dot(w, w)
    small = x < _SMALL
    theta = jnp.sqrt(jnp.where(small, 1.0, x))
    factor = jnp.where(small, 0.5 * _series(x, 24.0, 80.0, 168.0), jnp.sin(0.5 * theta) / theta)
    real = jnp.where(small, _series(x, 8.0, 48.0, 120.0, 224.0), jnp.cos(0.5 * theta))
    p = _product(q, jnp.concatenate([factor * w, real[None]]))
    return p / jnp.sqrt((p * p).sum(0))


def _rotation_between(a: Array, b: Array) -> Array:
    """Rotation vector from one unit quaternion to another, at most half a turn long."""
    turn = _product(jnp.concatenate([-a[:3], a[3:]]), b)
    sign = jnp.where(turn[3] < 0.0, -1.0, 1.0)
    w, square = sign * turn[3], dot(turn, turn)
    short = square < _SHORT
    length = jnp.sqrt(jnp.where(short, 1.0, square))
    series = 2.0 / jnp.where(short, w, 1.0) * (1.0 - square / (3.0 * w * w + (1.0 - short)))
    return sign * jnp.where(short, series, 2.0 * jnp.arctan2(length, w) / length) * turn[:3]


def _turned_pair(c: Array, s: Array, angle: Array) -> list[Array]:
    """Cosine and sine rotated by an angle, with pinocchio's step towards unit length."""
    x = c * jnp.cos(angle) - s * jnp.sin(angle)
    y = c * jnp.sin(angle) + s * jnp.cos(angle)
    share = 0.5 * (3.0 - x * x - y * y)
    return [share * x, share * y]


def _angle(a: Components, b: Components) -> Array:
    """Angle from one pair of cosine and sine to another."""
    return jnp.arctan2(a[0] * b[1] - a[1] * b[0], a[0] * b[0] + a[1] * b[1])


def _translation_exp(v: Components, w: Components) -> Array:
    """Translation of the exponential of a twist (v, w)."""
    x = dot(w, w)
    small = x < _SMALL
    y = jnp.where(small, 1.0, x)
    theta = jnp.sqrt(y)
    b = jnp.where(small, 0.5 * _series(x, 12.0, 30.0, 56.0), (1.0 - jnp.cos(theta)) / y)
    c = _series(x, 20.0, 42.0, 72.0) / 6.0
    c = jnp.where(small, c, (theta - jnp.sin(theta)) / (y * theta))
    turned, along = cross(w, v), dot(w, v)
    return jnp.stack([v[i] + b * turned[i] + c * (w[i] * along - x * v[i]) for i in range(3)])


def _translation_log(p: Components, w: Components) -> Array:
    """Linear part of the logarithm of a motion with translation p and rotation vector w."""
    x, turned, along = dot(w, w), cross(w, p), dot(w, p)
    small = x < _SMALL
    y = jnp.where(small, 1.0, x)
    theta = jnp.sqrt(y)
    c = (1.0 + x / 60.0 * (1.0 + x / 42.0 * (1.0 + x / 40.0))) / 12.0
    c = jnp.where(small, c, 1.0 / y - 0.5 / (theta * jnp.tan(0.5 * theta)))
    return jnp.stack([p[i] - 0.5 * turned[i] + c * (w[i] * along - x * p[i]) for i in range(3)])


def _frame(kind: int, q: Array) -> tuple[Array, Array]:
    """Rotation (3, 3, K) and position (3, K) of a planar or free joint of coordinates q."""
    if kind == FREE:
        return rotation_of_quaternion(q[3:]), q[:3]
    none = jnp.zeros_like(q[0])
    up = none, none, none + 1.0
    return rotation(q[2], q[3], 1.0 - q[2], up), jnp.stack([q[0], q[1], none])


def integrate(structure: Structure, q: Array, d: Array) -> Array:
    """The configurations at tangents d from q, shapes (nq, K) and (nv, K)."""
    parts: list[Array] = []
    for kind, i, k, end in structure.runs:
        x, t = q[i:], d[k:end]
        none = jnp.zeros_like(t[0])
        if kind == UNBOUNDED:
            parts += [jnp.stack(_turned_pair(x[0], x[1], t[0]))]
        elif kind == SPHERICAL:
            parts += [_turned(x[:4], t)]
        elif kind == PLANAR:
            R, p = _frame(kind, x)
            p = p + rotate(R, _translation_exp([t[0], t[1], none], [none, none, t[2]]))
            parts += [p[:2], jnp.stack(_turned_pair(x[2], x[3], t[2]))]
        elif kind == FREE:
            R, p = _frame(kind, x[:7])
            p = p + rotate(R, _translation_exp(t[:3], t[3:]))
            parts += [p, _turned(x[3:7], t[3:])]
        else:
            parts += [x[: end - k] + t]
    return jnp.concatenate(parts)


def difference(structure: Structure, q0: Array, q1: Array) -> Array:
    """The tangents that lead from q0 to q1, shape (nv, ..., K)."""
    parts: list[Array] = []
    for kind, i, k, end in structure.runs:
        x, y = q0[i:], q1[i:]
        if kind == UNBOUNDED:
            parts += [_angle(x[:2], y[:2])[None]]
        elif kind == SPHERICAL:
            parts += [_rotation_between(x[:4], y[:4])]
        elif kind == PLANAR:
            (R, p), (_, end_at), turn = _frame(kind, x), _frame(kind, y), _angle(x[2:4], y[2:4])
            w = jnp.stack([jnp.zeros_like(turn)] * 2 + [turn])
            parts += [_translation_log(rotate_back(R, end_at - p), w)[:2], turn[None]]
        elif kind == FREE:
            (R, p), w = _frame(kind, x[:7]), _rotation_between(x[3:7], y[3:7])
            parts += [_translation_log(rotate_back(R, y[:3] - p), w), w]
        else:
            parts += [y[: end - k] - x[: end - k]]
    lanes = jnp.broadcast_shapes(q0.shape[1:], q1.shape[1:])
    return jnp.concatenate([jnp.broadcast_to(x, (len(x), *lanes)) for x in parts])


def by_joints(structure: Structure, function: Callable[[Array], Array], q: Array) -> Array:
    """Derivative of a function of the configuration by the first, second, ... dofs of all joints.

    Each component, (nv, K), depends on the dofs of its own joint alone: all joints move at once.
    The result has the shape (nv, d, K); `of_dofs` makes a matrix of it.
    """
    number, _ = _own_dofs(structure)
    none = jnp.zeros((structure.nv, q.shape[-1]), q.dtype)
    moved = lambda d: function(integrate(structure, q, d))  # noqa: E731
    along = lambda d: jax.jvp(moved, (none,), (d,))[1]  # noqa: E731
    seeds = jnp.asarray(np.arange(number.max() + 1)[:, None] == number, q.dtype)
    derivative: Array = jax.vmap(along, out_axes=1)(seeds[:, :, None] + none)
    return derivative


def of_dofs(structure: Structure, derivative: Array) -> Array:
    """The derivative of `by_joints` by all dofs, shape (nv, nv, K)."""
    number, joint = _own_dofs(structure)
    return jnp.where((joint[:, None] == joint)[:, :, None], derivative[:, number], 0.0)


def _own_dofs(structure: Structure) -> tuple[np.ndarray, np.ndarray]:
    """Number of each dof in its joint, and the joint, shapes (nv,)."""
    sizes = [end - k for *_, k, end in structure.factors]
    return np.concatenate([np.arange(n) for n in sizes]), np.repeat(np.arange(len(sizes)), sizes)
