"""Error control: a step is made of sub-steps as short as an accuracy needs them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pinocchio as pin

from nmdp_pin.control.controller import Command
from nmdp_pin.dynamics.backward_difference import LARGEST_GROWTH
from nmdp_pin.integrators.integrator import Integrator, StepResult
from nmdp_pin.state import MadeStep, State
from nmdp_pin.step_control import merged

_SMOOTH = 0.8  # share of the allowance that is spread evenly over time; the rest is for kinks
_SAFETY = 0.9  # on the length that would just meet it
_GROWTH = 5.0  # at most, from one sub-step to the next
_SHRINK = 0.2  # at most, where the error was too large
_ROUNDING = 1e-9  # relative: a sub-step that ends this close to the end is the last one


@dataclass(frozen=True, eq=False)
class ErrorControl:
    """Step doubling: a sub-step of length s is compared with two of s/2, which are kept.

    The tolerances are errors of the configuration that may build up in one second of simulated
    time, so that the error of a run is in proportion to them: atol + rtol * |v| [rad/s, m/s] for
    each component of the tangent. A velocity's error counts by what it makes of the configuration
    within the sub-step, as that of an algebraic variable does: impacts let it jump.

    Of the error that a step of length h may make, four fifths are spread evenly over its
    sub-steps. A sub-step with a kink in it (touch-down, arrest, slip) may take half of what is
    left of the other fifth, so that it need not be followed down to where it looks smooth.

    Args:
        model: the robot's.
        rtol: share of the speed [-].
        atol: [rad/s, m/s].
        min_step: no sub-step is shorter [s]; at it every error is accepted, and reported.
    """

    model: pin.Model
    rtol: float
    atol: float
    min_step: float

    def step(self, integrator: Integrator, state: State, command: Command, h: float) -> StepResult:
        """One step of length h; the command holds for the whole of it.

        Args:
            integrator: the method.
            state: start; its `h_next` is the first length tried.
            command: for the end of the step.
            h: length [s].

        Returns:
            The result at the end with the counters of everything tried, the lengths of the halves
            that were kept and the error of all of them; where the method fails at `min_step`, the
            given state and the status of that try.
        """
        tried: list[StepResult] = []
        made: list[StepResult] = []
        at, remaining, error, spare, discarded = state, h, 0.0, (1.0 - _SMOOTH) * h, 0
        s = h if state.h_next is None else state.h_next
        while remaining > 0.0:
            s = remaining / max(math.ceil(remaining / max(s, self.min_step) - _ROUNDING), 1)
            trial = self._trial(integrator, at, command, s)
            tried += trial.parts
            shortest = 0.5 * s < self.min_step
            excess = (trial.rate - _SMOOTH) * s
            if trial.ok and (excess <= 0.5 * spare or shortest):
                spare -= min(max(excess, 0.0), spare)
                error += trial.rate * s
                made += trial.parts[1:]
                at, remaining = trial.end, remaining - s
            elif shortest:
                failed = merged(tried, [*made, tried[-1]], state, discarded)
                return replace(failed, error=error / h)
            else:
                discarded += 1
            s *= self._factor(trial.rate, integrator.order) if trial.ok else 0.5
        end = replace(at, t=state.t + h, h_next=s)
        return replace(merged(tried, made, state, discarded), state=end, error=error / h)

    def _trial(self, integrator: Integrator, state: State, command: Command, s: float) -> _Trial:
        """One step of length s and two halves of it from the same state."""
        parts: list[StepResult] = []
        for k, length in enumerate((s, 0.5 * s, 0.5 * s)):
            begin = parts[1].state if k == 2 else state
            parts.append(integrator.step(begin, command, length))
            if not parts[-1].status.ok:
                return _Trial(parts, state, math.inf)
        whole, first, second = (part.state for part in parts)
        # What is left of the difference is the halves' error: all of it in first order, and in
        # second order less than half (steps of unequal length: more than Richardson's third).
        rate = self._difference(state, whole, second, s) / integrator.order
        return _Trial(parts, joined(first, second), rate)

    def _difference(self, start: State, whole: State, halves: State, s: float) -> float:
        """Difference of the two results per second, over the tolerances."""
        moved = np.abs(pin.difference(self.model, whole.q, halves.q)) / s
        turned = np.abs(halves.v - whole.v)
        allowed = self.atol + self.rtol * np.maximum(np.abs(start.v), np.abs(halves.v))
        return float((np.maximum(moved, turned) / allowed).max(initial=0.0))

    def _factor(self, rate: float, order: int) -> float:
        """What the next length is of this one; the error of a second grows as s^order."""
        largest = LARGEST_GROWTH if order > 1 else _GROWTH  # a longer one loses its history
        wanted = _SAFETY * (_SMOOTH / max(rate, 1e-12)) ** (1.0 / order)
        return min(max(wanted, _SHRINK), largest)


class _Trial(NamedTuple):
    """A sub-step and its two halves.

    Args:
        parts: their results in this order, up to the first that failed.
        end: the state after the halves.
        rate: estimated error of the halves per second, over the tolerances [-].
    """

    parts: list[StepResult]
    end: State
    rate: float

    @property
    def ok(self) -> bool:
        """Whether all three converged."""
        return self.parts[-1].status.ok


def joined(first: State, second: State) -> State:
    """The second state with one step for both halves as its history.

    A step of full length that follows can then use it: the growth from half of it would be too
    large.
    """
    a, b = first.history, second.history
    if a is None or b is None:
        return second
    rates = None
    if a.rates is not None and b.rates is not None:
        rates = np.stack([a.rates[0], b.rates[1]])
    made = MadeStep(a.h + b.h, a.q0, a.v0, b.q1, b.v1, rates, a.smooth and b.smooth)
    return replace(second, history=made)
