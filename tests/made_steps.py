"""The stages of a step that an NMDP integrator has just made, as equations and their ends."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from nmdp_pin._control import Command
from nmdp_pin._dynamics.compiled_system import CompiledSystem
from nmdp_pin._integrators.integrator import StepResult
from nmdp_pin._integrators.nmdp import Nmdp
from nmdp_pin._integrators.scheme import SCHEMES
from nmdp_pin._kernels.step.stage import saturate_at
from nmdp_pin._kernels.step.step_records import Memory
from nmdp_pin._kernels.step.step_start import open_step, state_stage
from nmdp_pin._state.state import State
from nmdp_pin.papers.methods.stage_equations import StageEquations, StagePoint

Stages = list[tuple[StageEquations, StagePoint]]


def stages_of(
    integrator: Nmdp, state: State, command: Command, h: float, result: StepResult
) -> Stages:
    """The stages of the last step, stated anew with all candidates as contacts, and their ends.

    Args:
        integrator: method that made the step, and no other one since.
        state: state at its start.
        command: command of the step.
        h: length of the step [s].
        result: result of the step.
    """
    made = integrator.form
    form = CompiledSystem(
        made.system,
        material=made.material,
        weights=not made.forces,
        saturating=made.record.saturating,
        reach=np.inf,
    )
    scheme, stages = SCHEMES[result.order].record, []
    start = form.start(state, [command], h, None)
    first = None
    for i, (q, w) in enumerate(_ends(integrator, result, scheme.a, state.q, h)):
        memory = form.new_memory()  # which the equations keep
        open_step(form.record, start, memory)
        state_stage(form.record, scheme, start, 0, memory, memory.origin)
        if i > 0:
            state_stage(form.record, scheme, start, i, memory, first)
        at = memory.points[0]
        at.q[:] = q
        saturate_at(form.record, memory.stage, at)
        rate = 1.0 / (scheme.a[i, i] * h)
        equations = StageEquations(form, memory.stage, memory.origin, rate, int(scheme.order))
        first = equations.evaluate(q, w).record
        stages.append((equations, StagePoint(first)))
    return stages


def _ends(
    integrator: Nmdp, result: StepResult, a: np.ndarray, q0: np.ndarray, h: float
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Configurations and weights of all candidates at the ends of the stages."""
    form, memory, end = integrator.form, integrator._memory, result.state
    repeated = result.order < integrator.order
    last = _nearest(memory, (4, 5) if repeated else (2 * len(a) - 2, 2 * len(a) - 1), end.q)
    np.testing.assert_array_equal(memory.points[last].q, end.q)
    indices = [last]
    if len(a) > 1:
        reference = pin.integrate(form.model, end.q, -a[1, 1] * h * end.v)
        before = pin.difference(form.model, q0, reference) / a[1, 0]
        first = pin.integrate(form.model, q0, a[0, 0] * before)
        indices.insert(0, _nearest(memory, (0, 1), first))
    contacts, ends = memory.stage.contacts, []
    n = int(contacts.n[0])
    for index in indices:
        point, w = memory.points[index], form.no_forces()
        w[contacts.index[:n]] = point.w[:n]
        w[form.n_contacts :] = point.w[n : n + form.n_joints]
        ends.append((point.q.copy(), w))
    return ends


def _nearest(memory: Memory, indices: tuple[int, int], q: np.ndarray) -> int:
    """The one of two points whose configuration is nearest."""
    return min(indices, key=lambda index: float(np.abs(memory.points[index].q - q).max()))
