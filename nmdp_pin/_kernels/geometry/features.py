"""Contacts of two polytopes: vertices on faces, and edges that cross; see `contacts`."""

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
    scaled,
)
from nmdp_pin._kernels.compiler.jit import Array, jit
from nmdp_pin._kernels.geometry.cones import cones_at
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
    ON_ROUND,
    ON_SIDE,
    PARALLEL,
    crossing,
    edge_of,
    is_over,
    is_round,
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
    pair = candidates.pairs[c]
    first, second = polytopes.pairs[pair, 0], polytopes.pairs[pair, 1]
    radius = polytopes.rounding[second if kind == ON_A else first]
    feature_margin = contacts.feature_margin[c, 0]
    for j in range(3):
        at.normal[i, j] = contacts.planes[c, j]
        at.arm[i, j] = -radius * at.normal[i, j]
    at.depth[i] = contacts.planes[c, 3] + radius - dot(at.normal[i], p)
    meets = kind >= CROSSED
    if kind == ON_B:
        meets = is_over(polytope(polytopes, second), y, p, feature_margin)
    elif kind == ON_A:
        meets = is_over(polytope(polytopes, first), x, p, feature_margin)
        if polytopes.rows[first] >= 0 and contacts.bodies[i, 0] != 0:
            at.surface[i] = candidates.kinds[polytopes.rows[first], INDEX]
    elif kind == CROSSED and contacts.rolling:
        e, f, q, n, s, t = edges_at(candidates, contacts, at, i)
        beyond = max(max(-s, s - 1.0) * length(e), max(-t, t - 1.0) * length(f))
        meets = beyond <= feature_margin
        at.depth[i] = dot(n, minus(q, p)) + radius + polytopes.rounding[second]
        for j in range(3):
            at.normal[i, j], at.arm[i, j] = n[j], s * e[j] - radius * n[j]
    elif kind == ON_SIDE and contacts.rolling:
        e, s, _, n, gap = side_at(candidates, contacts, at, i)
        meets = max(-s, s - 1.0) * length(e) <= feature_margin
        at.depth[i] = radius - gap
        for j in range(3):
            at.normal[i, j], at.arm[i, j] = n[j], s * e[j] - radius * n[j]
    elif kind == CROSSED_ROUND and contacts.rolling and is_round(polytopes, first):
        _, e, n, gap, s, meets = cones_at(candidates, contacts, at, i)
        at.depth[i] = -gap
        for j in range(3):
            at.normal[i, j], at.arm[i, j] = n[j], s * e[j]
    elif kind == CROSSED_ROUND and contacts.rolling:
        arm, _, _, _, _, n, gap, meets = rim_at(candidates, contacts, at, i)
        at.depth[i] = -gap
        for j in range(3):
            at.normal[i, j], at.arm[i, j] = n[j], arm[j]
    elif kind == ON_ROUND and contacts.rolling:
        H = np.empty((1, 3, 3))
        e, s, n, phi, meets = side_at_edge(candidates, contacts, at, i, H)
        at.depth[i] = radius - phi
        for j in range(3):
            at.normal[i, j], at.arm[i, j] = n[j], s * e[j] - radius * n[j]
    elif kind == CROSSED_ROUND:
        at.depth[i] -= radius
        for j in range(3):
            at.arm[i, j] = 0.0
    if not (meets or (contacts.losses[c] >= MOST_LOSSES and _is_defined(at, i))):
        at.depth[i], at.on_internal_edge[i] = -REACH, True


@jit
def _is_defined(at: ContactFrames, i: int) -> bool:
    """Whether contact i is somewhere, as one of edges that are not parallel."""
    arm = at.arm[i]
    holds: bool = abs(at.depth[i]) + abs(arm[0]) + abs(arm[1]) + abs(arm[2]) < LOST
    return holds


@jit
def edges_at(
    candidates: ContactPairs, contacts: Contacts, at: ContactFrames, i: int
) -> tuple[Vector3, Vector3, Vector3, Vector3, float, float]:
    """Both edges of contact i, a point of the second, normal, and where they cross; s = inf: not.

    The crossing is at the centre plus s times the first edge.
    """
    c, polytopes = contacts.index[i], candidates.polytopes
    pair = candidates.pairs[c]
    first = polytopes.pairs[pair, 0]
    b, turned = touched_polytope(candidates, pair), np.empty(3)
    _, own = edge_of(polytope(polytopes, first), contacts.features[c, 1])
    q, f = edge_of(b, contacts.features[c, 2])
    rotate(at.placements[i], np.array(own), turned)
    e, p = (turned[0], turned[1], turned[2]), row_of(at.centre, i)
    n, expected = cross(e, f), row_of(contacts.planes, c)
    size = length(n)
    if size <= PARALLEL * length(e) * length(f):
        return e, f, q, expected, math.inf, math.inf
    s, t = crossing(p, e, q, f)
    return e, f, q, scaled(n, (1.0 if dot(n, expected) >= 0.0 else -1.0) / size), s, t


@jit
def edge_rates(
    candidates: ContactPairs, contacts: Contacts, at: ContactFrames, i: int, N: Array, L: Array
) -> None:
    """Derivatives of normal and arm of a contact of edges by a motion, shapes (3, 6)."""
    e, f, q, n, s, _ = edges_at(candidates, contacts, at, i)
    polytopes, arm, none = candidates.polytopes, scaled(e, s), (0.0, 0.0, 0.0)
    radius = polytopes.rounding[polytopes.pairs[candidates.pairs[contacts.index[i]], 0]]
    gap = dot(n, minus(axpy(row_of(at.centre, i), 1.0, arm), q))
    curve_rates(arm, e, none, f, none, gap, n, radius, N, L)
