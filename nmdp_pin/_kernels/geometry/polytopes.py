"""Convex polytopes: the features by which two of them touch.

Two polytopes a and b touch at vertices of one on faces of the other, and where edges cross. The
normal of a pair of features points out of b: it is a normal of b, the opposite of one of a, or
that of two edges. All is seen in the frame of the body of b.

A polytope may be rounded, that is, swept by a ball. One edge, rounded, is the side of a capsule or
of a cylinder, whose ends have contacts of their own. One without vertices is a mesh (`ridges.py`),
one without edges a rim (`rims.py`), a cone (`cones.py`) or an ellipsoid (`sides.py`).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from nmdp_pin._kernels.algebra.vector3 import (
    Vector3,
    axpy,
    cross,
    dot,
    length,
    minus,
    place,
    rotate,
    scaled,
)
from nmdp_pin._kernels.compiler.jit import Array, jit
from nmdp_pin._kernels.compiler.record import record

# Kinds of a contact: a vertex on a face of b, of a; edges; a vertex of b on a rounded edge of a; a
# rim and an edge of b, or the sides of two cones; an edge on a cone or an ellipsoid.
NONE, ON_B, ON_A, CROSSED, ON_SIDE, RIM, ON_ROUND = -1, 0, 1, 2, 3, 4, 5
KINDS = 7  # of contacts, with NONE
RESTING = 1e-3  # [m] overlap up to which polytopes count as touching, and not as past each other
PARALLEL = 0.02  # [-] sine of the angle of two edges below which they have no normal
_FACING = 0.5  # [-] cosine of the angle between normals of features and the pair's direction
TILT = 0.2  # [-] sine of the angle by which a normal may leave the cone of an edge
ASIDE = 0.03  # [-] cosine by which a normal may leave the rim for the side, or the side for the rim
LEVEL = 1e-9  # [-] sine or cosine of an angle that counts as none
BORDER = 1e-4  # [m] beyond faces and edges of polytopes up to which they touch
_LOWEST = 1e-3  # [m] above the lowest vertex, where a vertex may touch whatever its faces are


@record
class Polytopes:
    """Polytopes, in the frames of their bodies, and the pairs of them that may touch.

    Args:
        vertices: vertices [m], shape (v, 3).
        normals: outward normals of the faces, shape (f, 3).
        levels: n . x of the points of the faces [m], shape (f,).
        edges: both ends, then both faces, counted within the polytope, so that the edge has the
            direction of the product of the normals; the faces of a lone edge are -1, shape (e, 4).
        first: first vertex, face and edge of each polytope, and the ends, shape (p + 1, 3).
        centres: centres of the polytopes [m], shape (p, 3).
        sizes: largest distances of points from the centres [m], shape (p,).
        rounding: radii of the balls [m], shape (p,).
        rows: rows of the polytopes in the table of shapes, -1: none, shape (p,).
        pairs: polytopes a and b of each pair, shape (k, 2).
        points: indices of the vertices of a and of b among the robot's contact points, -1: none.
        first_points: where in `points` those of a pair begin, shape (k, 2).
    """

    vertices: Array
    normals: Array
    levels: Array
    edges: Array
    first: Array
    centres: Array
    sizes: Array
    rounding: Array
    rows: Array
    pairs: Array
    points: Array
    first_points: Array


class Polytope(NamedTuple):
    """A polytope in some frame; fields as in `Polytopes`."""

    vertices: Array
    normals: Array
    levels: Array
    edges: Array
    rounding: float


@jit
def polytope(polytopes: Polytopes, p: int) -> Polytope:
    """Polytope p in the frame of its body."""
    begin, end = polytopes.first[p], polytopes.first[p + 1]
    return Polytope(
        polytopes.vertices[begin[0] : end[0]],
        polytopes.normals[begin[1] : end[1]],
        polytopes.levels[begin[1] : end[1]],
        polytopes.edges[begin[2] : end[2]],
        polytopes.rounding[p],
    )


@jit
def moved(a: Polytope, M: Array) -> Polytope:
    """A polytope at the placement M, shape (4, 3)."""
    vertices, normals = np.empty(a.vertices.shape), np.empty(a.normals.shape)
    levels = np.empty(a.levels.shape)
    for i in range(len(vertices)):
        place(M, a.vertices[i], vertices[i])
    for f in range(len(normals)):
        rotate(M, a.normals[f], normals[f])
        levels[f] = a.levels[f] + dot(normals[f], M[3])
    return Polytope(vertices, normals, levels, a.edges, a.rounding)


@jit
def row_of(table: Array, i: int) -> Vector3:
    """Row i of a table of vectors."""
    return table[i, 0], table[i, 1], table[i, 2]


@jit
def edge_of(a: Polytope, i: int) -> tuple[Vector3, Vector3]:
    """First end and vector to the second end of an edge [m]."""
    start = row_of(a.vertices, a.edges[i, 0])
    return start, minus(row_of(a.vertices, a.edges[i, 1]), start)


@jit
def _lowest(vertices: Array, n: Vector3) -> float:
    """The least n . x of vertices [m]."""
    least = math.inf
    for i in range(len(vertices)):
        least = min(least, dot(n, vertices[i]))
    return least


@jit
def _reach(a: Polytope, n: Vector3) -> float:
    """How far a polytope reaches beyond its vertices along a direction [m]."""
    if a.rounding == 0.0 or len(a.normals) == 0:
        return a.rounding
    along = dot(n, a.normals[0])  # the axis of a cylinder
    return a.rounding * math.sqrt(max(1.0 - along * along, 0.0))


@jit
def separating_direction(
    before: Polytope, a: Polytope, b: Polytope, limit: float
) -> tuple[Vector3, float]:
    """Direction from b to a in which they touch first, and their distance in it at the end [m].

    It is that of the largest distance at the end, where they are apart or rest on each other; else
    that of the pair of features that passed each other last; else, where they overlapped already,
    that in which they did least.

    Args:
        before: polytope a at the start.
        a: polytope a at the end.
        b: polytope b.
        limit: distance beyond which any direction will do [m].
    """
    best, latest, held = -math.inf, -math.inf, -math.inf
    beside = minus(middle(before), middle(b))
    n = past = least = scaled(beside, 1.0 / max(length(beside), 1e-12))
    of_past, of_least, rounding, motion = 0.0, 0.0, a.rounding + b.rounding, 0.0
    apart = _lowest(a.vertices, n) + _lowest(b.vertices, scaled(n, -1.0)) - rounding
    if apart > limit:
        return n, apart
    for i in range(len(a.vertices)):
        motion = max(motion, length(minus(row_of(a.vertices, i), row_of(before.vertices, i))))
    of_a, of_b = _edge_slopes(a, b), _edge_slopes(b, a)
    for kind in range(3):
        rows = (len(b.normals), len(a.normals), len(a.edges))[kind]
        columns = len(b.edges) if kind == CROSSED else 1
        for i in range(rows):
            for j in range(columns):
                if kind == ON_B:
                    d = row_of(b.normals, i)
                    s1 = _lowest(a.vertices, d) - b.levels[i] - _reach(a, d)
                elif kind == ON_A:
                    d = scaled(row_of(a.normals, i), -1.0)
                    s1 = _lowest(b.vertices, row_of(a.normals, i)) - a.levels[i] - _reach(b, d)
                else:
                    if not (_may_cross(a, i, of_b[j], 0.0) and _may_cross(b, j, of_a[i], 0.0)):
                        continue
                    d, s1 = edge_distance(a, i, b, j, 0.0, beside)
                    s1 -= rounding
                    if not s1 < math.inf:
                        continue
                if s1 > limit:
                    return d, s1
                if kind == ON_B:
                    s0 = _lowest(before.vertices, d) - b.levels[i] - _reach(before, d)
                elif kind == ON_A:
                    d0 = row_of(before.normals, i)
                    s0 = _lowest(b.vertices, d0) - before.levels[i] - _reach(b, d0)
                else:
                    d0, s0 = edge_distance(before, i, b, j, 1.0, beside)
                    if dot(d0, d) < 0.0:
                        s0 = -s0
                    s0 -= rounding
                    if not abs(s0 - s1) <= 2.0 * motion:
                        s0 = s1  # edges almost parallel, whose normal has turned about
                if s1 > best:
                    best, n = s1, d
                if s0 > held:
                    held, least, of_least = s0, d, s1
                if s0 > -RESTING and s1 < s0 and s0 / (s0 - s1) > latest:
                    latest, past, of_past = s0 / (s0 - s1), d, s1
    if best >= -RESTING or best == -math.inf:
        return n, max(best, -rounding)
    return (past, of_past) if latest > -math.inf else (least, of_least)


@jit
def _edge_slopes(a: Polytope, b: Polytope) -> Array:
    """Cosines between edges of polytope a and normals of polytope b, shape (e, f)."""
    slopes = np.empty((len(a.edges), len(b.normals)))
    for i in range(len(a.edges)):
        _, e = edge_of(a, i)
        size = length(e)
        for f in range(len(b.normals)):
            slopes[i, f] = dot(e, b.normals[f]) / size
    return slopes


@jit
def _may_cross(a: Polytope, i: int, slopes: Array, tilt: float) -> bool:
    """Whether the normal of an edge and another edge may be in the cone of the former.

    The normal to both is between the normals of the faces at edge i where the other edge rises from
    one of these faces and sinks into the other.

    Args:
        a: polytope.
        i: its edge.
        slopes: cosines between the other edge and the normals of the polytope, shape (f,).
        tilt: sine of the angle by which the normal may leave the cone.
    """
    if a.edges[i, 2] < 0:
        return True
    g, h, least = slopes[a.edges[i, 2]], slopes[a.edges[i, 3]], tilt + LEVEL
    return not ((g > least and h > least) or (g < -least and h < -least))


@jit
def middle(a: Polytope) -> Vector3:
    """Mean of the vertices [m]."""
    total = (0.0, 0.0, 0.0)
    for i in range(len(a.vertices)):
        total = axpy(total, 1.0 / len(a.vertices), row_of(a.vertices, i))
    return total


@jit
def edge_distance(
    a: Polytope, i: int, b: Polytope, j: int, tilt: float, towards: Vector3
) -> tuple[Vector3, float]:
    """Normal of two edges and their distance along it [m]; inf where no normal fits both edges.

    Args:
        a: first polytope.
        i: its edge.
        b: second polytope.
        j: its edge.
        tilt: sine of the angle by which the normal may leave the cones of the edges.
        towards: direction from b to a, by which lone edges tell their sides.
    """
    p, e = edge_of(a, i)
    x, f = edge_of(b, j)
    n = cross(e, f)
    size = length(n)
    if size <= PARALLEL * length(e) * length(f):
        return n, math.inf
    n = scaled(n, 1.0 / size)
    if side_of(a, i, b, j, n, towards) < 0.0:
        n = scaled(n, -1.0)
    if tilt < 1.0 and not (in_cone(b, j, f, n, tilt) and in_cone(a, i, e, scaled(n, -1.0), tilt)):
        return n, math.inf
    return n, dot(n, minus(p, x))


@jit
def side_of(a: Polytope, i: int, b: Polytope, j: int, n: Vector3, towards: Vector3) -> float:
    """Positive where n points out of b at its edge j, or into a at its edge i if that is lone."""
    if b.edges[j, 2] >= 0:
        return dot(n, b.normals[b.edges[j, 2]]) + dot(n, b.normals[b.edges[j, 3]])
    if a.edges[i, 2] >= 0:
        return -dot(n, a.normals[a.edges[i, 2]]) - dot(n, a.normals[a.edges[i, 3]])
    return dot(n, towards)


@jit
def in_cone(a: Polytope, i: int, e: Vector3, n: Vector3, tilt: float) -> bool:
    """Whether a normal to an edge e is one of the polytope's, or nearly."""
    if a.edges[i, 2] < 0:
        return True
    g, h = row_of(a.normals, a.edges[i, 2]), row_of(a.normals, a.edges[i, 3])
    least = -tilt * length(e)
    return (
        dot(n, g) + dot(n, h) > 0.0
        and dot(cross(g, n), e) >= least
        and dot(cross(n, h), e) >= least
    )


@jit
def is_over(a: Polytope, face: int, x: Vector3, feature_margin: float) -> bool:
    """Whether a point lies over a face, up to a distance from its border [m]."""
    n = row_of(a.normals, face)
    for i in range(len(a.edges)):
        if a.edges[i, 2] != face and a.edges[i, 3] != face:
            continue
        other = row_of(a.normals, a.edges[i, 3 if a.edges[i, 2] == face else 2])
        out = axpy(other, -dot(n, other), n)
        start = row_of(a.vertices, a.edges[i, 0])
        if dot(out, minus(x, start)) > feature_margin * length(out):
            return False
    return True


@jit
def crossing(p: Vector3, e: Vector3, x: Vector3, f: Vector3) -> tuple[float, float]:
    """Where two lines p + s e and x + t f are nearest: s and t."""
    c = minus(x, p)
    ee, ef, ff = dot(e, e), dot(e, f), dot(f, f)
    ce, cf = dot(c, e), dot(c, f)
    det = ee * ff - ef * ef
    return (ce * ff - cf * ef) / det, (ce * ef - cf * ee) / det


@jit
def find_features(
    a: Polytope,
    b: Polytope,
    towards: Vector3,
    limit: float,
    feature_margin: float,
    features: Array,
    gaps: Array,
) -> int:
    """List the features by which two polytopes touch, or may soon; their number.

    Args:
        a: first polytope.
        b: second polytope.
        towards: direction from b to a in which they touch.
        limit: largest distance of the features [m].
        feature_margin: distance from the borders of faces and the ends of edges up to which they
            touch [m].
        features: output, kinds, features of a and features of b, shape (k, 3).
        gaps: output, distances of the features [m], shape (k,).
    """
    n, rounding = 0, a.rounding + b.rounding
    if rounding == 0.0:
        n = _find_vertices(a, b, towards, limit, feature_margin, ON_B, features, gaps, n)
        n = _find_vertices(
            b, a, scaled(towards, -1.0), limit, feature_margin, ON_A, features, gaps, n
        )
    of_a, of_b = _edge_slopes(a, b), _edge_slopes(b, a)
    for i in range(len(a.edges)):
        p, e = edge_of(a, i)
        for j in range(len(b.edges)):
            if not (_may_cross(a, i, of_b[j], TILT) and _may_cross(b, j, of_a[i], TILT)):
                continue
            d, gap = edge_distance(a, i, b, j, TILT, towards)
            gap -= rounding
            facing = dot(d, towards) >= _FACING or gap > -rounding  # the distance of lines is exact
            if not (gap < limit and facing) or n == len(gaps):
                continue
            x, f = edge_of(b, j)
            s, t = crossing(p, e, x, f)
            if (
                max(-s, s - 1.0) * length(e) > feature_margin
                or max(-t, t - 1.0) * length(f) > feature_margin
            ):
                continue
            if -gap > min(_depth_of_end(a, i, s, f), _depth_of_end(b, j, t, e)) + RESTING:
                continue
            features[n, 0], features[n, 1], features[n, 2], gaps[n] = CROSSED, i, j, gap
            n += 1
    return n


@jit
def _depth_of_end(a: Polytope, i: int, s: float, f: Vector3) -> float:
    """How far a line along f that crosses the side of a cylinder is from leaving by its end [m]."""
    if a.edges[i, 2] >= 0 or len(a.normals) == 0:
        return math.inf
    _, e = edge_of(a, i)
    size = length(e)
    return min(s, 1.0 - s) * size + a.rounding * abs(dot(e, f)) / (size * length(f))


@jit
def _find_vertices(
    a: Polytope,
    b: Polytope,
    towards: Vector3,
    limit: float,
    feature_margin: float,
    kind: int,
    features: Array,
    gaps: Array,
    n: int,
) -> int:
    """List the vertices of polytope a that touch faces of b; arguments as in `find_features`."""
    near, least = np.zeros(len(a.vertices), np.bool_), _lowest(a.vertices, towards)
    for i in range(len(a.edges)):
        for k in range(2, 4):
            f = a.edges[i, k]
            if f >= 0 and dot(towards, a.normals[f]) < -_FACING:
                near[a.edges[i, 0]] = near[a.edges[i, 1]] = True
    for v in range(len(a.vertices)):
        if n == len(gaps) or not (near[v] or dot(towards, a.vertices[v]) < least + _LOWEST):
            continue
        x, most, face = row_of(a.vertices, v), _FACING, -1
        for f in range(len(b.normals)):
            facing = dot(towards, b.normals[f])
            if facing > most and is_over(b, f, x, feature_margin):
                most, face = facing, f
        if face < 0:
            continue
        gap = dot(b.normals[face], a.vertices[v]) - b.levels[face] - a.rounding - b.rounding
        if gap < limit:
            features[n, 0], gaps[n] = kind, gap
            features[n, 1], features[n, 2] = (v, face) if kind == ON_B else (face, v)
            n += 1
    return n
