"""The [[objects]] of a scenario file: bodies beside the robot that it may push, kick and carry."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np
import pinocchio as pin
from pydantic import Field, model_validator

from nmdp_pin.robot import MOST_CONTACT_POINTS, Robot, free_body, load_robot, together, touching
from nmdp_pin.robot.body_surfaces import shaped_joints, surfaces_of
from nmdp_pin.robot.model import FREE_JOINTS, PLANAR_JOINTS, place_base
from nmdp_pin.scenario.robot_section import FilePath, RobotSection
from nmdp_pin.scenario.section import Count, Flag, Number, Section, Vector3, chosen, worded
from nmdp_pin.terrain import Box, Capsule, Cone, Cylinder, Ellipsoid, Sphere
from nmdp_pin.terrain.primitives import Primitive
from nmdp_pin.terrain.shape import DEFAULT_FRICTION

Length = Annotated[Number, Field(gt=0)]


class ObjectSection(Section):
    """Keys common to all objects."""

    kind: str = Field(description="shape of the object")
    name: str = Field(min_length=1, description="of the object, its link and its contact points")
    position: Vector3 = Field((0.0, 0.0, 0.0), description="where it stands, world frame [m]")
    rpy: Vector3 = Field((0.0, 0.0, 0.0), description="roll, pitch, yaw there [rad]")
    velocity: Vector3 = Field((0.0, 0.0, 0.0), description="world frame [m/s]")
    angular_velocity: Vector3 = Field((0.0, 0.0, 0.0), description="world frame [rad/s]")
    base: Literal["free-flyer", "planar"] = Field("free-flyer", description="how it can move")
    friction: Number = Field(DEFAULT_FRICTION, ge=0, le=10, description="of its surface [-]")
    contact_points: Count | None = Field(
        None, ge=1, le=MOST_CONTACT_POINTS, description="number of points spread over its surface"
    )

    @model_validator(mode="after")
    def _in_plane(self) -> ObjectSection:
        """Refuse velocities out of the plane of a planar object."""
        aside = (self.velocity[1], self.angular_velocity[0], self.angular_velocity[2])
        if self.base == "planar" and any(aside):
            raise worded("a planar base moves in x, z and pitch only")
        return self

    def build(self) -> Robot:
        """The object alone.

        Raises:
            RobotError: what it is made of cannot be used.
        """
        raise NotImplementedError

    def set_velocity(self, model: pin.Model, q: np.ndarray, v: np.ndarray) -> None:
        """Write the object's velocity into that of everything, in place."""
        linear, angular = np.array(self.velocity), np.array(self.angular_velocity)
        names = PLANAR_JOINTS if self.base == "planar" else FREE_JOINTS
        joints = [model.joints[model.getJointId(f"{self.name}/{name}")] for name in names]
        if self.base == "planar":
            parts = [linear[:1], linear[2:], angular[1:2]]
        else:
            turn = q[joints[1].idx_q : joints[1].idx_q + 4]
            parts = [linear, pin.Quaternion(turn).toRotationMatrix().T @ angular]
        for joint, part in zip(joints, parts, strict=True):
            v[joint.idx_v : joint.idx_v + joint.nv] = part


class SolidSection(ObjectSection):
    """A solid of uniform density."""

    surface: ClassVar[type[Primitive]]
    sizes: ClassVar[tuple[str, ...]]
    """Keys that hold the arguments of the surface."""

    mass: Length | None = Field(None, description="[kg]; or density")
    density: Length | None = Field(None, description="[kg/m^3]; or mass")

    @model_validator(mode="after")
    def _one_mass(self) -> SolidSection:
        """The mass is given, or follows from the density."""
        if (self.mass is None) == (self.density is None):
            raise worded("needs exactly one of the keys 'mass' and 'density'")
        return self

    def build(self) -> Robot:
        """See the base."""
        sizes = {key: getattr(self, key) for key in self.sizes}
        return free_body(
            self.name,
            self.surface(**sizes, friction=self.friction),
            mass=self.mass,
            density=self.density,
            position=self.position,
            rpy=self.rpy,
            base=self.base,
            contact_points=self.contact_points,
        )


class BoxSection(SolidSection):
    """A box."""

    surface, sizes = Box, ("size",)

    kind: Literal["box"] = "box"
    size: tuple[Length, Length, Length] = Field(description="full lengths along its axes [m]")


class BallSection(SolidSection):
    """A ball."""

    surface, sizes = Sphere, ("radius",)

    kind: Literal["ball"] = "ball"
    radius: Length = Field(description="[m]")


class CylinderSection(SolidSection):
    """A cylinder about its z axis."""

    surface, sizes = Cylinder, ("radius", "length")

    kind: Literal["cylinder"] = "cylinder"
    radius: Length = Field(description="[m]")
    length: Length = Field(description="along its axis [m]")


class CapsuleSection(SolidSection):
    """A cylinder about its z axis with round ends."""

    surface, sizes = Capsule, ("radius", "length")

    kind: Literal["capsule"] = "capsule"
    radius: Length = Field(description="[m]")
    length: Length = Field(description="between the centres of its ends [m]")


class ConeSection(SolidSection):
    """A cone about its z axis, whose tip is at half its length."""

    surface, sizes = Cone, ("radius", "length")

    kind: Literal["cone"] = "cone"
    radius: Length = Field(description="of its base [m]")
    length: Length = Field(description="along its axis [m]")


class EllipsoidSection(SolidSection):
    """An ellipsoid."""

    surface, sizes = Ellipsoid, ("radii",)

    kind: Literal["ellipsoid"] = "ellipsoid"
    radii: tuple[Length, Length, Length] = Field(description="semi-axes [m]")


class UrdfSection(ObjectSection):
    """Object described by a URDF, without motors; its surface is its collision geometry."""

    kind: Literal["urdf"] = "urdf"
    path: FilePath = Field(description="path of the URDF, relative to the scenario file")
    decompose: Flag = Field(False, description="divide meshes into convex parts")
    package_dirs: tuple[FilePath, ...] = Field((), description="what package:// stands for")

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
        surfaces, notes = surfaces_of(robot, sorted(shaped_joints(robot)), friction=self.friction)
        return replace(
            robot,
            name=self.name,
            standing=standing,
            driven=np.zeros(0, dtype=int),
            surfaces=surfaces,
            notes=(*robot.notes, *notes),
        )


OBJECTS: dict[str, type[ObjectSection]] = {
    "ball": BallSection,
    "box": BoxSection,
    "capsule": CapsuleSection,
    "cone": ConeSection,
    "cylinder": CylinderSection,
    "ellipsoid": EllipsoidSection,
    "urdf": UrdfSection,
}

if TYPE_CHECKING:
    AnyObject = ObjectSection
else:
    AnyObject = chosen(ObjectSection, "kind", lambda: OBJECTS)


def with_objects(robot: Robot, section: RobotSection, objects: Sequence[ObjectSection]) -> Robot:
    """The robot with the objects beside it, and the contacts between bodies that a scenario has.

    Every object may touch every other one, and the bodies of the robot that carry contact points.

    Raises:
        RobotError: an object or a pair of links that cannot be used.
    """
    friction = section.link_friction
    if section.self_collision:
        pairs = None if section.self_collision is True else section.self_collision
        robot = touching(robot, pairs, friction=friction)
    bodies = sorted({*robot.contact_points.joints.tolist()} - {0})
    for item in objects:
        single, shift = item.build(), robot.model.njoints - 1
        robot = together(robot, [single])
        own = [joint + shift for joint in single.surfaces]
        robot = touching(robot, itertools.product(bodies, own), friction=friction)
        bodies += own
    return robot
