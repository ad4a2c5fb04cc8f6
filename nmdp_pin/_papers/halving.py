"""Algorithm 2 of [N] as it is printed."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from nmdp_pin._control.controller import CommandSource
from nmdp_pin._integrators.integrator import Integrator, StepResult
from nmdp_pin._integrators.nmdp import Nmdp
from nmdp_pin._integrators.scheme import BACKWARD_EULER, Scheme
from nmdp_pin._integrators.step_response import StepResponse
from nmdp_pin._options import check_fields
from nmdp_pin._simulator.step_control import MinStep, StepControl, halved, merged
from nmdp_pin._state.state import State
from nmdp_pin.errors import IntegratorError


@dataclass(frozen=True, kw_only=True)
class PrintedHalving(StepControl):
    """Halves that divide differences of velocities by the length of the last sub-step made.

    That is [N] eq. 2 with Algorithm 2, line 6; it is not consistent (docs/choices.md, 2). The
    length is carried in the state's `h_next`.

    Args:
        min_step: no half is shorter than this [s].

    Raises:
        IntegratorError: an option is out of range.
    """

    min_step: MinStep = 1e-5

    name: ClassVar[str] = "printed-halving"

    def __post_init__(self) -> None:
        check_fields(self, IntegratorError)

    def step(
        self, integrator: Integrator, state: State, command: CommandSource, h: float
    ) -> StepResult:
        """See `StepControl.step`."""
        first = self.sub_step(integrator, state, command, h, self.last_length(state, h))
        tried, made, last = halved(
            self,
            integrator,
            state,
            command,
            h,
            first,
            min_step=self.min_step,
            max_work=math.inf,
        )
        result = merged(tried, made, state)
        if not result.status.ok:
            return result
        return replace(result, state=replace(result.state, h_next=last))

    def last_length(self, state: State, h: float) -> float:
        """See `StepControl.last_length`."""
        return h if state.h_next is None else state.h_next

    def sub_step(
        self, integrator: Integrator, state: State, command: CommandSource, s: float, last: float
    ) -> StepResult:
        """One sub-step whose differences of velocities are over `last`."""
        if not isinstance(integrator, Nmdp) or last == s:
            return integrator.step(state, command, s)
        return integrator.step(state, command, s, scheme=_scheme(s, last))

    def response(
        self,
        integrator: Integrator,
        state: State,
        command: CommandSource,
        s: float,
        last: float,
        result: StepResult,
        **options: Any,
    ) -> StepResponse:
        """See `StepControl.response`."""
        if not isinstance(integrator, Nmdp) or last == s:
            return integrator.response(state, command, s, result, **options)
        return integrator.response(state, command, s, result, scheme=_scheme(s, last), **options)


def _scheme(s: float, last: float) -> Scheme:
    return replace(BACKWARD_EULER, acceleration=s / last)
