"""Edges, flat and rounded, on the sides of cones and on ellipsoids.

An edge touches a convex solid where the signed distance along it is least. In the table of
polytopes such a solid has one vertex, its centre, and is the second of a pair.
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
    times,
)
from nmdp_pin._kernels.compiler.jit import Array, deferred, jit
from nmdp_pin._kernels.compiler.record import matrix, vector, zero_matrix
from nmdp_pin._kernels.geometry.contacts import ContactFrames, ContactPairs, Contacts
from nmdp_pin._kernels.geometry.polytopes import (
    ASIDE,
    BORDER,
    ON_ROUND,
    PARALLEL,
    RESTING,
    TILT,
    Polytope,
    edge_of,
    in_cone,
    polytope,
    row_of,
)
from nmdp_pin._kernels.geometry.primitives import CONE
from nmdp_pin._kernels.geometry.shape_table import KIND, SIZES, axis_of, tip_sine
from nmdp_pin._kernels.geometry.terrain import describe, shape_distance, turn_tensor

_TURNS, _AIMED = 60, 1e-13  # Newton steps along an edge, and the last one, of the edge
_FOUND = 1e-7  # [-] slope of the distance at the nearest point


@jit
def _nearest_on(
    candidates: ContactPairs, row: int, p: Vector3, e: Vector3, own: Array, H: Array
) -> tuple[float, float, Vector3, bool]:
    """Where the distance to a solid is least on p + s e: s, distance [m], normal; False: nowhere.

    The distance is convex: Newton's method is kept between places where it falls and rises.

    Args:
        candidates: pairs that may touch.
        row: row of the solid.
        p: beginning of the edge [m].
        e: vector to its end [m].
        own: workspace, shape (3, 3).
        H: output, curvature there [1/m], shape (1, 3, 3).
    """
    low, high, s, size = 0.0, 1.0, 0.5, length(e)
    phi, n, bends, slope, bent = 0.0, e, False, 0.0, 0.0
    for _ in range(_TURNS):
        x = axpy(p, s, e)
        phi = shape_distance(candidates.kinds, candidates.shapes, row, x)
        n, bends = describe(candidates.kinds, candidates.shapes, row, x, phi, own)
        slope, bent = dot(n, e), 0.0
        if bends:
            turn_tensor(candidates.shapes, row, own, H, 0)
            bent = dot(e, times(H[0], e))
        if slope > 0.0:
            high = s
        else:
            low = s
        t = s - slope / bent if bent > 0.0 else 0.5 * (low + high)
        if not low < t < high:
            t = 0.5 * (low + high)
        if abs(t - s) <= _AIMED:
            break
        s = t
    straight = H[0, 0, 0] + H[0, 1, 1] + H[0, 2, 2]
    across = bends and bent > PARALLEL * PARALLEL * size * size * straight
    return s, phi, n, across and abs(slope) <= _FOUND * size


@jit
def _line_of_cone(
    shapes: Array, row: int, p: Vector3, e: Vector3, turn: float
) -> tuple[float, float, Vector3, bool]:
    """Where p + s e, in a cone, touches a straight line of its side; see `_nearest_on`.

    The normal is across the edge and leaves the axis a by n . a = k, the sine of half the angle of
    the tip: n = (k / b . b) b +- sqrt(1 - k^2 / b . b) f x b / |b|, with the direction f of the
    edge and b = a - (a . f) f. The edge touches in the plane of the axis and n.
    """
    axis, tall = axis_of(shapes, row, 2), 2.0 * shapes[row, SIZES + 2]
    slant, size = math.hypot(shapes[row, SIZES], tall), length(e)
    k, tip = tip_sine(shapes, row), axpy(row_of(shapes, row), 0.5 * tall, axis)
    f = scaled(e, 1.0 / size)
    b = axpy(axis, -dot(axis, f), f)
    square = dot(b, b)
    if square <= k * k:
        return 0.0, 0.0, f, False
    n = scaled(cross(f, b), turn * math.sqrt((1.0 - k * k / square) / square))
    n = axpy(n, k / square, b)
    m = cross(axis, n)
    if abs(dot(m, f)) <= PARALLEL * length(m):
        return 0.0, 0.0, n, False
    s = dot(m, minus(tip, p)) / dot(m, e)
    off = minus(axpy(p, s, e), tip)
    down = (k * dot(off, n) - dot(off, axis)) / math.sqrt(1.0 - k * k)
    inside = 0.0 <= down <= slant and max(-s, s - 1.0) * size <= BORDER
    return s, dot(off, n), n, inside


@jit
def _least_of_cone(shapes: Array, row: int, n: Vector3) -> float:
    """The least n . x of a cone [m]."""
    axis, half = axis_of(shapes, row, 2), shapes[row, SIZES + 2]
    tip, base = axpy(row_of(shapes, row), half, axis), axpy(row_of(shapes, row), -half, axis)
    along = dot(n, axis)
    value: float = min(
        dot(n, tip), dot(n, base) - shapes[row, SIZES] * math.sqrt(max(1.0 - along * along, 0.0))
    )
    return value


@jit
def _touch(
    candidates: ContactPairs,
    row: int,
    a: Polytope,
    j: int,
    M: Array,
    p: Vector3,
    e: Vector3,
    H: Array,
) -> tuple[float, float, Vector3, bool]:
    """Where edge j of a touches a solid, from p to p + e at the placement M of a.

    An edge that overlaps a cone touches one of two straight lines, that in which it does less. The
    rim of a cone has contacts of its own.
    """
    own, turned, least, lines = matrix(3, 3), vector(3), -math.inf, 0
    s, phi, n, found = _nearest_on(candidates, row, p, e, own, H)
    if candidates.kinds[row, KIND] == CONE:
        least_sine = tip_sine(candidates.shapes, row) - ASIDE
        found = found and dot(n, axis_of(candidates.shapes, row, 2)) >= least_sine
        if phi < 0.0 or a.edges[j, 2] >= 0:
            lines = 2
            found = found and phi >= 0.0
    t, gap, d = s, phi, n
    for k in range(lines + 1):
        if k > 0:
            t, gap, d, found = _line_of_cone(candidates.shapes, row, p, e, 2.0 * k - 3.0)
            found = found and gap < 0.0
        rotate_back(M, np.array(d), turned)
        inward = (-turned[0], -turned[1], -turned[2])
        if found and gap > least and in_cone(a, j, edge_of(a, j)[1], inward, TILT):
            s, least, n = t, gap, d
    return s, least, n, least > -math.inf


@jit
def _touch_at_rest(
    candidates: ContactPairs, row: int, a: Polytope, j: int, H: Array
) -> tuple[float, float, Vector3, bool]:
    """Where edge j of a touches a solid, in the frame of which a is; see `_touch`."""
    still, (p, e) = zero_matrix(4, 3), edge_of(a, j)
    still[0, 0] = still[1, 1] = still[2, 2] = 1.0
    return _touch(candidates, row, a, j, still, p, e, H)


@deferred
def find_sides(
    candidates: ContactPairs,
    pair: int,
    a: Polytope,
    limit: float,
    features: Array,
    gaps: Array,
) -> int:
    """List the edges of a that touch a solid, or may soon; their number. See `find_features`."""
    second = candidates.polytopes.pairs[pair, 1]
    row, n = candidates.polytopes.rows[second], 0
    H, least = np.empty((1, 3, 3)), -math.inf
    centre, size = row_of(candidates.polytopes.centres, second), candidates.polytopes.sizes[second]
    if candidates.kinds[row, KIND] == CONE:
        for f in range(len(a.normals)):
            out = row_of(a.normals, f)
            least = max(least, _least_of_cone(candidates.shapes, row, out) - a.levels[f] - RESTING)
    for j in range(len(a.edges)):
        p, e = edge_of(a, j)
        reach = size + a.rounding + 0.5 * length(e) + limit
        if length(minus(axpy(p, 0.5, e), centre)) > reach or n == len(gaps):
            continue
        _, phi, _, found = _touch_at_rest(candidates, row, a, j, H)
        gap = phi - a.rounding
        if found and least <= gap < limit:
            features[n, 0], features[n, 1], features[n, 2], gaps[n] = ON_ROUND, j, 0, gap
            n += 1
    return n


@deferred
def freeze_side(candidates: ContactPairs, contacts: Contacts, i: int, a: Polytope) -> None:
    """Write what is held of candidate i, of an edge of a on a solid, in the frame of the latter.

    It is the beginning of the edge; without contacts that move it is the point that touches, and
    the plane.
    """
    polytopes, pair = candidates.polytopes, candidates.pairs[i]
    row, edge = polytopes.rows[polytopes.pairs[pair, 1]], contacts.features[i, 1]
    one, (p, e) = polytope(polytopes, polytopes.pairs[pair, 0]), edge_of(a, edge)
    H = np.empty((1, 3, 3))
    s, phi, n, _ = _touch_at_rest(candidates, row, a, edge, H)
    start, along = edge_of(one, edge)
    held = start if contacts.rolling else axpy(start, s, along)
    for j in range(3):
        contacts.held[i, j], contacts.planes[i, j] = held[j], n[j]
    contacts.planes[i, 3] = dot(n, axpy(p, s, e)) - phi


@deferred
def side_at_edge(
    candidates: ContactPairs, contacts: Contacts, at: ContactFrames, i: int, H: Array
) -> tuple[Vector3, float, Vector3, float, bool]:
    """Edge e of contact i, s where it touches, normal and distance [m]; False: it does not.

    The edge begins at the centre; H is written as by `_nearest_on`.
    """
    c, polytopes = contacts.index[i], candidates.polytopes
    pair, edge, turned = candidates.pairs[c], contacts.features[c, 1], vector(3)
    one = polytope(polytopes, polytopes.pairs[pair, 0])
    rotate(at.placements[i], np.array(edge_of(one, edge)[1]), turned)
    e, row = (turned[0], turned[1], turned[2]), polytopes.rows[polytopes.pairs[pair, 1]]
    p = row_of(at.centre, i)
    s, phi, n, found = _touch(candidates, row, one, edge, at.placements[i], p, e, H)
    return e, s, n, phi, found


@deferred
def round_rates(
    candidates: ContactPairs, contacts: Contacts, at: ContactFrames, i: int, N: Array, L: Array
) -> None:
    """Derivatives of normal and arm of contact i, of an edge on a solid, by a motion: (3, 6).

    The point y = c + s e with n . e = 0 moves by dc + dphi x s e + ds e, and n by dn = H dy; then
    ds = -(n . (dphi x e) + e . H (dc + dphi x s e)) / (e . H e). The arm is s e - r n.

    In a cone n moves along m = a x n: dn = -(n . (dphi x e) / m . e) m. The plane of the axis and n
    turns by a x dn, in which y stays: ds = -(m . (dc + dphi x s e) + (a x dn) . (y - x)) / m . e,
    with the tip x.
    """
    H, polytopes, pair = np.empty((1, 3, 3)), candidates.polytopes, candidates.pairs
    e, s, n, phi, _ = side_at_edge(candidates, contacts, at, i, H)
    first, second = polytopes.pairs[pair[contacts.index[i]]]
    radius, row, shapes = polytopes.rounding[first], polytopes.rows[second], candidates.shapes
    inside, axis = candidates.kinds[row, KIND] == CONE and phi < 0.0, axis_of(shapes, row, 2)
    tip, m = axpy(row_of(shapes, row), shapes[row, SIZES + 2], axis), cross(axis, n)
    off = minus(axpy(row_of(at.centre, i), s, e), tip)
    for k in range(6):
        dc = (1.0 if k == 0 else 0.0, 1.0 if k == 1 else 0.0, 1.0 if k == 2 else 0.0)
        turn = (1.0 if k == 3 else 0.0, 1.0 if k == 4 else 0.0, 1.0 if k == 5 else 0.0)
        de = cross(turn, e)
        dy = axpy(dc, s, de)
        if inside:
            dn = scaled(m, -dot(n, de) / dot(m, e))
            ds = -(dot(m, dy) + dot(cross(axis, dn), off)) / dot(m, e)
        else:
            bent = times(H[0], e)
            ds = -(dot(n, de) + dot(bent, dy)) / dot(bent, e)
            dn = times(H[0], axpy(dy, ds, e))
        for j in range(3):
            N[j, k] = dn[j]
            L[j, k] = s * de[j] + ds * e[j] - radius * dn[j]
