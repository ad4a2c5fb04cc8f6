"""Which contacts of two polytopes may act in a step, and what of them is held in it."""

from __future__ import annotations

import math

import numpy as np

from nmdp_pin._kernels.algebra.linear import copy_vector
from nmdp_pin._kernels.algebra.vector3 import axpy, dot, length, minus, place, scaled
from nmdp_pin._kernels.compiler.jit import Array, jit
from nmdp_pin._kernels.compiler.record import matrix, vector
from nmdp_pin._kernels.contact.contact_motion import relative_placement, relative_velocity, spin
from nmdp_pin._kernels.geometry.contacts import (
    N_FEATURES,
    N_SOLIDS,
    NEARBY,
    REACH,
    ContactPairs,
    Contacts,
    identity,
    reach_of,
)
from nmdp_pin._kernels.geometry.convex_features import find_features, separating_direction
from nmdp_pin._kernels.geometry.polytopes import (
    BORDER,
    CROSSED,
    CROSSED_ROUND,
    NONE,
    ON_B,
    ON_ROUND,
    ON_SIDE,
    Polytope,
    crossing,
    edge_distance,
    edge_of,
    is_mesh,
    is_rim,
    is_round,
    middle,
    moved,
    polytope,
    row_of,
)
from nmdp_pin._kernels.geometry.ridges import find_ridges, touched_polytope
from nmdp_pin._kernels.geometry.rims import find_crossings, freeze_crossing
from nmdp_pin._kernels.geometry.shape_table import OF_MESH
from nmdp_pin._kernels.geometry.sides import find_sides, freeze_side

_FOUND = 128  # features that are compared to choose those contacts


@jit
def select_features(
    candidates: ContactPairs, P: Array, twists: Array, h: float, contacts: Contacts, k: int
) -> None:
    """List the contacts of the two polytopes of candidate k; see `select_contacts`."""
    polytopes, pair = candidates.polytopes, candidates.pairs[k]
    a, b = candidates.bodies[k, 0], candidates.bodies[k, 1]
    first, second = polytopes.pairs[pair, 0], polytopes.pairs[pair, 1]
    for i in range(k, k + N_FEATURES):
        contacts.features[i], contacts.listed[i] = NONE, False
    contacts.directions[pair] = 0.0
    M, c, v, work = matrix(4, 3), vector(3), vector(3), vector(3)
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
    if not (is_rim(polytopes, first) or is_round(polytopes, second)):
        towards, gap = separating_direction(before, at_end, other, reach)
        if not gap <= reach:
            return
        for j in range(3):
            contacts.directions[pair, j] = towards[j]
    _freeze_features(candidates, contacts, k, M, before, at_end, other, reach, BORDER)
    if contacts.rolling:  # crossings that are held where they are expected act nowhere else
        _freeze_features(candidates, contacts, k, M, before, at_end, other, reach, REACH + travel)


@jit
def missed_features(candidates: ContactPairs, P: Array, contacts: Contacts, k: int) -> bool:
    """List features of polytopes that touch at placements P besides the contacts; False: none."""
    polytopes, pair = candidates.polytopes, candidates.pairs[k]
    first, second = polytopes.pairs[pair, 0], polytopes.pairs[pair, 1]
    M, c = matrix(4, 3), vector(3)
    relative_placement(P, candidates.bodies[k, 0], candidates.bodies[k, 1], M)
    place(M, polytopes.centres[first], c)
    beside = length(minus((c[0], c[1], c[2]), row_of(polytopes.centres, second)))
    if not beside < polytopes.sizes[first] + polytopes.sizes[second]:
        return False
    here, other = moved(polytope(polytopes, first), M), touched_polytope(candidates, pair)
    convex = not (is_mesh(polytopes, second) or is_round(polytopes, second))
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
    of_mesh = is_mesh(candidates.polytopes, candidates.polytopes.pairs[candidates.pairs[k], 1])
    touching, missing = np.empty(N_FEATURES, np.bool_), limit == 0.0
    n = _found_features(candidates, contacts, k, before, a, b, limit, feature_margin, found, gaps)
    room = _known_features(candidates, contacts, k, missing, found[:n], gaps, touching)
    while room > 0:
        x, i = -1, -1
        for y in range(n):
            if gaps[y] < math.inf and (x < 0 or gaps[y] < gaps[x]):
                x = y
        for y in range(k + N_FEATURES - 1, k - 1, -1):
            empty = contacts.features[y, 0] == NONE
            if empty or (not touching[y - k] and (i < 0 or contacts.features[i, 0] != NONE)):
                i = y
        if x < 0 or i < 0:
            break
        contacts.gaps[i], room = -math.inf if missing else gaps[x], room - 1
        if found[x, 0] >= CROSSED:  # the ends of edges are vertices, which come first
            contacts.gaps[i] += BORDER
        if feature_margin != BORDER and not of_mesh:  # beside the features
            contacts.gaps[i] = max(contacts.gaps[i], 0.0) + BORDER
        gaps[x], touching[i - k] = math.inf, True
        copy_vector(found[x], contacts.features[i])
        contacts.listed[i] = added = True
        contacts.feature_margin[i, 0] = (
            2.0 * BORDER if feature_margin == BORDER else (BORDER if of_mesh else 0.0)
        )
        _freeze_by_kind(candidates, contacts, i, M, before, a, b)
    _sort_by_identity(candidates, contacts, k)
    return added


@jit
def _known_features(
    candidates: ContactPairs,
    contacts: Contacts,
    k: int,
    missing: bool,
    found: Array,
    gaps: Array,
    touching: Array,
) -> int:
    """Leave the features that are contacts out of those that are found; how many there may be more.

    Args:
        candidates: pairs that may touch.
        contacts: contacts of the step.
        k: first candidate of the pair.
        missing: whether what is found touches, and is a contact as soon as there is room for it.
        found: features, shape (n, 3).
        gaps: their distances, inf afterwards where a feature is known [m], shape (n,).
        touching: output, whether the candidates keep their features, shape (`N_FEATURES`,).
    """
    room = N_SOLIDS if missing and candidates.solids_of[k] >= 0 else N_FEATURES
    for i in range(k, k + N_FEATURES):
        touching[i - k] = not missing
        for x in range(len(found)):
            same = contacts.features[i, 0] == found[x, 0] and contacts.features[i, 1] == found[x, 1]
            if not same or contacts.features[i, 2] != found[x, 2]:
                continue
            touching[i - k] = True
            further = contacts.listed[i] and not contacts.chosen[i]
            if missing and further and contacts.gaps[i] > -math.inf:
                contacts.features[i], contacts.listed[i] = NONE, False
            else:
                gaps[x] = math.inf
                room -= 1 if missing and contacts.chosen[i] else 0
    return room


@jit
def _found_features(
    candidates: ContactPairs,
    contacts: Contacts,
    k: int,
    before: Polytope,
    a: Polytope,
    b: Polytope,
    limit: float,
    feature_margin: float,
    found: Array,
    gaps: Array,
) -> int:
    """Features by which polytopes of some kinds touch, and their number; see `find_features`."""
    pair, polytopes = candidates.pairs[k], candidates.polytopes
    first, second = polytopes.pairs[pair, 0], polytopes.pairs[pair, 1]
    if is_mesh(polytopes, second):
        mesh, m = candidates.triangles, candidates.kinds[candidates.rows[k], OF_MESH]
        return find_ridges(mesh, m, before, a, limit, feature_margin, found, gaps)
    if is_rim(polytopes, first):
        return find_crossings(candidates, pair, before, a, b, limit, feature_margin, found, gaps)
    if is_round(polytopes, second):
        return find_sides(candidates, pair, a, limit, found, gaps)
    towards = row_of(contacts.directions, pair)
    return find_features(a, b, towards, limit, feature_margin, found, gaps)


@jit
def _freeze_by_kind(
    candidates: ContactPairs,
    contacts: Contacts,
    i: int,
    M: Array,
    before: Polytope,
    a: Polytope,
    b: Polytope,
) -> None:
    """Write what is held of the features of candidate i; arguments as in `_freeze_features`."""
    kind = contacts.features[i, 0]
    if kind == CROSSED_ROUND:
        freeze_crossing(candidates, contacts, i, M, a, b)
    elif kind == ON_ROUND:
        freeze_side(candidates, contacts, i, a)
    else:
        _freeze_feature(candidates, contacts, i, before, a, b)


@jit
def _sort_by_identity(candidates: ContactPairs, contacts: Contacts, k: int) -> None:
    """Put the contacts of the pair of candidate k in the order of their identities."""
    for i in range(k + 1, k + N_FEATURES):
        for j in range(i, k, -1):
            if identity(candidates, contacts, j) >= identity(candidates, contacts, j - 1):
                break
            contacts.listed[j], contacts.listed[j - 1] = contacts.listed[j - 1], contacts.listed[j]
            contacts.gaps[j], contacts.gaps[j - 1] = contacts.gaps[j - 1], contacts.gaps[j]
            _swap_rows(contacts.features, j)
            _swap_rows(contacts.held, j)
            _swap_rows(contacts.planes, j)
            _swap_rows(contacts.feature_margin, j)


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
        if not contacts.rolling:
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
        if not contacts.rolling:
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
