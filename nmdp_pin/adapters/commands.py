"""What a planner's control means: torques unless a function says otherwise."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from nmdp_pin.control.controller import Command
from nmdp_pin.errors import ControlError
from nmdp_pin.simulator import Simulator
from nmdp_pin.state import State

CommandOf = Callable[[State, np.ndarray, float], Command | np.ndarray | None]
"""Makes the command of a step from its start, the planner's u and its length [s]."""


def size_of_control(simulator: Simulator, command: CommandOf | None, nu: int | None) -> int:
    """How many numbers u has.

    Raises:
        ControlError: a command of one's own, whose u may have any size, without that size.
    """
    if nu is not None:
        return nu
    if command is not None:
        raise ControlError("say with nu how many numbers the u of `command` has")
    return len(simulator.robot.driven)
