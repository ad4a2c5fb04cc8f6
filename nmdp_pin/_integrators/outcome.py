"""Step results of steps that converged and of steps that failed."""

import math
from typing import Any

import numpy as np

from nmdp_pin._integrators.integrator import StepResult
from nmdp_pin._state.state import State
from nmdp_pin._state.status import Status


def finished_step(start: State, state: State, *, wrenches: np.ndarray, **fields: Any) -> StepResult:
    """A converged step from `start` to `state`, or a failed one where numbers overflow.

    The keywords are those of StepResult.
    """
    # One sum stands for all its terms: not finite if any of them is not, or is beyond 1e154.
    tau, forces = fields["tau"], wrenches.ravel()
    total = state.q @ state.q + state.v @ state.v + tau @ tau + forces @ forces
    total += fields["kinetic_energy"] + fields["objective"]
    if not math.isfinite(total):
        return failed_step(
            start,
            Status.NOT_FINITE,
            n_contacts=len(wrenches),
            h=fields["step_sizes"][0],
            **{name: fields[name] for name in ("iterations", "evaluations", "work")},
        )
    return StepResult(
        state=state,
        status=Status.CONVERGED,
        contact_forces=wrenches[:, :3],
        wrenches=wrenches,
        start=start,
        **fields,
    )


def failed_step(
    state: State,
    status: Status,
    *,
    n_contacts: int,
    h: float,
    residual: float = math.inf,
    **counts: Any,
) -> StepResult:
    """A failed step: the state at its start, no forces, its status and the solver's progress.

    Counts are those of StepResult; a residual that is no number is infinite.
    """
    return StepResult(
        state=state,
        status=status,
        tau=np.zeros(len(state.v)),
        contact_forces=np.zeros((n_contacts, 3)),
        wrenches=np.zeros((n_contacts, 6)),
        contact_depths=np.zeros(n_contacts),
        step_sizes=(h,),
        residual=math.inf if math.isnan(residual) else residual,
        objective=0.0,
        kinetic_energy=0.0,
        potential_energy=0.0,
        start=state,
        **counts,
    )
