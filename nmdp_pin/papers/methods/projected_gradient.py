"""Projected gradient method on the manifold G(q, w) = 0 ([N] Algorithm 1)."""

from dataclasses import dataclass, replace
from typing import Annotated, Any, NamedTuple

import numpy as np
import scipy  # whose parts are imported when they are used
from pydantic import Field

from nmdp_pin._kernels.derivative.weight_face import block_scales
from nmdp_pin._options import Count, Flag, Number, Positive, check_fields, readable
from nmdp_pin._state.status import Status
from nmdp_pin.errors import IntegratorError
from nmdp_pin.papers.methods.projection import Projection, project
from nmdp_pin.papers.methods.simplex_qp import QpSolver, SimplexQP

_HONEST_GAMMA = 1.0  # a shorter step than this one's says nothing about convergence
_SETTLED = 1e-9  # promised decrease of K, relative to K, that is not worth a step
_BLOCKED = 1e-3  # promised decrease of K, relative to K, that makes a stop a stall
_CONTRACTING = 0.1  # ratio of two moves from which the next one is foretold
_POOR = 0.25  # share of the promised decrease of K below which gamma shrinks
_ROUNDING = 1e-12  # relative: K may rise by this much and still count as not risen
_ACCELERATION = 1e-3  # [m/s^2, rad/s^2] that may be left in a step: epsilon falls with h^2


class SolverResult(NamedTuple):
    """Result of a solver.

    Args:
        point: the last point that was accepted, with its q and w.
        gamma: step-size parameter to begin with next time.
        status: outcome.
        value: what is driven down: the objective, or the gap of a variational inequality.
        iterations: quadratic programs or affine inequalities solved.
        evaluations: evaluations of the dynamics.
        rejected: iterations whose step was not taken.
        values: values of accepted iterates, of methods that never let them rise.
    """

    point: Any
    gamma: float
    status: Status
    value: float
    iterations: int
    evaluations: int
    rejected: int = 0
    values: tuple[float, ...] = ()


@readable
@dataclass(frozen=True, kw_only=True)
class ProjectedGradient:
    """Projected gradient method for an objective K.

    Args:
        tolerance: tolerance of the norm of G over the weight.
        epsilon: stop when the configuration moves less than this, or than 1e-3 m/s^2 h^2 [rad, m],
            maximum norm.
        gamma: step-size parameter of the first step.
        grow: factor on gamma after an accepted step.
        shrink: factor on gamma after a rejected step.
        gamma_min: smallest gamma.
        gamma_max: largest gamma.
        max_iterations: largest number of outer iterations.
        max_newton: largest number of Newton steps of a projection.
        line_search: whether to halve Newton steps until the norm of G decreases.
        gain_ratio: whether gamma follows the ratio of actual to predicted decrease, or only its
            sign.
        contact_scale: whether the proximal term is scaled for each contact.
        early_stop: whether to stop also where the predicted decrease or move is negligible.
        carry_gamma: whether to keep gamma from step to step.
        predict: whether projections begin at the configuration that the linear response predicts,
            or, as printed, at the last iterate.
        retreat: whether an iterate that does not project is tried again with a smaller gamma; as
            printed the solve fails, so that the step is halved.
        qp_solver: "proxqp" of ProxSuite, or "daqp".

    Raises:
        IntegratorError: an option is out of range.
    """

    tolerance: Positive = 1e-8
    epsilon: Positive = 1e-6
    gamma: Positive = 1.0
    grow: Annotated[Number, Field(ge=1)] = 4.0
    shrink: Annotated[Number, Field(gt=0, lt=1)] = 0.1
    gamma_min: Positive = 1e-8
    gamma_max: Positive = 1e6
    max_iterations: Annotated[Count, Field(ge=1)] = 50
    max_newton: Annotated[Count, Field(ge=1)] = 10
    line_search: Flag = True
    gain_ratio: Flag = True
    contact_scale: Flag = True
    early_stop: Flag = True
    carry_gamma: Flag = True
    predict: Flag = True
    retreat: Flag = True
    qp_solver: QpSolver = "proxqp"

    def __post_init__(self) -> None:
        check_fields(self, IntegratorError)

    def of_step(self, problem: Any) -> "ProjectedGradient":
        """The method with the tolerances of one step, in its units."""
        epsilon = self.of_rate(problem.rate)
        return replace(self, tolerance=problem.tolerance(self.tolerance), epsilon=epsilon)

    def of_rate(self, rate: float) -> float:
        """Epsilon of a stage of length 1 / rate: motions that can be told from none [m, rad]."""
        return min(self.epsilon, _ACCELERATION / rate**2) if self.early_stop else self.epsilon

    def tight(self) -> "ProjectedGradient":
        """The same method that solves to rounding, for the derivatives at a solution."""
        return replace(
            self,
            tolerance=1e-13,
            epsilon=1e-13,
            max_iterations=50,
            early_stop=False,
            qp_solver="daqp",  # an active set is exact; ProxQP stops at residuals of 1e-9
        )


def pgm(
    problem: Any,
    objective: Any,
    qp: SimplexQP,
    q: np.ndarray,
    w: np.ndarray,
    gamma: float,
    options: ProjectedGradient,
    *,
    budget: int = 2**62,
    each: int = 0,
) -> SolverResult:
    """Minimise K(q) subject to G(q, w) = 0 and w in the simplices.

    Each outer iteration solves the quadratic program of eq. 8 for w, moves q along its linear
    response P dw and projects. A step that does not project or raises K is taken again with a
    smaller gamma (the papers' update of gamma is inverted: docs/choices.md, 1).

    Args:
        problem: the dynamics, as `StageEquations`.
        objective: as `Objective`.
        qp: solver for the quadratic programs.
        q: start of the projection.
        w: start of the weights, in the simplices, shape (n, m).
        gamma: step-size parameter; large is a Gauss-Newton step, small a short gradient step.
        options: tolerances and limits, those of the step.
        budget: work after which to give up, in evaluations.
        each: work of an outer iteration beside its evaluations.
    """
    run = _Descent(problem, options, gamma)
    first = run.project(q, w)
    run.point = first.point
    if not first.status.ok:
        return run.result(first.status)
    run.K = objective.value(problem, run.point)
    run.values.append(run.K)
    size = qp.block_size if options.contact_scale else qp.n
    model = _reduced_model(problem, objective, run.point, size)
    while run.iterations < options.max_iterations and run.work(each) < budget:
        if model is None:
            return run.result(Status.SINGULAR)
        if not model.scale.any():  # no vertex moves anything: free flight
            return run.result(Status.CONVERGED)
        run.iterations += 1
        w = run.point.w.ravel()
        w1 = model.weights(qp, w, run.gamma)
        if w1 is not None:
            dw = w1 - w
            dq, promised = model.P @ dw, model.promise(dw)
            move = float(np.abs(dq).max())
            if not options.early_stop:
                if move <= options.epsilon:
                    return run.result(Status.CONVERGED)
            elif move <= options.epsilon or promised <= _SETTLED * run.K:
                if run.refused:
                    return run.result(_end_of_retreat(model, qp, w, run.K))
                if run.gamma >= _HONEST_GAMMA:
                    return run.result(Status.CONVERGED)
                run.gamma = _HONEST_GAMMA
                continue
            start = problem.retract(run.point.q, dq) if options.predict else run.point.q
            trial = run.project(start, w1.reshape(run.point.w.shape), run.point)
            if not (trial.status.ok or options.retreat):
                return run.result(trial.status)
            K = objective.value(problem, trial.point) if trial.status.ok else np.inf
            if K <= run.K + _ROUNDING * abs(run.K):
                if run.accept(trial.point, K, promised, move):
                    return run.result(Status.CONVERGED)
                model = _reduced_model(problem, objective, run.point, size)
                continue
        if not run.refuse():
            return run.result(Status.QP_FAILED if w1 is None else Status.STALLED)
    return run.result(Status.ITERATION_LIMIT)


class _Descent:
    """Iterates of a minimisation, the parameter of the next step, and what they have cost.

    Args:
        problem: as of `pgm`.
        options: as of `pgm`.
        gamma: as of `pgm`.
    """

    def __init__(self, problem: Any, options: ProjectedGradient, gamma: float) -> None:
        self._problem, self._options = problem, options
        self.point: Any = None
        self.gamma, self.K, self._last_move = gamma, 0.0, 0.0
        self.values: list[float] = []
        self.iterations, self._evaluations = 0, 0
        self.refused, self._refused_in_all = 0, 0  # in a row, and all

    def work(self, each: int) -> int:
        """Work so far, of which an iteration is `each` beside its evaluations."""
        return self._evaluations + each * self.iterations

    def project(self, q: np.ndarray, w: np.ndarray, before: Any = None) -> Projection:
        """Project a point on the manifold."""
        options = self._options
        found = project(
            self._problem,
            self._problem.evaluate(q, w, before),
            tolerance=options.tolerance,
            max_iterations=options.max_newton,
            line_search=options.line_search,
        )
        self._evaluations += found.evaluations
        return found

    def accept(self, point: Any, K: float, promised: float, move: float) -> bool:
        """Go on from a point; whether the next move, move^2 / last_move, is not worth making."""
        options, last_move = self._options, self._last_move
        better = self.K - K >= _POOR * promised or not options.gain_ratio
        self.gamma *= options.grow if better else options.shrink
        self.gamma = min(self.gamma, options.gamma_max)
        self.point, self.K, self.refused, self._last_move = point, K, 0, move
        self.values.append(K)
        contracts = move <= _CONTRACTING * last_move
        return options.early_stop and contracts and move**2 <= options.epsilon * last_move

    def refuse(self) -> bool:
        """Shorten the next step; False where it is as short as can be."""
        options = self._options
        self.refused += 1
        self._refused_in_all += 1
        self.gamma *= options.shrink ** (self.refused if options.gain_ratio else 1)
        return self.gamma >= options.gamma_min

    def result(self, status: Status) -> SolverResult:
        """What a minimisation that ends here returns."""
        return SolverResult(
            self.point,
            self.gamma,
            status,
            self.K,
            self.iterations,
            self._evaluations,
            self._refused_in_all,
            tuple(self.values),
        )


class _Model(NamedTuple):
    """K's quadratic model in w at a point of the manifold.

    Args:
        P: response dq/dw = -(dG/dq)^-1 dG/dw, shape (n q, n w).
        g: gradient, shape (n w,).
        H: positive semidefinite Hessian, shape (n w, n w).
        scale: curvature of each contact, the unit of its proximal term, shape (n w,).
    """

    P: np.ndarray
    g: np.ndarray
    H: np.ndarray
    scale: np.ndarray

    def weights(self, qp: SimplexQP, w: np.ndarray, gamma: float) -> np.ndarray | None:
        """The minimiser of the model with the proximal term |dw|^2 / gamma ([N] eq. 8)."""
        return qp.solve(self.H + np.diag(self.scale / gamma), self.g, w)

    def promise(self, dw: np.ndarray) -> float:
        """Decrease of K along dw predicted by the model."""
        return float(-(self.g @ dw) - 0.5 * (dw @ (self.H @ dw)))


def vertex_forces(at: Any, J_force: np.ndarray) -> np.ndarray:
    """B = V'J, the generalised force of each vertex, shape (n m, nv); zero where none acts."""
    n, m = at.w.shape
    B = np.zeros((n, m, J_force.shape[2]))
    B[at.active] = at.V[at.active].transpose(0, 2, 1) @ J_force
    return B.reshape(n * m, J_force.shape[2])


def _reduced_model(problem: Any, objective: Any, point: Any, block_size: int) -> _Model | None:
    """The model at a point; None where dG/dq is singular."""
    linear = problem.linearise(point)
    P, singular = scipy.linalg.lapack.dgesv(linear.A, vertex_forces(point, linear.J_force).T)[2:]
    if singular or not np.isfinite(P).all():
        return None
    gradient, hessian = objective.derivatives(problem, point, linear)
    H = P.T @ (hessian @ P)
    scale = np.empty(len(H))
    first = np.arange(0, len(H) + 1, block_size)
    block_scales(np.ascontiguousarray(H.diagonal()), first, scale)
    return _Model(P, P.T @ gradient, H, scale)


def _end_of_retreat(model: _Model, qp: SimplexQP, w: np.ndarray, K: float) -> Status:
    """Whether the minimum is near when only shorter steps were left to try.

    A step that is short for its small gamma says nothing; an honest one that still promises a
    good part of K says that the way down is blocked: by a fold of G = 0, or by a kink of K.
    """
    honest = model.weights(qp, w, _HONEST_GAMMA)
    blocked = honest is None or model.promise(honest - w) > _BLOCKED * K
    return Status.STALLED if blocked else Status.CONVERGED
