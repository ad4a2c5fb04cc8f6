"""Contacts of spheres with the ground: where they are, their forces and their derivatives.

The law is that of `nmdp_pin._kernels.contact.penalty` for pbfd. Spheres come before lanes: (m, K).
Where there are more spheres than `Structure.most`, the first so many that touch act.
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from nmdp_pin._jax.scene import DeviceScene
from nmdp_pin._jax.surfaces import begun_sides, surface
from nmdp_pin._jax.vectors import cross, dot, place, rotate, rotate_back

REACH = 0.05  # [m] between surfaces up to which a candidate is a contact of a step
LOST = 1e9  # [m] |x| + |y| + |z| beyond which coordinates no longer resolve a micrometre
_GROUP = 16  # spheres that are counted one after another


class Listed(NamedTuple):
    """What a step knows of its contacts.

    Args:
        listed: whether each sphere may touch in the step, shape (m, K).
        sides: sides of boxes on which it begins, shape (m, K).
        P0: placements of the bodies at its start, shape (4, 3, n, K).
    """

    listed: Array
    sides: Array
    P0: Array


class Touching(NamedTuple):
    """The contacts that act at a configuration.

    Args:
        depths: penetrations of all spheres [m], shape (m, K).
        touching: whether contacts touch, shape (s, K).
        one_hot: 1 where a contact is one of a body, else 0, shape (n, s, K or 1).
        depth: penetrations [m], shape (s, K).
        radius: radii of the spheres [m], shape (s, K or 1).
        friction: coefficients of the ground, shape (s, K or 1).
        centre: centres [m], shape (3, s, K).
        normal: normals, shape (3, s, K).
        curvature: their derivatives [1/m], shape (3, 3, s, K), or None.
        moved: displacements of the centres over the step [m], shape (3, s, K).
        P: placements of the bodies, shape (4, 3, s, K).
        P0: likewise at the start of the step.
        overflow: whether more spheres touch than may act, shape (K,).
    """

    depths: Array
    touching: Array
    one_hot: Array
    depth: Array
    radius: Array
    friction: Array
    centre: Array
    normal: Array
    curvature: Array | None
    moved: Array
    P: Array
    P0: Array
    overflow: Array


def list_contacts(scene: DeviceScene, P: Array, twists: Array, h: Array) -> Listed:
    """Contacts of a step by their places at its start and, at constant velocity, its end."""
    structure, shapes = scene.structure, scene.shapes[..., None]
    carriers = np.array(structure.carriers, int)
    centre = place(P[:, :, carriers], scene.points[..., None])
    twist = twists[:, carriers]
    velocity = twist[:3] + cross(twist[3:], centre)
    sides = begun_sides(shapes, centre)
    here = surface(structure.kinds, shapes, sides, centre, False).distance
    there = surface(structure.kinds, shapes, sides, centre + h * velocity, False).distance
    reach = REACH + h * jnp.sqrt(dot(velocity, velocity)) + scene.radii[:, None]
    return Listed(~(jnp.minimum(here, there) > reach), sides, P)


def begin_sides(scene: DeviceScene, P: Array) -> Array:
    """Sides of boxes on which a step begins at placements P, shape (m, K)."""
    carriers = np.array(scene.structure.carriers, int)
    return begun_sides(scene.shapes[..., None], place(P[:, :, carriers], scene.points[..., None]))


def place_contacts(scene: DeviceScene, at: Listed, P: Array) -> Touching:
    """The contacts that act at placements P, shape (4, 3, n, K)."""
    structure, shapes = scene.structure, scene.shapes[..., None]
    carriers = np.array(structure.carriers, int)
    points, radii = scene.points[..., None], scene.radii[:, None]
    few = len(carriers) <= structure.most
    M = P[:, :, carriers]
    centre = place(M, points)
    found = surface(structure.kinds, shapes, at.sides, centre, few)
    size = jnp.abs(centre).sum(0)
    depths = jnp.where(size < LOST, radii - found.distance, -1.0)
    acts = at.listed & (depths > 0.0)
    if few:
        before = place(at.P0[:, :, carriers], points)
        one_hot = np.arange(len(structure.parents))[:, None, None] == carriers[:, None]
        return Touching(
            depths, acts, jnp.asarray(one_hot, P.dtype), depths, radii, shapes[16], centre,
            found.normal, found.curvature, centre - before, M, at.P0[:, :, carriers],
            jnp.zeros(P.shape[-1], bool),
        )  # fmt: skip
    index, number = _first(acts, structure.most)
    touching = jnp.arange(structure.most)[:, None] < number
    body = jnp.asarray(carriers)[index]
    one_hot = (jnp.arange(len(structure.parents))[:, None, None] == body).astype(P.dtype)
    points, shapes = scene.points[:, index], scene.shapes[:, index]
    sides = jnp.take_along_axis(at.sides, index, 0)
    M = jnp.take_along_axis(P, body[None, None], 2)
    M0 = jnp.take_along_axis(at.P0, body[None, None], 2)
    centre = place(M, points)
    found = surface(structure.kinds, shapes, sides, centre, True)
    radius = scene.radii[index]
    return Touching(
        depths, touching, one_hot, radius - found.distance, radius, shapes[16], centre,
        found.normal, found.curvature, centre - place(M0, points), M, M0,
        number > structure.most,
    )  # fmt: skip


def _first(acts: Array, most: int) -> tuple[Array, Array]:
    """Indices of the first spheres that act, shape (most, K), and the number of all that do."""
    m, K = acts.shape
    groups = -(-m // _GROUP)
    padded = jnp.pad(acts, ((0, groups * _GROUP - m), (0, 0))).astype(jnp.int32)
    padded = padded.reshape(groups, _GROUP, K)
    within = [padded[:, 0]]
    for x in range(1, _GROUP):
        within.append(within[-1] + padded[:, x])
    before = [jnp.zeros((K,), jnp.int32)]
    for group in range(groups):
        before.append(before[-1] + within[-1][group])
    counts = (jnp.stack(within, axis=1) + jnp.stack(before[:-1])[:, None]).reshape(-1, K)[:m]
    index = (counts[None] <= jnp.arange(most, dtype=jnp.int32)[:, None, None]).sum(1)
    return jnp.minimum(index, m - 1), before[-1]


def _power(x: Array, exponent: float) -> Array:
    """A power, of whole exponents by products."""
    return x ** int(exponent) if exponent == int(exponent) else x**exponent


class _Law(NamedTuple):
    """The law at the contacts: o = r n, slip u_t, n . u, p, q and dp/dd of the kernels' `Touch`."""

    arm: Array
    slip: Array
    along: Array
    p: Array
    q: Array
    slope: Array
    depth: Array


def _law(scene: DeviceScene, t: Touching, h: Array) -> _Law:
    """The law of the contacts that touch; what does not has the depth 1, and no forces."""
    alpha, beta, gamma = scene.structure.exponents
    stiffness, friction, slip_speed = scene.law
    n, d = t.normal, jnp.where(t.touching, t.depth, 1.0)
    arm = t.radius * n
    u = t.moved + rotate(t.P0, rotate_back(t.P, arm)) - arm
    along = dot(n, u)
    slip = u - along * n
    if scene.structure.from_terrain:
        friction = t.friction * stiffness / ((beta + 1.0) * (h * slip_speed) ** beta)
    q = (beta + 1.0) * friction * _power(d, gamma + 1.0)
    if beta != 1.0:
        q = q * _speed(slip) ** (beta - 1.0)
    p = jnp.where(t.touching, stiffness * _power(d, alpha), 0.0)
    return _Law(arm, slip, along, p, jnp.where(t.touching, q, 0.0), alpha * p / d, d)


def _speed(slip: Array) -> Array:
    """Length of the slip, whose derivative at 0 is 0."""
    square = dot(slip, slip)
    return jnp.where(square > 0.0, jnp.sqrt(jnp.where(square > 0.0, square, 1.0)), 0.0)


def _sum(t: Touching, values: Array) -> Array:
    """Values of the contacts summed over those of each body, (..., s, K) to (..., n, K)."""
    return (values[..., None, :, :] * t.one_hot).sum(-2)


def contact_forces(scene: DeviceScene, t: Touching, h: Array) -> tuple[Array, Array]:
    """Wrenches on the bodies at the world's origin, (6, n, K), and the stored energy [J], (K,)."""
    law = _law(scene, t, h)
    force = law.p * t.normal - law.q * law.slip
    moment = cross(t.centre, force) + cross(force, law.arm)
    energy = (law.p * law.depth).sum(0) / (scene.structure.exponents[0] + 1.0)
    return _sum(t, jnp.concatenate([force, moment])), energy


def contact_stiffness(scene: DeviceScene, t: Touching, h: Array) -> Array:
    """Derivatives of these wrenches by motions of the bodies, shape (6, 6, n, K)."""
    law, n, K = _law(scene, t, h), t.normal, t.curvature
    _, beta, gamma = scene.structure.exponents
    change = _slip_derivative(scene, t, law)
    if beta != 1.0:
        speed = _speed(law.slip)
        share = (beta - 1.0) / jnp.where(speed > 0.0, speed * speed, 1.0)
        along = [share * sum(law.slip[i] * change[i][j] for i in range(3)) for j in range(6)]
        change = [[change[i][j] + along[j] * law.slip[i] for j in range(6)] for i in range(3)]
    at = (gamma + 1.0) * law.q / law.depth * law.slip - law.slope * n
    force = law.p * n - law.q * law.slip
    # columns of the derivative of the force, and of the moment about the centre
    F = [jnp.stack([-law.q * change[i][j] for i in range(3)]) for j in range(6)]
    for j in range(3):
        F[j] = F[j] + at * n[j] + (law.p * K[:, j] if K is not None else 0.0)
    M = [cross(F[j], law.arm) for j in range(6)]
    if K is not None:
        for j in range(3):
            M[j] = M[j] + t.radius * cross(force, K[:, j])
    return _sum(t, _at_origin(t.centre, force, F, M))


def _slip_derivative(scene: DeviceScene, t: Touching, law: _Law) -> list[list[Array]]:
    """Derivative of the slip by (dx, dphi), as rows of its entries; see the kernel of this name."""
    n, K, o = t.normal, t.curvature, law.arm
    zero = jnp.zeros_like(law.along)
    rows = [[(1.0 if i == j else 0.0) - n[i] * n[j] for j in range(3)] for i in range(3)]
    # T Q, with the rotation Q back to the start of the step
    Q = [[sum(t.P0[c, a] * t.P[c, b] for c in range(3)) for b in range(3)] for a in range(3)]
    below = [sum(n[a] * Q[a][b] for a in range(3)) for b in range(3)]
    back = [[Q[a][b] - n[a] * below[b] for b in range(3)] for a in range(3)]
    if K is not None:
        for j in range(3):
            turned = dot(K[j], law.slip)
            for i in range(3):
                moved = sum(back[i][k] * K[k, j] for k in range(3)) - K[i, j]
                rows[i][j] += t.radius * moved - law.along * K[i, j] - n[i] * turned
    return [[*rows[i], *(part + zero for part in cross(back[i], o))] for i in range(3)]


def _at_origin(c: Array, f: Array, F: list[Array], M: list[Array]) -> Array:
    """A derivative about the centres as one at the world's origin, shape (6, 6, s, K).

    Args:
        c: centres, shape (3, s, K).
        f: forces, likewise.
        F: derivatives of the forces by the six motions of the centres.
        M: derivatives of the moments about the centres.
    """
    force: list[Array] = []
    moment: list[Array] = []
    for columns, results in ((F, force), (M, moment)):
        linear = jnp.stack(columns[:3])  # linear[j, i]
        turned = cross(c, linear)
        results += [*columns[:3], *(columns[3 + j] + turned[j] for j in range(3))]
    along = dot(f, c)
    zero = jnp.zeros_like(along)
    carried = [[zero, -f[2], f[1]], [f[2], zero, -f[0]], [-f[1], f[0], zero]]  # -[f], its columns
    for j in range(3):
        moment[j] = moment[j] + jnp.stack(carried[j])
        own = jnp.stack([along if i == j else zero for i in range(3)])
        moment[3 + j] = moment[3 + j] + c * f[j] - own
    columns = [jnp.concatenate([force[j], moment[j] + cross(c, force[j])]) for j in range(6)]
    return jnp.stack(columns, axis=1)
