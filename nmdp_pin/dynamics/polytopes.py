"""Polytopes of a robot and its world as arrays for the kernels."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.spatial import ConvexHull

from nmdp_pin.kernels.polytopes import Polytopes
from nmdp_pin.robot import Robot
from nmdp_pin.robot.body_surfaces import shaped_joints, surfaces_of
from nmdp_pin.terrain import Box, Terrain

_SAME = 1e-9  # [m, -] between corners and contact points, and between normals of one face


@dataclass(frozen=True)
class _Hull:
    """A polytope in the frame of its body; fields as in `Polytopes`."""

    body: int
    row: int
    vertices: np.ndarray
    normals: np.ndarray
    levels: np.ndarray
    edges: np.ndarray


def polytope_pairs(
    robot: Robot, surfaces: Mapping[int, Terrain], rows_of: Mapping[int, list[int]]
) -> tuple[Polytopes, set[tuple[int, int]]]:
    """Pairs of polytopes whose corners are contact points, or shapes of the world.

    A box that has other contact points than its corners, as chosen by the user, touches by these.

    Args:
        robot: robot with contact points.
        surfaces: surfaces of the world and of bodies, by joint.
        rows_of: rows of their shapes in the table of shapes.

    Returns:
        The pairs, and the contact points with the rows of shapes that need no pairs of their own.
    """
    points = robot.contact_points
    joints, touches = points.joints.tolist(), points.touches.tolist()
    hulls: list[_Hull] = []
    for body, surface in surfaces.items():
        for row, (_, index, _) in zip(rows_of[body], surface.arrays.kinds.tolist(), strict=True):
            if isinstance(surface.shapes[index], Box):
                hulls.append(_box(body, row, surface.shapes[index]))
    if hulls and any(hull.body == 0 for hull in hulls):
        others = sorted((shaped_joints(robot) & {*joints}) - {*surfaces})
        for body, surface in surfaces_of(robot, others)[0].items():
            hulls += [_box(body, -1, shape) for shape in surface.shapes if isinstance(shape, Box)]
    facing = {*zip(joints, touches, strict=True)}
    pairs, numbers, needless = [], [], set()
    for a, b in itertools.product(range(len(hulls)), repeat=2):
        one, other = hulls[a], hulls[b]
        both = (other.body, one.body) in facing
        if (one.body, other.body) not in facing or one.row == other.row:
            continue
        if other.row < 0 or (both and one.body > other.body):
            continue
        own, opposite = _corners(robot, one, other.body), _corners(robot, other, one.body)
        if -1 in own:
            continue
        needless |= {(k, other.row) for k in own} | {(k, one.row) for k in opposite if k >= 0}
        pairs.append((a, b))
        numbers.append((own, opposite))
    used = sorted({k for pair in pairs for k in pair})
    return _joined(
        [hulls[k] for k in used], [[used.index(k) for k in p] for p in pairs], numbers
    ), (needless)


def _corners(robot: Robot, hull: _Hull, touched: int) -> list[int]:
    """Contact points at the vertices of a polytope that may touch a body, -1: none."""
    points = robot.contact_points
    bare = (points.joints == hull.body) & (points.touches == touched) & (points.radii == 0.0)
    own = np.flatnonzero(bare & ~points.rims.any(axis=1))
    found = []
    for vertex in hull.vertices:
        near = own[np.abs(points.positions[own] - vertex).max(axis=1, initial=0.0) < _SAME]
        found.append(int(near[0]) if len(near) else -1)
    return found


def _box(body: int, row: int, box: Box) -> _Hull:
    """A box as a polytope."""
    corners = np.array(list(itertools.product((-1.0, 1.0), repeat=3))) * box.half_extents
    return _hull(body, row, corners @ box.placement.rotation.T + box.placement.translation)


def _hull(body: int, row: int, vertices: np.ndarray) -> _Hull:
    """The convex hull of vertices; triangles in one plane are one face."""
    hull = ConvexHull(vertices)
    equations: list[np.ndarray] = []
    face_of = []
    for equation in hull.equations:
        gaps = [np.abs(equation - other).max() for other in equations]
        known = [k for k, gap in enumerate(gaps) if gap < _SAME]
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
    return _Hull(
        body, row, vertices[hull.vertices], planes[:, :3].copy(), -planes[:, 3], np.array(edges)
    )


def _joined(
    hulls: list[_Hull], pairs: list[list[int]], numbers: list[tuple[list[int], list[int]]]
) -> Polytopes:
    """The tables of polytopes and their pairs, with the contact points of both."""

    def stacked(parts: list[np.ndarray], shape: tuple[int, ...], kind: type) -> np.ndarray:
        table = np.concatenate(parts) if parts else np.zeros(0)
        return np.ascontiguousarray(table, dtype=kind).reshape(shape)

    sizes = [(len(hull.vertices), len(hull.normals), len(hull.edges)) for hull in hulls]
    centres = [hull.vertices.mean(axis=0) for hull in hulls]
    spread = [
        np.linalg.norm(hull.vertices - c, axis=1).max()
        for hull, c in zip(hulls, centres, strict=True)
    ]
    lists = [np.array(side) for both in numbers for side in both]
    ends = np.cumsum([0] + [len(part) for part in lists])[:-1]
    return Polytopes(
        vertices=stacked([hull.vertices for hull in hulls], (-1, 3), float),
        normals=stacked([hull.normals for hull in hulls], (-1, 3), float),
        levels=stacked([hull.levels for hull in hulls], (-1,), float),
        edges=stacked([hull.edges for hull in hulls], (-1, 4), np.int64),
        first=np.cumsum([(0, 0, 0), *sizes], axis=0, dtype=np.int64),
        centres=np.array(centres).reshape(-1, 3),
        sizes=np.array(spread),
        rows=np.array([hull.row for hull in hulls], np.int64),
        pairs=np.array(pairs, np.int64).reshape(-1, 2),
        points=stacked(lists, (-1,), np.int64),
        first_points=np.array(ends, np.int64).reshape(-1, 2),
    )
