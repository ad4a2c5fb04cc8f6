"""The surface of the shape that a candidate touches.

A box is felt on the sides on which a step begins: what comes deep into a thin floor is pushed back
up, and not out of its bottom.
"""

from __future__ import annotations

import math

import numpy as np

from nmdp_pin._kernels.contacts import Candidates, Contacts
from nmdp_pin._kernels.jit import jit
from nmdp_pin._kernels.primitives import BOX
from nmdp_pin._kernels.terrain import MESH, describe, seen_from, shape_distance
from nmdp_pin._kernels.triangles import describe_minimum, nearest_face, settle
from nmdp_pin._kernels.vector3 import Vector3, ahead, rotate, scaled


@jit
def surface_at(
    candidates: Candidates, contacts: Contacts, k: int, p: Vector3
) -> tuple[float, Vector3]:
    """Signed distance of a point to the shape of a candidate [m], and its gradient.

    The nearest face of a mesh becomes that of the candidate.
    """
    row, hessian = candidates.rows[k], np.empty((3, 3))
    if candidates.kinds[row, 0] == MESH:
        mesh = candidates.triangles
        face = nearest_face(mesh, candidates.kinds[row, 2], p)
        face, feature, foot = settle(mesh, face, p)
        contacts.faces[k] = face
        rounding = candidates.shapes[row, 16]
        phi, normal, _ = describe_minimum(mesh, face, feature, foot, p, rounding, hessian)
        return phi, normal
    phi, normal, _ = surface_of(candidates, contacts, k, p, hessian)
    return phi, normal


@jit
def seen_faces(candidates: Candidates, k: int, p: Vector3, M: np.ndarray) -> int:
    """Faces of a box before which candidate k is, or the one that is the nearest way out.

    Args:
        candidates: pairs that may touch.
        k: candidate.
        p: centre of its sphere, or of what it is swept over, in the frame of the box's body [m].
        M: placement of its body, shape (4, 3).
    """
    row, shapes, axis = candidates.rows[k], candidates.shapes, np.empty(3)
    local, faces, nearest, most = seen_from(shapes, row, p), 0, 0, -math.inf
    for j in range(3):
        square = 0.0  # of how far a disc or an ellipsoid reaches along the axis
        for i in range(3):
            rotate(M, candidates.semi_axes[k, i], axis)
            along = shapes[row, 3 + j] * axis[0] + shapes[row, 6 + j] * axis[1]
            square += (along + shapes[row, 9 + j] * axis[2]) ** 2
        beyond = abs(local[j]) - shapes[row, 12 + j] - math.sqrt(square)
        if local[j] >= 0.0:
            faces |= 8 << j
        if beyond > 0.0:
            faces |= 1 << j
        if beyond > most:
            most, nearest = beyond, j
    return faces | 1 << nearest


@jit
def _felt(
    candidates: Candidates, contacts: Contacts, k: int, p: Vector3
) -> tuple[Vector3, int, float]:
    """What candidate k feels of a box at a point: the point, or the axis and depth of a face.

    Behind the middle of a box, the sides around it are felt where the point is in the middle.
    """
    shapes, row, faces = candidates.shapes, candidates.rows[k], contacts.faces[k]
    local, inside, axis, most = seen_from(shapes, row, p), True, -1, -math.inf
    for j in range(3):
        along = (shapes[row, 3 + j], shapes[row, 6 + j], shapes[row, 9 + j])
        sign = 1.0 if faces & (8 << j) else -1.0
        beyond = abs(local[j]) - shapes[row, 12 + j]
        if faces & (1 << j):
            beyond = sign * local[j] - shapes[row, 12 + j]
            if sign * local[j] < 0.0:
                p = ahead(p, -local[j], along)
            if beyond > most:
                most, axis = beyond, j
        inside = inside and beyond <= 0.0
    return p, axis if inside else -1, most


@jit
def distance_to(candidates: Candidates, contacts: Contacts, k: int, p: Vector3) -> float:
    """Signed distance of a point to the shape of candidate k, without meshes [m]."""
    row = candidates.rows[k]
    if candidates.kinds[row, 0] == BOX and contacts.faces[k] >= 0:
        p, axis, depth = _felt(candidates, contacts, k, p)
        if axis >= 0:
            return depth
    return shape_distance(candidates.kinds, candidates.shapes, row, p)


@jit
def surface_of(
    candidates: Candidates, contacts: Contacts, k: int, p: Vector3, hessian: np.ndarray
) -> tuple[float, Vector3, bool]:
    """Signed distance [m] and normal of the shape of candidate k at a point, and whether it bends.

    Without meshes; `hessian` is written as by `describe`.
    """
    row, shapes = candidates.rows[k], candidates.shapes
    if candidates.kinds[row, 0] == BOX and contacts.faces[k] >= 0:
        p, axis, depth = _felt(candidates, contacts, k, p)
        if axis >= 0:
            sign = 1.0 if contacts.faces[k] & (8 << axis) else -1.0
            normal = (shapes[row, 3 + axis], shapes[row, 6 + axis], shapes[row, 9 + axis])
            return depth, scaled(normal, sign), False
    phi = shape_distance(candidates.kinds, shapes, row, p)
    normal, bends = describe(candidates.kinds, shapes, row, p, phi, hessian)
    return phi, normal, bends
