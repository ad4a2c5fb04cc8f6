"""Terrain: a union of shapes with distance, normal, curvature and friction at points."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from nmdp_pin._terrain.height_field import HeightField
from nmdp_pin._terrain.mesh import Mesh
from nmdp_pin._terrain.primitives import Plane, Primitive
from nmdp_pin._terrain.shape import Shape, box_around
from nmdp_pin._terrain.shape_arrays import ShapeArrays, Surface, shape_arrays
from nmdp_pin.errors import TerrainError


@dataclass(frozen=True, eq=False)
class Terrain:
    """Union of shapes; at a point, the shape of the smallest signed distance counts.

    Outside, that is the distance to the union; inside overlapping shapes it is the depth in the
    deepest one, a bound of the depth in the union. Normal, curvature and friction jump where
    another shape becomes the nearest. At equal distances planes come first, then primitives, then
    height fields, then meshes, each in the given order.

    Args:
        shapes: one shape, or a sequence of at least one.

    Raises:
        TerrainError: a shape is missing or of a wrong type.
    """

    shapes: tuple[Shape, ...]
    flat: bool = field(init=False)
    """Whether all shapes are planes."""
    arrays: ShapeArrays = field(init=False, repr=False)
    """What kernels read of the shapes."""

    def __init__(self, shapes: Shape | Sequence[Shape]) -> None:
        shapes = (shapes,) if isinstance(shapes, Shape) else tuple(shapes)
        if not shapes:
            raise TerrainError("a terrain needs at least one shape, e.g. Plane()")
        for shape in shapes:
            if not isinstance(shape, Plane | Primitive | Mesh | HeightField):
                raise TerrainError(
                    "a terrain is made of Plane, Box, Sphere, Cylinder, Capsule, Cone, Ellipsoid, "
                    f"HeightField and Mesh; got {shape!r}"
                )
        object.__setattr__(self, "shapes", shapes)
        object.__setattr__(self, "flat", all(isinstance(shape, Plane) for shape in shapes))
        object.__setattr__(self, "arrays", shape_arrays(shapes))

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the shapes; tables are made again."""
        return Terrain, (self.shapes,)

    @property
    def friction(self) -> np.ndarray:
        """Friction coefficients of the shapes on what has none [-], shape (len(shapes),)."""
        return np.array([shape.coefficient for shape in self.shapes])

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper corner of a box around all shapes [m], infinite where one is a plane."""
        corners = []
        for shape in self.shapes:
            if isinstance(shape, Plane):
                return np.full(3, -np.inf), np.full(3, np.inf)
            corners.append(box_around(shape.collision_geometry(), shape.placement))
        low, high = np.array(corners).transpose(1, 0, 2)
        return low.min(axis=0), high.max(axis=0)

    def query(self, points: np.ndarray) -> Surface:
        """Signed distance, normal, curvature, friction and index of the nearest shape.

        A pure function of its arguments. At points that are not finite, or farther out than
        |x| + |y| + |z| = 1e9 m, all values are NaN and the shape is -1.

        Args:
            points: points in the world frame [m], shape (n, 3).

        Raises:
            TerrainError: `points` has a wrong shape.
        """
        points = np.ascontiguousarray(points, dtype=float)
        if points.ndim != 2 or points.shape[1] != 3:
            raise TerrainError(f"points must have shape (n, 3), got {points.shape}")
        if not points.flags.writeable:  # numba would compile anew
            points = points.copy()
        return self.arrays.query(points)
