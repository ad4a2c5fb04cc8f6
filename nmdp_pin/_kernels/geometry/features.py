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
    place,
    rotate,
    scaled,
)
from nmdp_pin._kernels.compiler.jit import Array, jit
from nmdp_pin._kernels.contact.contact_motion import relative_placement, relative_velocity, spin
from nmdp_pin._kernels.geometry.cones import cones_at, find_cones, freeze_cones
from nmdp_pin._kernels.geometry.contacts import (
    FLAT,
    NEARBY,
    REACH,
    ContactFrames,
    ContactPairs,
    Contacts,
    identity,
    reach_of,
)
from nmdp_pin._kernels.geometry.convex_features import find_features, separating_direction
from nmdp_pin._kernels.geometry.curves import curve_rates
from nmdp_pin._kernels.geometry.polytopes import (
    BORDER,
    CROSSED,
    NONE,
    ON_A,
    ON_B,
    ON_ROUND,
    ON_SIDE,
    PARALLEL,
    RIM,
    Polytope,
    crossing,
    edge_distance,
    edge_of,
    is_over,
    middle,
    moved,
    polytope,
    row_of,
)
from nmdp_pin._kernels.geometry.ridges import find_ridges, is_mesh, side_at, touched_polytope
from nmdp_pin._kernels.geometry.rims import (
    find_crossings,
    freeze_crossing,
    is_rim,
    rim_at,
)
from nmdp_pin._kernels.geometry.sides import find_sides, freeze_side, is_solid, side_at_edge

_FOUND = 128  # features that are compared to choose those contacts


@jit
def select_features(
    candidates: ContactPairs, P: Array, twists: Array, h: float, contacts: Contacts, k: int
) -> None:
    """List the contacts of the two polytopes of candidate k; see `select_contacts`."""
    polytopes, pair = candidates.polytopes, candidates.pairs[k]
    a, b = candidates.bodies[k, 0], candidates.bodies[k, 1]
    first, second = polytopes.pairs[pair, 0], polytopes.pairs[pair, 1]
    for i in range(k, k + FLAT):
        contacts.features[i], contacts.listed[i] = NONE, False
    contacts.directions[pair] = 0.0
    M, c, v, work = np.empty((4, 3)), np.empty(3), np.empty(3), np.empty(3)
    relative_placement(P, a, b, M)
    place(M, polytopes.centres[first], c)
    relative_velocity(P, twists, a, b, c, v, work)
    travel = h * math.sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])
    there = axpy((c[0], c[1], c[2]), h, (v[0], v[1], v[2]))
    reach = reach_of(candidates, k) + travel
    beside = length(minus(there, row_of(polytopes.centres, second)))
    if not beside <= reach + polytopes.sizes[first] + polytopes.sizes[second]:
        return
    one, other = polytope(polytopes, first), touched_polytope(candidates, pair)
    before = moved(one, M)
    spin(P, twists, a, b, h, polytopes.centres[first], there, M)
    at_end = moved(one, M)
    if is_mesh(polytopes, second):
        reach = NEARBY + travel
        _freeze_features(candidates, contacts, k, M, before, at_end, other, reach, BORDER + travel)
        return
    if not (is_rim(polytopes, first) or is_solid(polytopes, second)):
        towards, gap = separating_direction(before, at_end, other, reach)
        if not gap <= reach:
            return
        for j in range(3):
            contacts.directions[pair, j] = towards[j]
    _freeze_features(candidates, contacts, k, M, before, at_end, other, reach, BORDER)
    if candidates.rolling:  # crossings that are held where they are expected act nowhere else
        _freeze_features(candidates, contacts, k, M, before, at_end, other, reach, REACH + travel)


@jit
def missed_features(candidates: ContactPairs, P: Array, contacts: Contacts, k: int) -> bool:
    """List features of polytopes that touch at placements P besides the contacts; False: none."""
    polytopes, pair = candidates.polytopes, candidates.pairs[k]
    first, second = polytopes.pairs[pair, 0], polytopes.pairs[pair, 1]
    M, c = np.empty((4, 3)), np.empty(3)
    relative_placement(P, candidates.bodies[k, 0], candidates.bodies[k, 1], M)
    place(M, polytopes.centres[first], c)
    beside = length(minus((c[0], c[1], c[2]), row_of(polytopes.centres, second)))
    if not beside < polytopes.sizes[first] + polytopes.sizes[second]:
        return False
    here, other = moved(polytope(polytopes, first), M), touched_polytope(candidates, pair)
    convex = not (is_mesh(polytopes, second) or is_solid(polytopes, second))
    convex = convex and not is_rim(polytopes, first)
    if convex and length(row_of(contacts.directions, pair)) == 0.0:
        towards, gap = separating_direction(here, here, other, 0.0)
        if gap > 0.0:
            return False
        for j in range(3):
            contacts.directions[pair, j] = towards[j]
    return _freeze_features(candidates, contacts, k, M, here, here, other, 0.0, BORDER)


@jit
def _freeze_features(
    candidates: ContactPairs,
    contacts: Contacts,
    k: int,
    M: Array,
    before: Polytope,
    a: Polytope,
    b: Polytope,
    limit: float,
    feature_margin: float,
) -> bool:
    """List contacts of two polytopes that are none, the nearest first; False where there are none.

    Where there is no place, those that do not touch give theirs to those that do.

    Args:
        candidates: pairs that may touch.
        contacts: contacts of the step.
        k: first candidate of the pair.
        M: placement of the first polytope, shape (4, 3).
        before: first polytope at the start.
        a: first polytope.
        b: second polytope.
        limit: largest distance of a contact [m].
        feature_margin: distance beyond borders and ends up to which features are contacts [m].
    """
    found, gaps, added = np.empty((_FOUND, 3), np.int64), np.empty(_FOUND), False
    touching, pair, polytopes = np.empty(FLAT, np.bool_), candidates.pairs[k], candidates.polytopes
    of_mesh = is_mesh(polytopes, polytopes.pairs[pair, 1])
    if of_mesh:
        mesh, m = candidates.triangles, candidates.kinds[candidates.rows[k], 2]
        n = find_ridges(mesh, m, before, a, limit, feature_margin, found, gaps)
    elif is_rim(polytopes, polytopes.pairs[pair, 0]):
        n = find_crossings(candidates, pair, before, a, b, limit, feature_margin, found, gaps)
    elif is_solid(polytopes, polytopes.pairs[pair, 0]):
        n = find_cones(candidates, pair, before, a, b, limit, feature_margin, found, gaps)
    elif is_solid(polytopes, polytopes.pairs[pair, 1]):
        n = find_sides(candidates, pair, a, limit, found, gaps)
    else:
        towards = row_of(contacts.directions, pair)
        n = find_features(a, b, towards, limit, feature_margin, found, gaps)
    for i in range(k, k + FLAT):
        touching[i - k] = limit > 0.0
        for x in range(n):
            same = contacts.features[i, 0] == found[x, 0] and contacts.features[i, 1] == found[x, 1]
            if same and contacts.features[i, 2] == found[x, 2]:
                gaps[x], touching[i - k] = math.inf, True
    while True:
        x, i = -1, -1
        for y in range(n):
            if gaps[y] < math.inf and (x < 0 or gaps[y] < gaps[x]):
                x = y
        for y in range(k + FLAT - 1, k - 1, -1):
            empty = contacts.features[y, 0] == NONE
            if empty or (not touching[y - k] and (i < 0 or contacts.features[i, 0] != NONE)):
                i = y
        if x < 0 or i < 0:
            break
        gaps[x], touching[i - k] = math.inf, True
        contacts.features[i] = found[x]
        contacts.listed[i] = added = True
        contacts.feature_margin[i, 0] = (
            2.0 * BORDER if feature_margin == BORDER else (BORDER if of_mesh else 0.0)
        )
        if is_solid(polytopes, polytopes.pairs[pair, 0]):
            freeze_cones(candidates, contacts, i, M, a)
        elif found[x, 0] == RIM:
            freeze_crossing(candidates, contacts, i, M, a, b)
        elif found[x, 0] == ON_ROUND:
            freeze_side(candidates, contacts, i, a)
        else:
            _freeze_feature(candidates, contacts, i, before, a, b)
    for i in range(k + 1, k + FLAT):
        for j in range(i, k, -1):
            if identity(candidates, contacts, j) >= identity(candidates, contacts, j - 1):
                break
            contacts.listed[j], contacts.listed[j - 1] = contacts.listed[j - 1], contacts.listed[j]
            _swap_rows(contacts.features, j)
            _swap_rows(contacts.held, j)
            _swap_rows(contacts.planes, j)
            _swap_rows(contacts.feature_margin, j)
    return added


@jit
def _swap_rows(table: Array, i: int) -> None:
    """Swap row i of a table and the one before."""
    for j in range(table.shape[1]):
        table[i, j], table[i - 1, j] = table[i - 1, j], table[i, j]


@jit
def _freeze_feature(
    candidates: ContactPairs, contacts: Contacts, i: int, before: Polytope, a: Polytope, b: Polytope
) -> None:
    """Write the point and the plane of candidate i, between two polytopes in the frame of b."""
    polytopes, pair = candidates.polytopes, candidates.pairs[i]
    kind, x, y = contacts.features[i, 0], contacts.features[i, 1], contacts.features[i, 2]
    one = polytope(polytopes, polytopes.pairs[pair, 0])
    if kind == CROSSED:
        p, e = edge_of(a, x)
        q, f = edge_of(b, y)
        towards = row_of(contacts.directions, pair)
        n, _ = edge_distance(a, x, b, y, 1.0, towards)
        start = row_of(one.vertices, one.edges[x, 0])
        if not candidates.rolling:
            s, _ = crossing(p, e, q, f)
            start = axpy(start, s, edge_of(one, x)[1])
        level = dot(n, q) + b.rounding
    elif kind == ON_SIDE:
        p, e = edge_of(a, x)
        q = row_of(b.vertices, y)
        s = dot(minus(q, p), e) / dot(e, e)
        n = axpy(minus(p, q), s, e)
        n = scaled(n, (1.0 if dot(n, minus(middle(before), q)) > 0.0 else -1.0) / length(n))
        start = row_of(one.vertices, one.edges[x, 0])
        if not candidates.rolling:
            start = axpy(start, s, edge_of(one, x)[1])
        level = dot(n, q)
    else:
        point, face = (x, y) if kind == ON_B else (y, x)
        start = row_of(one.vertices if kind == ON_B else b.vertices, point)
        n = row_of(b.normals if kind == ON_B else one.normals, face)
        level = (b if kind == ON_B else one).levels[face]
    for j in range(3):
        contacts.held[i, j], contacts.planes[i, j] = start[j], n[j]
    contacts.planes[i, 3] = level


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
            row = polytopes.rows[first]
            at.friction[i], at.surface[i] = candidates.shapes[row, 15], candidates.kinds[row, 1]
    elif kind == CROSSED and candidates.rolling:
        e, f, q, n, s, t = edges_at(candidates, contacts, at, i)
        beyond = max(max(-s, s - 1.0) * length(e), max(-t, t - 1.0) * length(f))
        meets = beyond <= feature_margin
        at.depth[i] = dot(n, minus(q, p)) + radius + polytopes.rounding[second]
        for j in range(3):
            at.normal[i, j], at.arm[i, j] = n[j], s * e[j] - radius * n[j]
    elif kind == ON_SIDE and candidates.rolling:
        e, s, _, n, gap = side_at(candidates, contacts, at, i)
        meets = max(-s, s - 1.0) * length(e) <= feature_margin
        at.depth[i] = radius - gap
        for j in range(3):
            at.normal[i, j], at.arm[i, j] = n[j], s * e[j] - radius * n[j]
    elif kind == RIM and candidates.rolling and is_solid(polytopes, first):
        _, e, n, gap, s, meets = cones_at(candidates, contacts, at, i)
        at.depth[i] = -gap
        for j in range(3):
            at.normal[i, j], at.arm[i, j] = n[j], s * e[j]
    elif kind == RIM and candidates.rolling:
        arm, _, _, _, _, n, gap, meets = rim_at(candidates, contacts, at, i)
        at.depth[i] = -gap
        for j in range(3):
            at.normal[i, j], at.arm[i, j] = n[j], arm[j]
    elif kind == ON_ROUND and candidates.rolling:
        H = np.empty((1, 3, 3))
        e, s, n, phi, meets = side_at_edge(candidates, contacts, at, i, H)
        at.depth[i] = radius - phi
        for j in range(3):
            at.normal[i, j], at.arm[i, j] = n[j], s * e[j] - radius * n[j]
    elif kind == RIM:
        at.depth[i] -= radius
        for j in range(3):
            at.arm[i, j] = 0.0
    if not meets:
        at.depth[i], at.on_internal_edge[i] = -REACH, True


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
