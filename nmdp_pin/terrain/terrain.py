"""The static world: shapes, and what they are like at points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import blas

from nmdp_pin.errors import TerrainError
from nmdp_pin.terrain.height_field import HeightField
from nmdp_pin.terrain.mesh import Mesh
from nmdp_pin.terrain.plane import HalfSpaces, Plane
from nmdp_pin.terrain.primitive_set import PrimitiveSet
from nmdp_pin.terrain.primitives import Primitive
from nmdp_pin.terrain.shape import Shape
from nmdp_pin.terrain.surface import Nearest, Surface, no_surface
from nmdp_pin.terrain.triangle_surface import TriangleSurface

_LOST = 1e9  # [m] |x| + |y| + |z|; further out coordinates no longer resolve a micrometre


@dataclass(frozen=True, eq=False)
class Terrain:
    """The union of shapes: at a point, the shape of the smallest signed distance counts.

    Outside, that is the distance to the union. Inside overlapping shapes it is the depth in the
    deepest of them, a bound of the depth in the union. Normal, curvature and friction jump where
    another shape becomes the nearest. Of shapes at the same distance planes come first, then
    boxes, spheres, cylinders and capsules, then meshes and height fields, each in the order given.

    Args:
        shapes: at least one.

    Raises:
        TerrainError: no shape, or something that is not a shape.
    """

    shapes: tuple[Shape, ...]
    flat: bool = field(init=False)
    _planes: HalfSpaces | None = field(init=False, repr=False)
    _solids: tuple[PrimitiveSet | TriangleSurface, ...] = field(init=False, repr=False)

    def __init__(self, shapes: Sequence[Shape]) -> None:
        shapes = tuple(shapes)
        if not shapes:
            raise TerrainError("a terrain needs at least one shape, e.g. Plane()")
        for shape in shapes:
            if not isinstance(shape, Plane | Primitive | Mesh | HeightField):
                raise TerrainError(
                    "a terrain is made of Plane, Box, Sphere, Cylinder, Capsule, HeightField and "
                    f"Mesh; got {shape!r}"
                )
        planes = {i: shape for i, shape in enumerate(shapes) if isinstance(shape, Plane)}
        primitives = {i: shape for i, shape in enumerate(shapes) if isinstance(shape, Primitive)}
        surfaces = [
            shape.triangle_surface(i)
            for i, shape in enumerate(shapes)
            if isinstance(shape, Mesh | HeightField)
        ]
        sets = [PrimitiveSet([*primitives.values()], [*primitives])] if primitives else []
        solids = (*sets, *surfaces)
        for name, value in (
            ("shapes", shapes),
            ("flat", not solids),
            ("_planes", HalfSpaces([*planes.values()], [*planes]) if planes else None),
            ("_solids", solids),
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
        points = np.asarray(points, dtype=float)
        if points.ndim != 2 or points.shape[1] != 3:
            raise TerrainError(f"points must have shape (n, 3), got {points.shape}")
        if points.size and not blas.dasum(points.ravel()) < _LOST:  # also where it is NaN
            return self._query_some(points)
        return self._query(points)

    def _query(self, points: np.ndarray) -> Surface:
        """The surface at points none of which is lost."""
        surface = no_surface(len(points)) if self._planes is None else self._planes.measure(points)
        if self.flat:
            return surface
        nearest = Nearest(surface)
        for solid in self._solids:
            solid.update(points, nearest)
        return nearest.surface()

    def _query_some(self, points: np.ndarray) -> Surface:
        """The surface at the points that are not lost, NaN at the others."""
        lost = ~(np.abs(points).sum(axis=1) < _LOST)
        surface = self._query(np.where(lost[:, None], 0.0, points))
        distance, normal, curvature, friction, shape = surface
        row = np.where(lost, np.nan, 1.0)
        if curvature is not None:
            curvature = curvature * row[:, None, None]
        shape = np.where(lost, -1, shape)
        return Surface(distance * row, normal * row[:, None], curvature, friction * row, shape)
