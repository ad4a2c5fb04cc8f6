"""Seams: contacts that another shape covers where shapes join.

Where two shapes of one body or of the world join, the edge of one of them is no edge of their
union: what slides over the seam feels the shape that is nearer alone.
"""

from __future__ import annotations

import math

from nmdp_pin._kernels.algebra.vector3 import (
    Vector3,
    axpy,
    dot,
    largest_difference,
    length,
    minus,
    rotate_back,
    scaled,
)
from nmdp_pin._kernels.compiler.jit import deferred, jit
from nmdp_pin._kernels.compiler.record import matrix, vector
from nmdp_pin._kernels.geometry.contacts import (
    MOST_LOSSES,
    POLYTOPES,
    REACH,
    ContactFrames,
    ContactPairs,
    Contacts,
)
from nmdp_pin._kernels.geometry.polytopes import (
    CROSSED,
    CROSSED_ROUND,
    ON_A,
    ON_B,
    ON_ROUND,
    is_mesh,
    row_of,
)
from nmdp_pin._kernels.geometry.primitives import BOX
from nmdp_pin._kernels.geometry.ridges import touched_polytope
from nmdp_pin._kernels.geometry.shape_table import (
    COORDINATE_ERROR,
    KIND,
    OF_MESH,
    SIZES,
    axis_of,
    seen_from,
)
from nmdp_pin._kernels.geometry.swept import is_swept
from nmdp_pin._kernels.geometry.terrain import MESH, describe, shape_distance
from nmdp_pin._kernels.geometry.triangles import (
    SAME,
    descend_to_minimum,
    describe_minimum,
    nearest_face,
)

BESIDE = 1e-3  # [m] beside a surface, where another shape shows that it is an inner one
_ACROSS = 0.7  # [-] cosine of the least angle between a wall and a floor
_WALL = 1e-2  # [m] behind a wall of a mesh, from where its floor is the nearest surface
_LEDGE = 1e-4  # [m] by which a surface has to rise above a shape to be felt beside it


@deferred
def leave_seams(candidates: ContactPairs, contacts: Contacts, at: ContactFrames) -> None:
    """Mark the contacts of a sphere whose point on the surface another shape covers."""
    n, i = contacts.n[0], 0
    least = -math.inf if candidates.distant else -_LEDGE  # rigid ones hold at no depth
    while i < n:
        end = i + 1
        while end < n and _is_same_sphere(candidates, contacts.index[i], contacts.index[end]):
            end += 1
        if end > i + 1 or is_swept(candidates, contacts.index[i]):
            for k in range(i, end):
                kept = contacts.losses[contacts.index[k]] >= MOST_LOSSES
                if at.depth[k] > least and not (at.on_internal_edge[k] or kept):
                    at.on_internal_edge[k] = _is_covered(candidates, contacts, at, i, end, k) or (
                        is_swept(candidates, contacts.index[k])
                        and _has_walls(candidates, candidates.rows[contacts.index[k]])
                        and _is_inner(candidates, contacts, at, k)
                    )
            for k in range(i, end):
                if at.on_internal_edge[k]:
                    at.depth[k] = -REACH
        elif (
            candidates.contact_kinds[contacts.index[i]] == POLYTOPES
            and at.depth[i] > least
            and contacts.losses[contacts.index[i]] < MOST_LOSSES
            and (_is_inner(candidates, contacts, at, i) or _is_at_seam(candidates, contacts, at, i))
        ):
            at.depth[i], at.on_internal_edge[i] = -REACH, True
        i = end


@jit
def _is_inner(candidates: ContactPairs, contacts: Contacts, at: ContactFrames, i: int) -> bool:
    """Whether the point on the surface of contact i, of polytopes or a rim, is inside their body.

    There another shape of the body, or of the world, covers the surface, which does not go on above
    that shape, unlike a wall on a floor.
    """
    polytopes, pair = candidates.polytopes, candidates.pairs[contacts.index[i]]
    own = candidates.rows[contacts.index[i]]
    if pair >= 0:
        swapped = contacts.features[contacts.index[i], 0] == ON_A
        own = polytopes.rows[polytopes.pairs[pair, 0 if swapped else 1]]
    if own < 0:
        return False
    n, foot = row_of(at.normal, i), _foot(at, i)
    beside = axpy(foot, BESIDE, n)
    for row in range(len(candidates.kinds)):
        if candidates.owners[row] != contacts.bodies[i, 1] or row == own:
            continue
        if _surface(candidates, row, beside)[0] >= _LEDGE:
            continue
        up, rise = _way_out(candidates, row, beside, n)
        above = axpy(foot, rise + _LEDGE, up)
        phi, _ = _surface(candidates, own, above)
        if phi > (rise + _LEDGE) * dot(up, n) + 0.5 * _LEDGE:
            return True
    return False


@jit
def _is_at_seam(candidates: ContactPairs, contacts: Contacts, at: ContactFrames, i: int) -> bool:
    """Whether contact i is at an edge or a corner of polytope b where its body goes on beside it.

    What touches there touches the faces on both sides as well.
    """
    c, polytopes = contacts.index[i], candidates.polytopes
    kind, y = contacts.features[c, 0], contacts.features[c, 2]
    if kind == ON_B or kind == ON_ROUND:
        return False
    n, mesh, foot = row_of(at.normal, i), candidates.triangles, _foot(at, i)
    if kind == ON_A:
        turned = vector(3)
        rotate_back(at.placements[i], at.normal[i], turned)
        n, foot = (-turned[0], -turned[1], -turned[2]), row_of(contacts.held, c)
    below = axpy(foot, -_LEDGE, n)
    if is_mesh(polytopes, polytopes.pairs[candidates.pairs[c], 1]) and kind != CROSSED:
        for k in range(mesh.first[y], mesh.first[y + 1]):
            if _goes_on(candidates, c, n, below, row_of(mesh.normals, mesh.fans[k])):
                return True
        return False
    b = touched_polytope(candidates, candidates.pairs[c])
    if len(b.edges) == 0:  # another rim
        return False
    own = kind == CROSSED or kind == CROSSED_ROUND
    for edge in range(y if own else 0, y + 1 if own else len(b.edges)):
        if kind == ON_A and b.edges[edge, 0] != y and b.edges[edge, 1] != y:
            continue
        for k in range(2, 4):
            side, other = b.edges[edge, k], b.edges[edge, 5 - k]
            if side >= 0 and _goes_on(candidates, c, n, below, row_of(b.normals, side)):
                return True
            if own and side >= 0 and other >= 0:
                under = axpy(foot, -_LEDGE, row_of(b.normals, other))
                if _is_filled(candidates, c, axpy(under, _LEDGE, row_of(b.normals, side))):
                    return True
    return False


@jit
def _goes_on(candidates: ContactPairs, c: int, n: Vector3, below: Vector3, side: Vector3) -> bool:
    """Whether another shape lies beside a face of the second polytope of candidate c.

    Args:
        candidates: pairs that may touch.
        c: candidate.
        n: normal of the contact.
        below: point under the contact, in the polytope [m].
        side: normal of the face, which is none where it is as that of the contact.
    """
    return abs(dot(side, n)) <= _ACROSS and _is_filled(
        candidates, c, axpy(below, 2.0 * _LEDGE, side)
    )


@jit
def _is_filled(candidates: ContactPairs, c: int, p: Vector3) -> bool:
    """Whether a point is inside a shape beside the one that candidate c touches."""
    own = candidates.rows[c]
    for row in range(len(candidates.kinds)):
        other = candidates.owners[row] == candidates.bodies[c, 1] and row != own
        if other and _surface(candidates, row, p)[0] < 0.0:
            return True
    return False


@jit
def _has_walls(candidates: ContactPairs, row: int) -> bool:
    """Whether a shape is a box, a mesh or a height field, which may stand wall to wall."""
    holds: bool = candidates.kinds[row, KIND] == BOX or candidates.kinds[row, KIND] == MESH
    return holds


@jit
def _surface(candidates: ContactPairs, row: int, p: Vector3) -> tuple[float, Vector3]:
    """Signed distance of a point to a shape [m], and its gradient."""
    hessian, kinds, shapes = matrix(3, 3), candidates.kinds, candidates.shapes
    if kinds[row, KIND] == MESH:
        mesh = candidates.triangles
        face = nearest_face(mesh, kinds[row, OF_MESH], p)
        face, feature, foot = descend_to_minimum(mesh, face, p)
        rounding = shapes[row, COORDINATE_ERROR]
        phi, normal, _ = describe_minimum(mesh, face, feature, foot, p, rounding, hessian)
        return phi, normal
    phi = shape_distance(kinds, shapes, row, p)
    normal, _ = describe(kinds, shapes, row, p, phi, hessian)
    return phi, normal


@jit
def _way_out(candidates: ContactPairs, row: int, p: Vector3, n: Vector3) -> tuple[Vector3, float]:
    """Direction and distance from a point inside a shape to its surface, across a direction n."""
    shapes = candidates.shapes
    phi, up = _surface(candidates, row, p)
    if candidates.kinds[row, KIND] == MESH and abs(dot(up, n)) > _ACROSS:  # the wall beside
        phi, up = _surface(candidates, row, axpy(p, _WALL, n))
    rise = -phi
    if candidates.kinds[row, KIND] == BOX:
        local, rise = seen_from(shapes, row, p), math.inf
        for j in range(3):
            axis = axis_of(shapes, row, j)
            inside = shapes[row, SIZES + j] - abs(local[j])
            if abs(dot(axis, n)) < _ACROSS and inside < rise:
                rise, up = inside, scaled(axis, 1.0 if local[j] >= 0.0 else -1.0)
    return up, rise


@jit
def _is_same_sphere(candidates: ContactPairs, c: int, d: int) -> bool:
    """Whether two candidates are of the same sphere, or of the same place on a rim."""
    if candidates.points[c] != candidates.points[d] or candidates.slots[c] != candidates.slots[d]:
        return False
    if candidates.contact_kinds[c] == POLYTOPES:  # which is reported there alone
        return False
    p, q = candidates.local[c], candidates.local[d]  # points of the world are reported alike
    holds: bool = p[0] == q[0] and p[1] == q[1] and p[2] == q[2]
    return holds


@deferred
def _is_covered(
    candidates: ContactPairs, contacts: Contacts, at: ContactFrames, begin: int, end: int, k: int
) -> bool:
    """Whether a nearer shape covers the point of contact k on its surface."""
    c = contacts.index[k]
    phi, foot = candidates.radii[c] - at.depth[k], _foot(at, k)
    for other in range(begin, end):
        d = contacts.index[other]
        row = candidates.rows[d]
        if other == k or (candidates.kinds[row, KIND] == MESH and contacts.faces[d] < 0):
            continue
        nearer = at.depth[other] > at.depth[k] or (at.depth[other] == at.depth[k] and other < k)
        if row == candidates.rows[c]:
            # Inside a mesh, and behind another side of it, the nearest face is all that counts.
            beside, there = candidates.radii[d] - at.depth[other], _foot(at, other)
            nearer = abs(beside) < abs(phi) or (abs(beside) == abs(phi) and other < k)
            inner = beside < 0.0 or phi < 0.0
            if is_swept(candidates, c):  # several places may be inside, each where it is nearest
                point = axpy(foot, phi, row_of(at.normal, k))
                _, _, nearest = descend_to_minimum(candidates.triangles, contacts.faces[d], point)
                inner = False
                if length(minus(point, nearest)) < abs(phi) - SAME:
                    return True
            if nearer and (inner or largest_difference(foot, there) <= SAME):
                return True
        elif not nearer:
            continue
        elif candidates.kinds[row, KIND] == MESH:
            _, _, there = descend_to_minimum(candidates.triangles, contacts.faces[d], foot)
            if largest_difference(foot, there) <= SAME:
                return True
        else:
            inside = -shape_distance(candidates.kinds, candidates.shapes, row, foot)
            if inside >= -SAME and not _rises(
                candidates, contacts, at, k, row, foot, inside, row_of(at.normal, other)
            ):
                return True
    return False


@jit
def _rises(
    candidates: ContactPairs,
    contacts: Contacts,
    at: ContactFrames,
    k: int,
    row: int,
    foot: Vector3,
    inside: float,
    normal: Vector3,
) -> bool:
    """Whether the surface of contact k, inside a shape at its foot, goes on above that shape.

    Then it is a wall on a floor, or the side of a groove; else it is hidden in the shape. Where the
    foot is on both surfaces, as in a corner, that of the wall is also the one above the floor.

    Args:
        candidates: pairs that may touch.
        contacts: contacts of the step.
        at: contacts at the configuration.
        k: contact.
        row: row of the shape, which has a closed form.
        foot: point of contact k on its surface [m].
        inside: its depth in the shape [m].
        normal: normal of the contact with the shape, the way out from its edges.
    """
    hessian, c = matrix(3, 3), contacts.index[k]
    up = normal
    if inside > SAME:
        up, _ = describe(candidates.kinds, candidates.shapes, row, foot, -inside, hessian)
    rise, own = inside + _LEDGE, candidates.rows[c]
    above, phi = axpy(foot, rise, up), 0.0
    if candidates.kinds[own, KIND] == MESH:
        mesh = candidates.triangles
        face, feature, there = descend_to_minimum(mesh, contacts.faces[c], above)
        rounding = candidates.shapes[own, COORDINATE_ERROR]
        phi = describe_minimum(mesh, face, feature, there, above, rounding, hessian)[0]
    else:
        phi = shape_distance(candidates.kinds, candidates.shapes, own, above)
    if inside <= SAME:
        return phi <= 0.5 * _LEDGE
    return phi <= rise * dot(up, row_of(at.normal, k)) + 0.5 * _LEDGE


@jit
def _foot(at: ContactFrames, k: int) -> Vector3:
    """The closest point of the surface of contact k [m]."""
    point = axpy(row_of(at.centre, k), 1.0, row_of(at.arm, k))
    return axpy(point, at.depth[k], row_of(at.normal, k))
