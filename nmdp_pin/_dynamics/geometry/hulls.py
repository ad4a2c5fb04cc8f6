"""Hulls of shapes: the polytopes, rims and tips by which they touch."""

import itertools
from dataclasses import dataclass, replace

import numpy as np
import scipy  # whose parts are imported when they are used

from nmdp_pin._kernels.geometry.polytopes import CIRCULAR_RIM, FACETED, ROUND, WORLD_MESH
from nmdp_pin._robot import Robot
from nmdp_pin._terrain import (
    Box,
    Capsule,
    Cone,
    Cylinder,
    Ellipsoid,
    HeightField,
    Mesh,
    Shape,
    Terrain,
)
from nmdp_pin._terrain.shape import Solid

SAME = 1e-9  # [m] between corners and contact points
_FLAT = 1e-6  # [-, m] between planes of triangles of one face, which files give in single precision
_NEAR = 1e-6  # [m] between a contact point and the mesh that it is of
_CONVEX = 1e-6  # [-] of its volume by which a mesh of the world may differ from its convex hull
_SIDES = 12  # of the prism in a cylinder
_WITHIN = 0.02  # of the radius by which it is smaller, so that a rim that rests touches first
_MOST_CORNERS = 64  # of a mesh of the world that touches by edges
_LONE_EDGE = np.array([(0, 1, -1, -1)])


@dataclass(frozen=True)
class Hull:
    """A polytope in the frame of its body; fields as in `Polytopes`."""

    body: int
    row: int
    vertices: np.ndarray
    normals: np.ndarray
    levels: np.ndarray
    edges: np.ndarray
    rounding: float = 0.0
    rim: float = 0.0  # radius of the rims that are its ends [m]
    inner: bool = False  # whether the shape reaches beyond it
    axis: np.ndarray | None = None  # rims, or rim and tip, that touch as well [m], shape (2, 3)
    kind: int = FACETED  # a rim has a vertex in its centre, and one along its axis

    @property
    def flat(self) -> bool:
        """Whether corners may touch its faces; those of a cylinder are the planes of its ends."""
        return len(self.normals) > 0 and self.rounding == 0.0


def hulls_of(robot: Robot, body: int, row: int, shape: Shape) -> list[Hull]:
    """The polytope of a shape of which there is one: of the mesh of a link, its contact points'.

    Meshes of the world that are not convex have one without vertices.
    """
    if isinstance(shape, Box):
        corners = np.array(list(itertools.product((-1.0, 1.0), repeat=3))) * shape.half_extents
        return [_hull(body, row, placed(shape, corners))]
    if isinstance(shape, Capsule | Cylinder | Cone):
        rim = 0.0 if isinstance(shape, Capsule) else shape.radius
        ends = placed(shape, np.array([[0.0, 0.0, -0.5], [0.0, 0.0, 0.5]]) * shape.length)
        out = np.zeros((0, 3))
        if isinstance(shape, Cylinder):
            out = shape.placement.rotation[:, 2] * [[-1.0], [1.0]]
        levels = np.einsum("ij,ij->i", out, ends[: len(out)])
        side = Hull(body, row, ends, out, levels, _LONE_EDGE, shape.radius, rim)
        found = [] if isinstance(shape, Cone) else [side]
        if not isinstance(shape, Capsule):
            sides = (-1.0,) if isinstance(shape, Cone) else (-1.0, 1.0)
            found += [_rim(side, shape, end) for end in sides]
        if isinstance(shape, Cone):
            found.append(_round(side, shape))
        return found if isinstance(shape, Capsule) or body == 0 else [*found, _prism(side, shape)]
    if isinstance(shape, Ellipsoid):
        none = np.zeros((0, 3))
        return [_round(Hull(body, row, none, none, np.zeros(0), _LONE_EDGE), shape)]
    if isinstance(shape, Mesh) and body > 0:
        points = robot.contact_points
        own = (points.joints == body) & (points.radii == 0.0) & ~points.semi_axes.any(axis=(1, 2))
        vertices = np.unique(points.positions[own], axis=0)
        if len(corners := convex_corners(shape)) and _are_among(corners, vertices):
            return [_hull(body, row, corners)]
        near = np.abs(Terrain(shape).query(vertices).distance) < _NEAR if len(vertices) else []
        try:
            return [replace(_hull(body, row, vertices[near]), inner=True)]
        except (scipy.spatial.QhullError, ValueError):
            return []
    if isinstance(shape, Mesh) and len(corners := convex_corners(shape)):
        return [_hull(body, row, corners)]
    if isinstance(shape, Mesh | HeightField):
        none = np.zeros((0, 3))
        return [Hull(body, row, none, none, np.zeros(0), np.zeros((0, 4), int), kind=WORLD_MESH)]
    return []


def convex_corners(shape: Mesh) -> np.ndarray:
    """Corners of a convex mesh of the world [m], shape (n, 3); none if it is not, or of many."""
    corners, faces = shape.triangles()
    hull = scipy.spatial.ConvexHull(corners)
    a, b, c = (corners[faces[:, k]] for k in range(3))
    volume = np.einsum("ij,ij->", a, np.cross(b, c)) / 6.0
    if len(hull.vertices) > _MOST_CORNERS or hull.volume - volume >= _CONVEX * hull.volume:
        return np.zeros((0, 3))
    return placed(shape, corners[hull.vertices])


def _are_among(corners: np.ndarray, points: np.ndarray) -> bool:
    """Whether each corner of a mesh is one of some points, shapes (n, 3) and (m, 3)."""
    gaps = np.abs(corners[:, None] - points[None]).max(axis=2)
    return bool((gaps.min(axis=1, initial=np.inf) < SAME).all())


def placed(shape: Solid, vertices: np.ndarray) -> np.ndarray:
    """Points of a shape in the frame of its body [m], shape (n, 3)."""
    result: np.ndarray = vertices @ shape.placement.rotation.T + shape.placement.translation
    return result


def _rim(side: Hull, shape: Cylinder | Cone, end: float) -> Hull:
    """The rim at an end of a cylinder or cone."""
    axis = np.array([0.0, 0.0, end])
    vertices = placed(
        shape, np.array([0.5 * shape.length, 0.5 * shape.length + shape.radius])[:, None] * axis
    )
    return replace(
        side,
        vertices=vertices,
        normals=np.zeros((0, 3)),
        levels=np.zeros(0),
        edges=np.zeros((0, 4), int),
        kind=CIRCULAR_RIM,
    )


def _round(side: Hull, shape: Cone | Ellipsoid) -> Hull:
    """A cone or ellipsoid on whose side edges lie: its centre, in a ball."""
    return replace(
        side,
        vertices=placed(shape, np.zeros((1, 3))),
        edges=np.zeros((0, 4), int),
        rounding=float(np.linalg.norm(shape.half_extents)),
        kind=ROUND,
    )


def _prism(side: Hull, shape: Cylinder | Cone) -> Hull:
    """A prism in a cylinder, or a pyramid in a cone, whose edges cross those of others."""
    angles = np.arange(_SIDES) * 2.0 * np.pi / _SIDES
    circle = np.stack([np.cos(angles), np.sin(angles), 0.0 * angles], axis=1)
    half, inner = 0.5 * shape.length, 1.0 - _WITHIN
    if isinstance(shape, Cylinder):
        end = np.array([0.0, 0.0, half - _WITHIN * shape.radius])
        corners = np.vstack([inner * shape.radius * circle + s * end for s in (-1.0, 1.0)])
    else:
        corners = np.vstack([shape.radius * circle - [0.0, 0.0, half], [0.0, 0.0, half]])
        middle = np.array([0.0, 0.0, -0.5 * half])
        corners = middle + inner * (corners - middle)
    hull = _hull(side.body, side.row, placed(shape, corners))
    return replace(hull, rim=shape.radius, inner=True, axis=side.vertices)


def _hull(body: int, row: int, vertices: np.ndarray) -> Hull:
    """The convex hull of vertices; triangles in one plane are one face."""
    hull = scipy.spatial.ConvexHull(vertices)
    equations: list[np.ndarray] = []
    face_of = []
    for equation in hull.equations:
        gaps = [np.abs(equation - other).max() for other in equations]
        known = [k for k, gap in enumerate(gaps) if gap < _FLAT]
        face_of.append(known[0] if known else len(equations))
        if not known:
            equations.append(equation)
    planes, number = np.array(equations), {int(v): k for k, v in enumerate(hull.vertices)}
    edges = []
    for s, (corners, neighbours) in enumerate(zip(hull.simplices, hull.neighbors, strict=True)):
        for k, t in enumerate(neighbours.tolist()):
            f, g = face_of[s], face_of[t]
            if s < t and f != g:
                i, j = (number[int(v)] for v in np.delete(corners, k))
                along = vertices[hull.vertices[j]] - vertices[hull.vertices[i]]
                forward = along @ np.cross(planes[f, :3], planes[g, :3]) > 0.0
                edges.append((i, j, f, g) if forward else (j, i, f, g))
    return Hull(
        body, row, vertices[hull.vertices], planes[:, :3].copy(), -planes[:, 3], np.array(edges)
    )
