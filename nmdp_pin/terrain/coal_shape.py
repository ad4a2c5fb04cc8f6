"""A shape that coal measures instead of the closed forms."""

from __future__ import annotations

import coal
import numpy as np

from nmdp_pin.terrain.primitives import Cylinder
from nmdp_pin.terrain.shape import Shape
from nmdp_pin.terrain.shape_arrays import shape_arrays
from nmdp_pin.terrain.surface import Nearest


class CoalShape:
    """Plane or primitive with the distance and normal of coal.

    A sphere of radius 0 stands for the point: coal has closed forms for it, exact to rounding,
    where its general solver (GJK and EPA) is good to 1e-6 m only. Two things are not coal's: the
    curvature, which it does not have, and the inside of a cylinder, where coal 3.0.3 measures to
    the side alone, even from just below a cap.

    Args:
        shape: the shape.
        index: index among the shapes of the terrain.
    """

    def __init__(self, shape: Shape, index: int) -> None:
        self._closed_form = shape_arrays({index: shape})
        self._keeps_inside = isinstance(shape, Cylinder)
        # ComputeDistance keeps bare pointers: the geometries must live as long as it does.
        self._geometry, self._point = shape.collision_geometry(), coal.Sphere(0.0)
        self._distance = coal.ComputeDistance(self._geometry, self._point)
        M = shape.placement
        self._pose = coal.Transform3s(M.rotation, M.translation)

    def update(self, points: np.ndarray, nearest: Nearest) -> None:
        """Update `nearest` at the `points` where this shape is nearer, shape (n, 3)."""
        rows = (~np.isnan(nearest.distance)).nonzero()[0]
        surface = self._closed_form.query(points[rows])
        here, result, request = coal.Transform3s(), coal.DistanceResult(), coal.DistanceRequest()
        for k, point in enumerate(points[rows]):
            here.setTranslation(point)
            result.clear()
            distance = self._distance(self._pose, here, request, result)
            if distance > 0.0 or not self._keeps_inside:
                surface.distance[k], surface.normal[k] = distance, result.normal
        nearest.take_nearer(rows, surface)
