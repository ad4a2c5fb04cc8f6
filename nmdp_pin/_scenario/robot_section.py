"""The [robot] table of a scenario: which robot, how it is read, where it starts."""

from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import Field, PlainValidator, TypeAdapter, model_validator

from nmdp_pin._options import (
    Count,
    FilePath,
    Flag,
    Number,
    Vector3,
    phrased,
    refusal,
    shown,
    unknown,
    worded,
)
from nmdp_pin._robot import EXTENTS, MOST_CONTACT_POINTS, Base, ContactPoint
from nmdp_pin._scenario.section import Section
from nmdp_pin._terrain.shape import DEFAULT_FRICTION, Friction

ContactCount = Annotated[Count, Field(ge=1, le=MOST_CONTACT_POINTS)]
DECOMPOSE = "divide collision meshes that are not convex into convex parts (extra `decomposition`)"
PACKAGE_DIRS = "folders searched for `package://`"


class MovingSection(Section):
    """Velocities of a base at the start."""

    velocity: Vector3 = Field((0.0, 0.0, 0.0), description="base, world frame [m/s]")
    angular_velocity: Vector3 = Field((0.0, 0.0, 0.0), description="base, world frame [rad/s]")


class InitialSection(MovingSection):
    """Initial state of the robot; the default is the standing pose at rest."""

    position: Vector3 | None = Field(None, description="base, world frame [m]")
    rpy: Vector3 | None = Field(None, description="base, roll-pitch-yaw [rad]")
    joints: dict[str, Number] = Field({}, description="joint = position [rad or m]")
    joint_velocities: dict[str, Number] = Field({}, description="joint = velocity [rad/s or m/s]")


def _contact(value: Any) -> str | ContactPoint:
    """Contact point: name of a link or frame, or a table."""
    if isinstance(value, str | ContactPoint):
        return value
    if isinstance(value, dict):
        for key in value.keys() - ContactPoint.model_fields.keys():
            raise refusal(unknown(key, "a key of this table", ContactPoint.model_fields), (key,))
        return ContactPoint.model_validate(value)
    raise worded(f"must be the name of a link or frame, or a table, got {shown(value)}")


_CONTACTS: TypeAdapter[Any] = TypeAdapter(tuple[Annotated[Any, PlainValidator(_contact)], ...])


def _contacts(value: Any) -> str | tuple[str | ContactPoint, ...]:
    """A word for all of them, or a list of contacts."""
    if not isinstance(value, str):
        return _CONTACTS.validate_python(value)
    if value not in EXTENTS:
        raise worded(f"must be {' or '.join(map(repr, EXTENTS))} or a list, got '{value}'")
    return value


class RobotSection(Section):
    """Robot and options of its URDF; see `nmdp_pin._robot.load_robot`."""

    name: str | None = Field(None, description="bundled robot or one of example-robot-data")
    urdf: FilePath | None = Field(None, description="path of a URDF, MJCF or robot.toml file")
    base: Base | None = Field(
        None, description='how the root link is held; absent: as in robot.toml, else "free-flyer"'
    )
    variant: str | None = Field(None, description="alternative URDF named in robot.toml")
    joints: Annotated[str | tuple[str, ...], phrased("a text or a list of texts")] | None = Field(
        None,
        description='joints that move, or "all"; absent: the driven ones; the others are locked',
    )
    contacts: Annotated[Any, PlainValidator(_contacts)] = Field(
        None,
        description='"feet", "all", or a list of links, frames or tables (below); absent: see '
        "[robots](../robots.md)",
    )
    contact_points: ContactCount | None = Field(
        None,
        description="number of points spread over the collision geometry of the links, or of those "
        "in `contacts`",
    )
    decompose: Flag = Field(False, description=DECOMPOSE)
    self_collision: Annotated[
        Flag | tuple[tuple[str, str], ...], phrased("true, false or a list of pairs of names")
    ] = Field(
        False,
        description="true: all links may touch, except neighbours and links that overlap in the "
        "standing pose; or a list of pairs of links",
    )
    link_friction: Friction = Field(
        DEFAULT_FRICTION,
        description="friction coefficient of the links, for contacts between bodies",
    )
    limits: Flag = Field(True, description="bounds of the joints; false leaves them out")
    package_dirs: tuple[FilePath, ...] = Field((), description=PACKAGE_DIRS)
    initial: InitialSection = Field(
        default_factory=lambda: InitialSection.model_validate({}), description="table"
    )

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        """A robot comes from a name or from a file."""
        if (self.name is None) == (self.urdf is None):
            raise worded("needs exactly one of the keys 'name' and 'urdf'")
        if self.name is not None and Path(self.name).name != self.name:
            raise refusal(f"'{self.name}' is a path, not a name: use the key 'urdf'", ("name",))
        return self
