"""Convex polytopes: the direction in which two of them touch, and the features by which they do."""

from __future__ import annotations

import math

from nmdp_pin._kernels.algebra.vector3 import Vector3, dot, length, minus, scaled
from nmdp_pin._kernels.compiler.jit import Array, jit
from nmdp_pin._kernels.compiler.record import matrix, zero_vector
from nmdp_pin._kernels.geometry.polytopes import (
    AS_DEEP,
    CROSSED,
    LEVEL,
    ON_A,
    ON_B,
    RESTING,
    TILT,
    Polytope,
    crossing,
    edge_distance,
    edge_of,
    is_over,
    middle,
    row_of,
)

_FACING = 0.5  # [-] cosine of the angle between normals of features and the pair's direction
_LOWEST = 1e-3  # [m] above the lowest vertex, where a vertex may touch whatever its faces are
_ROUNDING = 1e-6  # [m] likewise, beside `AS_DEEP`


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
    of_a = matrix(len(a.edges), len(b.normals))
    of_b = matrix(len(b.edges), len(a.normals))
    _write_edge_slopes(a, b, of_a)
    _write_edge_slopes(b, a, of_b)
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
def _write_edge_slopes(a: Polytope, b: Polytope, slopes: Array) -> None:
    """Write cosines between edges of polytope a and normals of polytope b, shape (e, f)."""
    for i in range(len(a.edges)):
        _, e = edge_of(a, i)
        size = length(e)
        for f in range(len(b.normals)):
            slopes[i, f] = dot(e, b.normals[f]) / size


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
    n, rounding, least = 0, a.rounding + b.rounding, _least_gap(a, b, towards)
    if rounding == 0.0:
        n = _find_vertices(a, b, towards, least, limit, feature_margin, ON_B, features, gaps, n)
        n = _find_vertices(
            b, a, scaled(towards, -1.0), least, limit, feature_margin, ON_A, features, gaps, n
        )
    of_a = matrix(len(a.edges), len(b.normals))
    of_b = matrix(len(b.edges), len(a.normals))
    _write_edge_slopes(a, b, of_a)
    _write_edge_slopes(b, a, of_b)
    for i in range(len(a.edges)):
        p, e = edge_of(a, i)
        for j in range(len(b.edges)):
            if not (_may_cross(a, i, of_b[j], TILT) and _may_cross(b, j, of_a[i], TILT)):
                continue
            d, gap = edge_distance(a, i, b, j, TILT, towards)
            gap -= rounding
            facing = dot(d, towards) >= _FACING or gap > -rounding  # the distance of lines is exact
            if not (least <= gap < limit and facing) or n == len(gaps):
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
def _least_gap(a: Polytope, b: Polytope, towards: Vector3) -> float:
    """The least distance of features of two polytopes that touch in a direction [m].

    What overlaps more in another direction came in, or leaves, in this one.
    """
    gap = _lowest(a.vertices, towards) + _lowest(b.vertices, scaled(towards, -1.0))
    gap -= _reach(a, towards) + _reach(b, towards)
    return AS_DEEP * min(gap, 0.0) - _ROUNDING


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
    lowest: float,
    limit: float,
    feature_margin: float,
    kind: int,
    features: Array,
    gaps: Array,
    n: int,
) -> int:
    """List the vertices of polytope a that touch faces of b; arguments as in `find_features`.

    Those closer than `lowest` are left out.
    """
    near, least = zero_vector(len(a.vertices)), _lowest(a.vertices, towards)
    for i in range(len(a.edges)):
        for k in range(2, 4):
            f = a.edges[i, k]
            if f >= 0 and dot(towards, a.normals[f]) < -_FACING:
                near[a.edges[i, 0]] = near[a.edges[i, 1]] = 1.0
    for v in range(len(a.vertices)):
        if n == len(gaps) or not (near[v] > 0.0 or dot(towards, a.vertices[v]) < least + _LOWEST):
            continue
        x, most, face = row_of(a.vertices, v), _FACING, -1
        for f in range(len(b.normals)):
            facing = dot(towards, b.normals[f])
            if facing > most and is_over(b, f, x, feature_margin):
                most, face = facing, f
        if face < 0:
            continue
        gap = dot(b.normals[face], a.vertices[v]) - b.levels[face] - a.rounding - b.rounding
        if lowest <= gap < limit:
            features[n, 0], gaps[n] = kind, gap
            features[n, 1], features[n, 2] = (v, face) if kind == ON_B else (face, v)
            n += 1
    return n
