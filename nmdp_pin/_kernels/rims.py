"""Rims of cylinders and cones that cross edges of polytopes, or each other.

A rim touches an edge where the distance of the circle to the line is least: the vector between them
is across both, and the normal is across the tangent of the rim and the edge. Where an edge lies
along the flat end it crosses the rim twice, and touches two tangents, which are held during a step.
Two rims touch where their distance is least, at up to four places.

In the table of polytopes a rim has two vertices, its centre and the one a radius further out along
the axis, and neither faces nor edges. It is the first of a pair.
"""

from __future__ import annotations

import math

import numpy as np

from nmdp_pin._kernels.contacts import Candidates, Contacts, Places
from nmdp_pin._kernels.jit import Array, jit
from nmdp_pin._kernels.polytopes import (
    BORDER,
    LEVEL,
    PARALLEL,
    RESTING,
    RIM,
    TILT,
    Polytope,
    Polytopes,
    edge_of,
    in_cone,
    polytope,
    row_of,
)
from nmdp_pin._kernels.primitives import CONE
from nmdp_pin._kernels.vector3 import (
    Vector3,
    ahead,
    cross,
    dot,
    length,
    minus,
    rotate,
    rotate_back,
    scaled,
)

_NEAREST, _FIRST, _SECOND = 0, 1, 2  # parts of a rim that touch; the others are crossings
_FLAT = 0.05  # [-] cosine between axis and edge below which the edge lies along the flat end
_ASIDE = 0.03  # [-] cosine by which the normal may leave the rim for the side
_SHORT = 0.1  # of the radius, half the least length of an edge on a flat end
_FACING = 0.5  # [-] cosine between the normal and that of the face before which the rim was
_TURNS, _LARGEST = 30, 0.5  # Newton steps along a rim, and the largest one [rad]
_AIMED = 1e-15  # [rad] last step to the nearest point
_FOUND = 1e-9  # [-] slope of the distance there
_STEPS = 60  # to the direction of the least overlap
_BESIDE = 0.05  # [rad] slope beside a saddle
_SECTIONS, _GOLDEN = 16, 0.6180339887498949  # of the way between places, and their share
_SAME = 1e-6  # of the radius, between arms to one place
_PLACES = 16  # around a rim, from which those nearest to another are found


@jit
def is_rim(polytopes: Polytopes, p: int) -> bool:
    """Whether polytope p is a rim."""
    here, end = polytopes.first[p], polytopes.first[p + 1]
    return end[0] - here[0] == 2 and end[1] == here[1] and end[2] == here[2]


@jit
def _axis_of(rim: Polytope) -> Vector3:
    """Direction out of the flat end of a rim."""
    out = minus(row_of(rim.vertices, 1), row_of(rim.vertices, 0))
    return scaled(out, 1.0 / length(out))


@jit
def _least_cosine(candidates: Candidates, p: int) -> float:
    """Least cosine between the axis and a direction in which rim p is the farthest part."""
    row, shapes = candidates.polytopes.rows[p], candidates.shapes
    if candidates.kinds[row, 0] != CONE:
        return 0.0
    return -shapes[row, 12] / math.sqrt(shapes[row, 12] ** 2 + 4.0 * shapes[row, 14] ** 2)


@jit
def arm_to_line(axis: Vector3, radius: float, y: Vector3, f: Vector3) -> tuple[Vector3, bool]:
    """Arm from the centre of a rim to where it is nearest to a line; False where there is none.

    With w = a x f and b = a x w, normalised, the circle r (cos t w + sin t b) is seen along f as
    an ellipse r (cos t, e sin t), e = a . f, and the line as a point (y1, y2). At the least
    distance y1 sin t = e y2 cos t + r (1 - e^2) sin t cos t.

    Args:
        axis: direction a out of the flat end.
        radius: radius r of the rim [m].
        y: a point of the line, relative to the centre [m].
        f: unit vector along the line.
    """
    if dot(axis, f) < 0.0:
        f = scaled(f, -1.0)
    e, w = dot(axis, f), cross(axis, f)
    size = length(w)
    if size > _FOUND:
        w = scaled(w, 1.0 / size)
    else:  # seen as a circle
        aside = (1.0, 0.0, 0.0) if abs(axis[0]) < TILT else (0.0, 1.0, 0.0)
        w = cross(axis, aside)
        w = scaled(w, 1.0 / length(w))
    b, up = cross(axis, w), cross(f, w)
    y1, y2, bent = dot(y, w), dot(y, up), radius * (1.0 - e * e)
    t = math.atan2(y2, e * y1)
    if y2 < 0.0 and e < _FACING:  # deeper than the rim is high: from the point above it
        t = math.acos(min(max(y1 / radius, -1.0), 1.0))
    slope, curvature = 0.0, 0.0
    for _ in range(_TURNS):
        s, c = math.sin(t), math.cos(t)
        slope = y1 * s - e * y2 * c - bent * s * c
        curvature = y1 * c + e * y2 * s - bent * (c * c - s * s)
        step = -slope / curvature if curvature > 0.0 else -math.copysign(_LARGEST, slope)
        t += min(max(step, -_LARGEST), _LARGEST)
        if abs(step) <= _AIMED:
            break
    arm = ahead(scaled(w, radius * math.cos(t)), radius * math.sin(t), b)
    return arm, curvature > 0.0 and abs(slope) <= _FOUND * radius


@jit
def _crossing_arm(
    axis: Vector3, radius: float, y: Vector3, f: Vector3, part: int
) -> tuple[Vector3, bool]:
    """Arm from the centre to where a line along the flat end crosses the rim; see `arm_to_line`."""
    along = ahead(f, -dot(f, axis), axis)
    along = scaled(along, 1.0 / length(along))
    off = ahead(y, -dot(y, axis), axis)
    off = ahead(off, -dot(off, along), along)
    square = radius * radius - dot(off, off)
    if square < (_SHORT * radius) ** 2:
        return off, False
    return ahead(off, math.copysign(math.sqrt(square), part - 1.5), along), True


@jit
def _normal(axis: Vector3, arm: Vector3, f: Vector3, part: int) -> Vector3:
    """Normal across an edge and the tangent of a rim, into the latter; 0 where there is none."""
    n = cross(cross(axis, arm), f)
    size = length(n)
    if size <= PARALLEL * length(arm):
        return 0.0, 0.0, 0.0
    out = dot(n, arm) if part == _NEAREST else dot(n, axis)
    return scaled(n, (-1.0 if out > 0.0 else 1.0) / size)


@jit
def _way_out(candidates: Candidates, p: int, rim: Polytope, n: Vector3) -> float:
    """The least n . x of the cylinder or cone of rim p [m]."""
    row = candidates.polytopes.rows[p]
    radius, tall = candidates.shapes[row, 12], 2.0 * candidates.shapes[row, 14]
    axis, centre = _axis_of(rim), dot(n, row_of(rim.vertices, 0))
    aside = radius * math.sqrt(max(1.0 - dot(n, axis) ** 2, 0.0))
    other = centre - tall * dot(n, axis)
    if candidates.kinds[row, 0] != CONE:
        other -= aside
    return min(centre - aside, other)


@jit
def find_crossings(
    candidates: Candidates,
    pair: int,
    before: Polytope,
    a: Polytope,
    b: Polytope,
    limit: float,
    slack: float,
    features: Array,
    gaps: Array,
) -> int:
    """List the edges that a rim crosses, or may soon; their number. See `find_features`.

    Args:
        candidates: pairs that may touch.
        pair: pair of a rim and a polytope, or another rim.
        before: rim at the start.
        a: rim at the end.
        b: polytope.
        limit: largest distance of a contact [m].
        slack: distance from the ends of edges up to which they touch [m].
        features: output, kinds, parts of the rim and edges of the polytope, shape (k, 3).
        gaps: output, distances of the features [m], shape (k,).
    """
    p, n = candidates.polytopes.pairs[pair, 0], 0
    if is_rim(candidates.polytopes, candidates.polytopes.pairs[pair, 1]):
        return _find_rims(candidates, pair, a, b, limit, slack, features, gaps)
    axis, centre, radius = _axis_of(a), row_of(a.vertices, 0), a.rounding
    face, most = 0, -math.inf
    for g in range(len(b.normals)):
        gap = _way_out(candidates, p, before, row_of(b.normals, g)) - b.levels[g]
        if gap > most:
            face, most = g, gap
    least = _least_cosine(candidates, p) - _ASIDE
    for j in range(len(b.edges)):
        x, e = edge_of(b, j)
        y, f = minus(x, centre), scaled(e, 1.0 / length(e))
        flat = abs(dot(axis, f)) < _FLAT
        for part in range(_FIRST if flat else _NEAREST, _SECOND + 1 if flat else _FIRST):
            if flat:
                arm, found = _crossing_arm(axis, radius, y, f, part)
            else:
                arm, found = arm_to_line(axis, radius, y, f)
            normal, off = _normal(axis, arm, f, part), minus(arm, y)
            gap, s = dot(normal, off), dot(off, f)
            beside = max(-s, s - length(e)) > slack or -dot(normal, axis) < least
            facing = dot(normal, b.normals[face]) >= _FACING and in_cone(b, j, e, normal, TILT)
            if found and facing and not beside and gap < limit and n < len(gaps):
                features[n, 0], features[n, 1], features[n, 2], gaps[n] = RIM, part, j, gap
                n += 1
    return n


@jit
def _turned(axis: Vector3, arm: Vector3, angle: float) -> Vector3:
    """An arm across an axis, turned about it."""
    return ahead(scaled(arm, math.cos(angle)), math.sin(angle), cross(axis, arm))


@jit
def _arm_towards(axis: Vector3, radius: float, y: Vector3) -> Vector3:
    """Arm of a rim towards a point, relative to its centre."""
    arm = ahead(y, -dot(y, axis), axis)
    size = length(arm)
    return scaled(arm, radius / size) if size > 0.0 else arm


@jit
def arms_between(
    axis: Vector3, arm: Vector3, y: Vector3, other: Vector3, radius: float
) -> tuple[Vector3, Vector3, bool]:
    """Arms of two rims to where they are nearest to each other; False where that is not found.

    Newton's method for the least |p - y - x|^2 / 2 along both circles, or a saddle that is near.

    Args:
        axis: direction out of the first one.
        arm: arm p of the first one, with which to begin [m].
        y: centre of the second one, relative to that of the first [m].
        other: direction out of the second one.
        radius: its radius [m].
    """
    far, size = _arm_towards(other, radius, minus(arm, y)), dot(arm, arm)
    slope, known = math.inf, False
    for _ in range(_TURNS):
        off, e, f = minus(minus(arm, y), far), cross(axis, arm), cross(other, far)
        a, b, mixed = dot(off, e), -dot(off, f), -dot(e, f)
        own, across = size - dot(off, arm), radius * radius + dot(off, far)
        slope = max(abs(a) / size, abs(b) / (radius * radius))
        below = own * across - mixed * mixed
        known = own > 0.0 and across > 0.0 and below != 0.0
        if slope <= _AIMED:
            break
        if not known or (below < 0.0 and slope > _BESIDE):
            own, across, mixed = 2.0 * size, 2.0 * radius * radius, 0.0
            below = own * across
        dt, ds = (mixed * b - across * a) / below, (mixed * a - own * b) / below
        arm = _turned(axis, arm, min(max(dt, -_LARGEST), _LARGEST))
        far = _turned(other, far, min(max(ds, -_LARGEST), _LARGEST))
    return arm, far, known and slope <= _FOUND


@jit
def _between(axis: Vector3, arm: Vector3, least: float, n: Vector3) -> bool:
    """Whether a rim is the part of its solid that is farthest along a direction."""
    return dot(n, axis) >= least - _ASIDE and dot(n, arm) >= -_ASIDE * length(arm)


@jit
def _normal_of_rims(
    axis: Vector3, arm: Vector3, least: float, other: Vector3, far: Vector3
) -> Vector3:
    """Normal across the tangents of two rims, into the first one; 0 where there is none."""
    n = cross(cross(axis, arm), cross(other, far))
    size, radius = length(n), length(arm)
    if size <= PARALLEL * radius * length(far):
        return 0.0, 0.0, 0.0
    out = (1.0 + least) * dot(n, axis) + math.sqrt(1.0 - least * least) * dot(n, arm) / radius
    return scaled(n, (-1.0 if out > 0.0 else 1.0) / size)


@jit
def _sample(axis: Vector3, radius: float, j: int) -> Vector3:
    """Arm to place j around a rim."""
    aside = (1.0, 0.0, 0.0) if abs(axis[0]) < _FACING else (0.0, 1.0, 0.0)
    return _turned(axis, _arm_towards(axis, radius, aside), 2.0 * math.pi * j / _PLACES)


@jit
def _start(
    axis: Vector3, radius: float, j: int, y: Vector3, other: Vector3, size: float
) -> Vector3:
    """Arm to near where a rim is nearest to another, of those between the places beside place j.

    It is found by golden sections. Newton's method alone would leave for other places. The last
    place is that of the least overlap.
    """
    if j == _PLACES:
        return _arm_across(axis, radius, y, other, size)
    middle, low, high = _sample(axis, radius, j), -2.0 * math.pi / _PLACES, 2.0 * math.pi / _PLACES
    for _ in range(_SECTIONS):
        left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        one, two = _turned(axis, middle, left), _turned(axis, middle, right)
        if _apart(one, y, other, size) < _apart(two, y, other, size):
            high = right
        else:
            low = left
    return _turned(axis, middle, 0.5 * (low + high))


@jit
def _arm_across(axis: Vector3, radius: float, y: Vector3, other: Vector3, size: float) -> Vector3:
    """Arm of a rim to near where it overlaps another least: where their tangents are parallel.

    There the distance may have a saddle, and no least. The direction along which the rims are
    farthest apart is found by steps along the vector between the points that are nearest in it.
    """
    n = minus(other, axis)
    for _ in range(_STEPS):
        n = scaled(n, 1.0 / max(length(n), _FOUND))
        arm = _arm_towards(axis, radius, scaled(n, -1.0))
        off = minus(minus(arm, y), _arm_towards(other, size, n))
        one, two = length(cross(axis, n)), length(cross(other, n))  # which bend the distance
        share = one * two / max(radius * two + size * one, _FOUND)
        n = ahead(n, share, ahead(off, -dot(off, n), n))
    return _arm_towards(axis, radius, scaled(n, -1.0))


@jit
def _apart(arm: Vector3, y: Vector3, other: Vector3, size: float) -> float:
    """Distance from a place on a rim to another rim [m]."""
    off = minus(arm, y)
    return length(minus(off, _arm_towards(other, size, off)))


@jit
def _find_rims(
    candidates: Candidates,
    pair: int,
    a: Polytope,
    b: Polytope,
    limit: float,
    slack: float,
    features: Array,
    gaps: Array,
) -> int:
    """List the places where two rims touch, or may soon; their number. See `find_crossings`."""
    polytopes, n, apart = candidates.polytopes, 0, np.empty(_PLACES)
    arms = np.empty((_PLACES + 1, 3))
    p, q = polytopes.pairs[pair, 0], polytopes.pairs[pair, 1]
    axis, other, radius, size = _axis_of(a), _axis_of(b), a.rounding, b.rounding
    least, lowest = _least_cosine(candidates, p), _least_cosine(candidates, q)
    centre, there = row_of(a.vertices, 0), row_of(b.vertices, 0)
    y = minus(there, centre)
    way_out = max(
        _way_out(candidates, p, a, other) - dot(other, there),
        _way_out(candidates, q, b, axis) - dot(axis, centre),
    )
    for j in range(_PLACES):
        apart[j] = _apart(_sample(axis, radius, j), y, other, size)
    for j in range(_PLACES + 1):
        beside = j < _PLACES and apart[j] > min(apart[j - 1], apart[(j + 1) % _PLACES])
        if beside or n == len(gaps):
            continue
        arm, far, found = arms_between(
            axis, _start(axis, radius, j, y, other, size), y, other, size
        )
        normal = _normal_of_rims(axis, arm, least, other, far)
        gap = dot(normal, minus(minus(arm, y), far))
        found = found and _between(axis, arm, least, scaled(normal, -1.0))
        found = found and _between(other, far, lowest, normal) and dot(normal, normal) > 0.0
        for k in range(n):
            found = found and length(minus(arm, row_of(arms, k))) > _SAME * radius
        if found and way_out - slack - RESTING <= gap < limit:
            arms[n, 0], arms[n, 1], arms[n, 2] = arm
            features[n, 0], features[n, 1], features[n, 2], gaps[n] = RIM, _NEAREST, j, gap
            n += 1
    return n


@jit
def hold_crossing(
    candidates: Candidates, contacts: Contacts, i: int, M: Array, a: Polytope, b: Polytope
) -> None:
    """Write what is held of candidate i, of a rim a at a placement M that crosses an edge of b.

    It is the centre of the rim, and the arm to the place in the place of the normal. Without
    contacts that move it is the point that touches, and the plane.
    """
    part, j, local = contacts.features[i, 1], contacts.features[i, 2], np.empty(3)
    axis, centre, second = _axis_of(a), row_of(a.vertices, 0), candidates.pairs[i]
    second = candidates.polytopes.pairs[second, 1]
    if is_rim(candidates.polytopes, second):
        other, there = _axis_of(b), row_of(b.vertices, 0)
        y = minus(there, centre)
        start = _start(axis, a.rounding, j, y, other, b.rounding)
        arm, far, _ = arms_between(axis, start, y, other, b.rounding)
        first = candidates.polytopes.pairs[candidates.pairs[i], 0]
        n = _normal_of_rims(axis, arm, _least_cosine(candidates, first), other, far)
        x = ahead(there, 1.0, far)
    else:
        x, e = edge_of(b, j)
        f, y = scaled(e, 1.0 / length(e)), minus(x, centre)
        if part == _NEAREST:
            arm, _ = arm_to_line(axis, a.rounding, y, f)
        else:
            arm, _ = _crossing_arm(axis, a.rounding, y, f, part)
        n = _normal(axis, arm, f, part)
    rotate_back(M, np.array(arm), local)
    contacts.planes[i, 3] = dot(n, x)
    for j in range(3):
        contacts.held[i, j] = candidates.polytopes.vertices[_first_vertex(candidates, i), j]
        contacts.planes[i, j] = local[j]
        if not candidates.rolling:
            contacts.held[i, j] += local[j]
            contacts.planes[i, j] = n[j]


@jit
def _first_vertex(candidates: Candidates, i: int) -> int:
    """The vertex in the centre of the rim of candidate i."""
    first: int = candidates.polytopes.first[candidates.polytopes.pairs[candidates.pairs[i], 0], 0]
    return first


@jit
def rim_at(
    candidates: Candidates, contacts: Contacts, at: Places, i: int
) -> tuple[Vector3, Vector3, Vector3, Vector3, Vector3, Vector3, float, bool]:
    """Where the rim of contact i touches an edge or a rim; False: nowhere.

    Returns:
        The arm to the point of the rim, or of a tangent that is held; its tangent and the second
        derivative of the curve there; likewise of the other curve; normal; distance; and whether
        they touch.
    """
    c, polytopes = contacts.index[i], candidates.polytopes
    pair, part, turned = candidates.pairs[c], contacts.features[c, 1], np.empty(3)
    first, second = polytopes.pairs[pair, 0], polytopes.pairs[pair, 1]
    v, b, none = _first_vertex(candidates, c), polytope(polytopes, second), (0.0, 0.0, 0.0)
    rotate(at.placements[i], polytopes.vertices[v + 1] - polytopes.vertices[v], turned)
    radius, least = polytopes.rounding[first], _least_cosine(candidates, first)
    axis, centre = scaled((turned[0], turned[1], turned[2]), 1.0 / radius), row_of(at.centre, i)
    rotate(at.placements[i], contacts.planes[c, :3], turned)
    arm = (turned[0], turned[1], turned[2])
    if is_rim(polytopes, second):
        other, y = _axis_of(b), minus(row_of(b.vertices, 0), centre)
        arm, far, found = arms_between(axis, arm, y, other, b.rounding)
        n, tangent = _normal_of_rims(axis, arm, least, other, far), cross(axis, arm)
        found = found and _between(axis, arm, least, scaled(n, -1.0)) and dot(n, n) > 0.0
        found = found and _between(other, far, _least_cosine(candidates, second), n)
        gap, bend = dot(n, minus(minus(arm, y), far)), scaled(arm, -1.0)
        return arm, tangent, bend, cross(other, far), scaled(far, -1.0), n, gap, found
    edge, found, bend = contacts.features[c, 2], True, none
    x, e = edge_of(b, edge)
    f, y = scaled(e, 1.0 / length(e)), minus(x, centre)
    if part == _NEAREST:
        arm, found = arm_to_line(axis, radius, y, f)
        bend = scaled(arm, -1.0)
    tangent, n = cross(axis, arm), _normal(axis, arm, f, part)
    if part != _NEAREST:
        across = ahead(tangent, -dot(tangent, f), f)
        arm = ahead(arm, -dot(minus(arm, y), across) / max(dot(across, across), _AIMED), tangent)
    off = minus(arm, y)
    s = dot(off, f)
    found = found and dot(n, n) > 0.0 and max(-s, s - length(e)) <= BORDER
    found = found and -dot(n, axis) >= least - _ASIDE and in_cone(b, edge, e, n, LEVEL)
    return arm, tangent, bend, f, none, n, dot(n, off), found


@jit
def curve_rates(
    arm: Vector3,
    tangent: Vector3,
    bend: Vector3,
    other: Vector3,
    other_bend: Vector3,
    gap: float,
    n: Vector3,
    radius: float,
    N: Array,
    L: Array,
) -> None:
    """Derivatives of normal and arm where two curves touch, by a motion of the first, (3, 6).

    The curves p(t) and x(s), with tangents e and f and second derivatives b and k, are nearest
    where p - x = g n is across both. With dp = dc + dphi x arm + e dt, de = dphi x e + b dt, and
    dx = f ds, df = k ds,

        (e . e + g n . b) dt - e . f ds = -(dc + dphi x arm) . e - g n . (dphi x e),
        e . f dt - (f . f - g n . k) ds = -(dc + dphi x arm) . f,

    and n = +-e x f / |e x f| has dn = (1 - n n') (de x f + e x df) / |e x f|. The point of the
    force is at arm - r n.

    Args:
        arm: from the centre to the point of the first curve [m].
        tangent: e [m].
        bend: b [m].
        other: f [m].
        other_bend: k [m].
        gap: g [m].
        n: normal.
        radius: radius r by which the first curve is rounded [m].
        N: output, derivatives of the normal.
        L: output, derivatives of the arm with its rounding.
    """
    both, mixed = cross(tangent, other), dot(tangent, other)
    scale = (1.0 if dot(both, n) > 0.0 else -1.0) / length(both)
    own, across = dot(tangent, tangent) + gap * dot(n, bend), dot(other, other)
    across -= gap * dot(n, other_bend)
    below = mixed * mixed - own * across
    for k in range(6):
        dc = (1.0 if k == 0 else 0.0, 1.0 if k == 1 else 0.0, 1.0 if k == 2 else 0.0)
        turn = (1.0 if k == 3 else 0.0, 1.0 if k == 4 else 0.0, 1.0 if k == 5 else 0.0)
        swing, de = cross(turn, arm), cross(turn, tangent)
        moved = ahead(dc, 1.0, swing)
        a, b = -dot(moved, tangent) - gap * dot(n, de), -dot(moved, other)
        dt, ds = (mixed * b - across * a) / below, (own * b - mixed * a) / below
        dn = ahead(cross(ahead(de, dt, bend), other), ds, cross(tangent, other_bend))
        dn = scaled(dn, scale)
        dn = ahead(dn, -dot(n, dn), n)
        for j in range(3):
            N[j, k] = dn[j]
            L[j, k] = swing[j] + dt * tangent[j] - radius * dn[j]


@jit
def rim_rates(
    candidates: Candidates, contacts: Contacts, at: Places, i: int, N: Array, L: Array
) -> None:
    """Derivatives of normal and arm of contact i, of a rim, by a motion of it, shapes (3, 6)."""
    arm, e, bend, f, other_bend, n, gap, _ = rim_at(candidates, contacts, at, i)
    curve_rates(arm, e, bend, f, other_bend, gap, n, 0.0, N, L)
