"""Contact points spread over the collision geometry of a robot."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import coal
import numpy as np
import pinocchio as pin

from nmdp_pin.robot.contact_geometry import SAME_POINT, extreme_points, shapes_of, spread
from nmdp_pin.robot.convex_parts import hull_faces
from nmdp_pin.robot.settings import ContactPoint

# A step costs time for each of them: more is a mistake.
RIM_POINTS = 8
MOST_CONTACT_POINTS = 1024
# Places on the whole surface from which points are chosen: eight for each of the most points.
_PLACES = 8192
_ROUND = 64  # corners of the polygon that stands for the base of a cone
# The additive recurrence of the plastic number: as even as a grid, for any number of points.
_PLASTIC = 1.324717957244746
_STEPS = np.array([1.0 / _PLASTIC, 1.0 / _PLASTIC**2])


def points_on_surfaces(
    model: pin.Model,
    collision: pin.GeometryModel,
    standing: np.ndarray,
    links: Sequence[str],
    count: int,
) -> list[ContactPoint]:
    """Bare points far from each other on the collision geometry of links.

    Corners and rims, on which bodies rest, come first. Further points are placed where the surface
    is farthest from all points so far, in the standing configuration. A larger number adds to the
    points of a smaller one. Parts of the surface inside another shape of the link get no points.

    Args:
        model: kinematics.
        collision: collision geometry.
        standing: configuration in which distances are measured, shape (nq,).
        links: names of the links that get points.
        count: number of points.

    Returns:
        At most `count` points, ordered by link; fewer where points would coincide.
    """
    frames = [model.getFrameId(link, pin.BODY) for link in links]
    corners = [_on_link(collision, shapes_of(model, collision, link), 0.0) for link in links]
    total = sum(_area(s.geometry) for link in links for s in shapes_of(model, collision, link))
    density = _PLACES / total if total > 0.0 else 0.0
    faces = [_on_link(collision, shapes_of(model, collision, link), density) for link in links]

    owner = np.repeat(np.arange(2 * len(links)) % len(links), [len(x) for x in corners + faces])
    local = np.concatenate([*corners, *faces])  # in the frame of the joint
    n_corners = sum(len(x) for x in corners)
    data = model.createData()
    pin.forwardKinematics(model, data, standing)
    carriers = [data.oMi[int(model.frames[frame].parentJoint)] for frame in frames]
    world = np.array([carriers[k].act(x) for k, x in zip(owner, local, strict=True)])

    chosen = spread(world[:n_corners], count, nearest=SAME_POINT)
    more = spread(
        world[n_corners:], count - len(chosen), away_from=world[chosen], nearest=SAME_POINT
    )
    chosen += [n_corners + k for k in more]
    return _named(model, links, frames, owner[chosen], local[chosen])


def _named(
    model: pin.Model,
    links: Sequence[str],
    frames: Sequence[int],
    owner: np.ndarray,
    local: np.ndarray,
) -> list[ContactPoint]:
    """The points in the frames of their links, numbered on each link."""
    counter: Counter[str] = Counter()
    points = []
    for k in np.argsort(owner, kind="stable"):
        link = links[owner[k]]
        place = model.frames[frames[owner[k]]].placement.actInv(local[k])
        name = f"{link}_{counter[link]}"
        points.append(ContactPoint(name=name, link=link, position=[float(x) for x in place]))
        counter[link] += 1
    return points


def _on_link(
    collision: pin.GeometryModel, shapes: Sequence[pin.GeometryObject], density: float
) -> np.ndarray:
    """Places on the shapes of a link that no other of them covers, in the joint's frame, (n, 3).

    Args:
        collision: collision geometry.
        shapes: those of one link.
        density: places per area [1/m2]; 0 for the corners and rims alone.
    """
    found = [np.empty((0, 3))]
    for shape in shapes:
        geometry = shape.geometry
        own = _surface(geometry, density) if density > 0.0 else _corners(geometry)
        places = _moved(shape.placement, own)
        for other in shapes:
            if other is not shape and len(places):
                inside = _covers(other.geometry, _moved(other.placement.inverse(), places))
                places = places[~inside]
        found.append(places)
    return np.concatenate(found)


def _moved(placement: pin.SE3, points: np.ndarray) -> np.ndarray:
    result: np.ndarray = points @ placement.rotation.T + placement.translation
    return result


def _corners(shape: coal.CollisionGeometry) -> np.ndarray:
    """Corners, points on rims and extreme vertices; none of round shapes, (n, 3)."""
    if isinstance(shape, coal.Cylinder):
        rim = shape.radius * _circle(np.arange(RIM_POINTS) / RIM_POINTS)
        ends = (np.full((RIM_POINTS, 1), z) for z in (-shape.halfLength, shape.halfLength))
        return np.concatenate([np.column_stack([rim, end]) for end in ends])
    found = extreme_points(shape)
    bare = [point for point, radius, axes in found if radius == 0.0 and not axes.any()]
    return np.array(bare).reshape(-1, 3)


def _area(shape: coal.CollisionGeometry) -> float:
    """Surface [m2]."""
    if isinstance(shape, coal.Box):
        x, y, z = shape.halfSide
        return float(8.0 * (x * y + y * z + z * x))
    if isinstance(shape, coal.Sphere):
        return float(4.0 * np.pi * shape.radius**2)
    if isinstance(shape, coal.Capsule):
        return float(4.0 * np.pi * shape.radius * (shape.radius + shape.halfLength))
    if isinstance(shape, coal.Cylinder):
        return float(2.0 * np.pi * shape.radius * (shape.radius + 2.0 * shape.halfLength))
    return float(_triangle_areas(_triangles(shape)).sum())


def _surface(shape: coal.CollisionGeometry, density: float) -> np.ndarray:
    """Places spread evenly over the surface of a shape, in its own frame, (n, 3)."""
    if isinstance(shape, coal.Box):
        return _on_box(shape.halfSide, density)
    if isinstance(shape, coal.Sphere):
        return _on_sphere(shape.radius, density)
    if isinstance(shape, coal.Capsule):
        ends = _on_sphere(shape.radius, density)
        ends[:, 2] += np.copysign(shape.halfLength, ends[:, 2])
        return np.concatenate([ends, _on_tube(shape.radius, shape.halfLength, density)])
    if isinstance(shape, coal.Cylinder):
        disc = _on_disc(shape.radius, density)
        up = np.array([0.0, 0.0, shape.halfLength])
        return np.concatenate(
            [_on_tube(shape.radius, shape.halfLength, density), disc + up, disc - up]
        )
    return _on_triangles(_triangles(shape), density)


def _even(area: float, density: float) -> np.ndarray:
    """Points spread evenly over the unit square, as many as an area gets, (n, 2)."""
    count = max(1, round(area * density))
    result: np.ndarray = (0.5 + np.outer(np.arange(count), _STEPS)) % 1.0
    return result


def _on_box(half: np.ndarray, density: float) -> np.ndarray:
    faces = []
    for axis in range(3):
        first, second = (axis + 1) % 3, (axis + 2) % 3
        square = 2.0 * _even(4.0 * half[first] * half[second], density) - 1.0
        for side in (-1.0, 1.0):
            face = np.empty((len(square), 3))
            face[:, axis] = side * half[axis]
            face[:, first], face[:, second] = (square * half[[first, second]]).T
            faces.append(face)
    return np.concatenate(faces)


# These three keep areas: what is even on the square is even on the surface.


def _on_sphere(radius: float, density: float) -> np.ndarray:
    square = _even(4.0 * np.pi * radius**2, density)
    z = 2.0 * square[:, 1] - 1.0
    return radius * np.column_stack([_circle(square[:, 0]) * np.sqrt(1.0 - z**2)[:, None], z])


def _on_tube(radius: float, half: float, density: float) -> np.ndarray:
    square = _even(4.0 * np.pi * radius * half, density)
    return np.column_stack([radius * _circle(square[:, 0]), half * (2.0 * square[:, 1] - 1.0)])


def _on_disc(radius: float, density: float) -> np.ndarray:
    square = _even(np.pi * radius**2, density)
    flat = radius * _circle(square[:, 0]) * np.sqrt(square[:, 1])[:, None]
    return np.column_stack([flat, np.zeros(len(flat))])


def _circle(turns: np.ndarray) -> np.ndarray:
    angle = 2.0 * np.pi * turns
    return np.column_stack([np.cos(angle), np.sin(angle)])


def _on_triangles(triangles: np.ndarray, density: float) -> np.ndarray:
    sizes = np.cumsum(_triangle_areas(triangles))
    if not len(sizes) or sizes[-1] <= 0.0:
        return np.empty((0, 3))
    square = _even(sizes[-1], density)
    # Along the cumulative area, so that triangles get points by their size.
    places = (np.arange(len(square)) + 0.5) * sizes[-1] / len(square)
    which = np.minimum(np.searchsorted(sizes, places), len(sizes) - 1)
    a, b, c = (triangles[which, k] for k in range(3))
    root = np.sqrt(square[:, :1])
    result: np.ndarray = a + root * ((b - a) + square[:, 1:] * (c - b))
    return result


def _triangle_areas(triangles: np.ndarray) -> np.ndarray:
    a, b, c = (triangles[:, k] for k in range(3))
    result: np.ndarray = 0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1)
    return result


def _triangles(mesh: coal.BVHModelBase | coal.ConvexBase) -> np.ndarray:
    """Corners of the triangles of a mesh, shape (n, 3, 3)."""
    if isinstance(mesh, coal.Cone | coal.Ellipsoid):
        vertices, faces = hull_faces(_round_places(mesh))
        return vertices[faces]
    if isinstance(mesh, coal.BVHModelBase):
        vertices, indices = mesh.vertices(), range(mesh.num_tris)
        triangles = [mesh.tri_indices(k) for k in indices]
    else:
        vertices = mesh.points()
        triangles = [mesh.polygons(k) for k in range(mesh.num_polygons)]
    corners = np.array([[t[0], t[1], t[2]] for t in triangles], dtype=int).reshape(-1, 3)
    result: np.ndarray = np.array(vertices)[corners]
    return result


def _round_places(shape: coal.Cone | coal.Ellipsoid) -> np.ndarray:
    """Places on a cone or an ellipsoid whose hull is nearly as large, (n, 3)."""
    if isinstance(shape, coal.Ellipsoid):
        return _on_sphere(1.0, _PLACES / (4.0 * np.pi)) * shape.radii
    rim = shape.radius * _circle(np.arange(_ROUND) / _ROUND)
    base = np.column_stack([rim, np.full(_ROUND, -shape.halfLength)])
    return np.vstack([base, [0.0, 0.0, shape.halfLength]])


def _covers(shape: coal.CollisionGeometry, points: np.ndarray) -> np.ndarray:
    """Which points lie inside a shape, deeper than rounding; a mesh covers nothing, (n,)."""
    if isinstance(shape, coal.Box):
        return np.asarray((np.abs(points) < shape.halfSide - SAME_POINT).all(axis=1))
    if isinstance(shape, coal.Sphere):
        return np.asarray(np.linalg.norm(points, axis=1) < shape.radius - SAME_POINT)
    if isinstance(shape, coal.Capsule | coal.Cylinder):
        along = np.clip(points[:, 2], -shape.halfLength, shape.halfLength)
        beyond = np.abs(points[:, 2] - along)
        round_it = np.linalg.norm(points[:, :2], axis=1)
        if isinstance(shape, coal.Capsule):
            return np.hypot(round_it, beyond) < shape.radius - SAME_POINT
        level = np.abs(points[:, 2]) < shape.halfLength - SAME_POINT
        return np.asarray(level & (round_it < shape.radius - SAME_POINT))
    return np.zeros(len(points), dtype=bool)
