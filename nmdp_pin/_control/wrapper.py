"""Controllers that change the commands of another one."""

import abc

from nmdp_pin._control.controller import Command, Controller
from nmdp_pin._control.conversion import ControllerLike, controller_of
from nmdp_pin._state.state import State


class ControllerWrapper(Controller):
    """Base class of controllers around another one, which follow the time where that does."""

    def __init__(self, controller: ControllerLike) -> None:
        self.controller = controller_of(controller)

    @property
    def follows_time(self) -> bool:  # type: ignore[override]
        """Whether the inner controller follows the time."""
        return self.controller.follows_time

    def command(self, state: State, h: float) -> Command:
        """See `Controller.command`."""
        return self.within(state, h, h)

    @abc.abstractmethod
    def within(self, state: State, s: float, h: float) -> Command:
        """See `Controller.within`."""
