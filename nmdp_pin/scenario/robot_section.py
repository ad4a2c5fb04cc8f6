"""The [robot] table of a scenario: which robot, how it is read, where it starts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import (
    AfterValidator,
    Field,
    PlainValidator,
    TypeAdapter,
    ValidationInfo,
    model_validator,
)

from nmdp_pin.robot import EXTENTS, MOST_CONTACT_POINTS, Base, ContactPoint
from nmdp_pin.scenario.section import Count, Flag, Number, Section, Vector3, refuse, worded
from nmdp_pin.terrain.shape import DEFAULT_FRICTION


class InitialSection(Section):
    """Initial state of the robot; the default is the standing pose at rest."""

    position: Vector3 | None = Field(None, description="of the base, world frame [m]")
    rpy: Vector3 | None = Field(None, description="roll, pitch, yaw of the base [rad]")
    velocity: Vector3 = Field((0.0, 0.0, 0.0), description="of the base, world frame [m/s]")
    angular_velocity: Vector3 = Field(
        (0.0, 0.0, 0.0), description="of the base, world frame [rad/s]"
    )
    joints: dict[str, Number] = Field({}, description="joint -> position [rad or m]")
    joint_velocities: dict[str, Number] = Field({}, description="joint -> [rad/s or m/s]")


def _texts(value: Any) -> str | tuple[str, ...]:
    """One text or a list of texts."""
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple) and all(isinstance(entry, str) for entry in value):
        return tuple(value)
    raise worded(f"must be a text or a list of texts, got {value!r}")


def _contact(value: Any) -> str | ContactPoint:
    """Contact point: name of a link or frame, or a table."""
    if isinstance(value, str | ContactPoint):
        return value
    if isinstance(value, dict):
        return ContactPoint.model_validate(value)
    raise worded(f"must be the name of a link or frame, or a table, got {value!r}")


Contact = Annotated[Any, PlainValidator(_contact)]


def _contacts(value: Any) -> str | tuple[str | ContactPoint, ...]:
    """A word for all of them, or a list of contacts."""
    if isinstance(value, str):
        if value not in EXTENTS:
            raise worded(f"must be {' or '.join(map(repr, EXTENTS))} or a list, got '{value}'")
        return value
    return TypeAdapter(tuple[Contact, ...]).validate_python(value)


def _pairs(value: Any) -> bool | tuple[tuple[str, str], ...]:
    """True, false, or pairs of names."""
    if isinstance(value, bool):
        return value
    if isinstance(value, list | tuple):
        pairs = [tuple(pair) if isinstance(pair, list | tuple) else () for pair in value]
        if all(len(pair) == 2 and all(isinstance(name, str) for name in pair) for pair in pairs):
            return tuple((first, second) for first, second in pairs)
    raise worded(f"must be true, false or a list of pairs of names, got {value!r}")


def _absolute(value: str, info: ValidationInfo) -> str:
    """A path that starts from the folder of the scenario file, else from the working directory."""
    path = Path(value).expanduser()
    beside = Path((info.context or {}).get("folder", ".")) / path
    return str((beside if beside.exists() else path).resolve())


FilePath = Annotated[str, AfterValidator(_absolute)]


class RobotSection(Section):
    """Robot and options of its URDF; see `nmdp_pin.robot.load_robot`."""

    name: str | None = Field(None, description="a bundled robot or one of example-robot-data")
    urdf: FilePath | None = Field(None, description="path, relative to the scenario file")
    base: Base | None = Field(None, description="how the root link is held")
    variant: str | None = Field(None, description="a preset of the robot's robot.toml")
    joints: Annotated[Any, PlainValidator(_texts)] = Field(
        None, description='joints that move, or "all"; the others are locked'
    )
    contacts: Annotated[Any, PlainValidator(_contacts)] = Field(
        None, description='what may touch the terrain: "feet", "all", or a list'
    )
    contact_points: Count | None = Field(
        None,
        ge=1,
        le=MOST_CONTACT_POINTS,
        description="number of points spread over the surfaces of the links",
    )
    decompose: Flag = Field(False, description="divide meshes into convex parts")
    self_collision: Annotated[Any, PlainValidator(_pairs)] = Field(
        False, description="true, or a list of pairs of links that may touch each other"
    )
    link_friction: Number = Field(
        DEFAULT_FRICTION, ge=0, le=10, description="of links where other bodies touch them [-]"
    )
    limits: Flag = Field(True, description="bounds of the joints, as the description gives them")
    package_dirs: tuple[FilePath, ...] = Field((), description="what package:// stands for")
    initial: InitialSection = Field(default_factory=lambda: InitialSection.model_validate({}))

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        """A robot comes from a name or from a file."""
        if (self.name is None) == (self.urdf is None):
            raise worded("needs exactly one of the keys 'name' and 'urdf'")
        if self.name is not None and Path(self.name).name != self.name:
            raise refuse("name", f"'{self.name}' is a path, not a name: use the key 'urdf'")
        return self
