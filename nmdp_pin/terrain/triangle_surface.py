"""A closed triangle mesh, measured through coal: distance, sign, normal, curvature."""

from __future__ import annotations

from collections.abc import Sequence

import coal
import numpy as np
from scipy.spatial import cKDTree

from nmdp_pin.terrain.surface import Nearest, Surface
from nmdp_pin.terrain.topology import topology

_PARALLEL = 1e-9  # [-] how far from a normal an offset may point and still count as along it
_BEYOND = 1.0 + 1e-9  # of the distance to a vertex, so that a vertex can be what is nearest
_ROUNDING = 1e-13  # [-] rounding of closest points relative to the size of the mesh


class TriangleSurface:
    """The solid inside a closed mesh.

    coal finds the closest point and its triangle. The sign comes from the pseudonormal of the
    closest feature (face, edge or vertex; Baerentzen and Aanaes 2005), which is exact for a closed
    mesh, and the normal and its derivative from the kind of that feature.

    Args:
        vertices: in the world frame [m], shape (v, 3).
        faces: indices of their corners, anticlockwise seen from outside, shape (f, 3).
        friction: friction coefficient [-].
        index: index of the mesh among the terrain's shapes.
        groups: where faces of very different size begin. Each group has a bounding-volume
            hierarchy of its own: long faces among small ones would spoil the volumes of all.
    """

    def __init__(
        self,
        vertices: np.ndarray,
        faces: np.ndarray,
        friction: float,
        *,
        index: int = 0,
        groups: Sequence[int] = (),
    ) -> None:
        self._faces, self._vertices = faces, vertices
        self._friction, self._index = friction, index
        self._topology = topology(vertices, faces)
        self._corners = vertices[faces]
        edges = np.roll(self._corners, -1, axis=1) - self._corners
        self._directions = edges / np.sqrt(np.vecdot(edges, edges))[:, :, None]
        # At right angles to the edges, in the triangle's plane.
        self._inwards = np.cross(self._topology.face[:, None, :], self._directions)
        # Every edge at a vertex starts there in just one face.
        self._spokes = self._directions.reshape(-1, 3)[faces.argsort(axis=None)]
        self._n_spokes = np.bincount(faces.ravel())
        self._first_spoke = self._n_spokes.cumsum() - self._n_spokes
        self._low, self._high = vertices.min(axis=0), vertices.max(axis=0)
        self._rounding = _ROUNDING * float(np.abs(vertices).max())
        # ComputeDistance keeps bare pointers: the geometries must live as long as it does.
        self._point = coal.Sphere(0.0)
        parts = np.split(faces, groups)
        self._geometries = [triangle_geometry(vertices, part) for part in parts]
        self._lows = np.array([vertices[part].min(axis=(0, 1)) for part in parts])
        self._highs = np.array([vertices[part].max(axis=(0, 1)) for part in parts])
        self._tree = cKDTree(vertices)
        asks = [coal.ComputeDistance(geometry, self._point) for geometry in self._geometries]
        self._groups = list(zip((0, *groups), asks, strict=True))
        self._request = coal.DistanceRequest()

    def update(self, points: np.ndarray, nearest: Nearest) -> None:
        """Take this mesh where it is nearer than `nearest` at `points`, shape (n, 3)."""
        gap = np.maximum(self._low - points, points - self._high)
        rows = (gap.max(axis=1) < nearest.distance).nonzero()[0]
        if not len(rows):
            return
        nearest.take_nearer(rows, self.measure(points[rows]))

    def measure(self, points: np.ndarray) -> Surface:
        """The mesh at `points`, shape (n, 3)."""
        triangle, closest = self._closest(points)
        normal = self._topology.face[triangle]
        offset = points - closest
        height = np.vecdot(offset, normal)
        sideways = np.abs(offset - height[:, None] * normal).max(axis=1)
        bent = (sideways > _PARALLEL * np.abs(height) + self._rounding).nonzero()[0]
        # Over a face the distance is taken from its plane: exact in sign, and smooth at 0.
        distance = np.vecdot(points - self._corners[triangle, 0], normal)
        friction, shape = np.full(len(points), self._friction), np.full(len(points), self._index)
        if not len(bent):
            return Surface(distance, normal, None, friction, shape)
        hessian = np.zeros((len(points), 3, 3))
        distance[bent], normal[bent], hessian[bent] = self._bent(
            points[bent], triangle[bent], closest[bent]
        )
        return Surface(distance, normal, hessian, friction, shape)

    def _closest(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Index of the closest triangle, shape (n,), and the closest point on it, shape (n, 3)."""
        # No surface is further off than its nearest vertex.
        at_most = _BEYOND * self._tree.query(points)[0] + self._rounding
        world, here, result = coal.Transform3s(), coal.Transform3s(), coal.DistanceResult()
        request = self._request
        triangle, closest = np.empty(len(points), dtype=int), np.empty_like(points)
        gap = np.maximum(self._lows - points[:, None], points[:, None] - self._highs)
        np.maximum(gap, 0.0, out=gap)
        within = (gap * gap).sum(axis=2) <= (at_most * at_most)[:, None]
        for i, (point, bound, asked) in enumerate(
            zip(points, at_most.tolist(), within.tolist(), strict=True)
        ):
            here.setTranslation(point)
            result.clear()
            result.min_distance = nearest = bound
            for (begin, ask), worth in zip(self._groups, asked, strict=True):
                if not worth:
                    continue
                # The result of the groups before is left in place: coal looks for less than it.
                ask(world, here, request, result)
                if result.min_distance < nearest:
                    nearest = result.min_distance
                    triangle[i] = begin + result.b1
            closest[i] = result.getNearestPoint1()
        return triangle, closest

    def _bent(
        self, points: np.ndarray, triangle: np.ndarray, closest: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Distance, normal and Hessian where the closest feature is an edge or a vertex."""
        rows = np.arange(len(points))
        offset = points - closest
        # An edge: the closest point lies on it, and the offset is at right angles to it.
        corners, directions = self._corners[triangle], self._directions[triangle]
        to_closest = closest[:, None, :] - corners
        apart = np.vecdot(to_closest, self._inwards[triangle])
        slant = np.abs(np.vecdot(offset[:, None, :], directions))
        misfit = np.abs(apart) + slant
        edge = misfit.argmin(axis=1)
        length = np.sqrt(np.vecdot(offset, offset))
        is_edge = misfit[rows, edge] <= _PARALLEL * length + self._rounding
        # Else a vertex: the nearest corner, from which the offset is exact.
        vertex = self._faces[triangle, np.vecdot(to_closest, to_closest).argmin(axis=1)]
        offset = np.where(is_edge[:, None], offset, points - self._vertices[vertex])
        pseudonormal = np.where(
            is_edge[:, None],
            self._topology.edge[triangle, edge],
            self._topology.vertex[vertex],
        )
        length = np.sqrt(np.vecdot(offset, offset))
        inside = np.vecdot(offset, pseudonormal) < 0.0
        phi = np.where(inside, -length, length)
        normal = offset / phi[:, None]
        hessian = np.eye(3) - normal[:, :, None] * normal[:, None, :]
        t = directions[rows, edge]
        corner = (~is_edge).nonzero()[0]
        if len(corner):
            t[corner] = self._straight(vertex[corner], offset[corner])
        hessian -= t[:, :, None] * t[:, None, :]
        return phi, normal, hessian / phi[:, None, None]

    def _straight(self, vertex: np.ndarray, offset: np.ndarray) -> np.ndarray:
        """Directions in which the surface is straight at vertices seen along offsets, else 0.

        It is that of an edge at right angles to the offset: on a straight ridge, points right
        above a vertex are no more curved along the ridge than those beside it.

        Args:
            vertex: shape (n,).
            offset: offset of the points from them, shape (n, 3).
        """
        counts = self._n_spokes[vertex]
        rows, ends = np.arange(len(vertex)).repeat(counts), counts.cumsum()
        index = (self._first_spoke[vertex] - ends + counts)[rows] + np.arange(ends[-1])
        spokes = self._spokes[index]
        slant = np.abs(np.vecdot(spokes, offset[rows]))
        best = _first_least(slant, rows, index, len(vertex))
        straight = slant[best] <= _PARALLEL * np.sqrt(np.vecdot(offset, offset)) + self._rounding
        return np.where(straight[:, None], spokes[best], 0.0)


def _first_least(values: np.ndarray, rows: np.ndarray, labels: np.ndarray, n: int) -> np.ndarray:
    """Index of the least value of each row, the lowest label of equal ones; shape (n,).

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


def triangle_geometry(vertices: np.ndarray, faces: np.ndarray) -> coal.BVHModelOBBRSS:
    """A new coal mesh."""
    points, triangles = coal.StdVec_Vec3s(), coal.StdVec_Triangle()
    for vertex in vertices:
        points.append(vertex)
    for face in faces.tolist():
        triangles.append(coal.Triangle(*face))
    geometry = coal.BVHModelOBBRSS()
    geometry.beginModel(len(faces), len(vertices))
    geometry.addSubModel(points, triangles)
    geometry.endModel()
    geometry.computeLocalAABB()
    return geometry
