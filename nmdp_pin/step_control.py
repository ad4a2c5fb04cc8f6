"""Algorithm 2 of [N]: a step that fails is made as two halves."""

from __future__ import annotations

from dataclasses import replace

from nmdp_pin.control.controller import Command
from nmdp_pin.integrators.integrator import Integrator, StepResult
from nmdp_pin.state import State


def step_with_halving(
    integrator: Integrator, state: State, command: Command, h: float, min_step: float
) -> StepResult:
    """One step of length h, halved where it fails, down to `min_step`.

    The consistent form of Algorithm 2: every sub-step uses its own length in the acceleration
    (method.md section 1), so nothing of an earlier sub-step has to be remembered. The command
    holds for the whole of the step.

    Args:
        integrator: the method.
        state: start.
        command: for the end of the step.
        h: length [s].
        min_step: no half is shorter than this [s].

    Returns:
        The result at the end, with the counters of all sub-steps, tried and made; on failure the
        given state and the status of the sub-step that failed.
    """
    result = integrator.step(state, command, h)
    if result.status.ok or 0.5 * h < min_step:
        return result
    first = step_with_halving(integrator, state, command, 0.5 * h, min_step)
    parts = [result, first]
    sizes = first.step_sizes
    last = first
    if first.status.ok:
        last = step_with_halving(integrator, first.state, command, 0.5 * h, min_step)
        parts.append(last)
        sizes += last.step_sizes
    return replace(
        last,
        state=last.state if last.status.ok else state,
        iterations=sum(part.iterations for part in parts),
        evaluations=sum(part.evaluations for part in parts),
        step_sizes=sizes,
    )
