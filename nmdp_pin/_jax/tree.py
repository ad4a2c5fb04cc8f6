"""Kinematics and inertia of the bodies, and sums over subtrees.

Bodies are in the order of their levels. Placements have the shape (4, 3, n, K), motions S of the
dofs (6, nv, K), wrenches (6, n, K) and their derivatives (6, 6, n, K), components first, then
directions; all at the world's origin, as in `nmdp_pin._kernels.tree`.
"""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from nmdp_pin._jax.scene import (
    FREE,
    LINEAR,
    PLANAR,
    REVOLUTE,
    SPHERICAL,
    UNBOUNDED,
    DeviceScene,
    Structure,
)
from nmdp_pin._jax.vectors import compose, cross, dot, rotate, rotation, rotation_of_quaternion


def _of_kind(structure: Structure, kind: int) -> np.ndarray:
    """Bodies of the joints of a kind, their first coordinates and first dofs, shape (3, m)."""
    rows = [(b, *structure.factors[j][:3]) for b, j in enumerate(structure.joints)]
    return np.array([(b, i, k) for b, own, i, k in rows if own == kind], int).reshape(-1, 3).T


def _own_placements(scene: DeviceScene, q: Array) -> Array:
    """Placements that the joints' coordinates give, in the order of bodies, (4, 3, n, K)."""
    structure, n = scene.structure, len(scene.structure.joints)
    c, s = jnp.ones((n, q.shape[1]), q.dtype), jnp.zeros((n, q.shape[1]), q.dtype)
    b, i, _ = _of_kind(structure, REVOLUTE)
    c, s = c.at[b].set(jnp.cos(q[i])), s.at[b].set(jnp.sin(q[i]))
    for kind, first in ((UNBOUNDED, 0), (PLANAR, 2)):
        b, i, _ = _of_kind(structure, kind)
        c, s = c.at[b].set(q[i + first]), s.at[b].set(q[i + first + 1])
    last = np.array([max(structure.factors[j][3] - 1, 0) for j in structure.joints])
    R = rotation(c, s, 1.0 - c, scene.motions[3:, last, None])
    for kind, first in ((SPHERICAL, 0), (FREE, 3)):
        b, i, _ = _of_kind(structure, kind)
        R = R.at[:, :, b].set(rotation_of_quaternion(q[i + first + np.arange(4)[:, None]]))
    p = jnp.zeros((3, n, q.shape[1]), q.dtype)
    for kind, count in ((LINEAR, structure.nv), (PLANAR, 2), (FREE, 3)):
        for b, i, k in _of_kind(structure, kind).T:
            end = min(structure.factors[structure.joints[b]][3], k + count)
            p = p.at[:, b].add((scene.motions[:3, k:end, None] * q[i : i + end - k]).sum(1))
    return jnp.concatenate([R, p[None]])


def forward_kinematics(scene: DeviceScene, q: Array) -> Array:
    """The placements of all bodies, shape (4, 3, n, K)."""
    own = compose(scene.placements[..., None], _own_placements(scene, q))
    levels: list[Array] = []
    for begin, end, places in _levels(scene.structure):
        level = own[:, :, begin:end]
        levels.append(compose(levels[-1][:, :, places], level) if begin else level)
    return jnp.concatenate(levels, axis=2)


def _levels(structure: Structure) -> list[tuple[int, int, np.ndarray | slice]]:
    """First body and end of each level, and places of the bodies' parents in the one above."""
    found: list[tuple[int, int, np.ndarray | slice]] = [(0, structure.levels[1], slice(0))]
    for above, begin, end in zip(*(structure.levels[k:] for k in range(3)), strict=False):
        places = np.array(structure.parents[begin:end]) - above
        alike = np.array_equal(places, np.arange(begin - above))
        found.append((begin, end, slice(None) if alike else places))
    return found


def with_world(values: Array) -> Array:
    """Placements (4, 3, n, K) or motions (6, n, K) of bodies and, last, of the world."""
    unit = np.eye(4, 3) if values.ndim == 4 else np.zeros(6)
    world = jnp.asarray(unit[..., None, None], values.dtype)
    shape = *unit.shape, 1, values.shape[-1]
    return jnp.concatenate([values, jnp.broadcast_to(world, shape)], -2)


def world_motions(scene: DeviceScene, P: Array) -> Array:
    """The motions of all dofs at the world's origin, shape (6, nv, K)."""
    M = P[:, :, np.array(scene.structure.dof_bodies)]
    angular = rotate(M, scene.motions[3:, :, None])
    return jnp.concatenate([rotate(M, scene.motions[:3, :, None]) + cross(M[3], angular), angular])


def body_twists(structure: Structure, S: Array, v: Array) -> Array:
    """Motions of the bodies at the world's origin, shape (6, n, K)."""
    moved = structure.ancestors[:, np.array(structure.dof_bodies)]
    return jnp.einsum("bd,idk->ibk", moved.astype(S.dtype), S * v)


def add_children(structure: Structure, values: Array) -> Array:
    """Values of the bodies summed over their subtrees, shape (..., n, K)."""
    levels = _levels(structure)
    sums = [values[..., begin:end, :] for begin, end, _ in levels]
    for x in range(len(sums) - 1, 0, -1):
        places = levels[x][2]
        whole = isinstance(places, slice)
        sums[x - 1] = (
            sums[x - 1] + sums[x] if whole else sums[x - 1].at[..., places, :].add(sums[x])
        )
    return jnp.concatenate(sums, axis=-2)


def project_wrenches(structure: Structure, S: Array, wrenches: Array) -> Array:
    """force_k = S_k . F_b for the dofs k of each body b, shape (nv, K)."""
    F = wrenches[:, np.array(structure.dof_bodies)]
    return dot(S[:3], F[:3]) + dot(S[3:], F[3:])


def carried(wrenches: Array, motions: Array) -> Array:
    """Changes of wrenches that motions carry along, shape (6, ...)."""
    f, m, v, w = wrenches[:3], wrenches[3:], motions[:3], motions[3:]
    return jnp.concatenate([cross(w, f), cross(v, f) + cross(w, m)])


def contract(
    structure: Structure, S: Array, stiffness: Array, wrenches: Array
) -> tuple[Array, Array]:
    """Derivatives of S_k . F_b by motions of body b, and those of F_b by dof k, (6, nv, K) both.

    Args:
        structure: bodies of the tree.
        S: motions of the dofs, shape (6, nv, K).
        stiffness: summed over the subtree of each body, shape (6, 6, n, K).
        wrenches: summed likewise, shape (6, n, K).
    """
    bodies = np.array(structure.dof_bodies)
    K = stiffness[:, :, bodies]
    rows = sum(S[i] * K[i] for i in range(6)) + carried(wrenches[:, bodies], S)
    return rows, sum(K[:, j] * S[j] for j in range(6))


def project_stiffness(structure: Structure, S: Array, rows: Array, columns: Array) -> Array:
    """The derivative of `project_wrenches` by the configuration (tangent), shape (nv, nv, K).

    The rows and columns are those of `contract`.
    """
    bodies = np.array(structure.dof_bodies)
    above = structure.ancestors[np.ix_(bodies, bodies)]
    below = above.T & (bodies[:, None] != bodies)
    lower = sum(rows[i][:, None] * S[i][None] for i in range(6))
    upper = sum(S[i][:, None] * columns[i][None] for i in range(6))
    return jnp.where(above[:, :, None], lower, jnp.where(below[:, :, None], upper, 0.0))


def project_pairs(structure: Structure, S: Array, stiffness: Array) -> Array:
    """S_k' K S_l of wrenches on bodies by motions of others, shape (nv, nv, K).

    Args:
        structure: bodies of the tree.
        S: motions of the dofs, shape (6, nv, K).
        stiffness: derivatives, shape (6, 6, n, n, K).
    """
    bodies = np.array(structure.dof_bodies)
    sums = add_children(structure, stiffness)
    sums = add_children(structure, jnp.swapaxes(sums, 2, 3))[:, :, bodies]  # of l, then of k
    columns = sum(sums[:, j] * S[j][:, None] for j in range(6))
    return sum(columns[i][:, bodies].swapaxes(0, 1) * S[i][:, None] for i in range(6))


def _weighted(moments: Array, X: Array) -> Array:
    """Products of second moments, shape (4, 4, n), and placements or differences of these."""
    return sum(moments[:, j, None, :, None] * X[j] for j in range(4))


def inertial_wrenches(P: Array, off: Array, moments: Array) -> Array:
    """Derivatives of the inertial potential by motions of the bodies, shape (6, n, K).

    Of rates of P instead of `off` they are the bodies' momenta.

    Args:
        P: placements, shape (4, 3, n, K).
        off: what they are off the placements that the bodies reach without forces, likewise.
        moments: second moments, shape (4, 4, n).
    """
    rows = _weighted(moments, off)
    return jnp.concatenate([rows[3], sum(cross(P[i], rows[i]) for i in range(4))])


def inertial_stiffness(P: Array, target: Array, moments: Array) -> Array:
    """Derivatives of `inertial_wrenches` by motions of the bodies, shape (6, 6, n, K).

    Of P by itself they are the bodies' inertia.
    """
    aims, eye = _weighted(moments, target), np.eye(3)[:, :, None, None]
    turning = sum(P[i][:, None] * aims[i] for i in range(4))
    trace = turning[0, 0] + turning[1, 1] + turning[2, 2]
    first = _weighted(moments[3:], P)[0]
    upper = [moments[3, 3, :, None] * eye + jnp.zeros_like(turning), -_skew(first)]
    rows = [upper, [_skew(aims[3]), trace * eye - turning]]
    return jnp.concatenate([jnp.concatenate(row, axis=1) for row in rows])


def _skew(x: Array) -> Array:
    """The matrices [x]x of vector products, shape (3, 3, ...)."""
    none = jnp.zeros_like(x[0])
    rows = [[none, -x[2], x[1]], [x[2], none, -x[0]], [-x[1], x[0], none]]
    return jnp.stack([jnp.stack(row) for row in rows])


def by_motions(function: Callable[[Array], Array], P: Array) -> Array:
    """Derivative of wrenches on bodies, each a function of its own placement, (6, 6, n, K)."""
    basis = jnp.eye(6, dtype=P.dtype)[:, :, None, None] + jnp.zeros(P.shape[2:], P.dtype)
    along = lambda twists: jax.jvp(function, (P,), (placement_rates(P, twists),))[1]  # noqa: E731
    stiffness: Array = jax.vmap(along, out_axes=1)(basis)
    return stiffness


def placement_rates(P: Array, twists: Array) -> Array:
    """Rates of the placements of bodies, shape (4, 3, n, K)."""
    turned = [cross(twists[3:], P[i]) for i in range(4)]
    turned[3] = turned[3] + twists[:3]
    return jnp.stack(turned)


def energies(scene: DeviceScene, P: Array, twists: Array, v: Array) -> tuple[Array, Array]:
    """The kinetic energy of bodies and rotors, and the potential one of gravity [J], (K,)."""
    momenta = inertial_wrenches(P, placement_rates(P, twists), scene.moments)
    moving = (scene.rotors[:, None] * v * v).sum(0) + (twists * momenta).sum((0, 1))
    falls = _weighted(scene.moments, scene.gravity[..., None])
    return 0.5 * moving, -(falls * P).sum((0, 1, 2))
