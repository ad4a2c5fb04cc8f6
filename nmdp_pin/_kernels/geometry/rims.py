"""Rims of cylinders and cones that cross edges of polytopes, or each other.

A rim touches an edge where the distance of the circle to the line is least: the vector between them
is across both, and the normal is across the tangent of the rim and the edge. Where an edge lies
along the flat end it crosses the rim twice, and touches two tangents, which are held during a step.
Two rims touch where their distance is least, at up to four places.

In the tables of polytopes a rim has two vertices, its centre and the one a radius further out along
the axis, and neither faces nor edges. It is the first of a pair.
"""

from __future__ import annotations

import math

import numpy as np

from nmdp_pin._kernels.algebra.vector3 import (
    Vector3,
    axpy,
    cross,
    dot,
    length,
    minus,
    rotate,
    rotate_back,
    scaled,
)
from nmdp_pin._kernels.compiler.jit import Array, deferred, jit
from nmdp_pin._kernels.compiler.record import vector
from nmdp_pin._kernels.geometry.circles import (
    FIRST_CROSSING,
    NEAREST,
    PLACES,
    arm_to_line,
    arms_between,
    crossing_arm,
    is_nearest,
    normal_of_circles,
    normal_to_line,
    start_of,
)
from nmdp_pin._kernels.geometry.contacts import ContactFrames, ContactPairs, Contacts
from nmdp_pin._kernels.geometry.polytopes import (
    ASIDE,
    CROSSED_ROUND,
    LEVEL,
    PARALLEL,
    RESTING,
    TILT,
    Polytope,
    edge_of,
    in_cone,
    is_rim,
    polytope,
    row_of,
)
from nmdp_pin._kernels.geometry.primitives import CONE
from nmdp_pin._kernels.geometry.shape_table import KIND, SIZES, tip_sine

_FLAT = 0.05  # [-] cosine between axis and edge below which the edge lies along the flat end
_SHORT = 0.1  # of the radius, half the length of a chord in which crossings are close
_BESIDE = 0.1  # [-] likewise at edges, which as good as touch the side and the other rim
_FACING = 0.5  # [-] cosine between the normal and that of the face before which the rim was
_ALONG = 1e-15  # [m^2] below which a tangent of a rim has no part across an edge
_SAME = 1e-6  # of the radius, between arms to one place


@jit
def _rim_axis(rim: Polytope) -> Vector3:
    """Direction out of the flat end of a rim."""
    out = minus(row_of(rim.vertices, 1), row_of(rim.vertices, 0))
    return scaled(out, 1.0 / length(out))


@jit
def _least_cosine(candidates: ContactPairs, p: int) -> float:
    """Least cosine between the axis and a direction in which rim p is the farthest part."""
    row = candidates.polytopes.rows[p]
    return -tip_sine(candidates.shapes, row) if candidates.kinds[row, KIND] == CONE else 0.0


@jit
def least_height(candidates: ContactPairs, p: int, rim: Polytope, n: Vector3) -> float:
    """The least n . x of the cylinder or cone of rim p [m]."""
    row = candidates.polytopes.rows[p]
    radius, tall = candidates.shapes[row, SIZES], 2.0 * candidates.shapes[row, SIZES + 2]
    axis, centre = _rim_axis(rim), dot(n, row_of(rim.vertices, 0))
    aside = radius * math.sqrt(max(1.0 - dot(n, axis) ** 2, 0.0))
    other = centre - tall * dot(n, axis)
    if candidates.kinds[row, KIND] != CONE:
        other -= aside
    value: float = min(centre - aside, other)
    return value


@deferred
def find_crossings(
    candidates: ContactPairs,
    pair: int,
    before: Polytope,
    a: Polytope,
    b: Polytope,
    limit: float,
    feature_margin: float,
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
        feature_margin: distance from the ends of edges up to which they touch [m].
        features: output, kinds, parts of the rim and edges of the polytope, shape (k, 3).
        gaps: output, distances of the features [m], shape (k,).
    """
    p, n = candidates.polytopes.pairs[pair, 0], 0
    if is_rim(candidates.polytopes, candidates.polytopes.pairs[pair, 1]):
        return _find_rims(candidates, pair, a, b, limit, features, gaps)
    axis, centre, radius = _rim_axis(a), row_of(a.vertices, 0), a.rounding
    face, most = 0, -math.inf
    for g in range(len(b.normals)):
        gap = least_height(candidates, p, before, row_of(b.normals, g)) - b.levels[g]
        if gap > most:
            face, most = g, gap
    least = _least_cosine(candidates, p) - _BESIDE
    for j in range(len(b.edges)):
        x, e = edge_of(b, j)
        y, f = minus(x, centre), scaled(e, 1.0 / length(e))
        if _is_far(radius, y, f, length(e), limit, feature_margin):
            continue
        first = _first_part(axis, radius, y, f)
        for part in range(first, 2 * first + 1):
            if part == NEAREST:
                arm, found = arm_to_line(axis, radius, y, f)
            else:
                arm, found = crossing_arm(axis, radius, y, f, part)[0], True
            normal, off = normal_to_line(axis, arm, f, part), minus(arm, y)
            gap, s = dot(normal, off), dot(off, f)
            beside = max(-s, s - length(e)) > feature_margin or -dot(normal, axis) < least
            if not found or beside or not gap < limit or not in_cone(b, j, e, normal, TILT):
                continue
            apart = least_height(candidates, p, before, normal) - dot(normal, x)
            facing = dot(normal, b.normals[face]) >= _FACING or apart >= min(most, -RESTING)
            if facing and n < len(gaps):
                features[n, 0], features[n, 1], features[n, 2] = CROSSED_ROUND, part, j
                gaps[n] = gap
                n += 1
    return n


@jit
def _is_far(
    radius: float, y: Vector3, f: Vector3, size: float, limit: float, margin: float
) -> bool:
    """Whether an edge is beyond a limit of the ball around a rim, or the ball beyond its ends."""
    s = -dot(y, f)
    aside = dot(y, y) - s * s
    return max(-s, s - size) > radius + margin or aside > (radius + limit) ** 2


@jit
def _first_part(axis: Vector3, radius: float, y: Vector3, f: Vector3) -> int:
    """FIRST_CROSSING where a line lies along the flat end and crosses the rim, or else NEAREST.

    Where the crossings are close to each other, the rim is nearest between them, unless it is
    parallel to the line there.
    """
    if abs(dot(axis, f)) >= _FLAT:
        return NEAREST
    _, chord = crossing_arm(axis, radius, y, f, FIRST_CROSSING)
    arm, found = arm_to_line(axis, radius, y, f)
    n = normal_to_line(axis, arm, f, NEAREST)
    alone = chord < _SHORT * radius and found and dot(n, n) > 0.0
    return NEAREST if alone or chord == 0.0 else FIRST_CROSSING


@jit
def _between(axis: Vector3, arm: Vector3, least: float, n: Vector3) -> bool:
    """Whether a rim is the part of its solid that is farthest along a direction."""
    return dot(n, axis) >= least - ASIDE and dot(n, arm) >= -ASIDE * length(arm)


@jit
def _find_rims(
    candidates: ContactPairs,
    pair: int,
    a: Polytope,
    b: Polytope,
    limit: float,
    features: Array,
    gaps: Array,
) -> int:
    """List the places where two rims touch, or may soon; their number. See `find_crossings`."""
    polytopes, n, arms = candidates.polytopes, 0, np.empty((PLACES + 1, 3))
    p, q = polytopes.pairs[pair, 0], polytopes.pairs[pair, 1]
    axis, other, radius, size = _rim_axis(a), _rim_axis(b), a.rounding, b.rounding
    least, lowest = _least_cosine(candidates, p), _least_cosine(candidates, q)
    centre, there = row_of(a.vertices, 0), row_of(b.vertices, 0)
    y = minus(there, centre)
    across = cross(axis, other)
    way_out = max(
        least_height(candidates, p, a, other) - dot(other, there),
        least_height(candidates, q, b, axis) - dot(axis, centre),
        abs(dot(across, y)) / max(length(across), PARALLEL) - radius - size,
    )
    for j in range(PLACES + 1):
        if n == len(gaps) or not is_nearest(axis, radius, j, y, other, size):
            continue
        arm, far, found = arms_between(
            axis, start_of(axis, radius, j, y, other, size), y, other, size
        )
        normal = normal_of_circles(axis, arm, least, other, far)
        gap = dot(normal, minus(minus(arm, y), far))
        found = found and _between(axis, arm, least, scaled(normal, -1.0))
        found = found and _between(other, far, lowest, normal) and dot(normal, normal) > 0.0
        for k in range(n):
            found = found and length(minus(arm, row_of(arms, k))) > _SAME * radius
        aside, out = scaled(far, 1.0 / size), scaled(arm, 1.0 / radius)
        sideways = max(
            least_height(candidates, p, a, aside) - dot(aside, there) - size,
            least_height(candidates, q, b, out) - dot(out, centre) - radius,
        )
        if found and max(way_out, sideways) - RESTING <= gap < limit:
            arms[n, 0], arms[n, 1], arms[n, 2] = arm
            features[n, 0], features[n, 1], features[n, 2], gaps[n] = CROSSED_ROUND, NEAREST, j, gap
            n += 1
    return n


@deferred
def freeze_crossing(
    candidates: ContactPairs, contacts: Contacts, i: int, M: Array, a: Polytope, b: Polytope
) -> None:
    """Write what is held of candidate i, of a rim a at a placement M that crosses an edge of b.

    It is the centre of the rim, and the arm to the place in the place of the normal. Without
    contacts that move it is the point that touches, and the plane.
    """
    part, j, local = contacts.features[i, 1], contacts.features[i, 2], vector(3)
    axis, centre, second = _rim_axis(a), row_of(a.vertices, 0), candidates.pairs[i]
    second = candidates.polytopes.pairs[second, 1]
    if is_rim(candidates.polytopes, second):
        other, there = _rim_axis(b), row_of(b.vertices, 0)
        y = minus(there, centre)
        start = start_of(axis, a.rounding, j, y, other, b.rounding)
        arm, far, _ = arms_between(axis, start, y, other, b.rounding)
        first = candidates.polytopes.pairs[candidates.pairs[i], 0]
        n = normal_of_circles(axis, arm, _least_cosine(candidates, first), other, far)
        x = axpy(there, 1.0, far)
    else:
        x, e = edge_of(b, j)
        f, y = scaled(e, 1.0 / length(e)), minus(x, centre)
        if part == NEAREST:
            arm, _ = arm_to_line(axis, a.rounding, y, f)
        else:
            arm, _ = crossing_arm(axis, a.rounding, y, f, part)
        n = normal_to_line(axis, arm, f, part)
    rotate_back(M, np.array(arm), local)
    contacts.planes[i, 3] = dot(n, x)
    for j in range(3):
        contacts.held[i, j] = candidates.polytopes.vertices[_first_vertex(candidates, i), j]
        contacts.planes[i, j] = local[j]
        if not contacts.rolling:
            contacts.held[i, j] += local[j]
            contacts.planes[i, j] = n[j]


@jit
def _first_vertex(candidates: ContactPairs, i: int) -> int:
    """The vertex in the centre of the rim of candidate i."""
    first: int = candidates.polytopes.first[candidates.polytopes.pairs[candidates.pairs[i], 0], 0]
    return first


@deferred
def rim_at(
    candidates: ContactPairs, contacts: Contacts, at: ContactFrames, i: int
) -> tuple[Vector3, Vector3, Vector3, Vector3, Vector3, Vector3, float, bool]:
    """Where the rim of contact i touches an edge or a rim; False: nowhere.

    Returns:
        The arm to the point of the rim, or of a tangent that is held; its tangent and the second
        derivative of the curve there; likewise of the other curve; normal; distance; and whether
        they touch.
    """
    c, polytopes = contacts.index[i], candidates.polytopes
    pair, part, turned = candidates.pairs[c], contacts.features[c, 1], vector(3)
    first, second = polytopes.pairs[pair, 0], polytopes.pairs[pair, 1]
    v, b, none = _first_vertex(candidates, c), polytope(polytopes, second), (0.0, 0.0, 0.0)
    rotate(at.placements[i], polytopes.vertices[v + 1] - polytopes.vertices[v], turned)
    radius, least = polytopes.rounding[first], _least_cosine(candidates, first)
    axis, centre = scaled((turned[0], turned[1], turned[2]), 1.0 / radius), row_of(at.centre, i)
    rotate(at.placements[i], contacts.planes[c, :3], turned)
    arm = (turned[0], turned[1], turned[2])
    if is_rim(polytopes, second):
        other, y = _rim_axis(b), minus(row_of(b.vertices, 0), centre)
        arm, far, found = arms_between(axis, arm, y, other, b.rounding)
        n, tangent = normal_of_circles(axis, arm, least, other, far), cross(axis, arm)
        found = found and _between(axis, arm, least, scaled(n, -1.0)) and dot(n, n) > 0.0
        found = found and _between(other, far, _least_cosine(candidates, second), n)
        gap, bend = dot(n, minus(minus(arm, y), far)), scaled(arm, -1.0)
        return arm, tangent, bend, cross(other, far), scaled(far, -1.0), n, gap, found
    edge, found, bend = contacts.features[c, 2], True, none
    x, e = edge_of(b, edge)
    f, y = scaled(e, 1.0 / length(e)), minus(x, centre)
    if part == NEAREST:
        arm, found = arm_to_line(axis, radius, y, f)
        bend = scaled(arm, -1.0)
    tangent, n = cross(axis, arm), normal_to_line(axis, arm, f, part)
    if part != NEAREST:
        across = axpy(tangent, -dot(tangent, f), f)
        arm = axpy(arm, -dot(minus(arm, y), across) / max(dot(across, across), _ALONG), tangent)
    off = minus(arm, y)
    s = dot(off, f)
    found = found and dot(n, n) > 0.0 and max(-s, s - length(e)) <= contacts.feature_margin[c, 0]
    tilt = LEVEL if part == NEAREST else ASIDE  # of a flat end that lies on a face
    found = found and -dot(n, axis) >= least - _BESIDE and in_cone(b, edge, e, n, tilt)
    return arm, tangent, bend, f, none, n, dot(n, off), found
