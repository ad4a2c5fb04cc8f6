"""Contacts with other shapes than planes: which may touch, where they are, and what they report.

The penetrations and wrenches that are reported are those of the robot's contact points.
"""

from __future__ import annotations

import math

import numpy as np

from nmdp_pin._kernels.algebra.vector3 import (
    Vector3,
    axpy,
    dot,
    largest_difference,
    length,
    minus,
    place,
)
from nmdp_pin._kernels.compiler.jit import Array, jit
from nmdp_pin._kernels.contact.contact_motion import relative_placement, relative_velocity, spin
from nmdp_pin._kernels.geometry.cones import cone_rates
from nmdp_pin._kernels.geometry.contacts import (
    FLAT,
    LOST,
    MINIMA,
    REACH,
    ContactFrames,
    ContactPairs,
    Contacts,
    reach_of,
)
from nmdp_pin._kernels.geometry.features import (
    edge_rates,
    edges_at,
    missed_features,
    place_feature,
    select_features,
)
from nmdp_pin._kernels.geometry.polytopes import (
    CROSSED,
    ON_B,
    ON_ROUND,
    ON_SIDE,
    RIM,
    Polytope,
    Polytopes,
    edge_of,
    polytope,
    row_of,
)
from nmdp_pin._kernels.geometry.ridges import is_mesh, side_at, side_rates
from nmdp_pin._kernels.geometry.rims import rim_rates
from nmdp_pin._kernels.geometry.seams import leave_seams
from nmdp_pin._kernels.geometry.sides import is_solid, round_rates, side_at_edge
from nmdp_pin._kernels.geometry.terrain import MESH, turn_tensor
from nmdp_pin._kernels.geometry.touched_surface import (
    distance_to,
    has_faces,
    is_swept,
    place_support_point,
    seen_faces,
    support_point,
    support_rates,
    surface_at,
    surface_of,
)
from nmdp_pin._kernels.geometry.triangles import (
    SAME,
    closest_point,
    descend_to_minimum,
    describe_minimum,
    local_minima,
)

_BESIDE = 0.1  # of the first semi-axis, between places that are one
_FLAT = 1e-9  # [-] of the size of corners, less than which they are flat
MOST_SHARES = 64  # vertices of a face that may share its force


@jit
def select_shapes(
    candidates: ContactPairs, contacts: Contacts, P: Array, twists: Array, h: float
) -> None:
    """Note which candidates with other shapes may touch in a time h; see `select_contacts`."""
    for block in range(len(candidates.blocks) - 1):
        begin, end = candidates.blocks[block], candidates.blocks[block + 1]
        if not _are_apart(candidates, block, P, twists, h, reach_of(candidates, begin)):
            _select_block(candidates, contacts, begin, end, P, twists, h)
            continue
        for k in range(begin, end):
            contacts.listed[k], contacts.faces[k] = False, -1


@jit
def _select_block(
    candidates: ContactPairs,
    contacts: Contacts,
    begin: int,
    stop: int,
    P: Array,
    twists: Array,
    h: float,
) -> None:
    """Note which candidates of a block may touch; see `select_shapes`."""
    M, c, v, x = np.empty((4, 3)), np.empty(3), np.empty(3), np.empty(3)
    a, b, end = candidates.bodies[begin, 0], candidates.bodies[begin, 1], begin
    relative_placement(P, a, b, M)  # only blocks of polytopes are of several bodies
    for k in range(begin, stop):
        row = candidates.rows[k]
        if candidates.solid[k]:
            contacts.listed[k] = False
        if k < end or candidates.plain[k] or candidates.solid[k]:
            continue
        if candidates.pairs[k] >= 0:
            end = k + FLAT
            select_features(candidates, P, twists, h, contacts, k)
            continue
        place(M, candidates.local[k], c)
        relative_velocity(P, twists, a, b, c, v, x)
        here = (c[0], c[1], c[2])
        there = axpy(here, h, (v[0], v[1], v[2]))
        if has_faces(candidates, row):
            contacts.faces[k] = seen_faces(candidates, k, here, M)
        reach = reach_of(candidates, k) + h * length((v[0], v[1], v[2]))
        reach += candidates.radii[k]
        if is_swept(candidates, k):
            spin(P, twists, a, b, h, candidates.local[k], there, M)
            end = _add_places(candidates, contacts, k, M, there, reach)
            relative_placement(P, a, b, M)
            place(M, contacts.held[k], c)
            at_start, _ = surface_at(candidates, contacts, k, (c[0], c[1], c[2]), False)
            contacts.listed[k] |= not at_start > reach
            continue
        if candidates.kinds[row, 0] == MESH:
            end = k + MINIMA
            for i in range(k, end):
                contacts.faces[i], contacts.listed[i] = -1, candidates.reach == math.inf
            _add_minima(candidates, contacts, k, there, reach)
            _add_minima(candidates, contacts, k, here, reach)
            continue
        least = min(
            distance_to(candidates, contacts, k, here), distance_to(candidates, contacts, k, there)
        )
        contacts.listed[k] = not least > reach


@jit
def _are_apart(
    candidates: ContactPairs, block: int, P: Array, twists: Array, h: float, reach: float
) -> bool:
    """Whether the ball of a block keeps away from its box by a distance for a time h."""
    k, M, c = candidates.blocks[block], np.empty((4, 3)), np.empty(3)
    a, b = candidates.bodies[k, 0], candidates.bodies[k, 1]
    ball, box, square = candidates.balls[block], candidates.boxes[block], 0.0
    if not box[1, 0] < math.inf:
        return False
    v, x = np.empty(3), np.empty(3)
    relative_placement(P, a, b, M)
    place(M, ball[:3], c)
    relative_velocity(P, twists, a, b, c, v, x)
    for j in range(3):
        x[j] = twists[a, 3 + j] - twists[b, 3 + j]
        beyond = max(abs(c[j] - box[0, j]) - box[1, j], 0.0)
        square += beyond * beyond
    travel = h * (length((v[0], v[1], v[2])) + ball[3] * length((x[0], x[1], x[2])))
    return math.sqrt(square) > reach + travel + ball[3]


@jit
def _add_places(
    candidates: ContactPairs, contacts: Contacts, k: int, M: Array, p: Vector3, reach: float
) -> int:
    """Choose the points of discs and ellipsoids, and list those that are near; where they end.

    With a mesh there may be several: the nearest one, and those next to the other minima of the
    distance from the middle. One beside another is the same.

    Args:
        candidates: pairs that may touch.
        contacts: contacts of the step.
        k: first candidate of the disc or ellipsoid and the shape.
        M: placement of the body, shape (4, 3).
        p: middle of the disc or ellipsoid there [m].
        reach: largest distance of a contact [m].
    """
    mesh, row, end = candidates.triangles, candidates.rows[k], k + 1
    contacts.listed[k] = not support_point(candidates, contacts, k, M, False) > reach
    while end < len(candidates.rows) and _is_next_minimum(candidates, k, end):
        contacts.listed[end], contacts.faces[end] = False, -1
        contacts.held[end] = candidates.local[end]
        end += 1
    if end == k + 1:
        return end
    c, found = np.empty(3), np.empty(MINIMA - 1, np.int64)
    size = length(row_of(candidates.semi_axes[k], 0))
    m, rounding = candidates.kinds[row, 2], candidates.shapes[row, 16]
    for x in range(local_minima(mesh, m, p, reach + size, rounding, found)):
        i = k + 1 + x
        contacts.faces[i] = found[x]
        gap = support_point(candidates, contacts, i, M, True)
        place(M, contacts.held[i], c)
        least, _ = surface_at(candidates, contacts, i, (c[0], c[1], c[2]), False)
        near = gap <= reach and gap >= least - SAME
        for j in range(k, i):
            apart = largest_difference(contacts.held[i], contacts.held[j])
            near = near and (not contacts.listed[j] or apart > _BESIDE * size)
        contacts.listed[i] = near
    return end


@jit
def _is_next_minimum(candidates: ContactPairs, k: int, i: int) -> bool:
    """Whether candidate i is of the same place on the same disc or ellipsoid, and mesh, as k."""
    same: bool = candidates.kinds[candidates.rows[k], 0] == MESH
    same = same and candidates.rows[i] == candidates.rows[k] and candidates.slots[i] == 0
    same = same and candidates.slots[k] == 0 and candidates.pairs[i] < 0
    same = same and candidates.points[i] == candidates.points[k]
    return same and largest_difference(candidates.local[i], candidates.local[k]) == 0.0


@jit
def _add_minima(
    candidates: ContactPairs, contacts: Contacts, k: int, p: Vector3, limit: float
) -> bool:
    """List contacts with a mesh at the local minima of the distance that have none; False: none.

    Where there are more than `MINIMA`, the nearest ones are contacts.

    Args:
        candidates: pairs that may touch.
        contacts: contacts of the step.
        k: first candidate of the sphere and the mesh.
        p: centre of the sphere [m].
        limit: largest distance of a minimum [m].
    """
    mesh, row, added = candidates.triangles, candidates.rows[k], False
    if not abs(p[0]) + abs(p[1]) + abs(p[2]) < LOST:
        return False
    found = np.empty(MINIMA, np.int64)
    n = local_minima(mesh, candidates.kinds[row, 2], p, limit, candidates.shapes[row, 16], found)
    for x in range(n):
        nearest, _, foot = closest_point(mesh, found[x], p)
        place_of, known, furthest = -1, False, nearest
        for i in range(k, k + MINIMA):
            t, gap = contacts.faces[i], math.inf
            if t >= 0:
                _, _, other = descend_to_minimum(mesh, t, p)
                known |= largest_difference(other, foot) <= SAME
                off = minus(p, other)
                gap = dot(off, off)
            if gap > furthest:
                place_of, furthest = i, gap
        if not known and place_of >= 0:
            contacts.faces[place_of], contacts.listed[place_of] = found[x], True
            added = True
    return added


@jit
def missed_shapes(candidates: ContactPairs, contacts: Contacts, P: Array) -> bool:
    """Note candidates with other shapes that touch at placements P; see `missed_contacts`."""
    missed, still = False, np.zeros((len(P), 6))
    for block in range(len(candidates.blocks) - 1):
        if not _are_apart(candidates, block, P, still, 0.0, 0.0):
            begin, end = candidates.blocks[block], candidates.blocks[block + 1]
            missed |= _list_missed(candidates, contacts, begin, end, P)
    return missed


@jit
def _list_missed(
    candidates: ContactPairs, contacts: Contacts, begin: int, stop: int, P: Array
) -> bool:
    """Note candidates of a block that touch at placements P; see `missed_shapes`."""
    M, c, missed, end = np.empty((4, 3)), np.empty(3), False, begin
    relative_placement(P, candidates.bodies[begin, 0], candidates.bodies[begin, 1], M)
    for k in range(begin, stop):
        row = candidates.rows[k]
        if candidates.plain[k] or candidates.solid[k]:
            continue
        if candidates.pairs[k] >= 0:
            if k >= end:
                end = k + FLAT
                missed |= missed_features(candidates, P, contacts, k)
            continue
        rim = is_swept(candidates, k)
        if rim and k > 0 and _is_next_minimum(candidates, k - 1, k):
            continue
        mesh = candidates.kinds[row, 0] == MESH and not rim
        if k < end or (contacts.listed[k] and not mesh):
            continue
        if rim:
            if support_point(candidates, contacts, k, M, False) < candidates.radii[k]:
                contacts.listed[k] = missed = True
            continue
        place(M, candidates.local[k], c)
        p = (c[0], c[1], c[2])
        if mesh:
            end = k + MINIMA
            missed |= _add_minima(candidates, contacts, k, p, candidates.radii[k])
        elif distance_to(candidates, contacts, k, p) < candidates.radii[k]:
            contacts.listed[k] = missed = True
    return missed


@jit
def place_shapes(candidates: ContactPairs, contacts: Contacts, at: ContactFrames) -> None:
    """Depths, normals and arms of the contacts with other shapes than planes, and what is covered.

    Placements and centres are known; see `place_contacts`.
    """
    hessian = np.empty((3, 3))
    for i in range(contacts.n[0]):
        c = contacts.index[i]
        row = candidates.rows[c]
        p = (at.centre[i, 0], at.centre[i, 1], at.centre[i, 2])
        if candidates.plain[c] or math.isnan(at.depth[i]):
            continue
        if candidates.solid[c]:
            at.normal[i] = contacts.planes[c, :3]
            at.depth[i] = contacts.planes[c, 3] - dot(row_of(at.normal, i), p)
        elif candidates.pairs[c] >= 0:
            place_feature(candidates, contacts, at, i, p)
        elif contacts.rolls[c]:
            place_support_point(candidates, contacts, at, i)
        elif candidates.kinds[row, 0] == MESH:
            _place_on_mesh(candidates, contacts, at, i, p)
        else:
            phi, normal, _ = surface_of(candidates, contacts, c, p, hessian)
            at.depth[i] = candidates.radii[c] - phi
            at.normal[i, 0], at.normal[i, 1], at.normal[i, 2] = normal
        if not contacts.rolls[c] and candidates.pairs[c] < 0:
            for j in range(3):
                at.arm[i, j] = -candidates.radii[c] * at.normal[i, j]
    leave_seams(candidates, contacts, at)


@jit
def _place_on_mesh(
    candidates: ContactPairs, contacts: Contacts, at: ContactFrames, i: int, p: Vector3
) -> None:
    """Depth, normal and curvature of contact i, with a mesh, at its centre p."""
    c = contacts.index[i]
    row, face = candidates.rows[c], contacts.faces[c]
    if face < 0:
        at.depth[i], at.on_internal_edge[i] = -REACH, True
        at.normal[i, 0], at.normal[i, 1], at.normal[i, 2] = 0.0, 0.0, 1.0
        return
    face, feature, foot = descend_to_minimum(candidates.triangles, face, p)
    phi, normal, at.curved[i] = describe_minimum(
        candidates.triangles, face, feature, foot, p, candidates.shapes[row, 16], at.curvature[i]
    )
    at.depth[i] = candidates.radii[c] - phi
    at.normal[i, 0], at.normal[i, 1], at.normal[i, 2] = normal


@jit
def bend_shapes(candidates: ContactPairs, contacts: Contacts, at: ContactFrames) -> None:
    """Curvatures of what touches other shapes, and derivatives N and L of its normals and arms."""
    for i in range(contacts.n[0]):
        c = contacts.index[i]
        for j in range(3):
            for k in range(6):
                at.N[i, j, k] = at.L[i, j, k] = 0.0
        # objectives of the papers count what does not touch too, within any reach
        counts = candidates.distant or candidates.reach == math.inf or at.depth[i] > 0.0
        if candidates.plain[c] or not counts:
            continue
        _bend(candidates, contacts, at, i)
        if contacts.rolls[c]:
            support_rates(candidates, contacts, at, i, at.N[i], at.L[i])
        elif contacts.features[c, 0] == CROSSED and candidates.rolling:
            edge_rates(candidates, contacts, at, i, at.N[i], at.L[i])
        elif contacts.features[c, 0] == ON_SIDE and candidates.rolling:
            side_rates(candidates, contacts, at, i, at.N[i], at.L[i])
        elif contacts.features[c, 0] == RIM and candidates.rolling:
            first = candidates.polytopes.pairs[candidates.pairs[c], 0]
            if is_solid(candidates.polytopes, first):
                cone_rates(candidates, contacts, at, i, at.N[i], at.L[i])
            else:
                rim_rates(candidates, contacts, at, i, at.N[i], at.L[i])
        elif contacts.features[c, 0] == ON_ROUND and candidates.rolling:
            round_rates(candidates, contacts, at, i, at.N[i], at.L[i])
        elif at.curved[i]:
            for j in range(3):
                for k in range(3):
                    at.N[i, j, k] = at.curvature[i, j, k]
                    at.L[i, j, k] = -candidates.radii[c] * at.N[i, j, k]


@jit
def _bend(candidates: ContactPairs, contacts: Contacts, at: ContactFrames, i: int) -> None:
    """Write the curvature at contact i of a closed form; that of a mesh, and of rims, is there."""
    c = contacts.index[i]
    row = candidates.rows[c]
    if candidates.kinds[row, 0] == MESH or contacts.rolls[c] or candidates.pairs[c] >= 0:
        return
    if candidates.solid[c]:  # on a plane
        return
    own = np.empty((3, 3))
    p = (at.centre[i, 0], at.centre[i, 1], at.centre[i, 2])
    _, _, curved = surface_of(candidates, contacts, c, p, own)
    at.curved[i] = curved
    if curved:
        turn_tensor(candidates.shapes, row, own, at.curvature, i)


@jit
def distribute_to_contact_points(
    candidates: ContactPairs,
    contacts: Contacts,
    at: ContactFrames,
    i: int,
    points: Array,
    weights: Array,
) -> int:
    """Contact points at which the force of contact i is reported, and their shares; their number.

    The ends of an edge share its force by the rule of levers, the vertices of a face that of a
    vertex of the world, all points of a body that of a point of the world: by the smallest weights
    with the same resultant and moment.

    Args:
        candidates: pairs that may touch.
        contacts: contacts of the step.
        at: contacts at the configuration.
        i: contact.
        points: output, indices of contact points, shape (`MOST_SHARES`,).
        weights: output, likewise; negative where the force acts on the touched body.
    """
    c, polytopes = contacts.index[i], candidates.polytopes
    pair = candidates.pairs[c]
    points[0], weights[0] = candidates.points[c], 1.0
    alone = pair < 0 or contacts.features[c, 0] >= RIM
    if alone and candidates.bodies[c, 0] == 0:
        n, corners = 0, np.empty((MOST_SHARES, 3))
        for p in range(len(candidates.carriers)):
            if candidates.carriers[p] == candidates.bodies[c, 1] and n < MOST_SHARES:
                corners[n], points[n] = candidates.places[p], p
                n += 1
        _share(corners[:n], axpy(row_of(at.centre, i), 1.0, row_of(at.arm, i)), weights)
        return n
    if pair < 0 or contacts.features[c, 0] == RIM:
        return 1
    kind, x, y = contacts.features[c, 0], contacts.features[c, 1], contacts.features[c, 2]
    a = polytope(polytopes, polytopes.pairs[pair, 0])
    own, others = polytopes.first_points[pair, 0], polytopes.first_points[pair, 1]
    if kind == ON_B:
        points[0] = polytopes.points[own + x]
        return 1
    if kind == CROSSED or kind == ON_SIDE or kind == ON_ROUND:
        start, e = edge_of(a, x)
        s = dot(minus(row_of(contacts.held, c), start), e) / dot(e, e)
        if candidates.rolling and kind == CROSSED:
            s = edges_at(candidates, contacts, at, i)[4]
        elif candidates.rolling and kind == ON_ROUND:
            s = side_at_edge(candidates, contacts, at, i, np.empty((1, 3, 3)))[1]
        elif candidates.rolling:
            s = side_at(candidates, contacts, at, i)[1]
        points[0], weights[0] = polytopes.points[own + a.edges[x, 0]], 1.0 - s
        points[1], weights[1] = polytopes.points[own + a.edges[x, 1]], s
        return 2
    if not is_mesh(polytopes, polytopes.pairs[pair, 1]) and polytopes.points[others + y] >= 0:
        points[0] = polytopes.points[others + y]
        return 1
    return _face_shares(polytopes, pair, a, x, row_of(at.centre, i), points, weights)


@jit
def _face_shares(
    polytopes: Polytopes,
    pair: int,
    a: Polytope,
    face: int,
    p: Vector3,
    points: Array,
    weights: Array,
) -> int:
    """Shares of the vertices of a face in a force at p; `distribute_to_contact_points`."""
    corners, n = np.empty((MOST_SHARES, 3)), 0
    for v in range(len(a.vertices)):
        of_face = False
        for i in range(len(a.edges)):
            here = a.edges[i, 0] == v or a.edges[i, 1] == v
            of_face |= here and (a.edges[i, 2] == face or a.edges[i, 3] == face)
        if of_face and n < MOST_SHARES:
            corners[n] = a.vertices[v]
            points[n] = polytopes.points[polytopes.first_points[pair, 0] + v]
            n += 1
    _share(corners[:n], p, weights)
    return n


@jit
def _share(corners: Array, p: Vector3, weights: Array) -> None:
    """Write the smallest weights of corners with the resultant and moment of the force at p."""
    middle, S, off, n = np.zeros(3), np.zeros((3, 3)), np.empty(3), len(corners)
    weights[0] = -1.0
    if n == 1:
        return
    for v in range(n):
        for j in range(3):
            middle[j] += corners[v, j] / n
    for v in range(n):
        for j in range(3):
            for k in range(3):
                S[j, k] += (corners[v, j] - middle[j]) * (corners[v, k] - middle[k])
    size = S[0, 0] + S[1, 1] + S[2, 2]
    for j in range(3):
        off[j] = p[j] - middle[j]
        S[j, j] += _FLAT * size  # across a face or a line, there is nothing to share
    u = np.linalg.solve(S, off)
    for v in range(n):
        weights[v] = -1.0 / n
        for j in range(3):
            weights[v] -= u[j] * (corners[v, j] - middle[j])


@jit
def share_depths(
    candidates: ContactPairs, contacts: Contacts, at: ContactFrames, depths: Array
) -> None:
    """Raise the penetrations of the contact points to those of their contacts, shape (p,)."""
    points, weights = np.empty(MOST_SHARES, np.int64), np.empty(MOST_SHARES)
    for i in range(contacts.n[0]):
        if at.depth[i] > 0.0:
            n, most = distribute_to_contact_points(candidates, contacts, at, i, points, weights), 0
            for x in range(1, n):
                if abs(weights[x]) > abs(weights[most]):
                    most = x
            depths[points[most]] = max(depths[points[most]], at.depth[i])


@jit
def share_wrenches(
    candidates: ContactPairs,
    contacts: Contacts,
    at: ContactFrames,
    wrenches: Array,
    of_points: Array,
) -> None:
    """Add the wrenches of all contacts to those of the points that share them."""
    points, weights = np.empty(MOST_SHARES, np.int64), np.empty(MOST_SHARES)
    for i in range(contacts.n[0]):
        if not wrenches[i].any():
            continue
        for x in range(distribute_to_contact_points(candidates, contacts, at, i, points, weights)):
            for j in range(6):
                of_points[points[x], j] += weights[x] * wrenches[i, j]
