"""The [controller] table of a scenario file: one record a controller."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

import numpy as np
from pydantic import Field, PlainValidator, model_validator

from nmdp_pin.control.controller import Controller
from nmdp_pin.control.hold import DAMPING_RATIO, FREQUENCY, hold
from nmdp_pin.control.stable_pd import Passive, StablePD
from nmdp_pin.errors import ControlError
from nmdp_pin.gait import Gait
from nmdp_pin.robot import Robot
from nmdp_pin.scenario.section import Flag, Number, Section, chosen, worded


class ControllerSection(Section):
    """Keys common to all controllers."""

    kind: str = Field("stable-pd", description="name of the controller")

    def build(self, robot: Robot, q: np.ndarray) -> Controller:
        """The controller for this robot.

        Args:
            robot: controlled robot.
            q: the configuration in which the run starts, shape (nq,).
        """
        raise NotImplementedError


class PassiveSection(ControllerSection):
    """No torque at all."""

    kind: Literal["none"] = "none"

    def build(self, robot: Robot, q: np.ndarray) -> Passive:
        """A controller that does nothing."""
        return Passive()


Gain = Annotated[Number, Field(ge=0)]


def _gains(value: Any) -> float | dict[str, float]:
    """One gain for all driven joints, or a table joint -> gain."""
    table = value if isinstance(value, dict) else {"": value}
    for joint, gain in table.items():
        where = f"gain of joint '{joint}'" if joint else "gain"
        number = isinstance(gain, int | float) and not isinstance(gain, bool)
        if not number or not 0.0 <= gain < float("inf"):
            raise worded(f"{where} must be a finite number >= 0, got {gain!r}")
    return dict(table) if isinstance(value, dict) else float(value)


Gains = Annotated[float | dict[str, float], PlainValidator(_gains)]


class MotionSection(Section):
    """Knots of a reference motion."""

    joints: tuple[str, ...] = Field(description="names of the joints that it moves")
    times: tuple[Number, ...] = Field(description="of the knots, increasing from 0 [s]")
    positions: tuple[tuple[Number, ...], ...] = Field(description="a row a knot [rad or m]")
    loop: tuple[Number, Number] | None = Field(None, description="part that repeats [s]")

    @model_validator(mode="after")
    def _is_a_gait(self) -> Self:
        """The knots fit each other."""
        try:
            self.gait()
        except ControlError as error:
            raise worded(str(error)) from None
        return self

    def gait(self) -> Gait:
        """The knots."""
        times, positions = np.array(self.times), [list(row) for row in self.positions]
        return Gait("motion", self.joints, times, positions, self.loop)  # type: ignore[arg-type]


class StablePDSection(ControllerSection):
    """Keys of stable PD."""

    kind: Literal["stable-pd"] = "stable-pd"
    kp: Gains = Field(description="N m/rad: a number or a table joint -> number")
    kd: Gains = Field(description="N m s/rad: a number or a table joint -> number")
    gait: str | None = Field(None, description="one of the robot's gaits")
    motion: MotionSection | None = Field(None, description="knots, instead of a gait")
    loop: Flag = Field(True, description="repeat the gait's loop, or hold its last knot")
    track_velocity: Flag = Field(True, description="follow the gait's velocity, or damp to rest")

    @model_validator(mode="after")
    def _one_reference(self) -> Self:
        """A gait by name or knots."""
        if self.gait is not None and self.motion is not None:
            raise worded("takes one of the keys 'gait' and 'motion'")
        return self

    def build(self, robot: Robot, q: np.ndarray) -> StablePD:
        """Stable PD with this robot's gait."""
        gait: str | Gait | None = self.gait if self.motion is None else self.motion.gait()
        if self.gait is not None and self.gait in robot.gaits and not self.loop:
            gait = replace(robot.gaits[self.gait], loop=None)
        return StablePD(
            robot, kp=self.kp, kd=self.kd, gait=gait, track_velocity=self.track_velocity
        )


class HoldSection(ControllerSection):
    """Implicit PD that holds the initial pose, with gains from the mass matrix."""

    kind: Literal["hold"] = "hold"
    frequency: Number = Field(FREQUENCY, gt=0, le=1e3, description="of each joint by itself [Hz]")
    damping_ratio: Number = Field(DAMPING_RATIO, gt=0, le=1e3, description="1 is critical [-]")

    def build(self, robot: Robot, q: np.ndarray) -> StablePD:
        """Stable PD at the initial pose."""
        return hold(robot, q, frequency=self.frequency, damping_ratio=self.damping_ratio)


CONTROLLERS: dict[str, type[ControllerSection]] = {
    "stable-pd": StablePDSection,
    "hold": HoldSection,
    "none": PassiveSection,
}


if TYPE_CHECKING:  # mypy sees the record, pydantic how it is chosen
    AnyController = ControllerSection
else:
    AnyController = chosen(ControllerSection, "kind", lambda: CONTROLLERS)
