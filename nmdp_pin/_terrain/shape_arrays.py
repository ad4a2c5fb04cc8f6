"""Shapes as the flat arrays that the kernels read."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from nmdp_pin._kernels.geometry.primitives import BOX, CAPSULE, CONE, CYLINDER, ELLIPSOID, SPHERE
from nmdp_pin._kernels.geometry.shape_table import (
    COORDINATE_ERROR,
    FRICTION,
    INDEX,
    KIND,
    KIND_COLUMNS,
    OF_MESH,
    ROTATION,
    SHAPE_COLUMNS,
    SIZES,
)
from nmdp_pin._kernels.geometry.terrain import MESH, PLANE, query
from nmdp_pin._kernels.geometry.triangles import Triangles
from nmdp_pin._terrain.height_field import HeightField
from nmdp_pin._terrain.mesh import Mesh
from nmdp_pin._terrain.primitives import (
    Box,
    Capsule,
    Cone,
    Cylinder,
    Ellipsoid,
    Plane,
    Primitive,
    Sphere,
)
from nmdp_pin._terrain.shape import Shape
from nmdp_pin._terrain.triangles import triangles_of

_ROUNDING = 1e-13  # [-] of coordinates relative to the size of a mesh
_KINDS: dict[type[Shape], int] = {
    Plane: PLANE,
    Box: BOX,
    Sphere: SPHERE,
    Cylinder: CYLINDER,
    Capsule: CAPSULE,
    Cone: CONE,
    Ellipsoid: ELLIPSOID,
    HeightField: MESH,
    Mesh: MESH,
}


class Surface(NamedTuple):
    """Terrain data at n points.

    Attributes:
        distance: signed distance to the nearest shape, negative inside [m], shape (n,).
        normal: outward unit normal, the gradient of the distance, shape (n, 3).
        curvature: derivative of the normal, the Hessian of the distance [1/m], shape (n, 3, 3);
            None if it is zero at all points.
        friction: friction coefficient of the nearest shape on what has none [-], shape (n,).
        shape: index of the nearest shape, -1 where there is none, shape (n,).
    """

    distance: np.ndarray
    normal: np.ndarray
    curvature: np.ndarray | None
    friction: np.ndarray
    shape: np.ndarray


class ShapeArrays(NamedTuple):
    """The tables of `nmdp_pin._kernels.geometry.shape_table`; only to be read.

    All are contiguous and formally writable, since numba compiles anew for read-only arrays.
    """

    kinds: np.ndarray  # (n, 3)
    shapes: np.ndarray  # (n, 17)
    triangles: Triangles

    def query(self, points: np.ndarray) -> Surface:
        """The surface of these shapes at points, shape (n, 3), contiguous and writable."""
        n = len(points)
        distance, normal, friction = np.empty(n), np.empty((n, 3)), np.empty(n)
        curvature, shape = np.empty((n, 3, 3)), np.empty(n, dtype=np.int64)
        bent = query(*self, points, distance, normal, curvature, friction, shape)
        return Surface(distance, normal, curvature if bent else None, friction, shape)


def shape_arrays(shapes: Sequence[Shape]) -> ShapeArrays:
    """The arrays of the shapes of a terrain."""
    found = sorted(enumerate(shapes), key=lambda item: (order(item[1]), item[0]))
    kinds, rows = (
        np.zeros((len(found), KIND_COLUMNS), dtype=np.int64),
        np.zeros((len(found), SHAPE_COLUMNS)),
    )
    meshes: list[tuple[np.ndarray, np.ndarray]] = []
    for row, kind, (index, shape) in zip(rows, kinds, found, strict=True):
        M = shape.placement
        row[:ROTATION], row[ROTATION:SIZES] = M.translation, M.rotation.ravel()
        row[FRICTION], kind[KIND], kind[INDEX] = shape.coefficient, _KINDS[type(shape)], index
        if isinstance(shape, Plane):
            row[ROTATION + 2 : SIZES : 3], row[SIZES] = shape.unit_normal, shape.level
        elif isinstance(shape, Primitive):
            row[SIZES:FRICTION] = shape.half_extents
        elif isinstance(shape, HeightField | Mesh):
            vertices, faces = shape.triangles()
            world = vertices @ M.rotation.T + M.translation
            row[COORDINATE_ERROR], kind[OF_MESH] = _ROUNDING * np.abs(world).max(), len(meshes)
            meshes.append((world, faces))
    return ShapeArrays(kinds, rows, triangles_of(meshes))


def order(shape: Shape) -> int:
    """The order in which shapes count where they tie: planes, primitives, fields, meshes."""
    kinds = (Plane, Primitive, HeightField)
    return next((k for k, kind in enumerate(kinds) if isinstance(shape, kind)), len(kinds))
