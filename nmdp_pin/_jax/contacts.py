"""Contacts of spheres with the ground: where they are, and their forces.

The law is that of `nmdp_pin._kernels.contact.penalty` for pbfd. Spheres come before lanes: (m, K).
Where there are more spheres than `Structure.most`, the first so many that touch act.
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from nmdp_pin._jax.scene import DeviceScene
from nmdp_pin._jax.surfaces import begun_sides, surface
from nmdp_pin._jax.vectors import cross, dot, length, place, rotate, rotate_back

REACH = 0.05  # [m] between surfaces up to which a candidate is a contact of a step
LOST = 1e9  # [m] |x| + |y| + |z| beyond which coordinates no longer resolve a micrometre


class Listed(NamedTuple):
    """What a step knows of its contacts.

    Attributes:
        listed: whether each sphere may touch in the step, shape (m, K).
        sides: sides of boxes on which it begins, shape (m, K).
        P0: placements of the bodies at its start, shape (4, 3, n, K).
    """

    listed: Array
    sides: Array
    P0: Array


class Touching(NamedTuple):
    """The contacts that act at a configuration.

    Attributes:
        depths: penetrations of all spheres [m], shape (m, K).
        touching: whether contacts touch, shape (s, K).
        one_hot: 1 where a contact is one of a body, else 0, shape (n, s, K or 1).
        depth: penetrations [m], shape (s, K).
        radius: radii of the spheres [m], shape (s, K or 1).
        friction: coefficients of the ground, shape (s, K or 1).
        centre: centres [m], shape (3, s, K).
        normal: normals, shape (3, s, K).
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
    here, _ = surface(structure.kinds, shapes, sides, centre)
    there, _ = surface(structure.kinds, shapes, sides, centre + h * velocity)
    reach = REACH + h * jnp.sqrt(dot(velocity, velocity)) + scene.radii[:, None]
    return Listed(~(jnp.minimum(here, there) > reach), sides, P)


def begin_sides(scene: DeviceScene, P: Array) -> Array:
    """Sides of boxes on which a step begins at placements P, shape (m, K)."""
    carriers = np.array(scene.structure.carriers, int)
    return begun_sides(scene.shapes[..., None], place(P[:, :, carriers], scene.points[..., None]))


def place_contacts(scene: DeviceScene, at: Listed, P: Array) -> Touching:
    """The contacts that act at placements P, shape (4, 3, n, K)."""
    structure, carriers = scene.structure, np.array(scene.structure.carriers, int)
    points, radii, shapes = (x[..., None] for x in (scene.points, scene.radii, scene.shapes))
    M, M0, sides = P[:, :, carriers], at.P0[:, :, carriers], at.sides
    centre = place(M, points)
    distance, normal = surface(structure.kinds, shapes, sides, centre)
    depth = depths = jnp.where(jnp.abs(centre).sum(0) < LOST, radii - distance, -1.0)
    touching = at.listed & (depths > 0.0)
    body, overflow = carriers[:, None], jnp.zeros(P.shape[-1], bool)
    if len(carriers) > structure.most:
        index, number = _first(touching, structure.most)
        touching, overflow = jnp.arange(structure.most)[:, None] < number, number > structure.most
        body = jnp.asarray(carriers)[index]
        M, M0 = (jnp.take_along_axis(x, body[None, None], 2) for x in (P, at.P0))
        points, radii, shapes = (x[..., index] for x in (scene.points, scene.radii, scene.shapes))
        centre, sides = place(M, points), jnp.take_along_axis(sides, index, 0)
        distance, normal = surface(structure.kinds, shapes, sides, centre)
        depth = radii - distance
    one_hot = (jnp.arange(len(structure.parents))[:, None, None] == body).astype(P.dtype)
    return Touching(
        depths=depths,
        touching=touching,
        one_hot=one_hot,
        depth=depth,
        radius=radii,
        friction=shapes[16],
        centre=centre,
        normal=normal,
        moved=centre - place(M0, points),
        P=M,
        P0=M0,
        overflow=overflow,
    )


def _first(acts: Array, most: int) -> tuple[Array, Array]:
    """Indices of the first spheres that act, shape (most, K), and the number of all that do."""
    counts = lax.associative_scan(jnp.add, acts.astype(jnp.int32))
    index = (counts[None] <= jnp.arange(most, dtype=jnp.int32)[:, None, None]).sum(1)
    return jnp.minimum(index, len(acts) - 1), counts[-1]


def _power(x: Array, exponent: float) -> Array:
    """A power, of whole exponents by products."""
    return x ** int(exponent) if exponent == int(exponent) else x**exponent


def contact_forces(scene: DeviceScene, t: Touching, h: Array) -> tuple[Array, Array]:
    """Wrenches on the bodies at the world's origin, (6, n, K), and the stored energy [J], (K,).

    What does not touch has the depth 1, and no forces; p, q and the slip are those of the kernel.
    """
    alpha, beta, gamma = scene.structure.exponents
    stiffness, friction, slip_speed = scene.law
    n, d = t.normal, jnp.where(t.touching, t.depth, 1.0)
    arm = t.radius * n
    u = t.moved + rotate(t.P0, rotate_back(t.P, arm)) - arm
    slip = u - dot(n, u) * n
    if scene.structure.from_terrain:
        friction = t.friction * stiffness / ((beta + 1.0) * (h * slip_speed) ** beta)
    q = (beta + 1.0) * friction * _power(d, gamma + 1.0)
    if beta != 1.0:
        q = q * length(slip) ** (beta - 1.0)
    p = jnp.where(t.touching, stiffness * _power(d, alpha), 0.0)
    force = p * n - jnp.where(t.touching, q, 0.0) * slip
    moment = cross(t.centre, force) + cross(force, arm)
    wrenches = jnp.concatenate([force, moment])
    return (wrenches[:, None] * t.one_hot).sum(-2), (p * d).sum(0) / (alpha + 1.0)
