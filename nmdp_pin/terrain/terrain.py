"""The static world: shapes, and what they are like at points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from nmdp_pin.errors import TerrainError
from nmdp_pin.kernels.terrain import query
from nmdp_pin.terrain.height_field import HeightField
from nmdp_pin.terrain.mesh import Mesh
from nmdp_pin.terrain.plane import Plane
from nmdp_pin.terrain.primitives import Primitive
from nmdp_pin.terrain.shape import Shape
from nmdp_pin.terrain.shape_arrays import ShapeArrays, shape_arrays
from nmdp_pin.terrain.surface import Nearest, Surface
from nmdp_pin.terrain.triangle_surface import TriangleSurface

_NO_CURVATURE = np.empty((0, 3, 3))  # planes never write to it


@dataclass(frozen=True, eq=False)
class Terrain:
    """The union of shapes: at a point, the shape of the smallest signed distance counts.

    Outside, that is the distance to the union. Inside overlapping shapes it is the depth in the
    deepest of them, a bound of the depth in the union. Normal, curvature and friction jump where
    another shape becomes the nearest. Of shapes at the same distance planes come first, then
    boxes, spheres, cylinders and capsules, then height fields, then meshes, each in the order
    given.

    Args:
        shapes: one, or a sequence of at least one.

    Raises:
        TerrainError: no shape, or something that is not a shape.
    """

    shapes: tuple[Shape, ...]
    flat: bool = field(init=False)
    """Whether all shapes are planes."""
    arrays: ShapeArrays = field(init=False, repr=False)
    """What `nmdp_pin.kernels.terrain.query` reads: all shapes but those that coal measures."""
    compiled: bool = field(init=False)
    """Whether `arrays` say everything: no shape is a mesh."""
    _meshes: tuple[TriangleSurface, ...] = field(init=False, repr=False)

    def __init__(self, shapes: Shape | Sequence[Shape]) -> None:
        shapes = (shapes,) if isinstance(shapes, Shape) else tuple(shapes)
        if not shapes:
            raise TerrainError("a terrain needs at least one shape, e.g. Plane()")
        for shape in shapes:
            if not isinstance(shape, Plane | Primitive | Mesh | HeightField):
                raise TerrainError(
                    "a terrain is made of Plane, Box, Sphere, Cylinder, Capsule, HeightField and "
                    f"Mesh; got {shape!r}"
                )
        meshes = tuple(s.triangle_surface(i) for i, s in enumerate(shapes) if isinstance(s, Mesh))
        for name, value in (
            ("shapes", shapes),
            ("flat", all(isinstance(shape, Plane) for shape in shapes)),
            ("arrays", shape_arrays(shapes)),
            ("compiled", not meshes),
            ("_meshes", meshes),
        ):
            object.__setattr__(self, name, value)

    def __reduce__(self) -> tuple[type[Terrain], tuple[tuple[Shape, ...]]]:
        """Pickle the shapes; coal's side of them is built again."""
        return Terrain, (self.shapes,)

    @property
    def friction(self) -> np.ndarray:
        """Friction coefficients of the shapes [-], shape (len(shapes),)."""
        return np.array([shape.friction for shape in self.shapes])

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper corner of a box around all shapes [m], infinite where one is a plane."""
        corners = []
        for shape in self.shapes:
            if isinstance(shape, Plane):
                return np.full(3, -np.inf), np.full(3, np.inf)
            geometry, M = shape.collision_geometry(), shape.placement
            geometry.computeLocalAABB()
            box = geometry.aabb_local
            middle = M.act(0.5 * (box.min_ + box.max_))
            half = np.abs(M.rotation) @ (0.5 * (box.max_ - box.min_))
            corners.append((middle - half, middle + half))
        low, high = np.array(corners).transpose(1, 0, 2)
        return low.min(axis=0), high.max(axis=0)

    def query(self, points: np.ndarray) -> Surface:
        """Signed distance, normal, curvature, friction and which shape it is.

        A pure function of its arguments: the same bits whatever was asked before. At a point that
        is not finite, or further out than |x| + |y| + |z| = 1e9 m, everything but None is NaN, and
        the shape -1.

        Args:
            points: in the world frame [m], shape (n, 3).

        Raises:
            TerrainError: points of another shape.
        """
        points = np.ascontiguousarray(points, dtype=float)
        if points.ndim != 2 or points.shape[1] != 3:
            raise TerrainError(f"points must have shape (n, 3), got {points.shape}")
        if not points.flags.writeable:  # numba would compile anew
            points = points.copy()
        n = len(points)
        distance, normal, friction = np.empty(n), np.empty((n, 3)), np.empty(n)
        curvature = _NO_CURVATURE if self.flat else np.empty((n, 3, 3))
        shape = np.empty(n, dtype=np.int64)
        bent = query(*self.arrays, points, distance, normal, curvature, friction, shape)
        surface = Surface(distance, normal, curvature if bent else None, friction, shape)
        if not self._meshes:
            return surface
        nearest = Nearest(surface)
        for mesh in self._meshes:
            mesh.update(points, nearest)
        return nearest.surface()
