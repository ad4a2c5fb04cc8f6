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
from nmdp_pin._jax.tree import by_motions, with_world
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


class Touching(NamedTuple):
    """The contacts that act at a configuration.

    Attributes:
        depths: penetrations of all spheres [m], shape (m, K).
        touching: whether contacts touch, shape (s, K).
        one_hot: 1 where a contact is one of a body, else 0, shape (n, s, K or 1).
        other: likewise of the body that it touches; None where it is the world of all.
        couple: likewise of the two bodies that touch in it, see `_couples`, shape (c, s, K or 1).
        radius: radii of the spheres [m], shape (s, K or 1).
        friction: coefficients, shape (s, K or 1).
        points: centres in the frames of their bodies [m], shape (3, s, K or 1).
        surface: what they touch.
        P: placements of their bodies, shape (4, 3, s, K).
        frame: placements of the bodies that they touch; None where it is the world of all.
        M0: placements of the former, as seen from the latter, at the start of the step.
        overflow: whether more contacts touch than may act, shape (K,).
    """

    depths: Array
    touching: Array
    one_hot: Array
    other: Array | None
    couple: Array | None
    radius: Array
    friction: Array
    points: Array
    surface: Surface
    P: Array
    frame: Array | None
    M0: Array
    overflow: Array


def _seen(structure: Structure, P: Array, carriers: np.ndarray, touched: np.ndarray) -> Array:
    """Placements of bodies as seen from those that they touch, (4, 3, m, K); P with the world."""
    M = P[:, :, carriers]
    return relative(P[:, :, touched], M) if structure.of_bodies else M


def _surfaces(scene: DeviceScene, sides: Array, centre: Array) -> Surface:
    """What the spheres touch, at centres in the frames of what they touch, (3, m, K)."""
    structure, m = scene.structure, scene.structure.on_field
    if not m:
        return surface_at(structure.kinds, scene.shapes[..., None], sides, centre)
    own = field_surfaces(scene, centre[:, centre.shape[1] - m :])
    others = sides.shape[0] - own.level.shape[0]
    if not others:
        return own
    kinds, some = (*structure.kinds, -1), slice(others)  # so that no field is None
    at = surface_at(kinds, scene.shapes[:, some, None], sides[some], centre[:, some])
    return Surface(*(jnp.concatenate([a, b], -2) for a, b in zip(at, own, strict=True)))


def list_contacts(scene: DeviceScene, P: Array, twists: Array, h: Array) -> Listed:
    """Contacts of a step by their places at its start and, at constant velocity, its end."""
    structure, points = scene.structure, scene.points[..., None]
    carriers, touched = np.array(structure.carriers, int), np.array(structure.touched, int)
    P, twists = with_world(structure, P), with_world(structure, twists)
    centre = place(_seen(structure, P, carriers, touched), points)
    twist, reach = twists[:, carriers], REACH
    velocity = twist[:3] + cross(twist[3:], place(P[:, :, carriers], points))
    if structure.of_bodies:
        frame, twist, n = P[:, :, touched], twist - twists[:, touched], len(structure.parents)
        velocity = twist[:3] + cross(twist[3:], place(P[:, :, carriers], points))
        velocity = rotate_back(frame, velocity)
        reach = jnp.where((carriers < n) & (touched < n), NEARBY, REACH)[:, None]
    sides = begun_sides(scene.shapes[..., None], centre)
    here, _ = distance_to(_surfaces(scene, sides, centre), centre)
    there = centre + h * velocity
    later, _ = distance_to(_surfaces(scene, sides, there), there)
    reach = reach + h * jnp.sqrt(dot(velocity, velocity)) + scene.radii[:, None]
    held = list_boxes(scene, P, twists, h) if structure.pairs else None
    return Listed(~(jnp.minimum(here, later) > reach), sides, held)


def place_contacts(scene: DeviceScene, at: Listed, P: Array, P0: Array) -> Touching:
    """The contacts that act at placements P, and were at P0, shapes (4, 3, n, K)."""
    structure, n = scene.structure, len(scene.structure.parents)
    carriers, touched = np.array(structure.carriers, int), np.array(structure.touched, int)
    P, P0 = with_world(structure, P), with_world(structure, P0)
    points, radii, friction = (x[..., None] for x in (scene.points, scene.radii, scene.shapes[16]))
    centre = place(_seen(structure, P, carriers, touched), points)
    surface = _surfaces(scene, at.sides, centre)
    distance, _ = distance_to(surface, centre)
    lost = ~(jnp.abs(centre).sum(0) < LOST)
    depth = depths = jnp.where(lost, -1.0, radii - distance)
    touching = at.listed & (depth > 0.0)
    if at.held is not None:
        carriers, touched, points, radii, friction, surface, depth = _with_held(
            scene, at.held, P, points, radii, friction, surface
        )
        touching = jnp.concatenate([touching, at.held.listed & (depth > 0.0)])
    named, couples = _couples(carriers, touched, n)
    body, other, couple = carriers[:, None], touched[:, None], couples[:, None]
    overflow = jnp.zeros(P.shape[-1], bool)
    if len(carriers) > structure.most:
        index, number = _first(touching, structure.most)
        touching, overflow = jnp.arange(structure.most)[:, None] < number, number > structure.most
        body, other, couple = (jnp.asarray(x)[index] for x in (carriers, touched, couples))
        given = points, radii, friction, surface
        points, radii, friction, surface = jax.tree.map(lambda x: _taken(x, index), given)
    M, M0, frame = _of(P, body), _of(P0, body), None
    if structure.of_bodies:
        frame = _of(P, other)
        M0 = relative(_of(P0, other), M0)
    return Touching(
        depths=depths,
        touching=touching,
        one_hot=_one_hot(body, n, P),
        other=_one_hot(other, n, P) if structure.of_bodies else None,
        couple=_one_hot(couple, len(named), P) if structure.of_bodies else None,
        radius=radii,
        friction=friction,
        points=points,
        surface=surface,
        P=M,
        frame=frame,
        M0=M0,
        overflow=overflow,
    )


def _couples_of(structure: Structure) -> np.ndarray:
    """Pairs of bodies that touch each other, shape (c, 2)."""
    ends = held_bodies(structure) if structure.pairs else np.zeros((2, 0), int)
    carriers, touched = (
        np.concatenate([x, y]).astype(int)
        for x, y in zip((structure.carriers, structure.touched), ends, strict=True)
    )
    return _couples(carriers, touched, len(structure.parents))[0]


def _couples(carriers: np.ndarray, touched: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of bodies that touch, (c, 2), and which one each contact is of, -1: the world, (m,)."""
    both = np.stack([carriers, touched], axis=1)
    named = np.unique(both[(both < n).all(axis=1)], axis=0)
    same = (both[:, None] == named).all(axis=2)
    return named, np.where(same.any(axis=1), same.argmax(axis=1) if len(named) else 0, -1)


def _whole(x: Array, K: int) -> Array:
    """An array with all lanes."""
    return jnp.broadcast_to(x, (*x.shape[:-1], K))


def _taken(x: Array, index: Array) -> Array:
    """Rows of contacts, (..., m, K or 1), by their indices, (s, K)."""
    if x.shape[-1] == 1:
        return x[..., 0][..., index]
    return jnp.take_along_axis(x, index[(None,) * (x.ndim - 2)], -2)


def _of(P: Array, body: Array) -> Array:
    """Placements of the bodies of contacts, (s, K or 1)."""
    return P[:, :, body[:, 0]] if body.shape[1] == 1 else _taken(P, body)


def _one_hot(body: Array, n: int, like: Array) -> Array:
    """1 where a contact is one of a body, shape (n, s, K or 1)."""
    return (np.arange(n)[:, None, None] == body).astype(like.dtype)


def _with_held(
    scene: DeviceScene,
    held: Held,
    P: Array,
    points: Array,
    radii: Array,
    friction: Array,
    surface: Surface,
) -> tuple[np.ndarray, np.ndarray, Array, Array, Array, Surface, Array]:
    """Bodies, points, radii, friction and surfaces with those of boxes, and depths of these."""
    structure, K = scene.structure, P.shape[-1]
    ends = held_bodies(structure)
    x = place(_seen(structure, P, *ends), held.points)
    depth = held.planes[3] - dot(held.planes[:3], x)
    depth = jnp.where(are_over(scene, held.planes, x), depth, -1.0)
    m, none = len(ends[0]), jnp.zeros_like(held.points)
    rest = None if surface.bend is None else (none, none, none[0])
    new = Surface(held.planes[:3], held.planes[3], *(rest or (None, None, None)))
    surface = jax.tree.map(lambda a, b: jnp.concatenate([_whole(a, K), b], -2), surface, new)
    points = jnp.concatenate([_whole(points, K), held.points], axis=1)
    radii = jnp.concatenate([radii, jnp.zeros((m, 1), radii.dtype)])
    rubbing = jnp.tile(scene.box_friction, m // len(scene.box_friction))
    friction = jnp.concatenate([friction, rubbing[:, None]])
    bodies = np.concatenate([structure.carriers, ends[0]]).astype(int)
    others = np.concatenate([structure.touched, ends[1]]).astype(int)
    return bodies, others, points, radii, friction, surface, depth


def _first(acts: Array, most: int) -> tuple[Array, Array]:
    """Indices of the first contacts that act, shape (most, K), and the number of all that do."""
    counts = lax.associative_scan(jnp.add, acts.astype(jnp.int32))
    index = (counts[None] <= jnp.arange(most, dtype=jnp.int32)[:, None, None]).sum(1)
    return jnp.minimum(index, len(acts) - 1), counts[-1]


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
    stiffness, friction, slip_speed = scene.law
    M = P if t.frame is None else relative(t.frame, P)
    centre = place(M, t.points)
    distance, n = distance_to(t.surface, centre)
    d, arm = jnp.where(t.touching, t.radius - distance, 1.0), t.radius * n
    u = centre - place(t.M0, t.points) + rotate(t.M0, rotate_back(M, arm)) - arm
    slip = u - dot(n, u) * n
    if scene.structure.from_terrain:
        friction = t.friction * stiffness / ((beta + 1.0) * (h * slip_speed) ** beta)
    q = (beta + 1.0) * friction * _power(d, gamma + 1.0)
    if beta != 1.0:
        q = q * length(slip) ** (beta - 1.0)
    p = jnp.where(t.touching, stiffness * _power(d, alpha), 0.0)
    force, at = p * n - jnp.where(t.touching, q, 0.0) * slip, centre - arm
    if t.frame is not None:
        force, at = rotate(t.frame, force), place(t.frame, at)
    return jnp.concatenate([force, cross(at, force)]), (p * d).sum(0) / (alpha + 1.0)


def contact_forces(scene: DeviceScene, t: Touching, h: Array) -> tuple[Array, Array]:
    """Wrenches on the bodies at the world's origin, (6, n, K), and the stored energy [J], (K,)."""
    wrenches, stored = _wrenches(scene, t, t.P, h)
    share = t.one_hot if t.other is None else t.one_hot - t.other
    return (wrenches[:, None] * share).sum(-2), stored


def contact_stiffness(scene: DeviceScene, t: Touching, h: Array) -> tuple[Array, Array | None]:
    """Derivatives of the wrenches on bodies by motions of their own, and by those of each other.

    Returns:
        Arrays of the shapes (6, 6, n, K) and (6, 6, n, n, K); None where bodies touch the world.
    """
    by_own = by_motions(lambda P: _wrenches(scene, t, P, h)[0], t.P)
    own = (by_own[:, :, None] * t.one_hot).sum(-2)
    if t.other is None:
        return own, None
    F = _wrenches(scene, t, t.P, h)[0]
    # a motion of both carries the wrench along: w x f, and v x f + w x m
    f, m = (jnp.stack([cross(axis, w) for axis in _units(w)], axis=1) for w in (F[:3], F[3:]))
    rows = [jnp.concatenate(row, axis=1) for row in ((jnp.zeros_like(f), f), (f, m))]
    carried = jnp.concatenate(rows)
    by_other = carried - by_own
    own = own - (by_other[:, :, None] * t.other).sum(-2)
    pairs, n = _couples_of(scene.structure), len(scene.structure.parents)
    between = jnp.zeros((6, 6, n, n, own.shape[-1]), own.dtype)
    for stiffness, (x, y) in ((by_other, pairs.T), (-by_own, pairs.T[::-1])):
        between = between.at[:, :, x, y].add((stiffness[:, :, None] * t.couple).sum(-2))
    return own, between


def _units(like: Array) -> list[Array]:
    """The three unit vectors, as fields of the shape of a vector."""
    eye = np.eye(3).reshape(3, 3, *(1,) * (like.ndim - 1))
    return [jnp.asarray(axis, like.dtype) + jnp.zeros_like(like) for axis in eye]
