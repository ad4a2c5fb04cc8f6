"""The projected gradient method on the manifold G(q, w) = 0 ([N] Algorithm 1)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from scipy.linalg.lapack import dgesv

from nmdp_pin.errors import IntegratorError
from nmdp_pin.solvers.projection import ManifoldProblem, Projection, project
from nmdp_pin.solvers.simplex_qp import SimplexQP
from nmdp_pin.solvers.simplices import block_scales
from nmdp_pin.solvers.solver_result import SolverResult, condition_number
from nmdp_pin.status import Status

_HONEST_GAMMA = 1.0  # a shorter step than this one's says nothing about convergence
_SETTLED = 1e-9  # promised decrease of K, relative to K, that is not worth a step
_BLOCKED = 1e-3  # promised decrease of K, relative to K, that makes a stop a stall
_CONTRACTING = 0.1  # ratio of two moves from which the next one is foretold
_POOR = 0.25  # share of the promised decrease of K below which gamma shrinks
_ROUNDING = 1e-12  # relative: K may rise by this much and still count as not risen


class WeightedManifold(ManifoldProblem, Protocol):
    """G(q, w) = 0 with its derivative with respect to the weights."""

    def vertex_jacobian(self) -> np.ndarray:
        """-dG/dw' at the last evaluated point, shape (n w, n q)."""


class Objective(Protocol):
    """K(q) at the last evaluated point."""

    def value(self) -> float:
        """K."""

    def derivatives(self) -> tuple[np.ndarray, np.ndarray]:
        """Gradient and positive semidefinite Hessian of K with respect to q."""


@dataclass(frozen=True, kw_only=True)
class PGMOptions:
    """Options of the projected gradient method.

    Args:
        tolerance: on the norm of G [N, N m]; integrators take it relative to the weight.
        epsilon: stop when the configuration moves less than this [rad, m], maximum norm;
            under the dissipation principle the gap that may be left, over the weight [m].
        grow: factor on gamma after an accepted step.
        shrink: factor on gamma after a rejected step.
        gamma_min: give up below it.
        gamma_max: never grow beyond it.
        max_iterations: outer iterations at most.
        max_newton: Newton steps of one projection at most.
        line_search: halve Newton steps until the norm of G falls.
        gain_ratio: let gamma follow how much of the promised decrease of K came about; False:
            only whether K rose.
        contact_scale: measure each contact's weights by their own effect; False: all alike.
        early_stop: stop also where K has nothing left to fall, or where the next move can be
            foretold; False: only when the configuration rests.
        near: units of force that G may have between the iterations of a variational inequality.
    """

    tolerance: float = 1e-8
    epsilon: float = 1e-6
    grow: float = 4.0
    shrink: float = 0.1
    gamma_min: float = 1e-8
    gamma_max: float = 1e6
    max_iterations: int = 50
    max_newton: int = 10
    line_search: bool = True
    gain_ratio: bool = True
    contact_scale: bool = True
    early_stop: bool = True
    near: float = 1.0

    def __post_init__(self) -> None:
        for name in (
            "tolerance",
            "epsilon",
            "gamma_min",
            "gamma_max",
            "max_iterations",
            "max_newton",
            "near",
        ):
            if not 0 < getattr(self, name) < np.inf:
                raise IntegratorError(f"{name} must be finite and > 0, got {getattr(self, name)}")
        if not self.grow >= 1.0:
            raise IntegratorError(f"grow must be >= 1, got {self.grow}")
        if not 0.0 < self.shrink < 1.0:
            raise IntegratorError(f"shrink must be in (0, 1), got {self.shrink}")


def pgm(
    manifold: WeightedManifold,
    objective: Objective,
    qp: SimplexQP,
    q: np.ndarray,
    w: np.ndarray,
    gamma: float,
    options: PGMOptions,
) -> SolverResult:
    """Minimise K(q) subject to G(q, w) = 0 and w in the simplices.

    Each outer iteration solves the quadratic program of eq. 8 for w, moves q along its linear
    response P dw and projects. A step that does not project or raises K is taken again with a
    smaller gamma (the papers' update of gamma is inverted: docs/choices.md, 1).

    Args:
        manifold: the dynamics.
        objective: what is minimised.
        qp: solver for the quadratic programs.
        q: start of the projection.
        w: start of the weights, in the simplices, shape (n w,).
        gamma: step-size parameter; large is a Gauss-Newton step, small a short gradient step.
        options: tolerances and limits.
    """

    def projected(q: np.ndarray, w: np.ndarray) -> Projection:
        return project(
            manifold,
            q,
            w.reshape(-1, qp.block_size),
            tolerance=options.tolerance,
            max_iterations=options.max_newton,
            line_search=options.line_search,
        )

    def linearised() -> _Model | None:
        return _reduced_model(manifold, objective, qp.block_size if options.contact_scale else qp.n)

    point = projected(q, w)
    if not point.status.ok:
        return SolverResult(q, w, gamma, point.status, point.residual, (), 0)
    K = objective.value()
    values, iterations, retreats, last_move = [K], 0, 0, 0.0
    rejected = 0  # in a row; retreats counts them all

    def result(status: Status) -> SolverResult:
        return SolverResult(
            point.q,
            w,
            gamma,
            status,
            point.residual,
            tuple(values),
            iterations,
            retreats,
            math.inf if model is None else condition_number(model.A, model.lu),
        )

    model = linearised()
    while iterations < options.max_iterations:
        if model is None:
            return result(Status.SINGULAR)
        if not model.scale.any():  # no vertex moves anything: free flight
            return result(Status.CONVERGED)
        iterations += 1
        w1 = model.weights(qp, w, gamma)
        if w1 is not None:
            dw = w1 - w
            dq, promised = model.P @ dw, model.promise(dw)
            move = float(np.abs(dq).max())
            if not options.early_stop:
                if move <= options.epsilon:
                    return result(Status.CONVERGED)
            elif move <= options.epsilon or promised <= _SETTLED * K:
                if rejected:
                    return result(_end_of_retreat(model, qp, w, K))
                if gamma >= _HONEST_GAMMA:
                    return result(Status.CONVERGED)
                gamma = _HONEST_GAMMA
                continue
            trial = projected(manifold.retract(point.q, dq), w1)
            K1 = objective.value() if trial.status.ok else np.inf
            if K1 <= K + _ROUNDING * abs(K):
                better = K - K1 >= _POOR * promised or not options.gain_ratio
                gamma *= options.grow if better else options.shrink
                gamma = min(gamma, options.gamma_max)
                point, w, K, rejected = trial, w1, K1, 0
                values.append(K)
                contracts = move <= _CONTRACTING * last_move
                if options.early_stop and contracts and move**2 <= options.epsilon * last_move:
                    return result(Status.CONVERGED)  # the next move would be move^2 / last_move
                last_move = move
                model = linearised()
                continue
        rejected += 1
        retreats += 1
        gamma *= options.shrink ** (rejected if options.gain_ratio else 1)
        if gamma < options.gamma_min:
            return result(Status.QP_FAILED if w1 is None else Status.STALLED)
    return result(Status.ITERATION_LIMIT)


class _Model(NamedTuple):
    """K's quadratic model in w at a point of the manifold.

    Args:
        A: dG/dq, shape (n q, n q).
        lu: its factors.
        P: response dq/dw = -(dG/dq)^-1 dG/dw, shape (n q, n w).
        g: gradient, shape (n w,).
        H: positive semidefinite Hessian, shape (n w, n w).
        scale: curvature of each contact, the unit of its proximal term, shape (n w,).
    """

    A: np.ndarray
    lu: np.ndarray
    P: np.ndarray
    g: np.ndarray
    H: np.ndarray
    scale: np.ndarray

    def weights(self, qp: SimplexQP, w: np.ndarray, gamma: float) -> np.ndarray | None:
        """The minimiser of the model with the proximal term |dw|^2 / gamma ([N] eq. 8)."""
        return qp.solve(self.H + np.diag(self.scale / gamma), self.g, w)

    def promise(self, dw: np.ndarray) -> float:
        """How much K falls along dw, says the model."""
        return float(-(self.g @ dw) - 0.5 * (dw @ (self.H @ dw)))


def _reduced_model(
    manifold: WeightedManifold, objective: Objective, block_size: int
) -> _Model | None:
    """The model at the last evaluated point; None where dG/dq is singular."""
    A = manifold.linearise()
    B = manifold.vertex_jacobian()
    lu, _, P, singular = dgesv(A, B.T)
    if singular or not np.isfinite(P).all():
        return None
    gradient, hessian = objective.derivatives()
    H = P.T @ (hessian @ P)
    return _Model(A, lu, P, P.T @ gradient, H, block_scales(H.diagonal(), block_size))


def _end_of_retreat(model: _Model, qp: SimplexQP, w: np.ndarray, K: float) -> Status:
    """Whether the minimum is near where only ever shorter steps were left to try.

    A step that is short for its small gamma says nothing; an honest one that still promises a
    good part of K says that the way down is blocked: by a fold of G = 0, or by a kink of K.
    """
    honest = model.weights(qp, w, _HONEST_GAMMA)
    blocked = honest is None or model.promise(honest - w) > _BLOCKED * K
    return Status.STALLED if blocked else Status.CONVERGED
