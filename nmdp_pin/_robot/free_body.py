"""Free rigid bodies, as objects beside a robot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from numbers import Real

import numpy as np
import pinocchio as pin

from nmdp_pin._robot.contact_geometry import points_on_link
from nmdp_pin._robot.contact_points import ContactPoints, place_points
from nmdp_pin._robot.model import RobotModel, base_model, standing_configuration
from nmdp_pin._robot.robot import Robot
from nmdp_pin._robot.settings import Base
from nmdp_pin._robot.surface_points import MOST_CONTACT_POINTS, points_on_surfaces
from nmdp_pin._terrain import Terrain
from nmdp_pin._terrain.primitives import Primitive
from nmdp_pin.errors import RobotError

_COLOR = np.array([0.85, 0.55, 0.25, 1.0])  # of what has no other


def free_body(
    name: str,
    shape: Primitive,
    *,
    mass: float | None = None,
    density: float | None = None,
    position: Sequence[float] = (0.0, 0.0, 0.0),
    rpy: Sequence[float] = (0.0, 0.0, 0.0),
    base: Base = "free-flyer",
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
        kinds = "a Box, Sphere, Cylinder, Capsule, Cone or Ellipsoid"
        raise _refused(name, f"{kinds} is needed, got {shape!r}")
    if base not in ("free-flyer", "planar"):
        raise _refused(
            name,
            f"base must be 'free-flyer' or 'planar', got {base!r}; what does not move is terrain",
        )
    inertia = _inertia(name, shape, mass, density)
    pose = _pose(name, position, rpy)
    model, place = base_model(base, pose)
    model.name = name
    joint = model.njoints - 1
    placed = place * shape.placement
    model.appendBodyToJoint(joint, inertia, placed)
    link = model.addBodyFrame(name, joint, place, model.nframes - 1)
    geometries = []
    for _ in range(2):
        geometry = pin.GeometryModel()
        solid = pin.GeometryObject(name, joint, link, placed, shape.collision_geometry())
        solid.meshColor = _COLOR
        geometry.addGeometryObject(solid)
        geometries.append(geometry)
    body = RobotModel(model, standing_configuration(model, {}, pose), *geometries)
    return Robot(
        name=name,
        model=model,
        contact_points=_points(body, name, contact_points),
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


def _pose(name: str, position: Sequence[float], rpy: Sequence[float]) -> pin.SE3:
    """Placement of a position and roll-pitch-yaw."""
    parts = []
    for option, value in (("position", position), ("rpy", rpy)):
        try:
            vector = np.array(value, dtype=float)
        except (TypeError, ValueError):
            vector = np.full(1, np.nan)
        if vector.shape != (3,) or not np.isfinite(vector).all():
            raise _refused(name, f"{option} must be three finite numbers, got {value!r}")
        parts.append(vector)
    return pin.SE3(pin.rpy.rpyToMatrix(parts[1]), parts[0])


def _inertia(name: str, shape: Primitive, mass: float | None, density: float | None) -> pin.Inertia:
    """Inertia of the solid in the frame of the shape."""
    if (mass is None) == (density is None):
        raise _refused(name, "give one of mass [kg] and density [kg/m^3]")
    for option, value in (("mass", mass), ("density", density)):
        number = isinstance(value, Real) and not isinstance(value, bool)
        if value is not None and not (number and 0.0 < value < np.inf):
            raise _refused(name, f"{option} must be a finite number > 0, got {value!r}")
    solid = shape.collision_geometry()
    volume = solid.computeVolume()
    total = mass if mass is not None else (density or 0.0) * volume
    about_centre = solid.computeMomentofInertiaRelatedToCOM() / volume
    return pin.Inertia(total, solid.computeCOM(), total * about_centre)


def _points(body: RobotModel, name: str, count: int | None) -> ContactPoints:
    if count is None:
        found = points_on_link(body.model, body.collision, name)
    else:
        whole = isinstance(count, int) and not isinstance(count, bool)
        if not (whole and 1 <= count <= MOST_CONTACT_POINTS):
            sentence = f"contact_points must be 1 to {MOST_CONTACT_POINTS}, got {count!r}"
            raise _refused(name, sentence)
        found = points_on_surfaces(body.model, body.collision, body.standing, [name], count)
    return place_points(body.model, found, "")


def _refused(name: str, message: str) -> RobotError:
    return RobotError(message, element=f"object '{name}'")
