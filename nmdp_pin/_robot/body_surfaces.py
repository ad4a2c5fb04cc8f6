"""Surfaces of bodies, from their collision geometry."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import coal
import pinocchio as pin

from nmdp_pin._robot.convex_parts import hull_arrays
from nmdp_pin._robot.robot import Robot
from nmdp_pin._terrain import Box, Capsule, Cone, Cylinder, Ellipsoid, Mesh, Shape, Sphere, Terrain
from nmdp_pin._terrain.coal_mesh import mesh_arrays, mesh_vertices
from nmdp_pin._terrain.shape import DEFAULT_FRICTION
from nmdp_pin.errors import RobotError, TerrainError


def surfaces_of(
    robot: Robot, joints: Sequence[int], *, friction: float = DEFAULT_FRICTION
) -> tuple[dict[int, Terrain], list[str]]:
    """Surfaces of bodies from their collision geometry, in the frames of their joints, and notes.

    A mesh that is not closed is replaced by its convex hull.
    """
    made: dict[int, Terrain] = {}
    notes: list[str] = []
    objects = robot.require_collisions().geometryObjects if joints else ()
    for joint in joints:
        shapes = []
        for item in objects:
            if int(item.parentJoint) == joint:
                shape, hull = _shape(item, friction)
                shapes.append(shape)
                if hull:
                    notes.append(f"{item.name}: not a closed mesh, touched as its convex hull")
        if shapes:
            made[joint] = Terrain(shapes)
    return made, notes


def body_name(robot: Robot, joint: int) -> str:
    """First link that a joint carries; the name of the joint without one."""
    for frame in robot.model.frames:
        if frame.type == pin.FrameType.BODY and int(frame.parentJoint) == joint:
            return str(frame.name)
    return str(robot.model.names[joint])


def surface_names(robot: Robot) -> list[str]:
    """Name of the body of each shape of `Robot.surfaces`, in the order of their indices."""
    return [body_name(robot, j) for j, surface in robot.surfaces.items() for _ in surface.shapes]


def shaped_joints(robot: Robot) -> set[int]:
    """Joints that carry collision geometry; empty where it was not loaded."""
    if robot.collision_model is None:
        return set()
    return {int(item.parentJoint) for item in robot.require_collisions().geometryObjects} - {0}


def _shape(item: pin.GeometryObject, friction: float) -> tuple[Shape, bool]:
    """Shape of a collision geometry in the frame of the joint; True if it became its hull."""
    geometry, place = item.geometry, item.placement
    pose: dict[str, Any] = {
        "position": tuple(place.translation.tolist()),
        "rpy": tuple(pin.rpy.matrixToRpy(place.rotation).tolist()),
        "friction": friction,
    }
    match geometry:
        case coal.Box():
            return Box(size=tuple((2.0 * geometry.halfSide).tolist()), **pose), False
        case coal.Sphere():
            return Sphere(radius=geometry.radius, **pose), False
        case coal.Ellipsoid():
            return Ellipsoid(radii=tuple(geometry.radii.tolist()), **pose), False
        case coal.Cylinder() | coal.Capsule() | coal.Cone():
            kind = {coal.Cylinder: Cylinder, coal.Capsule: Capsule}.get(type(geometry), Cone)
            length = 2.0 * geometry.halfLength
            return kind(radius=geometry.radius, length=length, **pose), False
        case coal.BVHModelBase():
            vertices, faces = mesh_arrays(geometry)
            with suppress(TerrainError):
                return Mesh(vertices=vertices, faces=faces, **pose), False
        case coal.ConvexBase():
            pass
        case _:
            raise RobotError(
                f"geometry '{item.name}' is a {type(geometry).__name__}, which has no "
                "surface that can be touched"
            )
    vertices, faces = hull_arrays(mesh_vertices(geometry))
    return Mesh(vertices=vertices, faces=faces, **pose), True
