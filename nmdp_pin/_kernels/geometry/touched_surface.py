"""The surface of the shape that a candidate touches, and the faces on whose side it begins."""

from __future__ import annotations

import math

from nmdp_pin._kernels.algebra.vector3 import (
    Vector3,
    axpy,
    dot,
    length,
    minus,
    rotate,
    scaled,
)
from nmdp_pin._kernels.compiler.jit import Array, deferred, jit
from nmdp_pin._kernels.compiler.record import matrix, vector
from nmdp_pin._kernels.geometry.contacts import MOST_LOSSES, ContactPairs, Contacts
from nmdp_pin._kernels.geometry.polytopes import BORDER, RESTING, row_of
from nmdp_pin._kernels.geometry.primitives import BOX, CONE, CYLINDER, revolved_hessian
from nmdp_pin._kernels.geometry.shape_table import (
    COORDINATE_ERROR,
    KIND,
    OF_MESH,
    SIZES,
    axis_of,
    seen_from,
    tip_sine,
)
from nmdp_pin._kernels.geometry.swept import is_swept, slopes_along, turn_axes
from nmdp_pin._kernels.geometry.terrain import (
    MESH,
    describe,
    shape_distance,
)
from nmdp_pin._kernels.geometry.triangles import (
    SAME,
    descend_to_minimum,
    describe_minimum,
    nearest_face,
)

# Bits of `faces`, shifted by the axis: of a face that it is before, of one in the direction of its
# axis, and of one that its rim or tip cannot touch.
BEFORE, AHEAD, _CLOSED, _ANY = 1, 8, 64, 7  # _ANY: before any
ACROSS = 512  # bit of a rim that touches the side of a cylinder or cone, at two places
_FACING = 0.9  # [-] cosine of the largest angle between an overlap and the face that feels it
_ENDS = 2  # the axis of the ends of cylinders and cones
_LEAVING = 0.03  # [-] cosine to which a normal may lead out of a rim's own flat end
_INSTEAD = 0.1  # of the radius, by which a face may be deeper than one that does not touch the rim


@jit
def surface_at(
    candidates: ContactPairs, contacts: Contacts, k: int, p: Vector3, minimum: bool
) -> tuple[float, Vector3]:
    """Signed distance of a point to the shape of a candidate [m], and its gradient.

    The nearest face of a mesh becomes that of the candidate; with `minimum`, the one at the local
    minimum of the distance that is reached from its face.
    """
    row, hessian = candidates.rows[k], matrix(3, 3)
    if candidates.kinds[row, KIND] == MESH:
        mesh = candidates.triangles
        face = (
            contacts.faces[k] if minimum else nearest_face(mesh, candidates.kinds[row, OF_MESH], p)
        )
        face, feature, foot = descend_to_minimum(mesh, face, p)
        contacts.faces[k] = face
        rounding = candidates.shapes[row, COORDINATE_ERROR]
        phi, normal, _ = describe_minimum(mesh, face, feature, foot, p, rounding, hessian)
        return phi, normal
    phi, normal, _ = surface_of(candidates, contacts, k, p, hessian)
    return phi, normal


@jit
def has_faces(candidates: ContactPairs, row: int) -> bool:
    """Whether a shape is a box, a cylinder or a cone."""
    pointed: bool = candidates.pointed[row] and candidates.kinds[row, KIND] != MESH
    return pointed


@jit
def _face(candidates: ContactPairs, row: int, j: int, p: Vector3) -> tuple[Vector3, float]:
    """Normal of the face of a shape along its axis j on the side of a point; height over it [m].

    The first face of a cylinder or cone is its side, the third an end; there is no second one.
    """
    shapes, local = candidates.shapes, seen_from(candidates.shapes, row, p)
    kind, axis = candidates.kinds[row, KIND], axis_of(shapes, row, j)
    if kind == BOX or j == 2:
        sign = 1.0 if local[j] >= 0.0 and kind != CONE else -1.0
        return scaled(axis, sign), sign * local[j] - shapes[row, SIZES + j]
    if j == 1:
        return axis, -math.inf
    rho, up, height = (
        math.hypot(local[0], local[1]),
        axis_of(shapes, row, 2),
        shapes[row, SIZES + 2],
    )
    out = scaled(axpy(minus(p, row_of(shapes, row)), -local[2], up), 1.0 / max(rho, SAME))
    if kind == CYLINDER:
        return out, rho - shapes[row, SIZES]
    slant = math.hypot(shapes[row, SIZES], 2.0 * height)
    across, along = 2.0 * height / slant, shapes[row, SIZES] / slant
    return axpy(scaled(out, across), along, up), across * rho + along * (local[2] - height)


@deferred
def seen_faces(candidates: ContactPairs, k: int, p: Vector3, M: Array, towards: Vector3) -> int:
    """Faces of a shape before which candidate k is, or the one that is the nearest way out.

    Of solids that overlap that is the one that faces the direction in which they do least. With
    them are the signs of the axes, and those along which faces are that its rim or tip cannot
    touch, because their normals are none of its own.

    Args:
        candidates: pairs that may touch.
        k: candidate.
        p: centre of its sphere, or of what it is swept over, in the frame of the shape's body [m].
        M: placement of its body, shape (4, 3).
        towards: direction out of the shape in which it overlaps the candidate's least, 0: in none.
    """
    row, faces, nearest, most = candidates.rows[k], 0, 0, -math.inf
    out, heights, E = vector(3), vector(3), matrix(3, 3)
    turn_axes(candidates, k, M, E)
    rotate(M, candidates.facing[k], out)
    limit = (candidates.facing[k, 3] + _LEAVING) * length((out[0], out[1], out[2]))
    for j in range(3):
        n, height = _face(candidates, row, j, p)
        beyond = height - length(slopes_along(E, n))  # of the nearest of a disc or an ellipsoid
        heights[j] = beyond
        if dot(n, axis_of(candidates.shapes, row, j)) >= 0.0:
            faces |= AHEAD << j
        if dot(n, out) > limit and beyond <= BORDER:
            faces |= _CLOSED << j
            beyond -= max(_INSTEAD * length(row_of(E, 0)), RESTING)
        if beyond > 0.0:
            faces |= BEFORE << j
        if beyond > most:
            most, nearest = beyond, j
    facing, ahead = _face_along(candidates, row, towards)
    for j in range(3):
        if j != facing and heights[j] > BORDER:  # beside it
            facing = -1
    if facing >= 0:
        nearest = facing
        faces = (faces & ~(_ANY | AHEAD << nearest)) | (AHEAD << nearest if ahead else 0)
        if candidates.kinds[row, KIND] != BOX and not is_swept(candidates, k):
            faces = (faces & ~_CLOSED) | _CLOSED << _ENDS - nearest
    return (faces & ~(_CLOSED << nearest)) | BEFORE << nearest


@jit
def _face_along(candidates: ContactPairs, row: int, n: Vector3) -> tuple[int, bool]:
    """Axis of the face of a box, cylinder or cone across a direction, -1: none; whether ahead."""
    shapes, kind = candidates.shapes, candidates.kinds[row, KIND]
    x, y = dot(n, axis_of(shapes, row, 0)), dot(n, axis_of(shapes, row, 1))
    z = dot(n, axis_of(shapes, row, 2))
    if kind == BOX:
        j = 2 if abs(z) >= max(abs(x), abs(y)) else (1 if abs(y) >= abs(x) else 0)
        along = (x, y, z)[j]
        return j if abs(along) >= _FACING else -1, along > 0.0
    side, end = math.hypot(x, y), abs(z)
    if kind == CONE:
        sine = tip_sine(shapes, row)
        side, end = math.sqrt(1.0 - sine * sine) * side + sine * z, -z
    face = _ENDS if end >= side else 0
    return face if max(side, end) >= _FACING else -1, z > 0.0


@jit
def _touched_part(
    candidates: ContactPairs, contacts: Contacts, k: int, p: Vector3
) -> tuple[Vector3, int, float]:
    """What candidate k feels of a shape at a point: the point, or the axis and height of a face.

    Behind the middle of a box, the sides around it are felt where the point is in the middle.
    """
    shapes, row, faces = candidates.shapes, candidates.rows[k], contacts.faces[k]
    local, inside, axis, most = seen_from(shapes, row, p), True, -1, -math.inf
    kind, rho = candidates.kinds[row, KIND], math.hypot(local[0], local[1])
    for j in range(3):
        if kind != BOX and j < 2:
            beyond = -math.inf if j == 1 else rho - shapes[row, SIZES]
            if faces & (BEFORE << j):
                _, beyond = _face(candidates, row, j, p)
            elif faces & (_CLOSED << j) and beyond <= 2.0 * BORDER:
                beyond = -shapes[row, SIZES]
        else:
            along, back = axis_of(shapes, row, j), -local[j] if kind != CONE else 0.0
            sign = 1.0 if faces & (AHEAD << j) else -1.0
            beyond = abs(local[j]) - shapes[row, SIZES + j]
            if faces & (_CLOSED << j) and beyond <= 2.0 * BORDER:
                p, beyond = axpy(p, back, along), -shapes[row, SIZES + j]
            if faces & (BEFORE << j):
                beyond = sign * local[j] - shapes[row, SIZES + j]
                if sign * local[j] < 0.0:
                    p = axpy(p, back, along)
        if faces & (BEFORE << j) and beyond > most:
            most, axis = beyond, j
        inside = inside and (beyond <= 0.0 or contacts.losses[k] >= MOST_LOSSES)
    return p, axis if inside else -1, most


@deferred
def distance_to(candidates: ContactPairs, contacts: Contacts, k: int, p: Vector3) -> float:
    """Signed distance of a point to the shape of candidate k, without meshes [m]."""
    row = candidates.rows[k]
    if has_faces(candidates, row) and contacts.faces[k] >= 0:
        p, axis, depth = _touched_part(candidates, contacts, k, p)
        if axis >= 0:
            return depth
    return shape_distance(candidates.kinds, candidates.shapes, row, p)


@deferred
def surface_of(
    candidates: ContactPairs, contacts: Contacts, k: int, p: Vector3, hessian: Array
) -> tuple[float, Vector3, bool]:
    """Signed distance [m] and normal of the shape of candidate k at a point, and whether it bends.

    Without meshes; `hessian` is written as by `describe`.
    """
    row, shapes = candidates.rows[k], candidates.shapes
    if has_faces(candidates, row) and contacts.faces[k] >= 0:
        x = p
        p, axis, depth = _touched_part(candidates, contacts, k, p)
        if axis == 0 and candidates.kinds[row, KIND] != BOX:
            normal, _ = _face(candidates, row, 0, x)
            own = seen_from(shapes, row, axpy(row_of(shapes, row), 1.0, normal))
            revolved_hessian(seen_from(shapes, row, x), own, math.inf, hessian)
            return depth, normal, True
        if axis >= 0:
            sign = 1.0 if contacts.faces[k] & (AHEAD << axis) else -1.0
            return depth, scaled(axis_of(shapes, row, axis), sign), False
    phi = shape_distance(candidates.kinds, shapes, row, p)
    normal, bends = describe(candidates.kinds, shapes, row, p, phi, hessian)
    return phi, normal, bends
