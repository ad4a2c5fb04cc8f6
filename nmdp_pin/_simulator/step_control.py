"""Step control: treatment of steps that fail or are inaccurate."""

from __future__ import annotations

import abc
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from pydantic import Field

from nmdp_pin._control.controller import Command, CommandSource
from nmdp_pin._options import Count, NonNegative, Number, check_fields, readable
from nmdp_pin._state.state import State
from nmdp_pin._state.status import Status
from nmdp_pin.errors import IntegratorError, NmdpError

if TYPE_CHECKING:  # the integrators' package imports this module, for the papers' settings
    from nmdp_pin._integrators.integrator import Integrator, StepResult

MinStep = Annotated[Number, Field(gt=0, le=1)]  # [s]
_DEEP = " Where many contacts are deep in the ground, raise the robot."
_SAFETY = 0.9  # on the length that would just meet the tolerance
_GROWTH, _SHRINK = 3.0, 0.2  # at most, from one sub-step to the next
_INTEGRAL, _PROPORTIONAL = 0.7, 0.4  # exponents of PI control, over the order (Gustafsson 1991)
_SUB_STEP = 5  # what a sub-step costs beside its work [evaluations]
_ROUNDING = 1e-9  # relative: a sub-step that ends this close to the end is the last one
_LEAST_ERROR = 1e-6  # of the tolerance; less says nothing
# What an error of a sub-step becomes at the end of a run: in second order those of the velocities,
# which the estimate does not see, weigh ten times as much (a pendulum, docs/accuracy.md).
_GROWN = {1: 1.0, 2: 10.0}


class StepControl(abc.ABC):
    """Base class of step controls, which make a step of sub-steps."""

    name: ClassVar[str]
    keeps_length: ClassVar[bool] = False
    """Whether a step that the method makes at its whole length is the result."""

    def check(self, integrator: type[Integrator]) -> None:  # noqa: B027
        """Refuse a method that lacks what the control needs; this one needs nothing."""

    @abc.abstractmethod
    def step(
        self, integrator: Integrator, state: State, command: CommandSource, h: float
    ) -> StepResult:
        """Make one step of length h.

        Args:
            integrator: integrator of the sub-steps.
            state: start of the step.
            command: command of all stages and sub-steps.
            h: length of the step [s].

        Returns:
            The result at the end, with the counters of all sub-steps tried; on failure it has the
            given state and the status of the sub-step that failed.
        """


@dataclass(frozen=True)
class Fixed(StepControl):
    """Steps of the requested length; a step that fails is not repeated."""

    name: ClassVar[str] = "fixed"
    keeps_length: ClassVar[bool] = True

    def step(
        self, integrator: Integrator, state: State, command: CommandSource, h: float
    ) -> StepResult:
        """See `StepControl.step`."""
        return integrator.step(state, command, h)


@readable
@dataclass(frozen=True, kw_only=True)
class Halving(StepControl):
    """Algorithm 2 of [N]: a step that fails is repeated as two halves, and last as a rough one.

    Every sub-step divides differences of velocities by its own length (docs/choices.md, 2) and
    thus does not depend on earlier ones.

    Args:
        min_step: smallest length of a sub-step [s].
        max_work: largest work of all sub-steps, as `StepResult.work`.

    Raises:
        IntegratorError: an option is out of range.
    """

    min_step: MinStep = 1e-5
    max_work: Count = 2000

    name: ClassVar[str] = "halving"
    keeps_length: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_fields(self, IntegratorError)

    def step(
        self, integrator: Integrator, state: State, command: CommandSource, h: float
    ) -> StepResult:
        """See `StepControl.step`."""
        tried: list[StepResult] = []
        made: list[StepResult] = []
        at, spent, lengths = state, 0, [h]
        while lengths:
            s = lengths.pop()
            part = integrator.step(at, command, s)
            if not tried and part.status.ok:
                return part
            tried.append(part)
            spent += part.work
            if part.status.ok:
                made.append(part)
                at = part.state
            elif 0.5 * s < self.min_step or spent > self.max_work:
                if 0.5 * s >= self.min_step:
                    tried[-1] = replace(part, status=Status.BUDGET_SPENT)
                rough = integrator.rough_step(state, command, h)
                if rough is not None and rough.status.ok:
                    tried, made = [*tried, rough], [rough]
                break
            else:
                lengths += [0.5 * s, 0.5 * s]
        return tried[0] if len(tried) == 1 else merged(tried, made, state)


def merged(tried: Sequence[StepResult], made: Sequence[StepResult], start: State) -> StepResult:
    """Merge sub-steps to the result of a whole step."""
    last = tried[-1]
    counts = {
        name: sum(getattr(part, name) for part in tried)
        for name in ("iterations", "evaluations", "rejected", "work")
    }
    sizes = tuple(size for part in made for size in part.step_sizes)
    discarded = len(tried) - len(made)
    if not last.status.ok:
        return replace(
            last, state=start, start=start, step_sizes=sizes, discarded=discarded, **counts
        )
    # forces are those of the impulse over the whole step
    lengths = np.array([sum(part.step_sizes) for part in made])
    wrenches = np.tensordot(lengths / lengths.sum(), [part.wrenches for part in made], axes=1)
    return replace(
        last,
        wrenches=wrenches,
        contact_forces=wrenches[:, :3],
        step_sizes=sizes,
        discarded=discarded,
        start=start,
        parts=tuple(made) if len(made) > 1 else (),
        **counts,
    )


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
            + (_DEEP if result.status is Status.BUDGET_SPENT else "")
        )


@readable
@dataclass(frozen=True, kw_only=True)
class ErrorControl(StepControl):
    """Sub-steps whose estimated error meets a tolerance, with PI control of their lengths.

    The estimate is that of the integrator, in second order times ten. Tolerances are errors of the
    configuration per second of simulated time, atol + rtol |v| [rad/s, m/s] for each component of
    the tangent, so that the error of a run is in proportion to them.

    Args:
        rtol: tolerance relative to the speed [-].
        atol: absolute tolerance [rad/s, m/s]; None: rtol * 1 rad/s.
        min_step: smallest length of a sub-step [s], at which any error is accepted and reported.
        max_work: largest work of all sub-steps, as `StepResult.work`, and five more for each.

    Raises:
        IntegratorError: an option is out of range.
    """

    rtol: NonNegative = 0.0
    atol: NonNegative | None = None
    min_step: MinStep = 1e-5
    max_work: Count = 20_000

    name: ClassVar[str] = "error"

    def __post_init__(self) -> None:
        check_fields(self, IntegratorError)
        if self.absolute == 0.0:
            raise IntegratorError(
                "rtol or atol must be > 0, such as ErrorControl(rtol=0.3), and atol not 0: rtol "
                "alone allows a body at rest no error"
            )

    @property
    def absolute(self) -> float:
        """The absolute tolerance [rad/s, m/s]."""
        return self.rtol if self.atol is None else self.atol

    def check(self, integrator: type[Integrator]) -> None:
        """See `StepControl.check`; the method must estimate its error."""
        if not integrator.estimates_error:
            raise IntegratorError(
                f"method '{integrator.name}' has no error estimate, which ErrorControl needs; use "
                "Halving or Fixed, or ne-nmdp or pbd-nmdp"
            )

    @np.errstate(all="ignore")  # a trial point may overflow: that is a status, not a warning
    def step(
        self, integrator: Integrator, state: State, command: CommandSource, h: float
    ) -> StepResult:
        """See `StepControl.step`; the state's `h_next` is the first length tried."""
        tried: list[StepResult] = []
        made: list[StepResult] = []
        at, remaining, error, last, spent = state, h, 0.0, 1.0, 0
        grown = _GROWN[integrator.order]
        s = h if state.h_next is None else state.h_next
        while remaining > 0.0:
            s = remaining / max(math.ceil(remaining / max(s, self.min_step) - _ROUNDING), 1)
            part = integrator.step(at, command, s, accuracy=self.absolute / grown)
            tried.append(part)
            spent += part.work + _SUB_STEP
            shortest = 0.5 * s < self.min_step
            rate = grown * self._rate(at, part, s) if part.status.ok else math.inf
            if part.status.ok and (rate <= 1.0 or shortest):
                error += rate * s
                made.append(part)
                at, remaining = part.state, remaining - s
                s *= self._factor(rate, last, integrator.order)
                last = max(rate, _LEAST_ERROR)
            elif shortest:
                break
            elif part.status.ok:
                s *= min(self._factor(rate, rate, integrator.order), 0.9)
            else:
                s *= 0.5
            if remaining > 0.0 and spent > self.max_work:
                tried[-1] = replace(part, status=Status.BUDGET_SPENT)
                break
        if remaining > 0.0:
            return replace(merged(tried, made, state), error=error / h)
        end = replace(at, t=state.t + h, h_next=s)
        return replace(merged(tried, made, state), state=end, error=error / h)

    def _rate(self, start: State, part: StepResult, s: float) -> float:
        """Estimated error per second over the tolerances [-]."""
        speed = np.maximum(np.abs(start.v), np.abs(part.state.v))
        allowed = s * (self.absolute + self.rtol * speed)
        return float((np.abs(np.asarray(part.local_error)) / allowed).max(initial=0.0))

    def _factor(self, rate: float, last: float, order: int) -> float:
        """Factor on the length of the next sub-step: the error per second grows as s^order."""
        rate = max(rate, _LEAST_ERROR)
        wanted = _SAFETY * rate ** (-_INTEGRAL / order) * (last / rate) ** (_PROPORTIONAL / order)
        value: float = min(max(wanted, _SHRINK), _GROWTH)
        return value


CONTROLS: dict[str, type[StepControl]] = {c.name: c for c in (Halving, Fixed, ErrorControl)}
"""Kinds of step control by their names."""
