"""Sides of two cones that cross, along a straight line of each.

The normal n out of cone b leaves both axes by the angles of their sides: n . a = -k and n . b = l,
with the sines k and l of half the angles of the tips. There are two such normals, one on each side
of the plane of the axes. The cones touch by the one on the side on which they begin the step.

In the table of polytopes a cone has one vertex, its tip, and one normal, its axis.
"""

from __future__ import annotations

import math

import numpy as np

from nmdp_pin._kernels.algebra.vector3 import (
    Vector3,
    axpy,
    cross,
    dot,
    minus,
    rotate,
    rotate_back,
    scaled,
)
from nmdp_pin._kernels.compiler.jit import Array, jit
from nmdp_pin._kernels.geometry.contacts import ContactFrames, ContactPairs, Contacts
from nmdp_pin._kernels.geometry.polytopes import (
    BORDER,
    CROSSED_ROUND,
    PARALLEL,
    Polytope,
    crossing,
    polytope,
    row_of,
)
from nmdp_pin._kernels.geometry.shape_table import SIZES, tip_sine
from nmdp_pin._kernels.geometry.terrain import shape_distance


@jit
def _slope_of(candidates: ContactPairs, p: int) -> tuple[float, float]:
    """Sine of half the angle of the tip of cone p, and how far its tip is from its rim [m]."""
    row, shapes = candidates.polytopes.rows[p], candidates.shapes
    k = tip_sine(shapes, row)
    return k, shapes[row, SIZES] / k


@jit
def _crossing(
    candidates: ContactPairs, pair: int, side: float, p: Vector3, a: Vector3
) -> tuple[Vector3, Vector3, float, float, float]:
    """Where the sides of two cones cross.

    Args:
        candidates: pairs that may touch.
        pair: pair of cones.
        side: 1 or -1, the side of the plane of the axes.
        p: tip of the first one [m].
        a: its axis.

    Returns:
        Line e of the first cone from the tip to the rim; normal; distance; s, the crossing being at
        p + s e; and how far it is beyond the ends of the lines, inf: nowhere, -inf deep.
    """
    first, second = candidates.polytopes.pairs[pair]
    other = polytope(candidates.polytopes, second)
    q, b = row_of(other.vertices, 0), row_of(other.normals, 0)
    (k, far), (l, size) = _slope_of(candidates, first), _slope_of(candidates, second)
    across, c = cross(a, b), dot(a, b)
    square = max(dot(across, across), PARALLEL * PARALLEL)
    flat = scaled(axpy(scaled(a, -(k + c * l)), l + c * k, b), 1.0 / square)
    rest = 1.0 - dot(flat, flat)
    if min(dot(across, across), rest) <= PARALLEL * PARALLEL:
        return a, a, -math.inf, 0.0, math.inf
    n = axpy(flat, side * math.sqrt(rest / square), across)
    e = scaled(axpy(a, k, n), -far / math.sqrt(1.0 - k * k))
    f = scaled(axpy(b, -l, n), -size / math.sqrt(1.0 - l * l))
    s, t = crossing(p, e, q, f)
    beyond = max(max(-s, s - 1.0) * far, max(-t, t - 1.0) * size)
    return e, n, dot(n, minus(p, q)), s, beyond


@jit
def find_cones(
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
    """List the crossing of the sides of two cones, or none; their number. See `find_features`."""
    p, axis = row_of(before.vertices, 0), row_of(before.normals, 0)
    above = dot(cross(axis, row_of(b.normals, 0)), minus(p, row_of(b.vertices, 0)))
    part = 1 if above >= 0.0 else 0
    side, row = 2.0 * part - 1.0, candidates.polytopes.rows[candidates.polytopes.pairs[pair, 1]]
    e, _, start, s, _ = _crossing(candidates, pair, side, p, axis)
    within = shape_distance(candidates.kinds, candidates.shapes, row, axpy(p, s, e))
    _, _, gap, _, beyond = _crossing(
        candidates, pair, side, row_of(a.vertices, 0), row_of(a.normals, 0)
    )
    if not (gap < limit and beyond <= feature_margin) or min(within, 0.0) > start + BORDER:
        return 0
    features[0, 0], features[0, 1], features[0, 2], gaps[0] = CROSSED_ROUND, part, 0, gap
    return 1


@jit
def freeze_cones(
    candidates: ContactPairs, contacts: Contacts, i: int, M: Array, a: Polytope
) -> None:
    """Write what is held of candidate i, of two cones, the first one at a placement M.

    It is the tip. Without contacts that move it is the point that touches, and the plane.
    """
    p, local, side = row_of(a.vertices, 0), np.empty(3), 2.0 * contacts.features[i, 1] - 1.0
    e, n, gap, s, _ = _crossing(candidates, candidates.pairs[i], side, p, row_of(a.normals, 0))
    first = candidates.polytopes.pairs[candidates.pairs[i], 0]
    rotate_back(M, np.array(scaled(e, 0.0 if contacts.rolling else s)), local)
    for j in range(3):
        contacts.held[i, j] = polytope(candidates.polytopes, first).vertices[0, j] + local[j]
        contacts.planes[i, j] = n[j]
    contacts.planes[i, 3] = dot(n, p) - gap


@jit
def cones_at(
    candidates: ContactPairs, contacts: Contacts, at: ContactFrames, i: int
) -> tuple[Vector3, Vector3, Vector3, float, float, bool]:
    """Axis of the first cone of contact i, its line, normal, distance and s; False: they do not."""
    c, turned = contacts.index[i], np.empty(3)
    one = polytope(candidates.polytopes, candidates.polytopes.pairs[candidates.pairs[c], 0])
    rotate(at.placements[i], one.normals[0], turned)
    axis, side = (turned[0], turned[1], turned[2]), 2.0 * contacts.features[c, 1] - 1.0
    e, n, gap, s, beyond = _crossing(
        candidates, candidates.pairs[c], side, row_of(at.centre, i), axis
    )
    return axis, e, n, gap, s, beyond <= contacts.feature_margin[c, 0]


@jit
def cone_rates(
    candidates: ContactPairs, contacts: Contacts, at: ContactFrames, i: int, N: Array, L: Array
) -> None:
    """Derivatives of normal and arm of contact i, of two cones, by a motion, shapes (3, 6).

    The normal moves along m = b x n, and stays at its angle from a: dn = -(n . da / m . a) m. The
    crossing y = p + s e, with e = -c (a + k n), stays in the plane of b and n: m . (y - q) = 0.
    """
    polytopes, c = candidates.polytopes, contacts.index[i]
    first, second = polytopes.pairs[candidates.pairs[c]]
    other = polytope(polytopes, second)
    b, p = row_of(other.normals, 0), row_of(at.centre, i)
    a, e, n, _, s, _ = cones_at(candidates, contacts, at, i)
    k, far = _slope_of(candidates, first)
    m, off = cross(b, n), minus(axpy(p, s, e), row_of(other.vertices, 0))
    for j in range(6):
        dc = (1.0 if j == 0 else 0.0, 1.0 if j == 1 else 0.0, 1.0 if j == 2 else 0.0)
        turn = (1.0 if j == 3 else 0.0, 1.0 if j == 4 else 0.0, 1.0 if j == 5 else 0.0)
        da = cross(turn, a)
        dn = scaled(m, -dot(n, da) / dot(m, a))
        de = scaled(axpy(da, k, dn), -far / math.sqrt(1.0 - k * k))
        ds = -(dot(m, axpy(dc, s, de)) + dot(cross(b, dn), off)) / dot(m, e)
        slide = axpy(scaled(de, s), ds, e)
        for r in range(3):
            N[r, j], L[r, j] = dn[r], slide[r]
