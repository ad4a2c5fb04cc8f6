"""Boxes, spheres and cylinders, measured together through coal."""

from __future__ import annotations

from collections.abc import Sequence

import coal
import numpy as np

from nmdp_pin.terrain.primitives import Cylinder, Primitive
from nmdp_pin.terrain.surface import Nearest


class PrimitiveSet:
    """All primitives of a terrain: bounds in numpy for every pair, coal for those that can win.

    The bound of a pair is the largest of |x_i| - half_i in the shape's frame. It is never above
    the signed distance of what lies in the bounding box, inside or outside, so a shape whose bound
    is above the distance of another shape cannot be the nearest one.

    Args:
        shapes: at least one.
        indices: of them among the terrain's shapes.
    """

    def __init__(self, shapes: Sequence[Primitive], indices: Sequence[int]) -> None:
        m = len(shapes)
        placements = [shape.placement for shape in shapes]
        self._rotation = np.array([M.rotation for M in placements])
        self._axes = self._rotation.transpose(1, 2, 0).reshape(3, 3 * m)
        origins = [M.rotation.T @ M.translation for M in placements]
        self._origin = np.array(origins).T.reshape(3 * m)
        self._half = np.array([shape.half_extents for shape in shapes]).T
        self._friction = np.array([shape.friction for shape in shapes])
        self._indices = np.array(indices)
        kinds = list(dict.fromkeys(type(shape) for shape in shapes))
        self._curvatures = [kind.curvature for kind in kinds]
        self._kind = np.array([kinds.index(type(shape)) for shape in shapes])
        self._is_cylinder = [isinstance(shape, Cylinder) for shape in shapes]
        # ComputeDistance keeps bare pointers: the geometries must live as long as it does.
        self._point = coal.Sphere(0.0)
        self._geometries = [shape.collision_geometry() for shape in shapes]
        self._distances = [coal.ComputeDistance(g, self._point) for g in self._geometries]
        self._poses = [coal.Transform3s(M.rotation, M.translation) for M in placements]
        self._request = coal.DistanceRequest()

    def update(self, points: np.ndarray, nearest: Nearest) -> None:
        """Take the shapes that are nearer than `nearest` at `points`, shape (n, 3)."""
        local = points.dot(self._axes)
        local -= self._origin
        local = local.reshape(len(points), *self._half.shape)
        gap = np.abs(local)
        gap -= self._half
        bound = np.maximum(gap[:, 0], gap[:, 1])
        np.maximum(bound, gap[:, 2], out=bound)
        distance = nearest.distance[:, None]  # a view: probing lowers it
        possible = bound < distance
        if not possible.any():
            return
        # The shape of the lowest bound first: its distance rules out nearly all of the others.
        rows, first = np.arange(len(points)), bound.argmin(axis=1)
        winner = np.full(len(points), -1)
        some = possible[rows, first].nonzero()[0]
        self._probe(points, local, some, first[some], nearest, winner)
        np.less(bound, distance, out=possible)
        possible[rows, first] = False
        others, shapes = possible.nonzero()
        self._probe(points, local, others, shapes, nearest, winner)
        rows = (winner >= 0).nonzero()[0]
        winner = winner[rows]
        curvature = self._curvature(local[rows, :, winner], winner)
        nearest.describe(rows, self._friction[winner], curvature, self._indices[winner])

    def _probe(
        self,
        points: np.ndarray,
        local: np.ndarray,
        rows: np.ndarray,
        shapes: np.ndarray,
        nearest: Nearest,
        winner: np.ndarray,
    ) -> None:
        """Ask coal for the signed distance of pairs of rows and shapes; keep what is nearer."""
        here, result, request = coal.Transform3s(), coal.DistanceResult(), self._request
        distance, normal = nearest.distance, nearest.normal
        for i, s in zip(rows.tolist(), shapes.tolist(), strict=True):
            here.setTranslation(points[i])
            result.clear()
            phi = self._distances[s](self._poses[s], here, request, result)
            n = None
            if phi <= 0.0 and self._is_cylinder[s]:
                phi, n = Cylinder.inside(local[i, :, s], self._half[:, s])
            if phi < distance[i]:
                distance[i], winner[i] = phi, s
                normal[i] = result.normal if n is None else self._rotation[s] @ n

    def _curvature(self, local: np.ndarray, winner: np.ndarray) -> np.ndarray | None:
        """Curvature in the world frame.

        Args:
            local: points in the frames of their nearest shapes [m], shape (k, 3).
            winner: indices of those shapes, shape (k,).
        """
        half = self._half[:, winner].T
        if len(self._curvatures) == 1:
            hessian = self._curvatures[0](local, half)
        else:
            hessian = None
            kind = self._kind[winner]
            for index, curvature in enumerate(self._curvatures):
                rows = (kind == index).nonzero()[0]
                part = curvature(local[rows], half[rows]) if len(rows) else None
                if part is not None:
                    hessian = np.zeros((len(local), 3, 3)) if hessian is None else hessian
                    hessian[rows] = part
        if hessian is None:
            return None
        R = self._rotation[winner]
        return R @ hessian @ R.transpose(0, 2, 1)
