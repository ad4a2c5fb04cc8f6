"""The [controller] table of a scenario file: one record a controller."""

import inspect
from dataclasses import replace
from typing import Annotated, Any

import numpy as np
from pydantic import Field, SerializeAsAny

from nmdp_pin._control.controller import Controller
from nmdp_pin._control.hold import hold
from nmdp_pin._control.stable_pd import Gains, Passive, StablePD
from nmdp_pin._robot import Robot
from nmdp_pin._robot.gait import Gait
from nmdp_pin._robot.settings import GaitTable
from nmdp_pin._scenario.section import OptionsSection, chosen
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


CONTROLLERS: dict[str, Any] = {"stable-pd": stable_pd, "hold": hold, "none": Passive}
"""What makes a controller, by kind: a class or function of the robot, of its q, and of options."""


AnyController = Annotated[
    ControllerSection, SerializeAsAny(), chosen(ControllerSection, "kind", lambda: CONTROLLERS)
]
