"""The closest of given triangles, for many points at once."""

from __future__ import annotations

import numpy as np


class TriangleDistances:
    """Triangles, and how far points are from some of them.

    In the plane of a triangle a point is inside, where it is on the inner side of all three edges;
    elsewhere the closest point lies on an edge, between its ends.

    Args:
        corners: shape (f, 3, 3).
        normals: unit normals, shape (f, 3).
    """

    def __init__(self, corners: np.ndarray, normals: np.ndarray) -> None:
        edges = np.roll(corners, -1, axis=1) - corners
        lengths = np.sqrt(np.vecdot(edges, edges))
        self.corners, self.normals = corners, normals
        self.directions = edges / lengths[:, :, None]
        """Unit vectors from corner k to corner k + 1, shape (f, 3, 3)."""
        self.inwards = np.cross(normals[:, None, :], self.directions)
        """Unit vectors in the triangle's plane, at right angles to these edges, (f, 3, 3)."""
        # Seen from the first corner: height, then to the inner side of edges, then along them.
        self._first = corners[:, 0].copy()
        self._axes = np.concatenate([normals[:, None], self.inwards, self.directions], axis=1)
        arms = corners - corners[:, :1]
        self._offsets = np.zeros((len(corners), 7))
        self._offsets[:, 1:4] = np.vecdot(self.inwards, arms)
        self._offsets[:, 4:] = np.vecdot(self.directions, arms)
        self._lengths = lengths.T.copy()

    def closest(
        self, points: np.ndarray, rows: np.ndarray, triangles: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The closest triangle of those asked, and the closest point on it; of equals the first.

        Args:
            points: shape (n, 3).
            rows: which point a pair is of, ascending, each at least once, shape (k,).
            triangles: which triangle, shape (k,).

        Returns:
            Shapes (n,) and (n, 3).
        """
        to_point = points.take(rows, axis=0) - self._first.take(triangles, axis=0)
        along = (self._axes.take(triangles, axis=0) @ to_point[:, :, None])[:, :, 0]
        along -= self._offsets.take(triangles, axis=0)
        along = np.ascontiguousarray(along.T)
        height, apart, run = along[0], along[1:4], along[4:]
        beyond = np.maximum(-run, run - self._lengths.take(triangles, axis=1))
        beyond = np.maximum(beyond, 0.0)
        to_edges = apart * apart + beyond * beyond
        sideways = to_edges.min(axis=0)
        sideways[apart.min(axis=0) >= 0.0] = 0.0
        squared = height * height + sideways
        best = first_least(squared, rows, triangles, len(points))
        triangle = triangles.take(best)
        closest = points - height.take(best)[:, None] * self.normals.take(triangle, axis=0)
        beside = sideways.take(best).nonzero()[0]
        if len(beside):
            best, part = best[beside], triangle[beside]
            edge = to_edges[:, best].argmin(axis=0)
            ahead = np.minimum(np.maximum(run[edge, best], 0.0), self._lengths[edge, part])
            directions = self.directions[part, edge]
            closest[beside] = self.corners[part, edge] + ahead[:, None] * directions
        return triangle, closest


def first_least(values: np.ndarray, rows: np.ndarray, labels: np.ndarray, n: int) -> np.ndarray:
    """Where each row's least value is, of equal ones that of the lowest label; shape (n,).

    Args:
        values: shape (k,).
        rows: which row a value is of, ascending, each of the n at least once, shape (k,).
        labels: shape (k,).
        n: number of rows.
    """
    every = np.arange(n)
    least = np.minimum.reduceat(values, rows.searchsorted(every))
    best = (values == least.take(rows)).nonzero()[0]
    if len(best) > n:
        best = best[np.lexsort((labels.take(best), rows.take(best)))]
    return best.take(rows.take(best).searchsorted(every))
