"""Free rigid bodies, as objects beside a robot."""

from dataclasses import replace
from typing import Literal

import numpy as np
import pinocchio as pin

from nmdp_pin._options import Positive, Vector3, checked
from nmdp_pin._robot.contact_geometry import points_on_link
from nmdp_pin._robot.contact_points import place_points
from nmdp_pin._robot.model import RobotModel, base_model, standing_configuration
from nmdp_pin._robot.robot import Robot
from nmdp_pin._robot.surface_points import points_on_surfaces
from nmdp_pin._terrain import Terrain
from nmdp_pin._terrain.primitives import Primitive
from nmdp_pin.errors import RobotError

_COLOR = np.array([0.85, 0.55, 0.25, 1.0])  # of what has no other


@checked(RobotError)
def free_body(
    name: str,
    shape: Primitive,
    *,
    mass: Positive | None = None,
    density: Positive | None = None,
    position: Vector3 = (0.0, 0.0, 0.0),
    rpy: Vector3 = (0.0, 0.0, 0.0),
    base: Literal["free-flyer", "planar"] = "free-flyer",
    contact_points: int | None = None,
) -> Robot:
    """A solid body of uniform density as a robot without motors.

    Contact points are the corners of a box, the discs at the ends of a cylinder, the disc and the
    tip of a cone, and the balls or the ellipsoid of round shapes.

    Args:
        name: name of the body.
        shape: surface of the body with its friction; its pose is in the frame of the body.
        mass: mass [kg].
        density: density [kg/m^3], instead of `mass`.
        position: standing position of the frame of the body [m].
        rpy: standing orientation, roll-pitch-yaw [rad].
        base: "free-flyer" or "planar" (x, z, pitch about y).
        contact_points: number of bare points spread over the surface instead.

    Raises:
        RobotError: an argument is out of range.
    """
    if not isinstance(shape, Primitive):
        what = f"a Box, Sphere, Cylinder, Capsule, Cone or Ellipsoid is needed, got {shape!r}"
        raise RobotError(what, element=f"object '{name}'")
    if (mass is None) == (density is None):
        what = "give one of mass [kg] and density [kg/m^3]"
        raise RobotError(what, element=f"object '{name}'")
    solid = shape.collision_geometry()
    volume = solid.computeVolume()
    total = mass if mass is not None else (density or 0.0) * volume
    about_centre = solid.computeMomentofInertiaRelatedToCOM() / volume
    inertia = pin.Inertia(total, solid.computeCOM(), total * about_centre)
    pose = pin.SE3(pin.rpy.rpyToMatrix(np.array(rpy)), np.array(position))
    model, place = base_model(base, pose)
    model.name = name
    joint = model.njoints - 1
    placed = place * shape.placement
    model.appendBodyToJoint(joint, inertia, placed)
    link = model.addBodyFrame(name, joint, place, model.nframes - 1)
    geometries = [pin.GeometryModel(), pin.GeometryModel()]
    for geometry in geometries:
        item = pin.GeometryObject(name, joint, link, placed, shape.collision_geometry())
        item.meshColor = _COLOR
        geometry.addGeometryObject(item)
    body = RobotModel(model, standing_configuration(model, {}, pose), *geometries)
    if contact_points is None:
        points = points_on_link(body, name)
    else:
        points = points_on_surfaces(body, [name], contact_points)
    return Robot(
        name=name,
        model=model,
        contact_points=place_points(model, points, ""),
        driven=np.zeros(0, dtype=int),
        standing=body.standing,
        visual_model=body.visual,
        collision_model=body.collision,
        surfaces={joint: Terrain([_placed(shape, placed)])},
    )


def _placed(shape: Primitive, place: pin.SE3) -> Primitive:
    """The shape at another place."""
    rpy = pin.rpy.matrixToRpy(place.rotation)
    return replace(shape, position=tuple(place.translation.tolist()), rpy=tuple(rpy.tolist()))
