"""The surface of the shape that a candidate touches, and the faces on whose side it begins."""

from __future__ import annotations

import math

import numpy as np

from nmdp_pin._kernels.algebra.vector3 import (
    Vector3,
    axpy,
    dot,
    length,
    minus,
    rotate,
    scaled,
)
from nmdp_pin._kernels.compiler.jit import Array, jit
from nmdp_pin._kernels.geometry.contacts import DISC, ELLIPSOID_SURFACE, ContactPairs, Contacts
from nmdp_pin._kernels.geometry.polytopes import BORDER, RESTING, is_rim, moved, polytope, row_of
from nmdp_pin._kernels.geometry.primitives import BOX, CONE, CYLINDER, revolved_hessian
from nmdp_pin._kernels.geometry.rims import least_height
from nmdp_pin._kernels.geometry.shape_table import (
    COORDINATE_ERROR,
    KIND,
    OF_MESH,
    SIZES,
    axis_of,
    seen_from,
)
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
BEFORE, AHEAD, _CLOSED = 1, 8, 64
ACROSS = 512  # bit of a rim that touches the side of a cylinder or cone, at two places
_ENDS, _ALL = 2, 7  # the axis of the ends of cylinders and cones, and bits of all three axes
_LEAVING = 0.03  # [-] cosine to which a normal may lead out of a rim's own flat end
_INSTEAD = 0.1  # of the radius, by which a face may be deeper than one that does not touch the rim
_WITHIN = 0.1  # of the size of a polytope, how deep it may be in the face from which it comes
_WORSE = 3.0  # how many times as deep a solid has to be in another face, to come from this one
_LYING = 0.95  # [-] cosine of the largest angle between a flat end and a face on which it lies


@jit
def surface_at(
    candidates: ContactPairs, contacts: Contacts, k: int, p: Vector3, minimum: bool
) -> tuple[float, Vector3]:
    """Signed distance of a point to the shape of a candidate [m], and its gradient.

    The nearest face of a mesh becomes that of the candidate; with `minimum`, the one at the local
    minimum of the distance that is reached from its face.
    """
    row, hessian = candidates.rows[k], np.empty((3, 3))
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


@jit
def seen_faces(candidates: ContactPairs, k: int, p: Vector3, M: Array) -> int:
    """Faces of a shape before which candidate k is, or the one that is the nearest way out.

    With them are the signs of the axes, and those along which faces are that its rim or tip cannot
    touch, because their normals are none of its own.

    Args:
        candidates: pairs that may touch.
        k: candidate.
        p: centre of its sphere, or of what it is swept over, in the frame of the shape's body [m].
        M: placement of its body, shape (4, 3).
    """
    row, faces, nearest, most, side = candidates.rows[k], 0, 0, -math.inf, 0.0
    out, E = np.empty(3), turned_axes(candidates, k, M)
    rotate(M, candidates.facing[k], out)
    limit = (candidates.facing[k, 3] + _LEAVING) * length((out[0], out[1], out[2]))
    for j in range(3):
        n, height = _face(candidates, row, j, p)
        beyond = height - length(slopes_along(E, n))  # of the nearest of a disc or an ellipsoid
        side = height if j == 0 else side
        if dot(n, axis_of(candidates.shapes, row, j)) >= 0.0:
            faces |= AHEAD << j
        if dot(n, out) > limit and beyond <= BORDER:
            faces |= _CLOSED << j
            beyond -= max(_INSTEAD * length(row_of(E, 0)), RESTING)
        if beyond > 0.0:
            faces |= BEFORE << j
        if beyond > most:
            most, nearest = beyond, j
    if candidates.kinds[row, KIND] == BOX and most < -RESTING and is_swept(candidates, k):
        j = _below(candidates, row, p, E, (out[0], out[1], out[2]), most)
        if j >= 0:
            nearest, faces = j, faces & ~(AHEAD << j)
            if dot(axis_of(candidates.shapes, row, j), (out[0], out[1], out[2])) < 0.0:
                faces |= AHEAD << j
    piece = candidates.own_polytopes[k]
    if piece >= 0 and side <= BORDER:
        up, rim = faces & (AHEAD << _ENDS) > 0, is_rim(candidates.polytopes, piece)
        way, upper, deep, instead = _face_entered(candidates, k, p, M, nearest, up)
        if rim:
            comes = most < -RESTING and instead > _WORSE * deep
        else:  # inside, or past the other end
            comes = most <= BORDER or (way == _ENDS and upper != up)
        if comes and deep <= _WITHIN * candidates.polytopes.sizes[piece]:
            closed = faces & _CLOSED * _ALL if rim else _CLOSED << _ENDS - way
            nearest, faces = way, closed | (AHEAD << _ENDS if upper else 0)
    return (faces & ~(_CLOSED << nearest)) | BEFORE << nearest


@jit
def _face_entered(
    candidates: ContactPairs, k: int, p: Vector3, M: Array, axis: int, up: bool
) -> tuple[int, bool, float, float]:
    """The face of a cylinder or cone from which a piece comes, and whether it is the upper end.

    It is the one that the polytope or solid, of which candidate k is a corner, rim or tip, is least
    deep in: a corner may be nearer to the side of a disc on which the polytope lies. Its depths in
    that face and in the given one follow [m].
    """
    row, shapes, polytopes = candidates.rows[k], candidates.shapes, candidates.polytopes
    most, given, nearest, upper, piece = -math.inf, 0.0, 0, False, candidates.own_polytopes[k]
    there, rim = moved(polytope(polytopes, piece), M), is_rim(polytopes, piece)
    along, local = axis_of(shapes, row, 2), seen_from(shapes, row, p)
    for face in range(2 if candidates.kinds[row, KIND] == CONE else 3):
        if face == 0:
            n, beyond = _face(candidates, row, 0, p)
        else:
            sign = -1.0 if face == 1 else 1.0
            n, beyond = scaled(along, sign), sign * local[2] - shapes[row, SIZES + 2]
        if rim:
            beyond += least_height(candidates, piece, there, n) - dot(n, p)
        else:
            least = 0.0
            for v in range(len(there.vertices)):
                least = min(least, dot(n, minus(row_of(there.vertices, v), p)))
            beyond += least
        if min(face, 1) * 2 == axis and (face == 0 or (face == 2) == up):
            given = beyond
        if beyond > most:
            most, nearest, upper = beyond, min(face, 1) * 2, face == 2
    return nearest, upper, -most, -given


@jit
def _below(
    candidates: ContactPairs, row: int, p: Vector3, E: Array, out: Vector3, most: float
) -> int:
    """Axis of the face of a box against which a disc lies, across an edge of it; -1: none.

    The flat end is not as deep in the part of the box beside the disc as the disc is in all faces.

    Args:
        candidates: pairs that may touch.
        row: row of the box.
        p: centre of the disc [m].
        E: its semi-axes [m], shape (3, 3).
        out: direction out of it, of any length, 0 of ellipsoids.
        most: how far it is before the box, less than 0 [m].
    """
    shapes, size, face, before = candidates.shapes, length(out), -1, 0.0
    local = seen_from(shapes, row, p)
    for j in range(3):
        axis, half = axis_of(shapes, row, j), shapes[row, SIZES + j]
        along, reach = dot(out, axis), length(slopes_along(E, axis))
        if abs(along) > _LYING * size:
            face, reach = j, math.inf
        low, high = max(-half, local[j] - reach), min(half, local[j] + reach)
        before += min(along * (low - local[j]), along * (high - local[j]))
    return face if before > (most + RESTING) * size else -1


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
        inside = inside and beyond <= 0.0
    return p, axis if inside else -1, most


@jit
def distance_to(candidates: ContactPairs, contacts: Contacts, k: int, p: Vector3) -> float:
    """Signed distance of a point to the shape of candidate k, without meshes [m]."""
    row = candidates.rows[k]
    if has_faces(candidates, row) and contacts.faces[k] >= 0:
        p, axis, depth = _touched_part(candidates, contacts, k, p)
        if axis >= 0:
            return depth
    return shape_distance(candidates.kinds, candidates.shapes, row, p)


@jit
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


@jit
def is_swept(candidates: ContactPairs, k: int) -> bool:
    """Whether the sphere of a candidate is swept over a disc or an ellipsoid."""
    kind = candidates.contact_kinds[k]
    holds: bool = kind == DISC or kind == ELLIPSOID_SURFACE
    return holds


@jit
def turned_axes(candidates: ContactPairs, k: int, M: Array) -> Array:
    """Semi-axes of a candidate at a placement of its body, shape (3, 3)."""
    E = np.empty((3, 3))
    for j in range(3):
        rotate(M, candidates.semi_axes[k, j], E[j])
    return E


@jit
def slopes_along(E: Array, n: Vector3) -> Vector3:
    """The slopes n . e_j."""
    return dot(n, E[0]), dot(n, E[1]), dot(n, E[2])
