"""What is accepted where a controller is."""

import functools
from collections.abc import Callable
from typing import Any

from nmdp_pin._control.controller import Command, Controller
from nmdp_pin._control.stable_pd import Passive, TorqueFunction
from nmdp_pin._options import shown
from nmdp_pin._state.state import State
from nmdp_pin.errors import ControlError

ControllerLike = Controller | Command | Callable[[State, float], Any] | None


def controller_of(given: ControllerLike) -> Controller:
    """A controller, or what stands for one.

    Args:
        given: a controller; a function of the state at the start of a step and its length, as in
            `TorqueFunction`; a `Command` that is held; None: no torque.

    Raises:
        ControlError: it is something else.
    """
    if isinstance(given, Controller):
        return given
    if given is None:
        return Passive()
    if isinstance(given, Command):
        return TorqueFunction(functools.partial(_held, given))
    if callable(given):
        return TorqueFunction(given)
    raise ControlError(
        f"expected a Controller, a function of (state, h), a Command or None, got {shown(given)}"
    )


def _held(command: Command, state: State, h: float) -> Command:
    """A command that is held."""
    return command
