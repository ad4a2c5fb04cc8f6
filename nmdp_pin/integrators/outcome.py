"""Step results from what a residual holds after the solver has stopped."""

from __future__ import annotations

import math

import numpy as np
import pinocchio as pin

from nmdp_pin.dynamics.step_residual import StepResidual
from nmdp_pin.integrators.integrator import StepResult
from nmdp_pin.state import State
from nmdp_pin.status import Status


def finished_step(
    start: State,
    state: State,
    residual: StepResidual,
    *,
    iterations: int,
    residual_norm: float,
    objective: float,
    h: float,
    rejected: int = 0,
    condition: float = math.nan,
) -> StepResult:
    """A converged step from `start` to `state`, where `residual` was last evaluated.

    Numbers that overflow make it a failed one. The keywords are those of StepResult.
    """
    contact, tau = residual.contact, residual.torque.last
    wrenches = contact.wrenches
    kinetic = pin.computeKineticEnergy(residual.model, residual.data, state.q, state.v)
    # One sum stands for all its terms: not finite if any of them is not.
    total = state.q.sum() + state.v.sum() + tau.sum() + wrenches.sum() + kinetic + objective
    if not math.isfinite(total):
        return failed_step(
            start,
            residual,
            Status.NOT_FINITE,
            iterations,
            h,
            residual_norm=residual_norm,
            rejected=rejected,
            condition=condition,
        )
    return StepResult(
        state=state,
        status=Status.CONVERGED,
        tau=tau,
        contact_forces=wrenches[:, :3],
        wrenches=wrenches,
        contact_depths=contact.depths,
        iterations=iterations,
        evaluations=residual.evaluations,
        step_sizes=(h,),
        residual=residual_norm,
        objective=objective,
        kinetic_energy=kinetic,
        potential_energy=pin.computePotentialEnergy(residual.model, residual.data, state.q),
        rejected=rejected,
        condition=condition,
    )


def failed_step(
    state: State,
    residual: StepResidual,
    status: Status,
    iterations: int,
    h: float,
    *,
    residual_norm: float = math.nan,
    rejected: int = 0,
    condition: float = math.nan,
) -> StepResult:
    """A step that failed: the state that went in, no forces, why, and how far the solver got.

    The keywords are those of StepResult; NaN where nothing is known.
    """
    n = residual.contact.n
    return StepResult(
        state=state,
        status=status,
        tau=np.zeros(residual.nv),
        contact_forces=np.zeros((n, 3)),
        wrenches=np.zeros((n, 6)),
        contact_depths=np.zeros(n),
        iterations=iterations,
        evaluations=residual.evaluations,
        step_sizes=(h,),
        residual=residual_norm,
        objective=0.0,
        kinetic_energy=0.0,
        potential_energy=0.0,
        rejected=rejected,
        condition=condition,
    )
