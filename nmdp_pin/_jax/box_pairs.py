"""Boxes of bodies on boxes of others: which corners touch faces, and which edges cross.

As in the kernels' `convex_features` and `feature_selection`: what touches is held during a step as
points of one box and planes of the other. Axes: components, features, pairs of boxes, lanes.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from nmdp_pin._jax.scene import CROSSINGS, DeviceScene, Structure
from nmdp_pin._jax.vectors import (
    cross,
    dot,
    length,
    place,
    relative,
    rotate,
    rotate_back,
    rotation,
)

BORDER = 1e-4  # [m] beyond faces and edges up to which they touch; these are those of the kernels
NEARBY = 0.01  # [m] between bodies up to which what is near may touch in a step
_RESTING, _LOWEST, _FACING = 1e-3, 1e-3, 0.5
_PARALLEL, _TILT = 0.02, 0.2

_SIGNS = np.array(list(itertools.product((-1.0, 1.0), repeat=3)))  # of the corners, (8, 3)
_AXES = np.repeat(np.arange(3), 2)  # of the faces; their signs alternate, the first one is -1
_OF_CORNER = 2 * np.arange(3) + (_SIGNS > 0.0)  # faces of the corners, (8, 3)


def _edges() -> np.ndarray:
    """Both corners and both faces of each edge, which goes up along its axis, (12, 4)."""
    found = []
    for axis, s, t in itertools.product(range(3), (0, 1), (0, 1)):
        j, k = (axis + 1) % 3, (axis + 2) % 3
        ends = np.flatnonzero((_SIGNS[:, j] == 2 * s - 1) & (_SIGNS[:, k] == 2 * t - 1))
        f, g = 2 * j + s, 2 * k + t
        found.append([*ends, f, g] if s == t else [*ends, g, f])
    return np.array(found)


_EDGES = _edges()


class _Boxes(NamedTuple):
    """Boxes in some frame: corners, outward normals, and n . x of the faces."""

    corners: Array
    normals: Array
    levels: Array

    @property
    def starts(self) -> Array:
        """First corners of the edges."""
        return self.corners[:, _EDGES[:, 0]]

    @property
    def edges(self) -> Array:
        """Vectors along the edges."""
        return self.corners[:, _EDGES[:, 1]] - self.starts


class Held(NamedTuple):
    """What is held of the pairs: corners of a on b, corners of b on a, then crossings.

    Attributes:
        listed: whether they may touch in the step, shape (m, K).
        points: points in the frames of the bodies that carry them [m], shape (3, m, K).
        planes: normals and levels in the frames of those that are touched, shape (4, m, K).
        crossed: numbers of the pairs of edges that cross, (CROSSINGS, p, K).
        towards: directions from b to a in which they touch, 0: far apart, shape (3, p, K).
    """

    listed: Array
    points: Array
    planes: Array
    crossed: Array
    towards: Array


def held_bodies(structure: Structure) -> tuple[np.ndarray, np.ndarray]:
    """Bodies that carry what is held, and those that are touched; n: the world."""
    a, b = (np.array([pair[k] for pair in structure.pairs], int) for k in range(2))
    one, other = np.tile(a, len(_SIGNS)), np.tile(b, len(_SIGNS))
    carriers = np.concatenate([one, other, np.tile(a, CROSSINGS)])
    return carriers, np.concatenate([other, one, np.tile(b, CROSSINGS)])


def _of_pairs(scene: DeviceScene) -> tuple[list[Array], list[np.ndarray]]:
    """Rows of the first and of the second box of each pair, (17, p, 1), and their bodies."""
    rows = [scene.boxes[:, [pair[k] for pair in scene.structure.boxes], None] for k in range(2)]
    return rows, [np.array([pair[k] for pair in scene.structure.pairs]) for k in range(2)]


def _boxes(rows: Array, M: Array | None = None) -> _Boxes:
    """Boxes of rows of shapes, (17, p, K or 1), in their bodies' frames or at placements."""
    axes = [jnp.stack([rows[4 + 3 * i + j] for i in range(3)]) for j in range(3)]
    centre, half = rows[1:4], rows[13:16]
    if M is not None:
        axes, centre = [rotate(M, axis) for axis in axes], place(M, centre)
    normals = jnp.stack([sign * axes[j] for j in range(3) for sign in (-1.0, 1.0)], axis=1)
    levels = dot(normals, centre[:, None]) + half[_AXES]
    offsets = [sum(signs[j] * half[j] * axes[j] for j in range(3)) for signs in _SIGNS]
    return _Boxes(centre[:, None] + jnp.stack(offsets, axis=1), normals, levels)


def _heights(a: _Boxes, b: _Boxes) -> Array:
    """Heights of the corners of a over the faces of b, (6, 8, p, K)."""
    return dot(b.normals[:, :, None], a.corners[:, None]) - b.levels[:, None]


def _crossings(a: _Boxes, b: _Boxes, tilt: float) -> tuple[Array, Array, Array]:
    """Normals of all pairs of edges, (3, 12, 12, p, K), distances along them, and whether they fit.

    They may leave the cones of the edges by a sine `tilt`.
    """
    e, f = a.edges[:, :, None], b.edges[:, None]
    n = cross(e, f)
    size, lengths = jnp.sqrt(dot(n, n)), (jnp.sqrt(dot(e, e)), jnp.sqrt(dot(f, f)))
    fits = size > _PARALLEL * lengths[0] * lengths[1]
    n = n / jnp.where(fits, size, 1.0)
    ga, ha = (a.normals[:, _EDGES[:, k], None] for k in (2, 3))
    gb, hb = (b.normals[:, None, _EDGES[:, k]] for k in (2, 3))
    n = jnp.where(dot(n, gb) + dot(n, hb) < 0.0, -n, n)
    gap = dot(n, a.starts[:, :, None] - b.starts[:, None])
    if tilt < 1.0:
        for g, h, edge, size, out in ((gb, hb, f, lengths[1], n), (ga, ha, e, lengths[0], -n)):
            fits = fits & (dot(out, g) + dot(out, h) > 0.0)
            fits = fits & (dot(cross(g, out), edge) >= -tilt * size)
            fits = fits & (dot(cross(out, h), edge) >= -tilt * size)
    return n, gap, fits


def _flat(x: Array) -> Array:
    """Pairs of edges on one axis, shape (..., 144, p, K)."""
    return x.reshape(*x.shape[:-4], -1, *x.shape[-2:])


def _separating(before: _Boxes, a: _Boxes, b: _Boxes, limit: Array) -> tuple[Array, Array]:
    """Directions from b to a in which they touch first, (3, p, K), and whether within `limit`."""
    shape = a.levels.shape[1:]
    beside = before.corners.mean(1) - b.corners.mean(1)
    beside = beside / jnp.maximum(length(beside), 1e-12)
    apart = dot(beside[:, None], a.corners).min(0) - dot(beside[:, None], b.corners).max(0)
    motion = length(a.corners - before.corners).max(0)
    (n, gap, fits), (was, past, steady) = _crossings(a, b, 0.0), _crossings(before, b, 1.0)
    past = jnp.where(dot(was, n) < 0.0, -past, past)
    past = jnp.where(steady & (jnp.abs(past - gap) <= 2.0 * motion), past, gap)
    none = jnp.full((), -jnp.inf, a.levels.dtype)
    s1, s0 = (
        jnp.concatenate([_heights(x, b).min(1), _heights(b, x).min(1), _flat(edges)])
        for x, edges in (
            (a, jnp.where(fits, gap, none)),
            (before, jnp.where(fits, past, none)),
        )
    )
    normals = jnp.broadcast_to(b.normals, (*b.normals.shape[:2], *shape))
    ways = jnp.concatenate([normals, -a.normals, _flat(n)], axis=1)
    passed = (s0 > -_RESTING) & (s1 < s0)
    when = jnp.where(passed, s0 / jnp.where(passed, s0 - s1, 1.0), none)
    inside = jnp.where(passed.any(0), when.argmax(0), s0.argmax(0))
    best = s1.max(0)
    chosen = jnp.where(best >= -_RESTING, s1.argmax(0), inside)
    way = jnp.take_along_axis(ways, chosen[None, None], 1)[:, 0]
    return way, (best <= limit) & (apart <= limit)


def _on_faces(a: _Boxes, b: _Boxes, towards: Array, limit: Array) -> tuple[Array, Array]:
    """Whether corners of a touch faces of b, and the faces, (8, p, K)."""
    slopes, along = dot(towards[:, None], a.normals), dot(towards[:, None], a.corners)
    near = (slopes[_OF_CORNER] < -_FACING).any(1) | (along < along.min(0) + _LOWEST)
    heights, facing = _heights(a, b), dot(towards[:, None], b.normals)
    across = (_AXES[:, None] != _AXES)[:, :, None, None, None]
    over = (~across | (heights <= BORDER)).all(1)
    score = jnp.where(over & (facing > _FACING)[:, None], facing[:, None], -jnp.inf)
    face = score.argmax(0)
    gap = jnp.take_along_axis(heights, face[None], 0)[0]
    return near & (score.max(0) > 0.0) & (gap < limit), face


def _rows(table: Array, number: Array) -> Array:
    """Features of a table, (c, f, p, K or 1), by their numbers, (x, p, K), shape (c, x, p, K)."""
    table = jnp.broadcast_to(table, (*table.shape[:3], number.shape[-1]))
    return jnp.take_along_axis(table, number[None], 1)


def _add(
    scene: DeviceScene, held: Held, a: _Boxes, near: Array, limit: Array
) -> tuple[Held, Array]:
    """List what touches and is not held yet; the lanes in which something does.

    Args:
        scene: what all steps share.
        held: what is held.
        a: first boxes in the frames of the second ones' bodies.
        near: pairs that may touch, shape (p, K).
        limit: largest distance of what touches [m], shape (p, K).
    """
    count, lanes = near.shape
    own, b = map(_boxes, _of_pairs(scene)[0])
    listed, points, planes = (
        x.reshape(*x.shape[:-2], -1, count, lanes) for x in (held.listed, held.points, held.planes)
    )
    n, new = len(_SIGNS), list[tuple[Array, ...]]()
    for one, other, touched, way in ((a, b, b, held.towards), (b, a, own, -held.towards)):
        on, face = _on_faces(one, other, way, limit)
        plane = _rows(jnp.concatenate([touched.normals, touched.levels[None]]), face)
        some = slice(len(new) * n, (len(new) + 1) * n)
        same = listed[some] & (plane == planes[:, some]).all(0)
        new.append((on & near & ~same, points[:, some], plane))
    known = jnp.where(listed[2 * n :], held.crossed, -1)
    crossed, *crossings = _new_crossings(held.towards, known, own, a, b, near, limit)
    new.append(tuple(crossings))
    added, at, plane = (jnp.concatenate(parts, axis=-3) for parts in zip(*new, strict=True))
    found = listed | added, jnp.where(added, at, points), jnp.where(added, plane, planes)
    all_listed, points, planes = (x.reshape(*x.shape[:-3], -1, lanes) for x in found)
    return Held(all_listed, points, planes, crossed, held.towards), added.any((0, 1))


def _new_crossings(
    towards: Array, known: Array, own: _Boxes, a: _Boxes, b: _Boxes, near: Array, limit: Array
) -> tuple[Array, Array, Array, Array]:
    """Pairs of edges that cross, the nearest of those that are not known in the free places.

    Args:
        towards: directions from b to a in which they touch, shape (3, p, K).
        known: numbers of pairs of edges, -1: a free place, shape (CROSSINGS, p, K).
        own: first boxes in their bodies' frames.
        a: first boxes in the frames of the second ones' bodies.
        b: second boxes there.
        near: pairs that may touch, shape (p, K).
        limit: largest distance of what touches [m], shape (p, K).

    Returns:
        Numbers of all, which are new, and the points and planes of these.
    """
    n, gap, fits = _crossings(a, b, _TILT)
    e, f = a.edges[:, :, None], b.edges[:, None]
    s, t = _crossing(a.starts[:, :, None], e, b.starts[:, None], f)
    facing = (dot(n, towards[:, None, None]) >= _FACING) | (gap > 0.0)
    ok = fits & (gap < limit) & facing & near
    for x, edge in ((s, e), (t, f)):
        ok = ok & (jnp.maximum(-x, x - 1.0) * length(edge) <= BORDER)
    ok, number = _flat(ok), jnp.arange(len(_EDGES) ** 2)[:, None, None]
    for x in range(CROSSINGS):
        ok = ok & (number != known[x])
    gaps = jnp.moveaxis(jnp.where(ok, _flat(gap), jnp.inf), 0, -1)
    ranked = [jnp.moveaxis(x, -1, 0) for x in lax.top_k(-gaps, CROSSINGS)]
    free = known < 0
    rank = jnp.maximum(jnp.cumsum(free, axis=0) - 1, 0)
    nearest, chosen = (jnp.take_along_axis(x, rank, 0) for x in ranked)
    i, j = chosen // len(_EDGES), chosen % len(_EDGES)
    normal, along = _rows(_flat(n), chosen), _rows(_flat(s)[None], chosen)
    level = dot(normal, _rows(b.starts, j))
    points = _rows(own.starts, i) + along * _rows(own.edges, i)
    planes, new = jnp.concatenate([normal, level[None]]), free & (nearest > -jnp.inf)
    return jnp.where(new, chosen, known), new, points, planes


def _crossing(p: Array, e: Array, x: Array, f: Array) -> tuple[Array, Array]:
    """Where lines p + s e and x + t f are nearest; 0 where they are parallel."""
    c = x - p
    ee, ef, ff, ce, cf = dot(e, e), dot(e, f), dot(f, f), dot(c, e), dot(c, f)
    det = ee * ff - ef * ef
    safe = jnp.where(det > 0.0, det, 1.0)
    return (ce * ff - cf * ef) / safe, (ce * ef - cf * ee) / safe


def list_boxes(scene: DeviceScene, P: Array, twists: Array, h: Array) -> Held:
    """What may touch in a step, by the places at its start and, at constant velocity, its end.

    Args:
        scene: what all steps share.
        P: placements of the bodies and the world, shape (4, 3, n + 1, K).
        twists: their motions, shape (6, n + 1, K).
        h: length of the step [s].
    """
    (one, other), (a, b) = _of_pairs(scene)
    M, moves = relative(P[:, :, b], P[:, :, a]), twists[:, a] - twists[:, b]
    centre = place(P[:, :, a], one[1:4])
    speed = rotate_back(P[:, :, b], moves[:3] + cross(moves[3:], centre))
    travel = h * length(speed)
    reach = NEARBY + travel
    end = _spun(M, rotate_back(P[:, :, b], h * moves[3:]))
    end = end.at[3].set(place(M, one[1:4]) + h * speed - rotate(end, one[1:4]))
    count, lanes = reach.shape
    m = (2 * len(_SIGNS) + CROSSINGS) * count
    own = jnp.concatenate([_boxes(one).corners, _boxes(other).corners], axis=1)
    own = jnp.concatenate([own, jnp.zeros((3, CROSSINGS, count, 1), P.dtype)], axis=1)
    points = jnp.broadcast_to(own.reshape(3, m, 1), (3, m, lanes))
    held = Held(
        listed=jnp.zeros((m, lanes), bool),
        points=points,
        planes=jnp.zeros((4, m, lanes), P.dtype),
        crossed=jnp.zeros((CROSSINGS, count, lanes), int),
        towards=jnp.zeros((3, count, lanes), P.dtype),
    )
    return _look(scene, held, M, end, reach)[0]


def _spun(M: Array, turn: Array) -> Array:
    """Placements whose rotations are turned by rotation vectors."""
    angle = length(turn)
    axis, c = turn / jnp.where(angle > 0.0, angle, 1.0), jnp.cos(angle)
    R = rotation(c, jnp.sin(angle), 1.0 - c, axis)
    return jnp.stack([*(rotate(R, M[i]) for i in range(3)), M[3]])


def add_missed(scene: DeviceScene, held: Held, P: Array) -> tuple[Held, Array]:
    """List what touches at placements P and is not held, and the lanes in which something does."""
    a, b = _of_pairs(scene)[1]
    M = relative(P[:, :, b], P[:, :, a])
    return _look(scene, held, M, M, jnp.zeros(M.shape[2:], P.dtype))


def _look(scene: DeviceScene, held: Held, M: Array, end: Array, limit: Array) -> tuple[Held, Array]:
    """List what is near at the end of a motion from placements M of the first boxes.

    The limit is the largest distance of what touches [m], shape (p, K).
    """
    one, other = _of_pairs(scene)[0]
    at_end = _boxes(one, end)
    way, within = _separating(_boxes(one, M), at_end, _boxes(other), limit)
    far = length(held.towards) == 0.0
    apart = length(place(end, one[1:4]) - other[1:4])
    near = (within | ~far) & (apart <= limit + length(one[13:16]) + length(other[13:16]))
    held = held._replace(towards=jnp.where(far & near, way, held.towards))
    return _add(scene, held, at_end, near, limit)


def are_over(scene: DeviceScene, planes: Array, p: Array) -> Array:
    """Whether what is held meets what it touches at points in its frame, shapes (m, K).

    Corners do over faces, with a margin; edges that cross do.
    """
    one, other = map(_boxes, _of_pairs(scene)[0])
    n, parts = len(_SIGNS) * len(scene.structure.pairs), []
    for k, box in enumerate((other, one)):
        x, normal = p[:, k * n : (k + 1) * n], planes[:3, k * n : (k + 1) * n]
        faces = [
            jnp.tile(table, (1, 1, len(_SIGNS), 1)) for table in (box.normals, box.levels[None])
        ]
        across = jnp.abs(dot(faces[0], normal[:, None])) < _FACING
        high = dot(faces[0], x[:, None]) - faces[1][0] > 2.0 * BORDER
        parts.append(~(across & high).any(0))
    return jnp.concatenate([*parts, jnp.ones(p[0, 2 * n :].shape, bool)])
