"""A closed triangle mesh, measured through coal: distance, sign, normal, curvature."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import coal
import numpy as np
from scipy.spatial import cKDTree

from nmdp_pin.errors import TerrainError
from nmdp_pin.terrain.surface import Nearest, Surface

_PARALLEL = 1e-9  # [-] how far from a normal an offset may point and still count as along it
_BEYOND = 1.0 + 1e-9  # of the distance to a vertex, so that a vertex can be what is nearest
_ROUNDING = 1e-13  # [-] rounding of coal's closest points relative to the size of the mesh


class Topology(NamedTuple):
    """Normals of a closed mesh of f faces and v vertices.

    Args:
        face: unit normals, shape (f, 3).
        edge: sums of the normals of the two faces at the edge from corner k to corner k + 1,
            shape (f, 3, 3).
        vertex: sums of the normals of the faces weighted by their angles, shape (v, 3).
    """

    face: np.ndarray
    edge: np.ndarray
    vertex: np.ndarray


class TriangleSurface:
    """The solid inside a closed mesh.

    coal finds the closest point and its triangle; the sign comes from the pseudonormal of the
    closest feature (face, edge or vertex; Baerentzen and Aanaes 2005), which is exact for a closed
    mesh, and the normal and its derivative from the kind of that feature.

    Args:
        vertices: in the world frame [m], shape (v, 3).
        faces: indices of their corners, anticlockwise seen from outside, shape (f, 3).
        friction: friction coefficient [-].
        index: of the mesh among the terrain's shapes.
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
        self._corners = vertices[faces]
        self._faces, self._vertices = faces, vertices
        self._friction, self._index = friction, index
        self._topology = topology(vertices, faces)
        edges = np.roll(self._corners, -1, axis=1) - self._corners
        self._directions = edges / np.sqrt((edges * edges).sum(axis=2))[:, :, None]
        # Every edge at a vertex starts there in just one face.
        order, ends = faces.argsort(axis=None), np.bincount(faces.ravel()).cumsum()
        self._spokes = np.split(self._directions.reshape(-1, 3)[order], ends[:-1])
        self._inwards = np.cross(self._topology.face[:, None, :], self._directions)
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
        surface = self.measure(points[rows])
        nearer = (surface.distance < nearest.distance[rows]).nonzero()[0]
        if len(nearer):
            by = Surface._make(None if part is None else part[nearer] for part in surface)
            nearest.replace(rows[nearer], by)

    def measure(self, points: np.ndarray) -> Surface:
        """The mesh at `points`, shape (n, 3)."""
        triangle, closest = self._closest(points)
        normal = self._topology.face[triangle]
        offset = points - closest
        height = (offset * normal).sum(axis=1)
        sideways = np.abs(offset - height[:, None] * normal).max(axis=1)
        bent = (sideways > _PARALLEL * np.abs(height) + self._rounding).nonzero()[0]
        # Over a face the distance is taken from its plane: exact in sign, and smooth at 0.
        distance = ((points - self._corners[triangle, 0]) * normal).sum(axis=1)
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
        world, here, result = coal.Transform3s(), coal.Transform3s(), coal.DistanceResult()
        request = self._request
        triangle, closest = np.empty(len(points), dtype=int), np.empty_like(points)
        # No surface is further off than its nearest vertex: coal looks for less than that only.
        at_most = _BEYOND * self._tree.query(points)[0] + self._rounding
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
        apart = ((closest[:, None, :] - corners) * self._inwards[triangle]).sum(axis=2)
        slant = np.abs((offset[:, None, :] * directions).sum(axis=2))
        misfit = np.abs(apart) + slant
        edge = misfit.argmin(axis=1)
        length = np.sqrt((offset * offset).sum(axis=1))
        is_edge = misfit[rows, edge] <= _PARALLEL * length + self._rounding
        # Else a vertex: the nearest corner, from which the offset is exact.
        reach = ((closest[:, None, :] - corners) ** 2).sum(axis=2)
        vertex = self._faces[triangle, reach.argmin(axis=1)]
        offset = np.where(is_edge[:, None], offset, points - self._vertices[vertex])
        pseudonormal = np.where(
            is_edge[:, None],
            self._topology.edge[triangle, edge],
            self._topology.vertex[vertex],
        )
        length = np.sqrt((offset * offset).sum(axis=1))
        inside = (offset * pseudonormal).sum(axis=1) < 0.0
        phi = np.where(inside, -length, length)
        normal = offset / phi[:, None]
        hessian = np.eye(3) - normal[:, :, None] * normal[:, None, :]
        t = directions[rows, edge]
        for i in (~is_edge).nonzero()[0]:
            t[i] = self._straight(vertex[i], offset[i])
        hessian -= t[:, :, None] * t[:, None, :]
        return phi, normal, hessian / phi[:, None, None]

    def _straight(self, vertex: int, offset: np.ndarray) -> np.ndarray:
        """Direction in which the surface is straight at a vertex seen along `offset`, else 0.

        It is that of an edge at right angles to the offset: on a straight ridge, points right
        above a vertex are no more curved along the ridge than those beside it.
        """
        spokes = self._spokes[vertex]
        slant = np.abs(spokes @ offset)
        best = slant.argmin()
        straight = slant[best] <= _PARALLEL * np.linalg.norm(offset) + self._rounding
        return spokes[best] if straight else np.zeros(3)


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


def topology(vertices: np.ndarray, faces: np.ndarray) -> Topology:
    """Check that a mesh is the boundary of a solid, and make its normals.

    Raises:
        TerrainError: a face without area, an edge that does not join two faces that agree on
            what is outside, or a mesh whose faces point inwards.
    """
    corners = vertices[faces]
    edges = np.roll(corners, -1, axis=1) - corners
    area = np.cross(edges[:, 0], edges[:, 1])
    double = np.sqrt((area * area).sum(axis=1))
    longest = (edges * edges).sum(axis=2).max(axis=1)
    flat = (double <= _ROUNDING * longest).nonzero()[0]
    if len(flat):
        raise TerrainError(
            f"face {flat[0]} has no area ({len(flat)} such faces): "
            "merge its corners or remove it (e.g. 'merge by distance' in Blender)"
        )
    face = area / double[:, None]
    edge = face[:, None, :] + face[_neighbours(faces, len(vertices))]
    if ((corners[:, 0] - vertices[0]) * area).sum() <= 0.0:
        raise TerrainError("the faces point inwards: reverse the order of their corners")
    before = -np.roll(edges, 1, axis=1)
    sine = np.sqrt((np.cross(edges, before) ** 2).sum(axis=2))
    angle = np.arctan2(sine, (edges * before).sum(axis=2))
    vertex = np.zeros_like(vertices)
    np.add.at(vertex, faces, angle[:, :, None] * face[:, None, :])
    return Topology(face, edge, vertex)


def _neighbours(faces: np.ndarray, n_vertices: int) -> np.ndarray:
    """The face beyond the edge from corner k to corner k + 1, shape (f, 3)."""
    start, end = faces.astype(np.int64), np.roll(faces, -1, axis=1).astype(np.int64)
    forth, back = (start * n_vertices + end).ravel(), (end * n_vertices + start).ravel()
    order = forth.argsort()
    forth = forth[order]
    twice = (forth[1:] == forth[:-1]).sum()
    if twice:
        raise TerrainError(
            f"{twice} edges belong to faces that do not agree on what is outside, or to more than "
            "two faces: make the normals consistent and the mesh manifold"
        )
    place = np.minimum(forth.searchsorted(back), len(forth) - 1)
    missing = (forth[place] != back).sum()
    if missing:
        raise TerrainError(
            f"the mesh is not closed: {missing} edges belong to one face only. Fill its holes, or "
            "pass a ground survey as a height field"
        )
    return (order[place] // 3).reshape(-1, 3)
