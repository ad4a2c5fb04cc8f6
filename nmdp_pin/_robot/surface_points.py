"""Contact points spread over the collision geometry of a robot."""

from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Any

import coal
import numpy as np
import pinocchio as pin
from pydantic import Field

from nmdp_pin._options import Count
from nmdp_pin._robot.contact_geometry import SAME_POINT, extreme_points, shapes_of, spread
from nmdp_pin._robot.contact_points import in_world
from nmdp_pin._robot.model import RobotModel
from nmdp_pin._robot.settings import ContactPoint
from nmdp_pin._terrain.coal_mesh import surface_mesh

# A step costs time for each of them: more is a mistake.
MOST_CONTACT_POINTS = 1024
ContactCount = Annotated[Count, Field(ge=1, le=MOST_CONTACT_POINTS)]
# Places on the whole surface from which points are chosen: eight for each of the most points.
_PLACES = 8192
_RIM_POINTS = 8


def points_on_surfaces(body: RobotModel, links: Sequence[str], count: int) -> list[ContactPoint]:
    """Bare points far from each other on the collision geometry of links.

    Corners and rims, on which bodies rest, come first. Further points are placed where the surface
    is farthest from all points so far, in the standing configuration. A larger number adds to the
    points of a smaller one. Parts of the surface inside another shape of the link get no points.
    Fewer than `count` are found where points would coincide.
    """
    model = body.model
    shapes = [(k, s) for k, link in enumerate(links) for s in shapes_of(body, link)]
    meshes = [surface_mesh(shape.geometry) for _, shape in shapes]
    density = _PLACES / (sum(mesh.area for mesh in meshes) or 1.0)
    corners = [_corners(shape.geometry) for _, shape in shapes]
    faces = [
        _sampled(s.geometry, mesh, density) for (_, s), mesh in zip(shapes, meshes, strict=True)
    ]
    bare = [
        _uncovered(shape.placement, own, [s for j, s in shapes if j == k and s is not shape])
        for (k, shape), own in zip(2 * shapes, corners + faces, strict=True)
    ]
    owner = np.repeat([k for k, _ in 2 * shapes], [len(own) for own in bare]).astype(int)
    local = np.concatenate([np.zeros((0, 3)), *bare])
    n_corners = sum(map(len, bare[: len(shapes)]))

    data = model.createData()
    pin.forwardKinematics(model, data, body.standing)
    frames = [model.frames[model.getFrameId(link, pin.BODY)] for link in links]
    world = in_world(data, np.array([int(frames[k].parentJoint) for k in owner], dtype=int), local)
    chosen = spread(world[:n_corners], count, nearest=SAME_POINT)
    more = spread(
        world[n_corners:], count - len(chosen), away_from=world[chosen], nearest=SAME_POINT
    )
    chosen += [n_corners + k for k in more]
    number: Counter[str] = Counter()
    points = []
    for k in sorted(chosen, key=lambda k: owner[k]):
        link, place = links[owner[k]], frames[owner[k]].placement.actInv(local[k])
        name = f"{link}_{number[link]}"
        points.append(ContactPoint(name=name, link=link, position=place.tolist()))
        number[link] += 1
    return points


def _uncovered(
    placement: pin.SE3, own: np.ndarray, others: Sequence[pin.GeometryObject]
) -> np.ndarray:
    """Places on a shape that no other of its link covers, in the joint's frame, (n, 3)."""
    places: np.ndarray = own @ placement.rotation.T + placement.translation
    ball, request = coal.Sphere(SAME_POINT), coal.DistanceRequest()
    for other in others:
        at = coal.Transform3s(other.placement.rotation, other.placement.translation)
        apart = np.empty(len(places))
        for k, x in enumerate(places):
            there, result = coal.Transform3s(np.eye(3), x), coal.DistanceResult()
            apart[k] = coal.distance(ball, there, other.geometry, at, request, result)
        places = places[apart > -2.0 * SAME_POINT]
    return places


def _corners(shape: coal.CollisionGeometry) -> np.ndarray:
    """Corners, points on rims and extreme vertices; none of round shapes, (n, 3)."""
    turn = 2.0 * np.pi * np.arange(_RIM_POINTS) / _RIM_POINTS
    circle = np.column_stack([np.cos(turn), np.sin(turn), 0.0 * turn])
    found = [np.zeros((0, 3))]
    for point, radius, swept in extreme_points(shape):
        if swept.any() and isinstance(shape, coal.Cylinder | coal.Cone):
            found.append(point + shape.radius * circle)
        elif radius == 0.0 and not swept.any():
            found.append(point[None])
    return np.concatenate(found)


def _sampled(shape: coal.CollisionGeometry, mesh: Any, density: float) -> np.ndarray:
    """Places spread over the surface of a shape, so many per area [1/m2], in its frame, (n, 3)."""
    from trimesh.sample import sample_surface

    count = round(mesh.area * density)
    places = np.array(sample_surface(mesh, count, seed=0)[0]) if count else np.zeros((0, 3))
    if isinstance(shape, coal.Sphere | coal.Ellipsoid | coal.Capsule | coal.Cylinder):
        # from the faces of the mesh to the surface that they stand for
        half = getattr(shape, "halfLength", 0.0)
        out = places - np.clip(places * [0.0, 0.0, 1.0], -half, half)
        radii = shape.radii if isinstance(shape, coal.Ellipsoid) else np.full(3, shape.radius)
        more = 1.0 / np.maximum(np.linalg.norm(out / radii, axis=1), 0.5) - 1.0
        flat = isinstance(shape, coal.Cylinder) & (np.abs(places[:, 2]) > (1.0 - 1e-9) * half)
        places += np.where(flat, 0.0, more)[:, None] * out
    return places
