"""Settings of a `robot.toml`: base, standing pose, contact points, gaits."""

from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pinocchio as pin
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from nmdp_pin._files.input_file import read_toml
from nmdp_pin._options import options_of, sentence, unknown
from nmdp_pin._robot.actuator import Actuator
from nmdp_pin._robot.frames import link_frame
from nmdp_pin._robot.gait import Gait
from nmdp_pin._robot.loop import KINDS, Loop
from nmdp_pin.errors import ControlError, RobotError

Base = Literal["free-flyer", "planar", "fixed"]
Finite = Annotated[float, Field(allow_inf_nan=False)]
Inertia = Annotated[float, Field(allow_inf_nan=False, ge=0.0)]

LARGEST_STIFFNESS = 1e10  # [N m/rad or N/m]; of larger ones rounding errors are forces
_SQUARE = 1e-6  # [-] by which lengths and angles of semi-axes may differ


class _Table(BaseModel):
    """A table of the file: unknown keys are refused, numbers stay numbers."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class ContactPoint(_Table):
    """Contact sphere fixed to a link.

    Attributes:
        name: name in recordings and plots; unique on a robot.
        link: link or frame that carries the sphere.
        position: centre in the frame of the link [m].
        radius: radius, 0 for a bare point [m].
        semi_axes: vectors of the disc (two) or ellipsoid (three) over which the sphere is swept, at
            right angles; none of a mere sphere [m].
    """

    name: Annotated[str, Field(min_length=1)]
    link: Annotated[str, Field(min_length=1)]
    position: Annotated[list[Finite], Field(min_length=3, max_length=3)] = [0.0, 0.0, 0.0]
    radius: Annotated[Finite, Field(ge=0.0)] = 0.0
    semi_axes: Annotated[
        list[Annotated[list[Finite], Field(min_length=3, max_length=3)]], Field(max_length=3)
    ] = []

    @field_validator("semi_axes")
    @classmethod
    def _at_right_angles(cls, rows: list[list[float]]) -> list[list[float]]:
        """Refuse what is neither a disc nor an ellipsoid."""
        if not rows:
            return rows
        products = np.array(rows).reshape(-1, 3) @ np.array(rows).reshape(-1, 3).T
        lengths = np.diag(products)
        if len(rows) == 1 or (lengths <= 0.0).any():
            raise ValueError("must be none, two or three vectors longer than 0")
        if (np.abs(products - np.diag(lengths)) > _SQUARE * lengths.max(initial=0.0)).any():
            raise ValueError("must be vectors at right angles")
        if len(rows) == 2 and abs(lengths[0] - lengths[1]) > _SQUARE * lengths.max():
            raise ValueError("must be two vectors of the same length: the radius of a disc")
        return rows


class Standing(_Table):
    """Standing pose."""

    base_height: Finite = 0.0  # of the root link's frame over z = 0 [m]
    joints: dict[str, Finite] = {}  # positions by name, 0 where absent [rad or m]


class SpringTable(_Table):
    """Spring of a hinge or slide, as MJCF has it."""

    stiffness: Annotated[float, Field(allow_inf_nan=False, ge=0.0, le=LARGEST_STIFFNESS)]
    springref: Finite = 0.0  # position without force [rad or m]


class GaitTable(_Table):
    """Knots of a gait, checked by `nmdp_pin._robot.gait.Gait`.

    Attributes:
        joints: joints that move; the others hold the standing pose.
        times: times of the knots, increasing from 0 [s].
        positions: one row of joint positions a knot [rad or m].
        loop: start and end of the repeated part [s]; None: the last knot is held.
    """

    joints: Annotated[tuple[str, ...], Field(strict=False)]
    times: list[Finite]
    positions: list[list[Finite]]
    loop: Annotated[tuple[Finite, Finite] | None, Field(strict=False)] = None

    def build(self, name: str) -> Gait:
        """The gait."""
        knots: dict[str, Any] = dict(self)
        return Gait(name, **knots)


class Thruster(_Table):
    """A motor that pushes a link: its force is its control, within a range.

    Attributes:
        name: name of the actuator.
        link: link or frame that is pushed.
        wrench: force and torque about its origin, along its axes, by a unit of the control.
        range: least and largest control [N].
    """

    name: Annotated[str, Field(min_length=1)]
    link: Annotated[str, Field(min_length=1)]
    wrench: Annotated[tuple[Finite, Finite, Finite, Finite, Finite, Finite], Field(strict=False)]
    range: Annotated[tuple[Finite, Finite], Field(strict=False)]


class RobotSettings(_Table):
    """Content of a `robot.toml`; the defaults apply to foreign URDFs."""

    urdf: str = ""  # beside the robot.toml
    variants: dict[str, str] = {}  # other URDFs of the same robot
    base: Base = "free-flyer"
    driven: list[str] | None = None  # joints that move, the others being locked; None: all
    passive: bool | list[str] = False  # joints without a motor; True: all
    standing: Standing = Standing()
    armature: Inertia | dict[str, Inertia] = 0.0  # of rotors [kg m^2 or kg], of all or by joint
    springs: dict[str, SpringTable] = {}  # by joint
    loops: list[dict[str, Any]] = []  # each with its kind and the fields of its class
    contact: list[ContactPoint] | None = None  # None: chosen from the collision geometry
    thrusters: list[Thruster] = []
    gaits: dict[str, GaitTable] = {}

    def build_loops(self, file: str) -> list[Loop]:
        """Loops of the file."""
        loops = list[Loop]()
        for number, table in enumerate(self.loops):
            element = f"loops.{number}"
            kind, given = table.get("kind"), {k: x for k, x in table.items() if k != "kind"}
            if kind not in KINDS:
                what = f"kind must be one of {', '.join(KINDS)}, got {kind!r}"
                raise RobotError(what, file=file, element=element)
            known = options_of(KINDS[kind])
            missing = [name for name, option in known.items() if option.default is ...]
            for name in [*given, *(name for name in missing if name not in given)]:
                if name not in known or name not in given:
                    what = unknown(name, "a key of this table", ["kind", *known])
                    what = what if name not in known else f"{name} is missing"
                    raise RobotError(what, file=file, element=element)
            try:
                loops.append(KINDS[kind](**given))
            except RobotError as error:
                raise RobotError(str(error), file=file, element=element) from error
        return loops

    def build_thrusters(self, model: pin.Model, file: str) -> list[Actuator]:
        """Thrusters of the file, on frames of a model."""
        for item in self.thrusters:
            link_frame(model, item.link, file, f"thruster '{item.name}'")
        return [
            Actuator(item.name, frame=item.link, wrench=item.wrench, control=item.range)
            for item in self.thrusters
        ]

    def build_gaits(self, file: str) -> dict[str, Gait]:
        """Gaits of the file."""
        gaits = {}
        for name, table in self.gaits.items():
            try:
                gaits[name] = table.build(name)
            except ControlError as error:
                raise RobotError(str(error), file=file, element=f"gaits.{name}") from error
        return gaits


def read_settings(path: Path) -> RobotSettings:
    """Read and check a `robot.toml`."""
    table = read_toml(path, "robot.toml", error=RobotError)
    try:
        settings = RobotSettings.model_validate(table)
    except ValidationError as error:
        line = error.errors(include_url=False)[0]
        *above, last = map(str, line["loc"])
        what = sentence(line)
        if line["type"] == "extra_forbidden":
            known = () if above else RobotSettings.model_fields
            what = unknown(last, "a key of this table", known)
        raise RobotError(what, file=str(path), element=".".join([*above, last])) from error
    for name in (settings.urdf, *settings.variants.values()):
        if Path(name).name != name or not name.endswith(".urdf"):
            raise RobotError(
                f"'{name}' must be the name of a .urdf file beside the robot.toml",
                file=str(path),
                element="urdf",
            )
    return settings
