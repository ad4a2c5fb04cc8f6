"""Step control: treatment of steps that fail or are inaccurate."""

import abc
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from nmdp_pin._control.controller import Command, CommandSource
from nmdp_pin._integrators.integrator import Integrator, StepResult
from nmdp_pin._options import Count, Number, check_fields
from nmdp_pin._state.state import State
from nmdp_pin._state.status import Status
from nmdp_pin.errors import IntegratorError, NmdpError

MinStep = Annotated[Number, Field(gt=0, le=1)]  # [s]


class StepControl(abc.ABC):
    """Base class of step controls, which make a step of sub-steps."""

    name: ClassVar[str]

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

    def step(
        self, integrator: Integrator, state: State, command: CommandSource, h: float
    ) -> StepResult:
        """See `StepControl.step`."""
        return integrator.step(state, command, h)


@dataclass(frozen=True, kw_only=True)
class Halving(StepControl):
    """Algorithm 2 of [N]: a step that fails is repeated as two halves.

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
            elif 0.5 * s < self.min_step:
                break
            elif spent > self.max_work:
                tried[-1] = replace(part, status=Status.BUDGET_SPENT)
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
        return replace(last, state=start, step_sizes=sizes, discarded=discarded, **counts)
    # forces are those of the impulse over the whole step
    lengths = np.array([sum(part.step_sizes) for part in made])
    wrenches = np.tensordot(lengths / lengths.sum(), [part.wrenches for part in made], axes=1)
    return replace(
        last,
        wrenches=wrenches,
        contact_forces=wrenches[:, :3],
        step_sizes=sizes,
        discarded=discarded,
        **counts,
    )


_DEEP = " Where many contacts are deep in the ground, raise the robot."


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
