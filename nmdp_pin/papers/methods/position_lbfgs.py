"""Position-based steps by L-BFGS ([P] Table I)."""

import numpy as np
import pinocchio as pin
import scipy  # whose parts are imported when they are used

from nmdp_pin._integrators.pbfd import Optimiser
from nmdp_pin._kernels.contact.penalty import FRICTIONAL
from nmdp_pin._kernels.step.levenberg_marquardt import (
    ERROR,
    VALUE,
    close_step,
    open_minimisation,
)
from nmdp_pin._kernels.step.outcomes import (
    CONVERGED,
    EVALUATIONS,
    ITERATIONS,
    OUTCOME,
)
from nmdp_pin._kernels.step.position_records import PositionStep
from nmdp_pin._kernels.step.position_step import evaluate_step, linearise_step
from nmdp_pin._state.status import Status
from nmdp_pin.papers.methods.lbfgs import lbfgs

_STATUS = tuple(Status)  # by its code, which the kernels return


class PositionMinimisation:
    """A step in tangents y = U dq, with U'U its metric, so that free motion has the Hessian 1.

    Args:
        model: model that provides the derivative of integrate().
        step: the step, which is open.
    """

    def __init__(self, model: pin.Model, step: PositionStep) -> None:
        self._model, self._step = model, step

    def evaluate(self, q: np.ndarray) -> tuple[float, float]:
        """Value of the function, and norm of the residual [N, N m]."""
        step = self._step
        step.trial.q[:] = q
        value, error = evaluate_step(step)
        if np.isnan(step.stored):
            step.stored = step.trial.forces.stored
        return value, error

    def gradient(self) -> np.ndarray:
        """Gradient with respect to y, shape (nv,)."""
        trial = self._step.trial
        s = self._scaled(trial.r)
        if self._step.scene.law.kind != FRICTIONAL:
            return s
        linearise_step(self._step, True)
        return self._scaled(trial.A.T @ scipy.linalg.blas.dtrsv(self._step.ref.U, s, lower=0))

    def retract(self, q: np.ndarray, y: np.ndarray) -> np.ndarray:
        """The configuration at tangent y from q."""
        dq = scipy.linalg.blas.dtrsv(self._step.ref.U, y, lower=0)
        result: np.ndarray = pin.integrate(self._model, q, dq)
        return result

    def pull_back(self, q: np.ndarray, y: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """Gradient with respect to y of the function of `retract(q, y)`, from that at its end."""
        if self._model.nq == self._model.nv:
            return gradient
        U = self._step.ref.U
        dq = scipy.linalg.blas.dtrsv(U, y, lower=0)
        D: np.ndarray = pin.dIntegrate(self._model, q, dq, pin.ARG1)
        return self._scaled(D.T @ (np.triu(U).T @ gradient))

    def _scaled(self, force: np.ndarray) -> np.ndarray:
        """U'^-1 force."""
        result: np.ndarray = scipy.linalg.blas.dtrsv(self._step.ref.U, force, lower=0, trans=1)
        return result


def minimise(model: pin.Model, step: PositionStep) -> Status:
    """Make a step by L-BFGS, starting at q0."""
    account, problem = step.account, PositionMinimisation(model, step)
    if not open_minimisation(step):
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


LBFGS = Optimiser(minimise, max_iterations=10_000)
