"""Minimisation of position-based steps by one of the optimisers."""

import pinocchio as pin

from nmdp_pin._dynamics.position_minimisation import PositionMinimisation
from nmdp_pin._kernels.levenberg_marquardt import (
    CONVERGED,
    ERROR,
    EVALUATIONS,
    ITERATIONS,
    OUTCOME,
    RUNNING,
    VALUE,
    close_step,
    minimise_step,
    open_step,
)
from nmdp_pin._kernels.position_step import PositionStep
from nmdp_pin._solvers.lbfgs import lbfgs
from nmdp_pin._state.status import Status

_STATUS = tuple(Status)  # by its code, which the kernels return


def minimise(step: PositionStep) -> Status:
    """Make a step by Levenberg-Marquardt, starting at q0."""
    minimise_step(step)
    outcome = int(step.account[OUTCOME])
    return Status.ITERATION_LIMIT if outcome == RUNNING else _STATUS[outcome]


def minimise_by_gradients(model: pin.Model, step: PositionStep) -> Status:
    """The same by L-BFGS."""
    account, problem = step.account, PositionMinimisation(model, step)
    if not open_step(step):
        return Status.SINGULAR
    found = lbfgs(
        problem,
        step.start.q0,
        len(step.start.v0),
        tolerance=step.bound,
        max_iterations=step.max_iterations,
    )
    account[ITERATIONS], account[EVALUATIONS] = found.iterations, found.evaluations
    account[VALUE], account[ERROR] = found.value, found.error
    if not found.status.ok:
        return found.status
    problem.evaluate(found.x)  # the last trial need not be the best
    step.q[:] = found.x
    account[OUTCOME] = CONVERGED
    close_step(step)
    return _STATUS[int(account[OUTCOME])]
