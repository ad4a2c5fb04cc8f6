"""Commands of a controller that follows the time, at every time of a step."""

from dataclasses import dataclass

from nmdp_pin._control.controller import Command, CommandSource, Controller
from nmdp_pin._state.quick_record import quick
from nmdp_pin._state.state import State


@quick
@dataclass(frozen=True, eq=False)
class Timed(CommandSource):
    """Commands of a controller that follows the time, at the end of each stage.

    Args:
        controller: whose reference is a function of time.
        state: at the start of the step.
        h: length of the step [s].
    """

    controller: Controller
    state: State
    h: float

    def at(self, t: float) -> Command:
        """Command for a step that ends at t."""
        return self.controller.within(self.state, t - self.state.t, self.h)
