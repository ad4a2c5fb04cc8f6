"""Algorithm 2 of [N]: a step that fails is made as two halves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from nmdp_pin.control.controller import Command
from nmdp_pin.integrators.integrator import Integrator, StepResult
from nmdp_pin.state import MadeStep, State

HALVINGS = ("consistent", "paper")
"""Forms of Algorithm 2."""


def step_with_halving(
    integrator: Integrator,
    state: State,
    command: Command,
    h: float,
    min_step: float,
    *,
    paper: bool = False,
) -> StepResult:
    """One step of length h, halved where it fails, down to `min_step`.

    In the consistent form every sub-step divides differences of velocities by its own length
    (docs/choices.md, 2), so nothing of an earlier sub-step has to be remembered. The papers' form
    divides by the length of the last sub-step made ([N] eq. 2, Algorithm 2 line 6), which the
    state then carries as its history. The command holds for the whole of the step.

    Args:
        integrator: the method.
        state: start.
        command: for the end of the step.
        h: length [s].
        min_step: no half is shorter than this [s].
        paper: use the papers' form.

    Returns:
        The result at the end, with the counters of all sub-steps, tried and made; on failure the
        given state and the status of the sub-step that failed.
    """
    last = last_length(state, h) if paper else None
    return _halved(integrator, state, command, h, min_step, last)


def merged(
    parts: Sequence[StepResult], made: Sequence[StepResult], start: State, discarded: int
) -> StepResult:
    """The last of `parts` as the result of a whole step.

    Args:
        parts: all that was tried, in order, at least one.
        made: those of them that the step consists of.
        start: what a failed result holds.
        discarded: sub-steps that were tried and not kept, beside those that the parts count.
    """
    last = parts[-1]
    return replace(
        last,
        state=last.state if last.status.ok else start,
        iterations=sum(part.iterations for part in parts),
        evaluations=sum(part.evaluations for part in parts),
        rejected=sum(part.rejected for part in parts),
        step_sizes=tuple(size for part in made for size in part.step_sizes),
        discarded=sum(part.discarded for part in parts) + discarded,
    )


def _halved(
    integrator: Integrator,
    state: State,
    command: Command,
    h: float,
    min_step: float,
    last: float | None,
) -> StepResult:
    """`step_with_halving`; `last` is the length that the papers' form divides by [s]."""
    if last is None:
        result = integrator.step(state, command, h)
    else:
        result = _papers_step(integrator, state, command, h, last)
    if result.status.ok or 0.5 * h < min_step:
        return result
    made = [_halved(integrator, state, command, 0.5 * h, min_step, last)]
    first = made[0]
    if first.status.ok:
        last = None if last is None else first.step_sizes[-1]
        made.append(_halved(integrator, first.state, command, 0.5 * h, min_step, last))
    return merged([result, *made], made, state, discarded=1)


def _papers_step(
    integrator: Integrator, state: State, command: Command, h: float, last: float
) -> StepResult:
    """One sub-step by eq. 2 as printed; its length stays in the state."""
    result = integrator.step(state, command, h, dt=None if last == h else last)
    end = result.state
    if not result.status.ok or end.history is not None:
        return result
    made = MadeStep(h, state.q, state.v, end.q, end.v)
    return replace(result, state=replace(end, history=made))


def last_length(state: State, h: float) -> float:
    """Length of the step that led to the state [s]; h where that is not known."""
    made = state.history
    return made.h if made is not None and made.led_to(state) else h
