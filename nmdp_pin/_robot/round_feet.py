"""Round feet: a sphere in place of the mesh of a foot."""

import coal
import numpy as np

from nmdp_pin._robot.contact_geometry import (
    directions,
    placement_in_link,
    points_on_link,
    shapes_of,
)
from nmdp_pin._robot.model import RobotModel
from nmdp_pin._robot.settings import ContactPoint
from nmdp_pin._terrain.coal_mesh import mesh_vertices

_SIDEWAYS = np.cos(np.radians(60.0))  # of the largest angle between leg and ground's normal
_NORMALS = 4000  # of ground all around; so many that left and right feet agree to 3e-5 m
_UNEVEN = 2e-3  # [m] that a foot may differ from a sphere
_SHARE = 0.15  # of the radius, likewise


def points_on_foot(body: RobotModel, link: str) -> list[ContactPoint]:
    """Contact points of a foot: one sphere where it is round, else those of its geometry.

    Many robots have meshes of hundreds of vertices for feet that are balls of rubber. A foot is
    round if flat ground cannot tell it from a sphere, to 2 mm and 15 % of the radius, wherever the
    ground's normal is within 60 degrees of the leg.
    """
    sphere = _sphere_of(body, link)
    if sphere is None:
        return points_on_link(body, link)
    position = [float(x) for x in sphere[0]]
    return [ContactPoint(name=link, link=link, position=position, radius=sphere[1])]


def _sphere_of(body: RobotModel, link: str) -> tuple[np.ndarray, float] | None:
    """Centre, in the frame of the link, and radius of the sphere that a round foot is like."""
    shapes = shapes_of(body, link)
    meshes = coal.BVHModelBase | coal.ConvexBase
    if not shapes or not all(isinstance(shape.geometry, meshes) for shape in shapes):
        return None
    frame = body.model.frames[shapes[0].parentFrame].placement
    placed = [(placement_in_link(body, s), mesh_vertices(s.geometry)) for s in shapes]
    vertices = np.concatenate([x @ M.rotation.T + M.translation for M, x in placed])
    leg = frame.rotation.T @ frame.act(vertices.mean(axis=0))  # from the joint that moves it
    if np.linalg.norm(leg) == 0.0:
        return None
    normals = directions(_NORMALS)
    downwards = normals[normals @ (leg / np.linalg.norm(leg)) >= _SIDEWAYS]
    # flat ground of normal -d touches at h(d) = max d'x, which is d'c + r of a sphere
    reach = (downwards @ vertices.T).max(axis=1)
    terms = np.column_stack([downwards, np.ones(len(downwards))])
    *centre, radius = np.linalg.lstsq(terms, reach)[0]
    uneven = float(np.abs(terms @ [*centre, radius] - reach).max())
    if radius <= 0.0 or uneven > min(_UNEVEN, _SHARE * radius):
        return None
    return np.array(centre), float(radius)
