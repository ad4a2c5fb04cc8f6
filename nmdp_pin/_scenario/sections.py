"""The tables of terrain, method, controller and pushes in a scenario file."""

import inspect
from dataclasses import asdict, is_dataclass, replace
from typing import Annotated, Any, Self

import numpy as np
from pydantic import Field, PrivateAttr, SerializeAsAny, model_validator

from nmdp_pin._contact import DryFriction, Penalty
from nmdp_pin._control.actuators import Actuators
from nmdp_pin._control.attachment import Attachment
from nmdp_pin._control.controller import Controller
from nmdp_pin._control.flight import Flight
from nmdp_pin._control.hold import hold
from nmdp_pin._control.push import Push
from nmdp_pin._control.stable_pd import Gains, Passive, StablePD, VelocityServo
from nmdp_pin._integrators import INTEGRATORS
from nmdp_pin._integrators.presets import preset_options
from nmdp_pin._integrators.stage_minimiser import OPTIONS
from nmdp_pin._options import PositiveOrInfinite, seconds, worded
from nmdp_pin._robot import Robot
from nmdp_pin._robot.gait import Gait
from nmdp_pin._robot.loop import WORLD
from nmdp_pin._robot.settings import GaitTable
from nmdp_pin._scenario.section import OptionsSection, Section, chosen, options_section
from nmdp_pin._simulator.argument_check import MAX_STEP
from nmdp_pin._simulator.step_control import CONTROLS, Halving, StepControl
from nmdp_pin._terrain import SHAPES, Shape
from nmdp_pin._terrain.shape import Friction
from nmdp_pin.errors import ControlError


class ControllerSection(OptionsSection):
    """Keys common to all controllers; `target` makes one."""

    kind: str = Field("stable-pd", description="controller")

    def build(self, robot: Robot, q: np.ndarray) -> Controller:
        """The controller of a robot that begins at the configuration q, shape (nq,)."""
        taken = inspect.signature(self.target).parameters
        parts = {name: part for name, part in (("robot", robot), ("q", q)) if name in taken}
        controller: Controller = self.target(**parts, **self.options())
        return controller


def stable_pd(
    robot: Robot,
    *,
    kp: Gains,
    kd: Gains,
    gait: str | None = None,
    motion: GaitTable | None = None,
    loop: bool = True,
    track_velocity: bool = True,
) -> StablePD:
    """Stable PD that follows a gait of the robot, or knots of a scenario file.

    Args:
        robot: controlled robot.
        kp: position gain of all driven joints, or a table joint = gain [N m/rad or N/m].
        kd: damping of all driven joints, or a table joint = damping [N m s/rad or N s/m].
        gait: gait of the robot; None: `motion`, or hold the standing pose.
        motion: table of knots instead of a gait.
        loop: repeat the loop of the gait, or hold its last knot.
        track_velocity: follow the velocity of the gait, or damp to rest.
    """
    if gait is not None and motion is not None:
        raise ControlError("takes one of the keys 'gait' and 'motion'")
    reference: str | Gait | None = gait if motion is None else motion.build("motion")
    if gait is not None and gait in robot.gaits and not loop:
        reference = replace(robot.gaits[gait], loop=None)
    return StablePD(robot, kp=kp, kd=kd, gait=reference, track_velocity=track_velocity)


CONTROLLERS: dict[str, Any] = {
    "actuators": Actuators,
    "flight": Flight,
    "stable-pd": stable_pd,
    "velocity": VelocityServo,
    "hold": hold,
    "none": Passive,
}
"""What makes a controller, by kind: a class or function of the robot, of its q, and of options."""


AnyController = Annotated[
    ControllerSection, SerializeAsAny(), chosen(ControllerSection, "kind", lambda: CONTROLLERS)
]


class ShapeSection(OptionsSection):
    """One shape of the terrain: `kind` names the class, the other keys are its arguments."""

    kind: str = Field(description="shape")
    name: str | None = Field(None, description="name for `contact_rules`; need not be unique")

    _shape: Shape = PrivateAttr()

    @model_validator(mode="after")
    def _build(self) -> Self:
        """Build the shape, so that its checks run with the others."""
        self._shape = self.target(**self.options())
        return self

    @property
    def shape(self) -> Shape:
        """The shape."""
        return self._shape


AnyShape = Annotated[ShapeSection, SerializeAsAny(), chosen(ShapeSection, "kind", lambda: SHAPES)]


class FrictionSection(Section):
    """Friction of pairs of bodies."""

    pairs: tuple[tuple[str, str, Friction], ...] = Field(
        (),
        description="lists of two names of links or objects, or one and `terrain`, and their "
        "coefficient in the place of the larger one of their surfaces",
    )


class PairStiffnessSection(Section):
    """Contact stiffness of pairs of bodies."""

    pairs: tuple[tuple[str, str, PositiveOrInfinite], ...] = Field(
        (),
        description="lists of two names of links or objects, or one and `terrain`, and their "
        "stiffness, inf: rigid, in the place of those of their surfaces and of the contact law "
        "[N/m^p, p being the exponent of the law]",
    )


class TerrainSection(Section):
    """The static world, composed of shapes."""

    shapes: tuple[AnyShape, ...] = Field(
        (), description="list of tables, of which a robot's `scene` needs none"
    )


class ControlSection(OptionsSection):
    """Step control: `kind` names it, the other keys are its options."""

    kind: str = Field(
        "halving", description="halve steps that fail; let them fail; control the error"
    )


def _filled(given: Any, preset: Any) -> Any:
    """An option as it is given, or the preset's; a sub-table takes what it lacks from the preset.

    A table of another kind than the preset's takes nothing.
    """
    if is_dataclass(preset) and not isinstance(preset, type):
        kind: dict[str, Any] = {"kind": preset.name} if isinstance(preset, StepControl) else {}
        preset = kind | asdict(preset)
        if isinstance(given, dict) and given.get("kind") in (None, preset.get("kind")):
            return preset | given
    return preset if given is None else given


AnyControl = Annotated[
    ControlSection, SerializeAsAny(), chosen(ControlSection, "kind", lambda: CONTROLS)
]


class IntegratorSection(OptionsSection):
    """The method, its step and its own options."""

    name: str = Field("ne-nmdp", description="method: [README](../../README.md#methods)")
    dt: Annotated[float, seconds(MAX_STEP)] = Field(
        0.01, description="length of a step, > 0 and <= 1 [s]"
    )
    control: AnyControl = Field(
        default_factory=lambda: options_section(ControlSection, Halving)(kind="halving"),
        description="step control, a table",
    )
    preset: str | None = Field(
        None, description='options for keys that are not given: "paper", below'
    )

    @model_validator(mode="before")
    @classmethod
    def _fill_from_preset(cls, table: Any) -> Any:
        """Complete a table by the options of its preset, sub-tables key by key."""
        name = table.get("preset") if isinstance(table, dict) else None
        if not isinstance(name, str):
            return table
        preset = preset_options(name, cls.model_fields, table)
        return table | {key: _filled(table.get(key), value) for key, value in preset.items()}

    def step_control(self) -> StepControl:
        """The step control."""
        control: StepControl = self.control.target(**self.control.options())
        return control

    @model_validator(mode="after")
    def _steps_in_order(self) -> Self:
        """The shortest step is no longer than the step."""
        least = getattr(self.control, "min_step", 0.0)
        if least > self.dt:
            raise worded(f"control.min_step = {least:g} s must be <= dt = {self.dt:g} s")
        return self


def integrator_section(name: str) -> type[IntegratorSection]:
    """Record of a method."""
    types = tuple((key, kind | None) for key, kind in OPTIONS.items())
    return options_section(IntegratorSection, INTEGRATORS[name], types=types)


AnyIntegrator = Annotated[
    IntegratorSection,
    SerializeAsAny(),
    chosen(IntegratorSection, "name", lambda: INTEGRATORS, integrator_section),
]


def drop_foreign_options(table: dict[str, Any]) -> None:
    """Remove the keys of an [integrator] table that its method lacks, in place."""
    name = table.get("name")
    if isinstance(name, str) and name in INTEGRATORS:
        for key in set(table) - set(integrator_section(name).model_fields):
            del table[key]


def fit_contact(table: dict[str, Any]) -> None:
    """Replace, in place, a [contact] table whose law the method cannot take by its default."""
    method = INTEGRATORS.get(str(table["integrator"].get("name")))
    laws: dict[Any, str] = {Penalty: "penalty", DryFriction: "dry-friction"}
    model = laws.get(method.law_type if method else None)
    if model is not None and table.get("contact", {}).get("model") != model:
        table["contact"] = {"model": model}
        table.pop("contact_rules", None)


class PushSection(OptionsSection):
    """An external force for a while."""

    kind: str = Field("push", description="force on the origin of a frame")


DISTURBANCES: dict[str, type[Push]] = {"push": Push}

AnyDisturbance = Annotated[
    PushSection, SerializeAsAny(), chosen(PushSection, "kind", lambda: DISTURBANCES)
]


class AttachmentSection(Section):
    """Two bodies that move as one for a while."""

    first: str = Field(description="link, frame or object")
    second: str = Field(WORLD, description='link, frame, object or "world"')
    start: Annotated[float, Field(ge=0, le=3600)] = Field(description="start [s]")
    duration: Annotated[float, seconds(3600.0)] = Field(
        description="length of the interval, > 0 and <= 3600 [s]"
    )

    @property
    def attachment(self) -> Attachment:
        """The attachment."""
        return Attachment(**dict(self))
