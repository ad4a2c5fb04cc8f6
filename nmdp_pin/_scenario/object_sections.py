"""The [[objects]] of a scenario file: bodies beside the robot that it may push, kick and carry."""

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Literal

import numpy as np
import pinocchio as pin
from pydantic import Field, SerializeAsAny, model_validator

from nmdp_pin._control.body_motion import BodyMotion
from nmdp_pin._options import FilePath, Flag, Positive, PositiveOrInfinite, Vector3, worded
from nmdp_pin._robot import (
    ContactCount,
    Robot,
    free_body,
    load_robot,
    scripted,
    together,
    touching,
)
from nmdp_pin._robot.body_surfaces import shaped_joints, surfaces_of
from nmdp_pin._robot.model import place_base
from nmdp_pin._scenario.robot_section import (
    MovingSection,
    RobotSection,
    add_base_velocity,
)
from nmdp_pin._scenario.section import OptionsSection, chosen, options_section
from nmdp_pin._terrain import Box, Capsule, Cone, Cylinder, Ellipsoid, Sphere
from nmdp_pin._terrain.shape import Friction

AT_ORIGIN = {"position": (0.0, 0.0, 0.0), "rpy": (0.0, 0.0, 0.0)}  # of a surface in its link


class _MotionSection(OptionsSection):
    """Knots of the motion of a body."""

    @model_validator(mode="after")
    def _build(self) -> "_MotionSection":
        """Make the motion, so that its checks run with the others."""
        self.target(**self.options())
        return self


MotionSection = options_section(_MotionSection, BodyMotion)


class ObjectSection(OptionsSection, MovingSection):
    """Keys common to all objects."""

    kind: str = Field(description="body")
    name: str = Field(min_length=1, description="contact points are called `name_0`, `name_1`, ...")
    position: Vector3 = Field((0.0, 0.0, 0.0), description="initial position, world frame [m]")
    rpy: Vector3 = Field((0.0, 0.0, 0.0), description="initial roll-pitch-yaw [rad]")
    base: Literal["free-flyer", "planar"] = Field("free-flyer", description="degrees of freedom")
    friction: Friction | None = Field(
        None,
        description="friction coefficient of its surface; the default is that of what it touches",
    )
    stiffness: PositiveOrInfinite | None = Field(
        None,
        description="contact stiffness of its surface, inf: rigid; the default is that of what it "
        "touches [N/m^p, p being the exponent of the contact law]",
    )
    contact_points: ContactCount | None = Field(
        None,
        description="number of points on its surface; absent: corners of a box, rims of cylinders "
        "and cones, spheres and ellipsoids of round bodies",
    )

    motion: MotionSection | None = Field(  # type: ignore[valid-type]
        None, description="table of knots that move it, whatever it touches; absent: it is free"
    )

    @model_validator(mode="after")
    def _is_moved(self) -> "ObjectSection":
        """Refuse what a body that knots move does not have."""
        if self.motion is not None and (self.base == "planar" or any(self.velocity)):
            raise worded("a body with a motion has the base 'free-flyer', and no other velocity")
        return self

    @model_validator(mode="after")
    def _in_plane(self) -> "ObjectSection":
        """Refuse velocities out of the plane of a planar object."""
        aside = (self.velocity[1], self.angular_velocity[0], self.angular_velocity[2])
        if self.base == "planar" and any(aside):
            raise worded("a planar base moves in x, z and pitch only")
        return self

    @property
    def moved(self) -> BodyMotion | None:
        """What moves it; None where it is free."""
        if self.motion is None:
            return None
        motion: BodyMotion = self.motion.target(**self.motion.options())
        return motion

    def build(self) -> Robot:
        """The object alone."""
        raise NotImplementedError

    def set_velocity(self, model: pin.Model, q: np.ndarray, v: np.ndarray) -> None:
        """Write the velocity of the object into that of the whole scene, in place."""
        add_base_velocity(model, q, v, self, prefix=f"{self.name}/")


class SolidSection(ObjectSection):
    """A solid of uniform density."""

    mass: Positive | None = Field(None, description="or `density` [kg]")
    density: Positive | None = Field(None, description="or `mass` [kg/m^3]")

    @model_validator(mode="after")
    def _one_mass(self) -> "SolidSection":
        """The mass is given, or follows from the density."""
        if (self.mass is None) == (self.density is None):
            raise worded("needs exactly one of the keys 'mass' and 'density'")
        return self

    def build(self) -> Robot:
        """See the base."""
        return free_body(
            self.name,
            self.target(**self.options() | AT_ORIGIN),
            mass=self.mass,
            density=self.density,
            position=self.position,
            rpy=self.rpy,
            base=self.base,
            contact_points=self.contact_points,
        )


class UrdfSection(ObjectSection):
    """Object described by a URDF, without motors; its surface is its collision geometry."""

    path: FilePath = Field(description="URDF, relative to the scenario file")
    decompose: Flag = Field(False, description="as in [robot](scenario.md#robot)")
    package_dirs: tuple[FilePath, ...] = Field((), description="as in [robot](scenario.md#robot)")

    def build(self) -> Robot:
        """See the base."""
        robot = load_robot(
            self.path,
            base=self.base,
            contact_points=self.contact_points,
            decompose=self.decompose,
            package_dirs=self.package_dirs,
        )
        standing = robot.standing.copy()
        pose = pin.SE3(pin.rpy.rpyToMatrix(np.array(self.rpy)), np.array(self.position))
        place_base(robot.model, standing, pose)
        own = {"friction": self.friction, "stiffness": self.stiffness}
        surfaces, notes = surfaces_of(robot, sorted(shaped_joints(robot)), own=own)
        return replace(
            robot,
            name=self.name,
            standing=standing,
            driven=np.zeros(0, dtype=int),
            surfaces=surfaces,
            notes=(*robot.notes, *notes),
        )


OBJECTS: dict[str, type[ObjectSection]] = {
    "ball": options_section(SolidSection, Sphere),
    "box": options_section(SolidSection, Box),
    "capsule": options_section(SolidSection, Capsule),
    "cone": options_section(SolidSection, Cone),
    "cylinder": options_section(SolidSection, Cylinder),
    "ellipsoid": options_section(SolidSection, Ellipsoid),
    "urdf": UrdfSection,
}

AnyObject = Annotated[
    ObjectSection,
    SerializeAsAny(),
    chosen(ObjectSection, "kind", lambda: OBJECTS, OBJECTS.__getitem__),
]


def with_objects(robot: Robot, section: RobotSection, objects: Sequence[ObjectSection]) -> Robot:
    """The robot with the objects beside it, and the contacts between bodies that a scenario has.

    Every object may touch every other one, and the bodies of the robot that carry contact points.
    """
    options = {"friction": section.link_friction, "stiffness": section.link_stiffness}
    if section.self_collision:
        pairs = section.self_collision if isinstance(section.self_collision, tuple) else None
        robot = touching(robot, pairs, **options)
    bodies = sorted({*robot.contact_points.joints.tolist()} - {0})
    for item in objects:
        single, shift = item.build(), robot.model.njoints - 1
        robot = together(robot, [single if item.motion is None else scripted(single)])
        own = [joint + shift for joint in single.surfaces]
        robot = touching(robot, itertools.product(bodies, own), **options)
        bodies += own
    return robot
