"""External forces on frames of a robot, each over a time interval."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
import pinocchio as pin
from pydantic import Field

from nmdp_pin._control.controller import Command, Controller
from nmdp_pin._options import Number, Vector3, check_fields
from nmdp_pin._robot import Robot
from nmdp_pin._state.state import State
from nmdp_pin.errors import ControlError


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


class Pushed(Controller):
    """Controller with pushes: adds J' f to the forces from outside, held over the step.

    The Jacobian is evaluated at the start of the step, so pushes are explicit.
    """

    def __init__(self, controller: Controller, robot: Robot, pushes: Sequence[Push]) -> None:
        self.controller = controller
        self.pushes = tuple(pushes)
        self._model = robot.model
        self._data = robot.model.createData()
        self._frames = [_frame(robot.model, push.frame) for push in self.pushes]

    @property
    def follows_time(self) -> bool:  # type: ignore[override]
        """Whether the inner controller follows the time."""
        return self.controller.follows_time

    def command(self, state: State, h: float) -> Command:
        """The inner command with the pushes' generalised forces added."""
        return self.within(state, h, h)

    def within(self, state: State, s: float, h: float) -> Command:
        """See `Controller.within`; forces are the same at all stages: their impulse is exact."""
        command = self.controller.within(state, s, h)
        force = self._generalised(state, h)
        if force is None:
            return command
        return replace(command, force=force if command.force is None else command.force + force)

    def _generalised(self, state: State, h: float) -> np.ndarray | None:
        """Sum of J' f over the pushes of this step [N, N m], shape (nv,); None without any."""
        total = None
        for push, frame in zip(self.pushes, self._frames, strict=True):
            share = push.share(state.t, h)
            if share <= 0.0:
                continue
            J = pin.computeFrameJacobian(
                self._model, self._data, state.q, frame, pin.LOCAL_WORLD_ALIGNED
            )
            force = J.reshape(6, -1)[:3].T @ (share * np.asarray(push.force, dtype=float))
            total = force if total is None else total + force
        return total


def _frame(model: pin.Model, name: str | None) -> int:
    """Index of the frame by name; of the body on the first joint when no name is given."""
    if name is None:
        return _base_frame(model)
    if not model.existFrame(name):
        known = sorted({frame.name for frame in model.frames} - {"universe"})
        raise ControlError(
            f"a push names the frame '{name}', which is not one of the robot's: {', '.join(known)}"
        )
    return int(model.getFrameId(name))


def _base_frame(model: pin.Model) -> int:
    """Index of the first moving body."""
    for index, frame in enumerate(model.frames):
        if frame.parentJoint > 0 and frame.type == pin.FrameType.BODY:
            return index
    raise ControlError("a push needs a robot that moves; this one has no body on a joint")
