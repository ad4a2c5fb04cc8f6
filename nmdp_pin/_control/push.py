"""External forces on frames of a robot, each over a time interval."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
import pinocchio as pin
from pydantic import Field

from nmdp_pin._control.controller import Command, ExternalWrench
from nmdp_pin._control.conversion import ControllerLike
from nmdp_pin._control.wrapper import ControllerWrapper
from nmdp_pin._options import Number, Vector3, check_fields, readable
from nmdp_pin._robot import Robot
from nmdp_pin._state.state import State
from nmdp_pin.errors import ControlError


@readable
@dataclass(frozen=True, kw_only=True)
class Push:
    """Constant force on one frame over a time interval.

    Args:
        force: force in the world frame [N].
        start: start [s].
        duration: length of the interval [s].
        frame: frame or link whose origin is pushed; None: the base, the first moving link.
    """

    force: Vector3
    start: Annotated[Number, Field(ge=0, le=3600)]
    duration: Annotated[Number, Field(gt=0, le=3600)]
    frame: str | None = None

    def __post_init__(self) -> None:
        check_fields(self, ControlError)

    def share(self, t: float, h: float) -> float:
        """Fraction of the step from t to t + h that the push lasts."""
        overlap = min(t + h, self.start + self.duration) - max(t, self.start)
        return max(overlap, 0.0) / h


class Pushed(ControllerWrapper):
    """Controller with pushes: adds them to the wrenches from outside, held over the step."""

    def __init__(self, controller: ControllerLike, robot: Robot, pushes: Sequence[Push]) -> None:
        super().__init__(controller)
        self.pushes = tuple(pushes)
        self._frames = [_frame(robot.model, push.frame) for push in self.pushes]

    def within(self, state: State, s: float, h: float) -> Command:
        """See `Controller.within`; forces are the same at all stages: their impulse is exact."""
        command = self.controller.within(state, s, h)
        wrenches = tuple(
            ExternalWrench(force=tuple((share * np.asarray(push.force)).tolist()), frame=frame)
            for push, frame in zip(self.pushes, self._frames, strict=True)
            if (share := push.share(state.t, h)) > 0.0
        )
        return replace(command, wrenches=command.wrenches + wrenches) if wrenches else command


def _frame(model: pin.Model, name: str | None) -> str:
    """Name of the frame; of the body on the first joint when none is given."""
    if name is None:
        return _base_frame(model)
    if not model.existFrame(name):
        known = sorted({frame.name for frame in model.frames} - {"universe"})
        raise ControlError(
            f"a push names the frame '{name}', which is not one of the robot's: {', '.join(known)}"
        )
    return name


def _base_frame(model: pin.Model) -> str:
    """Name of the first moving body."""
    for frame in model.frames:
        if frame.parentJoint > 0 and frame.type == pin.FrameType.BODY:
            return str(frame.name)
    raise ControlError("a push needs a robot that moves; this one has no body on a joint")
