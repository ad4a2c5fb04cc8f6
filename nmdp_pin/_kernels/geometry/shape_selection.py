"""Which contacts with other shapes than planes may act in a step."""

from __future__ import annotations

import math

import numpy as np

from nmdp_pin._kernels.algebra.linear import copy_vector
from nmdp_pin._kernels.algebra.vector3 import (
    Vector3,
    axpy,
    dot,
    largest_difference,
    length,
    minus,
    place,
)
from nmdp_pin._kernels.compiler.jit import Array, deferred, jit
from nmdp_pin._kernels.compiler.record import matrix, vector
from nmdp_pin._kernels.contact.contact_motion import relative_placement, relative_velocity, spin
from nmdp_pin._kernels.geometry.contacts import (
    LOST,
    N_FEATURES,
    N_MINIMA,
    OVERLAP,
    POLYTOPES,
    SPHERE_MESH,
    ContactPairs,
    Contacts,
    reach_of,
)
from nmdp_pin._kernels.geometry.feature_selection import missed_features, select_features
from nmdp_pin._kernels.geometry.polytopes import row_of
from nmdp_pin._kernels.geometry.rims_across import is_spare
from nmdp_pin._kernels.geometry.shape_table import COORDINATE_ERROR, KIND, OF_MESH
from nmdp_pin._kernels.geometry.support_points import support_point
from nmdp_pin._kernels.geometry.swept import is_on_plane, is_swept
from nmdp_pin._kernels.geometry.terrain import MESH
from nmdp_pin._kernels.geometry.touched_surface import (
    distance_to,
    has_faces,
    seen_faces,
    surface_at,
)
from nmdp_pin._kernels.geometry.triangles import (
    SAME,
    closest_point,
    descend_to_minimum,
    local_minima,
)

_BESIDE = 0.1  # of the first semi-axis, between places that are one


@deferred
def select_shapes(
    candidates: ContactPairs, contacts: Contacts, P: Array, twists: Array, h: float, missed: bool
) -> bool:
    """Note which candidates with other shapes may touch in a time h; see `select_contacts`.

    Args:
        candidates: pairs that may touch.
        contacts: contacts of the step.
        P: placements, shape (n + 1, 4, 3).
        twists: motions of the bodies, shape (n + 1, 6).
        h: length of the step [s].
        missed: whether those are noted instead that touch at P without being contacts, in no time.

    Returns:
        Whether some were missed.
    """
    some = False
    if not missed:
        contacts.left_out[:] = False
        contacts.gaps[:] = math.inf
    for block in range(len(candidates.blocks) - 1):
        begin, end = candidates.blocks[block], candidates.blocks[block + 1]
        reach = 0.0 if missed else reach_of(candidates, begin)
        if not _are_apart(candidates, block, P, twists, h, reach):
            if missed:
                some |= _list_missed(candidates, contacts, begin, end, P)
            else:
                _select_block(candidates, contacts, begin, end, P, twists, h)
        elif not missed:
            for k in range(begin, end):
                contacts.listed[k], contacts.faces[k] = False, -1
    return some


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
    M, c, v, x = matrix(4, 3), vector(3), vector(3), vector(3)
    a, b, end = candidates.bodies[begin, 0], candidates.bodies[begin, 1], begin
    relative_placement(P, a, b, M)  # only blocks of polytopes are of several bodies
    for k in range(begin, stop):
        row, kind = candidates.rows[k], candidates.contact_kinds[k]
        if k < end or is_on_plane(candidates, k):
            continue
        contacts.listed[k] = False
        if kind == OVERLAP:
            continue
        if kind == POLYTOPES:
            end = k + N_FEATURES
            select_features(candidates, P, twists, h, contacts, k)
            continue
        place(M, candidates.local[k], c)
        relative_velocity(P, twists, a, b, c, v, x)
        here = (c[0], c[1], c[2])
        there = axpy(here, h, (v[0], v[1], v[2]))
        if has_faces(candidates, row):
            towards, pair = (0.0, 0.0, 0.0), candidates.overlap_rows[k]
            if pair >= 0 and contacts.overlaps[pair, 3] > 0.0:
                towards = row_of(contacts.overlaps, pair)
            contacts.faces[k] = seen_faces(candidates, k, here, M, towards)
        reach = reach_of(candidates, k) + h * length((v[0], v[1], v[2]))
        reach += candidates.radii[k]
        if is_swept(candidates, k):
            spin(P, twists, a, b, h, candidates.local[k], there, M)
            end = _add_places(candidates, contacts, k, M, there, reach)
            relative_placement(P, a, b, M)
            place(M, contacts.held[k], c)
            at_start, _ = surface_at(candidates, contacts, k, (c[0], c[1], c[2]), False)
            if not (at_start > reach or is_spare(candidates, contacts, k)):
                contacts.listed[k], contacts.gaps[k] = True, min(contacts.gaps[k], at_start)
            continue
        if kind == SPHERE_MESH:
            end = k + N_MINIMA
            for i in range(k, end):
                contacts.faces[i], contacts.listed[i] = -1, candidates.reach == math.inf
            _add_minima(candidates, contacts, k, there, reach)
            _add_minima(candidates, contacts, k, here, reach)
            continue
        least = min(
            distance_to(candidates, contacts, k, here), distance_to(candidates, contacts, k, there)
        )
        contacts.listed[k], contacts.gaps[k] = not least > reach, least - candidates.radii[k]


@jit
def _are_apart(
    candidates: ContactPairs, block: int, P: Array, twists: Array, h: float, reach: float
) -> bool:
    """Whether the ball of a block keeps away from its box by a distance for a time h."""
    k, M, c = candidates.blocks[block], matrix(4, 3), vector(3)
    a, b = candidates.bodies[k, 0], candidates.bodies[k, 1]
    ball, box, square = candidates.balls[block], candidates.boxes[block], 0.0
    if not box[1, 0] < math.inf:
        return False
    v, x = vector(3), vector(3)
    relative_placement(P, a, b, M)
    place(M, ball[:3], c)
    relative_velocity(P, twists, a, b, c, v, x)
    for j in range(3):
        x[j] = twists[a, 3 + j] - twists[b, 3 + j]
        beyond = max(abs(c[j] - box[0, j]) - box[1, j], 0.0)
        square += beyond * beyond
    travel = h * (length((v[0], v[1], v[2])) + ball[3] * length((x[0], x[1], x[2])))
    holds: bool = math.sqrt(square) > reach + travel + ball[3]
    return holds


@deferred
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
    contacts.gaps[k] = support_point(candidates, contacts, k, M, False)
    contacts.listed[k] = not contacts.gaps[k] > reach
    while end < len(candidates.rows) and _is_next_minimum(candidates, k, end):
        contacts.listed[end], contacts.faces[end] = False, -1
        copy_vector(candidates.local[end], contacts.held[end])
        end += 1
    if end == k + 1:
        return end
    c, found = vector(3), np.empty(N_MINIMA - 1, np.int64)
    size = length(row_of(candidates.semi_axes[k], 0))
    m, rounding = candidates.kinds[row, OF_MESH], candidates.shapes[row, COORDINATE_ERROR]
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
    same: bool = candidates.kinds[candidates.rows[k], KIND] == MESH
    same = same and candidates.rows[i] == candidates.rows[k] and candidates.slots[i] == 0
    same = same and candidates.slots[k] == 0 and candidates.contact_kinds[i] != POLYTOPES
    same = same and candidates.points[i] == candidates.points[k]
    return same and largest_difference(candidates.local[i], candidates.local[k]) == 0.0


@deferred
def _add_minima(
    candidates: ContactPairs, contacts: Contacts, k: int, p: Vector3, limit: float
) -> bool:
    """List contacts with a mesh at the local minima of the distance that have none; False: none.

    Where there are more than `N_MINIMA`, the nearest ones are contacts.

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
    found = np.empty(N_MINIMA, np.int64)
    n = local_minima(
        mesh,
        candidates.kinds[row, OF_MESH],
        p,
        limit,
        candidates.shapes[row, COORDINATE_ERROR],
        found,
    )
    for x in range(n):
        nearest, _, foot = closest_point(mesh, found[x], p)
        place_of, known, furthest = -1, False, nearest
        for i in range(k, k + N_MINIMA):
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
def _list_missed(
    candidates: ContactPairs, contacts: Contacts, begin: int, stop: int, P: Array
) -> bool:
    """Note candidates of a block that touch at placements P; see `missed_contacts`."""
    M, c, missed, end = matrix(4, 3), vector(3), False, begin
    relative_placement(P, candidates.bodies[begin, 0], candidates.bodies[begin, 1], M)
    for k in range(begin, stop):
        kind = candidates.contact_kinds[k]
        if is_on_plane(candidates, k) or kind == OVERLAP:
            continue
        if kind == POLYTOPES:
            if k >= end:
                end = k + N_FEATURES
                missed |= missed_features(candidates, P, contacts, k)
            continue
        swept, mesh = is_swept(candidates, k), kind == SPHERE_MESH
        if swept and k > 0 and _is_next_minimum(candidates, k - 1, k):
            continue
        known = contacts.gaps[k] == -math.inf or contacts.left_out[k]
        if k < end or known or (contacts.chosen[k] and not mesh):
            continue
        if swept:
            if support_point(candidates, contacts, k, M, False) < candidates.radii[k]:
                contacts.listed[k] = missed = True
                contacts.gaps[k] = -math.inf
            continue
        place(M, candidates.local[k], c)
        p = (c[0], c[1], c[2])
        if mesh:
            end = k + N_MINIMA
            missed |= _add_minima(candidates, contacts, k, p, candidates.radii[k])
        elif distance_to(candidates, contacts, k, p) < candidates.radii[k]:
            contacts.listed[k] = missed = True
            contacts.gaps[k] = -math.inf
    return missed
