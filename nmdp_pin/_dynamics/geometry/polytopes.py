"""Pairs of polytopes of a robot and its world as arrays for the kernels."""

import itertools
from collections.abc import Iterable, Mapping

import numpy as np

from nmdp_pin._dynamics.geometry.hulls import SAME, Hull, hulls_of
from nmdp_pin._kernels.geometry.polytopes import (
    CIRCULAR_RIM,
    ROUND,
    WORLD_MESH,
    Polytopes,
)
from nmdp_pin._robot import Robot
from nmdp_pin._terrain import Shape, Terrain

_NONE = np.zeros(0, np.int64)


def grouped(keys: Iterable[tuple[int, int]]) -> dict[tuple[int, int], np.ndarray]:
    """Where each key is, ascending."""
    found: dict[tuple[int, int], list[int]] = {}
    for k, key in enumerate(keys):
        found.setdefault(key, []).append(k)
    return {key: np.array(places, np.int64) for key, places in found.items()}


def polytope_pairs(
    robot: Robot, surfaces: Mapping[int, Terrain], rows_of: Mapping[int, list[int]]
) -> tuple[Polytopes, set[tuple[int, int]]]:
    """Pairs of polytopes whose corners are contact points, or shapes of the world.

    The sides of capsules and cylinders are polytopes whose ends are spheres and rims. What has
    other contact points than these, as chosen by the user, touches by the latter alone.

    Args:
        robot: robot with contact points.
        surfaces: surfaces of the world and of bodies, by joint.
        rows_of: rows of their shapes in the table of shapes.

    Returns:
        The pairs, and the contact points with the rows of shapes that need no pairs of their own.
    """
    points = robot.contact_points
    joints, touches = points.joints.tolist(), points.touches.tolist()
    hulls, shapes = list[Hull](), dict[int, Shape]()
    for body, surface in surfaces.items():
        for row, (_, index, _) in zip(rows_of[body], surface.arrays.kinds.tolist(), strict=True):
            shapes[row] = surface.shapes[index]
            hulls += hulls_of(robot, body, row, shapes[row])
    of_bodies = grouped(zip(joints, touches, strict=True))
    facing = of_bodies.keys()
    pairs, numbers, needless = [], [], set()
    for a, b in itertools.product(range(len(hulls)), repeat=2):
        one, other = hulls[a], hulls[b]
        rims, curved = _are(CIRCULAR_RIM, one, other), _are(ROUND, one, other)
        unlike = rims[0] is not rims[1] or curved[0] is not curved[1]
        of_world = one.body == 0 and unlike and (rims[0] or curved[1])
        if (one.body, other.body) not in facing and not of_world:
            continue
        if not shapes[one.row].meets(shapes[other.row]):
            continue
        if of_world and (other.body, 0) not in facing:
            continue
        ordered = unlike or one.body < other.body
        if ((other.body, one.body) in facing and not ordered) or not _may_touch(one, other):
            continue
        at, at_other = ((a.body, b.body) for a, b in ((one, other), (other, one)))
        own = _corners(robot, one, of_bodies.get(at, _NONE))
        opposite = _corners(robot, other, of_bodies.get(at_other, _NONE))
        if of_world:  # which has no contact points
            own = of_bodies[other.body, 0][:1].tolist()
        if -1 in own:
            continue
        if one.flat and other.flat and one.axis is None is other.axis:
            # what is the hull of its contact points alone is touched by the corners of others
            needless |= {(k, other.row) for k in own if not other.inner}
            needless |= {(k, one.row) for k in opposite if k >= 0 and not one.inner}
        pairs.append((a, b))
        numbers.append((own, opposite))
    used = sorted({k for pair in pairs for k in pair})
    return _joined(
        [hulls[k] for k in used], [[used.index(k) for k in p] for p in pairs], numbers
    ), (needless)


def _are(kind: int, one: Hull, other: Hull) -> tuple[bool, bool]:
    """Whether two polytopes are of a kind."""
    return one.kind == kind, other.kind == kind


def _may_touch(one: Hull, other: Hull) -> bool:
    """Whether features of two polytopes meet that are no contact points."""
    rims, curved = _are(CIRCULAR_RIM, one, other), _are(ROUND, one, other)
    if curved[0]:
        return False
    if curved[1]:
        felt = not one.flat and other.rim == 0.0  # ellipsoids on sides of cylinders
        return len(one.edges) > 0 and one.axis is None and not felt
    if any(rims):
        return rims[0] and (rims[1] or (other.flat and other.axis is None))
    if one.kind == WORLD_MESH or other.kind == WORLD_MESH:
        return one.kind != WORLD_MESH
    return one.axis is None is other.axis  # prisms feel meshes of the world alone


def _corners(robot: Robot, hull: Hull, own: np.ndarray) -> list[int]:
    """Contact points at the vertices of a polytope, -1: none, among those of its body `own`."""
    points = robot.contact_points
    radius = hull.rounding - hull.rim if hull.axis is None else 0.0
    alike = np.abs(points.radii[own] - radius) < SAME
    if hull.axis is None:
        discs = np.linalg.norm(points.semi_axes[own, 0], axis=1)
        alike &= np.abs(discs - hull.rim) < SAME
    own, found = own[alike], []
    vertices = hull.vertices
    if hull.axis is not None:
        gaps = np.linalg.norm(vertices[:, None] - hull.axis[None], axis=2)
        vertices = hull.axis[gaps.argmin(axis=1)]
    for vertex in vertices[:1] if hull.kind == CIRCULAR_RIM else vertices:
        near = own[np.abs(points.positions[own] - vertex).max(axis=1, initial=0.0) < SAME]
        found.append(int(near[0]) if len(near) else -1)
    return found


def _joined(
    hulls: list[Hull], pairs: list[list[int]], numbers: list[tuple[list[int], list[int]]]
) -> Polytopes:
    """The tables of polytopes and their pairs, with the contact points of both."""

    def stacked(parts: list[np.ndarray], shape: tuple[int, ...], kind: type) -> np.ndarray:
        table = np.concatenate(parts) if parts else np.zeros(0)
        return np.ascontiguousarray(table, dtype=kind).reshape(shape)

    sizes = [(len(hull.vertices), len(hull.normals), len(hull.edges)) for hull in hulls]
    centres = [hull.vertices.sum(axis=0) / max(len(hull.vertices), 1) for hull in hulls]
    spread = [
        np.linalg.norm(hull.vertices - c, axis=1).max() + hull.rounding
        if len(hull.vertices)
        else np.inf
        for hull, c in zip(hulls, centres, strict=True)
    ]
    lists = [np.array(side) for both in numbers for side in both]
    ends = np.cumsum([0] + [len(part) for part in lists])[:-1]
    return Polytopes(
        vertices=stacked([hull.vertices for hull in hulls], (-1, 3), float),
        normals=stacked([hull.normals for hull in hulls], (-1, 3), float),
        levels=stacked([hull.levels for hull in hulls], (-1,), float),
        edges=stacked([hull.edges for hull in hulls], (-1, 4), np.int32),
        first=np.cumsum([(0, 0, 0), *sizes], axis=0, dtype=np.int64),
        centres=np.array(centres).reshape(-1, 3),
        sizes=np.array(spread),
        rounding=np.array([hull.rounding for hull in hulls]),
        kinds=np.array([hull.kind for hull in hulls], np.int64),
        rows=np.array([hull.row for hull in hulls], np.int64),
        pairs=np.array(pairs, np.int64).reshape(-1, 2),
        points=stacked(lists, (-1,), np.int64),
        first_points=np.array(ends, np.int64).reshape(-1, 2),
    )
