"""Contacts of two polytopes: vertices on faces, and edges that cross; see `contacts`."""

from __future__ import annotations

import math

import numpy as np

from nmdp_pin._kernels.algebra.vector3 import (
    Vector3,
    cross,
    dot,
    length,
    minus,
    rotate,
    scaled,
)
from nmdp_pin._kernels.compiler.jit import Array, jit
from nmdp_pin._kernels.compiler.record import vector
from nmdp_pin._kernels.geometry.contacts import (
    LOST,
    MOST_LOSSES,
    REACH,
    ContactFrames,
    ContactPairs,
    Contacts,
)
from nmdp_pin._kernels.geometry.curves import curve_rates
from nmdp_pin._kernels.geometry.polytopes import (
    CROSSED,
    CROSSED_ROUND,
    ON_A,
    ON_B,
    ON_SIDE,
    PARALLEL,
    crossing,
    edge_of,
    is_over,
    polytope,
    row_of,
)
from nmdp_pin._kernels.geometry.ridges import side_at, touched_polytope
from nmdp_pin._kernels.geometry.rims import (
    rim_at,
)
from nmdp_pin._kernels.geometry.shape_table import INDEX
from nmdp_pin._kernels.geometry.sides import side_at_edge


@jit
def place_feature(
    candidates: ContactPairs, contacts: Contacts, at: ContactFrames, i: int, p: Vector3
) -> None:
    """Contact i of two polytopes, whose centre is at p; it is covered where they do not meet."""
    c, polytopes = contacts.index[i], candidates.polytopes
    kind, x, y = contacts.features[c, 0], contacts.features[c, 1], contacts.features[c, 2]
    first, second = polytopes.pairs[candidates.pairs[c]]
    radius = polytopes.rounding[second if kind == ON_A else first]
    margin = contacts.feature_margin[c, 0]
    n, arm, meets = row_of(contacts.planes, c), (0.0, 0.0, 0.0), kind >= CROSSED
    gap = dot(n, p) - contacts.planes[c, 3]
    if kind == ON_B:
        meets = is_over(polytope(polytopes, second), y, p, margin)
    elif kind == ON_A:
        meets = is_over(polytope(polytopes, first), x, p, margin)
        if polytopes.rows[first] >= 0 and contacts.bodies[i, 0] != 0:
            at.surface[i] = candidates.kinds[polytopes.rows[first], INDEX]
    elif contacts.rolling and (kind == CROSSED or kind == CROSSED_ROUND):
        arm, _, _, _, _, n, gap, meets = curves_at(candidates, contacts, at, i)
    elif contacts.rolling and kind == ON_SIDE:
        e, s, _, n, gap = side_at(candidates, contacts, at, i)
        meets, arm = max(-s, s - 1.0) * length(e) <= margin, scaled(e, s)
    elif contacts.rolling:
        e, s, n, gap, meets = side_at_edge(candidates, contacts, at, i, np.empty((1, 3, 3)))
        arm = scaled(e, s)
    if kind == CROSSED_ROUND:  # the radius of a rim is none of its rounding
        radius = 0.0
    at.depth[i] = radius - gap
    for j in range(3):
        at.normal[i, j], at.arm[i, j] = n[j], arm[j] - radius * n[j]
    kept = contacts.losses[c] >= MOST_LOSSES and abs(gap) + length(arm) < LOST
    if not (meets or kept):
        at.depth[i], at.on_internal_edge[i] = -REACH, True


@jit
def curves_at(
    candidates: ContactPairs, contacts: Contacts, at: ContactFrames, i: int
) -> tuple[Vector3, Vector3, Vector3, Vector3, Vector3, Vector3, float, bool]:
    """Where the edges of contact i cross, or a rim touches a curve; see `rim_at`."""
    c, polytopes, none = contacts.index[i], candidates.polytopes, (0.0, 0.0, 0.0)
    if contacts.features[c, 0] == CROSSED_ROUND:
        return rim_at(candidates, contacts, at, i)
    first, second = polytopes.pairs[candidates.pairs[c]]
    b, turned = touched_polytope(candidates, candidates.pairs[c]), vector(3)
    _, own = edge_of(polytope(polytopes, first), contacts.features[c, 1])
    q, f = edge_of(b, contacts.features[c, 2])
    rotate(at.placements[i], np.array(own), turned)
    e, p = (turned[0], turned[1], turned[2]), row_of(at.centre, i)
    n, expected = cross(e, f), row_of(contacts.planes, c)
    size = length(n)
    if size <= PARALLEL * length(e) * length(f):
        return none, e, none, f, none, expected, math.inf, False
    s, t = crossing(p, e, q, f)
    n = scaled(n, (1.0 if dot(n, expected) >= 0.0 else -1.0) / size)
    beyond = max(max(-s, s - 1.0) * length(e), max(-t, t - 1.0) * length(f))
    gap = dot(n, minus(p, q)) - polytopes.rounding[second]
    return scaled(e, s), e, none, f, none, n, gap, beyond <= contacts.feature_margin[c, 0]


@jit
def curve_motion(
    candidates: ContactPairs, contacts: Contacts, at: ContactFrames, i: int, N: Array, L: Array
) -> None:
    """Derivatives of normal and arm of a contact of curves by a motion, shapes (3, 6)."""
    c, polytopes = contacts.index[i], candidates.polytopes
    first, second = polytopes.pairs[candidates.pairs[c]]
    arm, e, bend, f, other_bend, n, gap, _ = curves_at(candidates, contacts, at, i)
    edges = contacts.features[c, 0] == CROSSED
    radius = polytopes.rounding[first] if edges else 0.0
    gap += polytopes.rounding[second] if edges else 0.0
    curve_rates(arm, e, bend, f, other_bend, gap, n, radius, N, L)
