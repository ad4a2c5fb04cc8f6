"""Contacts of spheres and boxes: where they are, and their forces.

The law is that of `nmdp_pin._kernels.contact.penalty` for pbfd. Contacts come before lanes: (m, K):
first the spheres, then what is held of pairs of boxes. Each is a point of a body that touches a
surface of another one, or of the world, in whose frame it is seen. Where there are more than
`Structure.most`, the first so many that touch act.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from nmdp_pin._jax.box_pairs import NEARBY, Held, are_over, held_bodies, list_boxes
from nmdp_pin._jax.height_field import field_surfaces
from nmdp_pin._jax.scene import DeviceScene, Structure
from nmdp_pin._jax.surfaces import Surface, begun_sides, distance_to, surface_at
from nmdp_pin._jax.tree import by_motions, carried, with_world
from nmdp_pin._jax.vectors import cross, dot, length, place, relative, rotate, rotate_back

REACH = 0.05  # [m] between surfaces up to which a candidate is a contact of a step
LOST = 1e9  # [m] |x| + |y| + |z| beyond which coordinates no longer resolve a micrometre


class Listed(NamedTuple):
    """What a step knows of its contacts.

    Attributes:
        listed: whether each sphere may touch in the step, shape (m, K).
        sides: sides of boxes on which it begins, shape (m, K).
        held: what is held of pairs of boxes, None: there are none.
    """

    listed: Array
    sides: Array
    held: Held | None


class Points(NamedTuple):
    """Spheres, and points of boxes, and what they touch.

    Attributes:
        points: centres in the frames of their bodies [m], shape (3, m, K or 1).
        radius: radii [m], shape (m, K or 1).
        friction: coefficients, shape (m, K or 1).
        stiffness: normal stiffness [N/m^alpha], shape (m, K or 1).
        surface: what they touch, in the frames of its bodies.
    """

    points: Array
    radius: Array
    friction: Array
    stiffness: Array
    surface: Surface


class Touching(NamedTuple):
    """The contacts that act at a configuration.

    Attributes:
        at: their points.
        touching: whether they touch, shape (s, K).
        P: placements of their bodies, shape (4, 3, s, K).
        frame: placements of the bodies that they touch, likewise.
        M0: placements of the former, as seen from the latter, at the start of the step.
        couples: pairs of bodies that may touch, n: the world, shape (c, 2).
        of_couple: 1 where a contact is one of a pair, else 0, (c, s, K); None: they are alike.
    """

    at: Points
    touching: Array
    P: Array
    frame: Array
    M0: Array
    couples: np.ndarray
    of_couple: Array | None


def _surfaces(scene: DeviceScene, sides: Array, centre: Array) -> Surface:
    """What the spheres touch, at centres in the frames of what they touch, (3, m, K)."""
    planes, m = scene.structure.planes, scene.structure.on_field
    if not m:
        return surface_at(planes, scene.shapes[..., None], sides, centre)
    own = field_surfaces(scene, centre[:, centre.shape[1] - m :])
    some = slice(sides.shape[0] - own.level.shape[0])
    at = surface_at(False, scene.shapes[:, some, None], sides[some], centre[:, some])
    return Surface(*(jnp.concatenate([a, b], -2) for a, b in zip(at, own, strict=True)))


def _bodies(structure: Structure) -> tuple[np.ndarray, np.ndarray]:
    """Bodies of the spheres, and those of what they touch; n: the world."""
    return np.array(structure.carriers, int), np.array(structure.touched, int)


def list_contacts(scene: DeviceScene, P: Array, twists: Array, h: Array) -> Listed:
    """Contacts of a step by their places at its start and, at constant velocity, its end."""
    structure, points = scene.structure, scene.points[..., None]
    carriers, touched = _bodies(structure)
    P, twists = with_world(P), with_world(twists)
    M, frame, twist = P[:, :, carriers], P[:, :, touched], twists[:, carriers] - twists[:, touched]
    centre = place(relative(frame, M), points)
    velocity = rotate_back(frame, twist[:3] + cross(twist[3:], place(M, points)))
    of_bodies = (carriers < len(structure.parents)) & (touched < len(structure.parents))
    sides = begun_sides(scene.shapes[..., None], centre)
    both = jnp.concatenate([centre, centre + h * velocity], axis=-1)
    distance, _ = distance_to(_surfaces(scene, jnp.tile(sides, 2), both), both)
    here, later = jnp.split(distance, 2, axis=-1)
    reach = np.where(of_bodies, NEARBY, REACH)[:, None] + scene.radii[:, None]
    reach = reach + h * jnp.sqrt(dot(velocity, velocity))
    held = list_boxes(scene, P, twists, h) if structure.pairs else None
    return Listed(~(jnp.minimum(here, later) > reach), sides, held)


def place_contacts(
    scene: DeviceScene, listed: Listed, P: Array, P0: Array
) -> tuple[Touching, Array, Array]:
    """The contacts that act at placements P, and were at P0, shapes (4, 3, n, K).

    Returns:
        The contacts, the penetrations of all spheres [m], shape (m, K), and whether more touch
        than may act, shape (K,).
    """
    P, P0 = with_world(P), with_world(P0)
    at, ends, depths = _spheres(scene, listed, P)
    touching = listed.listed & (depths > 0.0)
    if listed.held is not None:
        at, ends, touching = _with_held(scene, listed.held, P, at, ends, touching)
    couples, of_couple, overflow = np.stack(ends, 1), None, jnp.zeros(P.shape[-1], bool)
    body, other = (P[:, :, end] for end in ends)
    body0, other0 = (P0[:, :, end] for end in ends)
    if len(touching) > scene.structure.most:
        overflow = touching.sum(0) > scene.structure.most
        index = jnp.argsort(~touching, axis=0)[: scene.structure.most]
        couples, couple = np.unique(couples, axis=0, return_inverse=True)
        given = at, touching, couple.reshape(-1, 1), body, other, body0, other0
        at, touching, couple, *bodies = jax.tree.map(lambda x: _taken(x, index), given)
        body, other, body0, other0 = bodies
        of_couple = (np.arange(len(couples))[:, None, None] == couple).astype(P.dtype)
    M0 = relative(other0, body0)
    return Touching(at, touching, body, other, M0, couples, of_couple), depths, overflow


def _taken(x: Array, index: Array) -> Array:
    """Rows of contacts, (..., m, K or 1), by their indices, (s, K)."""
    if x.shape[-1] == 1:
        return jnp.asarray(x)[..., 0][..., index]
    return jnp.take_along_axis(x, index[(None,) * (x.ndim - 2)], -2)


def _spheres(
    scene: DeviceScene, listed: Listed, P: Array
) -> tuple[Points, tuple[np.ndarray, np.ndarray], Array]:
    """The spheres, their bodies and those of what they touch, and their penetrations [m]."""
    ends = _bodies(scene.structure)
    columns = scene.points, scene.radii, scene.shapes[16], scene.stiffness
    points, radii, friction, stiffness = (x[..., None] for x in columns)
    centre = place(relative(P[:, :, ends[1]], P[:, :, ends[0]]), points)
    surface = _surfaces(scene, listed.sides, centre)
    distance, _ = distance_to(surface, centre)
    lost = ~(jnp.abs(centre).sum(0) < LOST)
    at = Points(points, radii, friction, stiffness, surface)
    return at, ends, jnp.where(lost, -1.0, radii - distance)


def _with_held(
    scene: DeviceScene,
    held: Held,
    P: Array,
    spheres: Points,
    ends: tuple[np.ndarray, np.ndarray],
    touching: Array,
) -> tuple[Points, tuple[np.ndarray, np.ndarray], Array]:
    """Points, their bodies and those of what they touch, and whether they do, with those held."""
    carriers, touched = held_bodies(scene.structure)
    x = place(relative(P[:, :, touched], P[:, :, carriers]), held.points)
    m, none = len(carriers), jnp.zeros_like(held.points)
    rest = (None,) * 3 if spheres.surface.bend is None else (none, none, none[0])
    columns = scene.box_friction, scene.box_stiffness
    friction, stiffness = (jnp.tile(x, m // len(x))[:, None] for x in columns)
    surface = Surface(held.planes[:3], held.planes[3], *rest)
    own = Points(held.points, jnp.zeros((m, 1), P.dtype), friction, stiffness, surface)

    def joined(a: Array, b: Array) -> Array:
        lanes = max(a.shape[-1], b.shape[-1])
        whole = [jnp.broadcast_to(part, (*part.shape[:-1], lanes)) for part in (a, b)]
        return jnp.concatenate(whole, axis=-2)

    inside = held.listed & (dot(held.planes[:3], x) < held.planes[3])
    touching = jnp.concatenate([touching, inside & are_over(scene, held.planes, x)])
    both = np.concatenate([ends[0], carriers]), np.concatenate([ends[1], touched])
    return jax.tree.map(joined, spheres, own), both, touching


def _power(x: Array, exponent: float) -> Array:
    """A power, of whole exponents by products."""
    return x ** int(exponent) if exponent == int(exponent) else x**exponent


def _wrenches(scene: DeviceScene, t: Touching, P: Array, h: Array) -> tuple[Array, Array]:
    """Wrenches on the bodies at the world's origin, (6, s, K), and the stored energy [J], (K,).

    What does not touch has the depth 1, and no forces; p, q and the slip are those of the kernel.

    Args:
        scene: what all steps share.
        t: contacts that act.
        P: placements of their bodies, shape (4, 3, s, K).
        h: length of the step [s].
    """
    alpha, beta, gamma = scene.structure.exponents
    (friction, slip_speed), stiffness = scene.law, t.at.stiffness
    M = relative(t.frame, P)
    centre = place(M, t.at.points)
    distance, n = distance_to(t.at.surface, centre)
    d, arm = jnp.where(t.touching, t.at.radius - distance, 1.0), t.at.radius * n
    u = centre - place(t.M0, t.at.points) + rotate(t.M0, rotate_back(M, arm)) - arm
    slip = u - dot(n, u) * n
    if scene.structure.from_terrain:
        friction = t.at.friction * stiffness / ((beta + 1.0) * (h * slip_speed) ** beta)
    q = (beta + 1.0) * friction * _power(d, gamma + 1.0)
    if beta != 1.0:
        q = q * length(slip) ** (beta - 1.0)
    p = jnp.where(t.touching, stiffness * _power(d, alpha), 0.0)
    force = rotate(t.frame, p * n - jnp.where(t.touching, q, 0.0) * slip)
    wrench = jnp.concatenate([force, cross(place(t.frame, centre - arm), force)])
    return wrench, (p * d).sum(0) / (alpha + 1.0)


class Pushes(NamedTuple):
    """What contacts do to the bodies.

    Attributes:
        wrenches: at the world's origin, shape (6, n, K).
        own: derivatives of these by motions of their bodies, shape (6, 6, n, K).
        between: likewise by those of others, shape (6, 6, n, n, K); None: they are zero.
        stored: energy [J], shape (K,).
    """

    wrenches: Array
    own: Array
    between: Array | None
    stored: Array


def contact_pushes(scene: DeviceScene, t: Touching, h: Array) -> Pushes:
    """The wrenches of contacts on the bodies, and their derivatives."""
    F, stored = _wrenches(scene, t, t.P, h)
    fixed, acting, duration = lax.stop_gradient((scene, t, h))  # no second derivatives
    by_own = by_motions(lambda P: _wrenches(fixed, acting, P, duration)[0], acting.P)
    if t.of_couple is not None:
        F, by_own = (
            sum(x[..., s, None, :] * t.of_couple[:, s] for s in range(x.shape[-2]))
            for x in (F, by_own)
        )
    # a motion of both bodies carries the wrench along
    by_other = carried(F[:, None], np.eye(6)[:, :, None, None]) - by_own
    structure, n = scene.structure, len(scene.structure.parents)
    wrenches, own = (jnp.zeros((*x.shape[:-2], n, x.shape[-1]), x.dtype) for x in (F, by_own))
    between = None
    x, y = t.couples.T
    wrenches = wrenches.at[:, x].add(F, mode="drop").at[:, y].add(-F, mode="drop")
    own = own.at[:, :, x].add(by_own, mode="drop").at[:, :, y].add(-by_other, mode="drop")
    if structure.of_bodies:
        between = jnp.zeros((6, 6, n, n, F.shape[-1]), F.dtype)
        between = between.at[:, :, x, y].add(by_other, mode="drop")
        between = between.at[:, :, y, x].add(-by_own, mode="drop")
    return Pushes(wrenches, own, between, stored)
