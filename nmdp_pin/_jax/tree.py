"""Kinematics and inertia of the bodies, and sums over subtrees.

Bodies are in the order of their levels. Placements have the shape (4, 3, n, K), motions S of the
dofs (6, nv, K), wrenches (6, n, K) and their derivatives (6, 6, n, K), all at the world's origin,
as in `nmdp_pin._kernels.tree`.
"""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from nmdp_pin._jax.manifold import rotation_of_quaternion
from nmdp_pin._jax.scene import FREE, LINEAR, PLANAR, REVOLUTE, SPHERICAL, DeviceScene, Structure
from nmdp_pin._jax.vectors import compose, cross, dot, rotate


def _rotations_about(axes: Array, c: Array, s: Array) -> Array:
    """Rotations about unit vectors, shapes (3, m, 1) and (m, K)."""
    x, y, z = axes
    k = 1.0 - c
    columns = [
        [c + k * x * x, k * x * y + s * z, k * x * z - s * y],
        [k * x * y - s * z, c + k * y * y, k * y * z + s * x],
        [k * x * z + s * y, k * y * z - s * x, c + k * z * z],
    ]
    return jnp.stack([jnp.stack(column) for column in columns])


def _own_placements(scene: DeviceScene, q: Array) -> Array:
    """Placements that the joints' coordinates give, in the order of bodies, (4, 3, n, K)."""
    structure = scene.structure
    one, none = jnp.ones_like(q[0]), jnp.zeros_like(q[0])
    unit = jnp.stack([jnp.stack([one if i == j else none for i in range(3)]) for j in range(3)])
    origin = jnp.stack([none] * 3)
    found: dict[int, Array] = {}
    turning = [j for j in structure.joints if structure.factors[j][0] < LINEAR]
    if turning:
        chosen = [structure.factors[j] for j in turning]
        first = np.array([i for _, i, _, _ in chosen])
        axes = scene.motions[3:, np.array([k for _, _, k, _ in chosen])][:, :, None]
        angles = q[first]
        revolute = np.array([[kind == REVOLUTE] for kind, *_ in chosen])
        c, s = jnp.cos(angles), jnp.sin(angles)
        if not revolute.all():
            second = np.minimum(first + 1, len(q) - 1)
            c, s = jnp.where(revolute, c, angles), jnp.where(revolute, s, q[second])
        R = _rotations_about(axes, c, s)
        found = {j: jnp.concatenate([R[:, :, x], origin[None]]) for x, j in enumerate(turning)}
    for j in set(structure.joints) - set(turning):
        kind, i, k, end = structure.factors[j]
        R, p = unit, origin
        if kind == LINEAR:
            p = sum(scene.motions[:3, k + x, None] * q[i + x] for x in range(end - k))
        elif kind == PLANAR:
            c, s = q[i + 2], q[i + 3]
            R = jnp.stack([jnp.stack([c, s, none]), jnp.stack([-s, c, none]), unit[2]])
            p = jnp.stack([q[i], q[i + 1], none])
        elif kind == SPHERICAL:
            R = rotation_of_quaternion(q[i : i + 4])
        elif kind == FREE:
            R, p = rotation_of_quaternion(q[i + 3 : i + 7]), q[i : i + 3]
        found[j] = jnp.concatenate([R, p[None]])
    return jnp.stack([found[j] for j in structure.joints], axis=2)


def forward_kinematics(scene: DeviceScene, q: Array) -> Array:
    """The placements of all bodies, shape (4, 3, n, K)."""
    structure = scene.structure
    whole = compose(scene.placements[..., None], _own_placements(scene, q))
    levels = [whole[:, :, : structure.levels[1]]]
    for begin, end in zip(structure.levels[1:], structure.levels[2:], strict=False):
        above = _at_parents(structure, levels[-1], begin, end, axis=2)
        levels.append(compose(above, whole[:, :, begin:end]))
    return jnp.concatenate(levels, axis=2)


def _at_parents(structure: Structure, level: Array, begin: int, end: int, axis: int) -> Array:
    """Values of the parents of bodies, from those of the level above."""
    first = structure.levels[structure.levels.index(begin) - 1]
    places = np.array(structure.parents[begin:end]) - first
    if np.array_equal(places, np.arange(level.shape[axis])):
        return level
    return jnp.take(level, places, axis=axis)


def with_world(structure: Structure, values: Array) -> Array:
    """Placements (4, 3, n, K) or motions (6, n, K) of bodies, and of the world where it counts."""
    n, K = values.shape[-2:]
    if not structure.of_bodies and n not in structure.carriers:
        return values
    unit = np.eye(4, 3) if values.ndim == 4 else np.zeros(6)
    world = jnp.asarray(unit[..., None, None], values.dtype)
    return jnp.concatenate([values, jnp.broadcast_to(world, (*unit.shape, 1, K))], -2)


def world_motions(scene: DeviceScene, P: Array) -> Array:
    """The motions of all dofs at the world's origin, shape (6, nv, K)."""
    M = P[:, :, np.array(scene.structure.dof_bodies)]
    angular = rotate(M, scene.motions[3:, :, None])
    return jnp.concatenate([rotate(M, scene.motions[:3, :, None]) + cross(M[3], angular), angular])


def body_twists(structure: Structure, S: Array, v: Array) -> Array:
    """Motions of the bodies at the world's origin, shape (6, n, K)."""
    moving = S * v
    own = [
        sum(moving[:, k] for k in range(structure.factors[j][2], structure.factors[j][3]))
        if structure.factors[j][3] > structure.factors[j][2]
        else jnp.zeros_like(S[:, 0])
        for j in structure.joints
    ]
    twists: list[Array] = []
    for parent, twist in zip(structure.parents, own, strict=True):
        twists.append(twist if parent < 0 else twists[parent] + twist)
    return jnp.stack(twists, axis=1)


def add_children(structure: Structure, values: Array) -> Array:
    """Values of the bodies summed over their subtrees, shape (..., n, K)."""
    sums = [values[..., b, :] for b in range(len(structure.parents))]
    for b in range(len(sums) - 1, -1, -1):
        parent = structure.parents[b]
        if parent >= 0:
            sums[parent] = sums[parent] + sums[b]
    return jnp.stack(sums, axis=-2)


def project_wrenches(structure: Structure, S: Array, wrenches: Array) -> Array:
    """force_k = S_k . F_b for the dofs k of each body b, shape (nv, K)."""
    F = wrenches[:, np.array(structure.dof_bodies)]
    return dot(S[:3], F[:3]) + dot(S[3:], F[3:])


def project_stiffness(
    structure: Structure, S: Array, stiffness: Array, wrenches: Array | None
) -> Array:
    """The derivative of `project_wrenches` by the configuration (tangent), shape (nv, nv, K).

    Args:
        structure: bodies of the tree.
        S: motions of the dofs, shape (6, nv, K).
        stiffness: summed over the subtree of each body, shape (6, 6, n, K).
        wrenches: summed likewise, shape (6, n, K); None leaves out the derivative of S itself.
    """
    bodies = np.array(structure.dof_bodies)
    K = stiffness[:, :, bodies]
    rows = jnp.stack([sum(S[j] * K[j, i] for j in range(6)) for i in range(6)])
    columns = jnp.stack([sum(K[i, j] * S[j] for j in range(6)) for i in range(6)])
    if wrenches is not None:
        F = wrenches[:, bodies]
        rows = rows - jnp.concatenate(
            [cross(F[:3], S[3:]), cross(F[:3], S[:3]) + cross(F[3:], S[3:])]
        )
    above = structure.ancestors[np.ix_(bodies, bodies)]
    below = above.T & (bodies[:, None] != bodies)
    lower = sum(rows[i][:, None] * S[i][None] for i in range(6))
    upper = sum(S[i][:, None] * columns[i][None] for i in range(6))
    zero = jnp.zeros((), S.dtype)
    return jnp.where(above[:, :, None], lower, jnp.where(below[:, :, None], upper, zero))


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


def inertial_wrenches(P: Array, target: Array, moments: Array) -> Array:
    """Derivatives of the inertial potential by motions of the bodies, shape (6, n, K).

    Args:
        P: placements, shape (4, 3, n, K).
        target: placements that the bodies reach without forces, likewise.
        moments: second moments, shape (4, 4, n).
    """
    off, weights = P - target, moments[..., None]
    rows = [sum(weights[i, j] * off[j] for j in range(4)) for i in range(4)]
    return jnp.concatenate([rows[3], sum(cross(P[i], rows[i]) for i in range(4))])


def by_motions(function: Callable[[Array], Array], P: Array) -> Array:
    """Derivative of wrenches on bodies, each a function of its own placement, (6, 6, n, K)."""
    basis = jnp.eye(6, dtype=P.dtype)[:, :, None, None] + jnp.zeros(P.shape[2:], P.dtype)
    along = lambda twists: jax.jvp(function, (P,), (_rates(P, twists),))[1]  # noqa: E731
    stiffness: Array = jax.vmap(along, out_axes=1)(basis)
    return stiffness


def _rates(P: Array, twists: Array) -> Array:
    """Rates of the placements of bodies, shape (4, 3, n, K)."""
    turned = [cross(twists[3:], P[i]) for i in range(4)]
    turned[3] = turned[3] + twists[:3]
    return jnp.stack(turned)


def kinetic_energy(scene: DeviceScene, P: Array, twists: Array, v: Array) -> Array:
    """The kinetic energy of bodies and rotors [J], shape (K,)."""
    rates, moments = _rates(P, twists), scene.moments[..., None]
    energy = 0.5 * (scene.rotors[:, None] * v * v).sum(0)
    for i in range(4):
        along = sum(moments[i, j] * rates[j] for j in range(4))
        energy = energy + 0.5 * dot(along, rates[i]).sum(0)
    return energy


def potential_energy(scene: DeviceScene, P: Array) -> Array:
    """The potential energy of gravity at placements P [J], shape (K,)."""
    energy = 0.0
    for i in range(4):
        falls = sum(scene.moments[j, i] * scene.gravity[j] for j in range(4))
        energy = energy - (falls[..., None] * P[i]).sum((0, 1))
    return energy
