"""Commands over the time of a step: held, moving with their velocity, or a controller's."""

from __future__ import annotations

import abc
from dataclasses import dataclass

from nmdp_pin.control.controller import Command, Controller
from nmdp_pin.state import State


class CommandSource(abc.ABC):
    """What the joints are told at every time of a step."""

    @abc.abstractmethod
    def at(self, t: float) -> Command:
        """The command for a stage that ends at time t [s]."""


@dataclass(frozen=True, eq=False)
class Held(CommandSource):
    """A command that is data: the same for all stages and sub-steps.

    Args:
        command: the command.
    """

    command: Command

    def at(self, t: float) -> Command:
        """The command."""
        return self.command


@dataclass(frozen=True, eq=False)
class Timed(CommandSource):
    """The commands of a controller that follows the time, asked for at the end of each stage.

    Args:
        controller: whose reference is a function of time.
        state: at the start of the step.
        h: length of the step [s].
    """

    controller: Controller
    state: State
    h: float

    def at(self, t: float) -> Command:
        """The controller's command for a step that ends at t."""
        return self.controller.within(self.state, t - self.state.t, self.h)
