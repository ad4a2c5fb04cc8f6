"""Error of a step that failed."""

from __future__ import annotations

from nmdp_pin.control.controller import Command
from nmdp_pin.errors import NmdpError
from nmdp_pin.integrators.integrator import StepResult


class StepFailed(NmdpError):
    """A step did not converge at the smallest step length.

    Args:
        result: result, whose state is that before the step.
        command: command of the step.
        h: length of the step [s].
    """

    def __init__(self, result: StepResult, command: Command, h: float) -> None:
        self.result, self.command, self.h = result, command, h
        super().__init__(
            f"the step at t = {result.state.t:.6g} s failed: {result.status.value}. "
            "The state is as it was before the step; try a smaller dt, lower gains "
            "or a softer contact (contact.stiffness, contact.static_depth)."
        )
