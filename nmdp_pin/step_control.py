"""Step control: what is made of a step that fails, or has too large an error."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from nmdp_pin.control.controller import CommandSource
from nmdp_pin.dynamics.linearised_step import LinearisedStep
from nmdp_pin.errors import IntegratorError
from nmdp_pin.integrators.integrator import Integrator, StepResult
from nmdp_pin.state import State
from nmdp_pin.status import Status

LONGEST = 1.0  # [s]


class StepControl(abc.ABC):
    """Makes a step of sub-steps."""

    name: ClassVar[str]

    @abc.abstractmethod
    def step(
        self, integrator: Integrator, state: State, command: CommandSource, h: float
    ) -> StepResult:
        """One step of length h.

        Args:
            integrator: the method.
            state: start.
            command: for the stages of all sub-steps.
            h: length [s].

        Returns:
            The result at the end, with the counters of everything that was tried; on failure the
            given state and the status of the sub-step that failed.
        """

    def last_length(self, state: State, h: float) -> float:
        """Length of the sub-step before a step of length h, where one depends on it [s]."""
        return h

    def sub_step(
        self, integrator: Integrator, state: State, command: CommandSource, s: float, last: float
    ) -> StepResult:
        """One of the sub-steps, of length s after one of length `last`."""
        return integrator.step(state, command, s)

    def linearised(
        self,
        integrator: Integrator,
        state: State,
        command: CommandSource,
        s: float,
        last: float,
        end: State,
        names: tuple[str, ...],
    ) -> LinearisedStep:
        """The equations of a sub-step; see `Integrator.linearised`."""
        return integrator.linearised(state, command, s, end, names)


@dataclass(frozen=True)
class Fixed(StepControl):
    """Steps as they are asked for: one that fails has failed."""

    name: ClassVar[str] = "fixed"

    def step(
        self, integrator: Integrator, state: State, command: CommandSource, h: float
    ) -> StepResult:
        """See `StepControl.step`."""
        return integrator.step(state, command, h)


@dataclass(frozen=True, kw_only=True)
class Halving(StepControl):
    """Algorithm 2 of [N]: a step that fails is made as two halves.

    Every sub-step divides differences of velocities by its own length (docs/choices.md, 2), so
    nothing of an earlier one has to be remembered.

    Args:
        min_step: no half is shorter than this [s].
        max_evaluations: of the dynamics in all sub-steps, after which the step fails.

    Raises:
        IntegratorError: an option out of its range.
    """

    min_step: float = 1e-5
    max_evaluations: int = 4000

    name: ClassVar[str] = "halving"

    def __post_init__(self) -> None:
        check_min_step(self.min_step)

    def step(
        self, integrator: Integrator, state: State, command: CommandSource, h: float
    ) -> StepResult:
        """See `StepControl.step`."""
        result = integrator.step(state, command, h)
        if result.status.ok or 0.5 * h < self.min_step:
            return result
        tried, made, at = [result], [], state
        lengths, spent = [0.5 * h, 0.5 * h], result.evaluations
        while lengths:
            s = lengths.pop()
            part = integrator.step(at, command, s)
            tried.append(part)
            spent += part.evaluations
            if part.status.ok:
                made.append(part)
                at = part.state
            elif 0.5 * s < self.min_step:
                break
            elif spent > self.max_evaluations:
                tried[-1] = replace(part, status=Status.BUDGET_SPENT)
                break
            else:
                lengths += [0.5 * s, 0.5 * s]
        return merged(tried, made, state)


def check_min_step(min_step: float) -> None:
    """Check the shortest step.

    Raises:
        IntegratorError: it is not in (0, 1] s.
    """
    number = isinstance(min_step, int | float) and not isinstance(min_step, bool)
    if not (number and 0.0 < min_step <= LONGEST):
        raise IntegratorError(f"min_step must be in (0, {LONGEST:g}] s, got {min_step!r}")


def merged(tried: Sequence[StepResult], made: Sequence[StepResult], start: State) -> StepResult:
    """The result of a whole step.

    Args:
        tried: all sub-steps that were tried, in order, at least one.
        made: those of them that the step consists of.
        start: what a failed result holds.
    """
    last = tried[-1]
    counts = {
        name: sum(getattr(part, name) for part in tried)
        for name in ("iterations", "evaluations", "rejected")
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
