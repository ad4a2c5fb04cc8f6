"""Points of the world that touch bodies: corners and round shapes, which have no flat faces.

A body touches the world by its own contact points, and by edges and faces (`polytopes.py`). What is
left are corners of the world on the sides of round links, and round shapes of the world on faces
and sides of links: they touch as the contact points of a body do.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from nmdp_pin._dynamics.geometry.hulls import convex_corners, placed
from nmdp_pin._kernels.geometry.contacts import N_MINIMA, N_RIM, N_ROUNDED
from nmdp_pin._robot import Robot
from nmdp_pin._robot.contact_geometry import directions, extreme_points
from nmdp_pin._terrain import (
    Box,
    Capsule,
    Cone,
    Cylinder,
    Ellipsoid,
    Mesh,
    Shape,
    Sphere,
    Terrain,
)
from nmdp_pin._terrain.primitives import Primitive

_SAME = 1e-9  # [m] between the points of a shape and contact points
_HIDDEN = 1e-4  # [m] from other shapes of the world, nearer than which a point is not felt
_AROUND = 24  # directions in which a disc is looked at


@dataclass(frozen=True)
class WorldPoint:
    """A sphere of the world, which may be swept.

    Args:
        row: row of its shape.
        centre: centre of the sphere [m], shape (3,).
        radius: its radius [m].
        semi_axes: rows are the semi-axes over which it is swept [m], shape (3, 3).
    """

    row: int
    centre: np.ndarray
    radius: float
    semi_axes: np.ndarray


@dataclass(frozen=True)
class Touch:
    """A point of the world and the shape of a link that may touch it.

    Args:
        point: the point of the world.
        body: joint of the link.
        row: row of the link's shape.
        reported: contact point of the link at which its force is reported.
        slot: number of the contact among those of the point.
    """

    point: WorldPoint
    body: int
    row: int
    reported: int
    slot: int


def touches(
    robot: Robot, surfaces: Mapping[int, Terrain], rows_of: Mapping[int, list[int]]
) -> list[Touch]:
    """What may touch between the points of the world and the links of a robot.

    Links that have other contact points than those of their shapes, chosen by the user, touch by
    these alone.

    Args:
        robot: robot with contact points.
        surfaces: surfaces of the world, 0, and of all links, by joint.
        rows_of: rows of their shapes in the table of shapes.
    """
    found = []
    points = [
        (shape, point)
        for row, shape in _shapes(surfaces[0], rows_of[0])
        for point in _world_points(surfaces[0], row, shape)
    ]
    for body in (joint for joint in surfaces if joint > 0 and points):
        for row, shape in _shapes(surfaces[body], rows_of[body]):
            reported = reported_point(robot, body, shape)
            for own, point in points if reported >= 0 else []:
                if not shape.meets(own) or not _feels(shape, own, point):
                    continue
                swept, slots = point.semi_axes.any(), 1
                if swept and not point.semi_axes[2].any():
                    slots = contacts_of_rim(shape)
                elif isinstance(shape, Mesh) and not swept:
                    slots = N_MINIMA
                found += [Touch(point, body, row, reported, slot) for slot in range(slots)]
    return found


def _shapes(surface: Terrain, rows: list[int]) -> Iterator[tuple[int, Shape]]:
    """Rows and shapes of a surface."""
    for row, (_, index, _) in zip(rows, surface.arrays.kinds.tolist(), strict=True):
        yield row, surface.shapes[index]


def _world_points(terrain: Terrain, row: int, shape: Shape) -> Iterator[WorldPoint]:
    """The points of a shape of the world that other shapes do not hide."""
    others = [other for other in terrain.shapes if other is not shape]
    if isinstance(shape, Mesh):
        spheres = [(corner, 0.0, np.zeros((3, 3))) for corner in convex_corners(shape)]
    elif isinstance(shape, Primitive):
        R = shape.placement.rotation
        spheres = [
            (placed(shape, centre), radius, axes @ R.T)
            for centre, radius, axes in extreme_points(shape.collision_geometry())
        ]
    else:
        return
    for centre, radius, axes in spheres:
        places = centre + directions(_AROUND) @ axes
        hidden = radius == 0.0 and others and Terrain(others).query(places).distance.max() < _HIDDEN
        if not hidden:
            yield WorldPoint(row, centre, radius, axes)


def contacts_of_rim(shape: Shape) -> int:
    """Number of contacts of a disc with a shape."""
    return N_ROUNDED if isinstance(shape, Sphere | Capsule | Ellipsoid) else N_RIM


def _feels(shape: Shape, other: Shape, point: WorldPoint) -> bool:
    """Whether a shape of a link touches a point of a shape of the world by this alone."""
    if isinstance(shape, Capsule | Cylinder | Cone):
        return True
    if isinstance(shape, Ellipsoid):
        return point.radius == 0.0 and not point.semi_axes[2].any()
    return isinstance(shape, Box | Mesh) and not isinstance(other, Box | Mesh)


def reported_point(robot: Robot, body: int, shape: Shape, touched: int = 0) -> int:
    """First contact point of a shape of a link; -1 where not all of its points are some.

    Args:
        robot: robot with contact points.
        body: joint of the link.
        shape: its shape.
        touched: joint of what it touches, 0: the world.
    """
    points = robot.contact_points
    own = np.flatnonzero((points.joints == body) & (points.touches == touched))
    if isinstance(shape, Mesh):
        bare = own[(points.radii[own] == 0.0) & ~points.semi_axes[own].any(axis=(1, 2))]
        gaps = np.abs(Terrain(shape).query(points.positions[bare]).distance) if len(bare) else []
        near = bare[np.less(gaps, _SAME * 1e3)]
        return int(near[0]) if len(near) > 3 else -1
    if not isinstance(shape, Primitive):
        return -1
    found = []
    for centre, radius, axes in extreme_points(shape.collision_geometry()):
        gaps = np.abs(points.positions[own] - placed(shape, centre)).max(axis=1, initial=0.0)
        sizes = [np.linalg.norm(points.semi_axes[own][:, 0], axis=1), np.linalg.norm(axes[0])]
        alike = (gaps < _SAME) & (np.abs(points.radii[own] - radius) < _SAME)
        near = own[alike & (np.abs(sizes[0] - sizes[1]) < _SAME)]
        found.append(int(near[0]) if len(near) else -1)
    return -1 if -1 in found else found[0]
