"""Terrain: a union of shapes with distance, normal, curvature and friction at points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, get_args

import numpy as np

from nmdp_pin.errors import TerrainError
from nmdp_pin.terrain.coal_shape import CoalShape
from nmdp_pin.terrain.height_field import HeightField
from nmdp_pin.terrain.mesh import Mesh
from nmdp_pin.terrain.plane import Plane
from nmdp_pin.terrain.primitives import Primitive
from nmdp_pin.terrain.shape import Shape
from nmdp_pin.terrain.shape_arrays import ShapeArrays, order, shape_arrays
from nmdp_pin.terrain.surface import Nearest, Surface
from nmdp_pin.terrain.triangle_surface import TriangleSurface

Query = Literal["closed-form", "coal"]


class CalledSurfaces(NamedTuple):
    """Shapes whose distances are found by a search: height fields, and what coal measures.

    Args:
        arrays: shapes that the kernels search.
        by_coal: shapes that coal measures.
    """

    arrays: ShapeArrays
    by_coal: tuple[CoalShape | TriangleSurface, ...]

    def query(self, points: np.ndarray) -> Surface:
        """Surface of the nearest shape at points, as `Terrain.query`; shape (n, 3)."""
        surface = self.arrays.query(points)
        if not self.by_coal:
            return surface
        nearest = Nearest(surface)
        for shape in self.by_coal:
            shape.update(points, nearest)
        return nearest.surface()


@dataclass(frozen=True, eq=False)
class Terrain:
    """Union of shapes; at a point, the shape of the smallest signed distance counts.

    Outside, that is the distance to the union; inside overlapping shapes it is the depth in the
    deepest one, a bound of the depth in the union. Normal, curvature and friction jump where
    another shape becomes the nearest. At equal distances planes come first, then primitives, then
    height fields, then meshes, each in the given order.

    Args:
        shapes: one shape, or a sequence of at least one.
        query: computation of distances: "closed-form", compiled, with coal for meshes only; or
            "coal" (formerly hpp-fcl) for every shape.

    Raises:
        TerrainError: a shape is missing or of a wrong type, or `query` is unknown.
    """

    shapes: tuple[Shape, ...]
    flat: bool = field(init=False)
    """Whether all shapes are planes."""
    arrays: ShapeArrays = field(init=False, repr=False)
    """What `nmdp_pin.kernels.terrain.query` reads: all shapes but those that coal measures."""
    closed_forms: ShapeArrays = field(init=False, repr=False)
    """The planes and primitives among them."""
    called: CalledSurfaces | None = field(init=False, repr=False)
    """The other shapes; None: there are none."""
    measured_by: Query = field(init=False)
    """The option `query`."""
    _by_coal: tuple[CoalShape | TriangleSurface, ...] = field(init=False, repr=False)

    def __init__(self, shapes: Shape | Sequence[Shape], *, query: Query = "closed-form") -> None:
        shapes = (shapes,) if isinstance(shapes, Shape) else tuple(shapes)
        if not shapes:
            raise TerrainError("a terrain needs at least one shape, e.g. Plane()")
        for shape in shapes:
            if not isinstance(shape, Plane | Primitive | Mesh | HeightField):
                raise TerrainError(
                    "a terrain is made of Plane, Box, Sphere, Cylinder, Capsule, HeightField and "
                    f"Mesh; got {shape!r}"
                )
        if query not in get_args(Query):
            raise TerrainError(f"query must be one of {get_args(Query)}, got {query!r}")
        asked = {
            i: shape for i, shape in enumerate(shapes) if query == "coal" or isinstance(shape, Mesh)
        }
        in_order = sorted(asked.items(), key=lambda item: (order(item[1]), item[0]))
        closed = {i: shape for i, shape in enumerate(shapes) if i not in asked}
        by_coal = tuple(_asked_of_coal(shape, i) for i, shape in in_order)
        fields = {i: shape for i, shape in closed.items() if isinstance(shape, HeightField)}
        simple = {i: shape for i, shape in closed.items() if i not in fields}
        others = CalledSurfaces(shape_arrays(fields), by_coal) if fields or asked else None
        for name, value in (
            ("shapes", shapes),
            ("flat", all(isinstance(shape, Plane) for shape in shapes)),
            ("arrays", shape_arrays(closed)),
            ("closed_forms", shape_arrays(simple)),
            ("called", others),
            ("measured_by", query),
            ("_by_coal", by_coal),
        ):
            object.__setattr__(self, name, value)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the shapes; distance queries are built again."""
        return _terrain, (self.shapes, self.measured_by)

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
        return CalledSurfaces(self.arrays, self._by_coal).query(points)


def _asked_of_coal(shape: Shape, index: int) -> CoalShape | TriangleSurface:
    """Distance query of coal for a shape."""
    if isinstance(shape, Mesh | HeightField):
        return shape.triangle_surface(index)
    return CoalShape(shape, index)


def _terrain(shapes: tuple[Shape, ...], query: Query) -> Terrain:
    return Terrain(shapes, query=query)
