"""Attachments: two bodies that grips hold together over time intervals."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated

from pydantic import Field

from nmdp_pin._control.controller import Command
from nmdp_pin._control.conversion import ControllerLike
from nmdp_pin._control.wrapper import ControllerWrapper
from nmdp_pin._options import Number, check_fields, check_parts, readable
from nmdp_pin._robot.loop import WORLD, Grip
from nmdp_pin._state.state import State
from nmdp_pin.errors import ControlError

_ROUNDING = 1e-9  # [s] by which the end of a step may miss that of an interval


@readable
@dataclass(frozen=True, kw_only=True)
class Attachment:
    """Two frames that move as one over a time interval.

    Args:
        first: link or frame.
        second: link or frame, or "world".
        start: start [s].
        duration: length of the interval [s].
    """

    first: str
    second: str = WORLD
    start: Annotated[Number, Field(ge=0, le=3600)]
    duration: Annotated[Number, Field(gt=0, le=3600)]

    def __post_init__(self) -> None:
        check_fields(self, ControlError)

    @property
    def pair(self) -> tuple[str, str]:
        """Names of both frames."""
        return self.first, self.second

    @property
    def grip(self) -> Grip:
        """The loop that holds them."""
        return Grip(first=self.first, second=self.second)

    def holds(self, t: float) -> bool:
        """Whether a step that ends at t lies in the interval."""
        return self.start + _ROUNDING < t <= self.start + self.duration + _ROUNDING


class Attached(ControllerWrapper):
    """Controller with attachments: adds those of the time to what its commands attach."""

    def __init__(self, controller: ControllerLike, attachments: Sequence[Attachment]) -> None:
        super().__init__(controller)
        self.attachments = check_parts("attachments", attachments, Attachment, ControlError)

    def within(self, state: State, s: float, h: float) -> Command:
        """See `Controller.within`."""
        command = self.controller.within(state, s, h)
        pairs = tuple(a.pair for a in self.attachments if a.holds(state.t + s))
        return replace(command, attached=command.attached + pairs) if pairs else command
