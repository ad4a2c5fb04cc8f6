"""Projection onto the manifold G(q, w) = 0 at fixed weights, by Newton's method."""

from typing import Any, NamedTuple

import numpy as np

from nmdp_pin._kernels.algebra.linear import solve_in_place
from nmdp_pin._state.status import Status

MAX_HALVINGS = 5  # of a Newton step
SUFFICIENT = 1e-4  # share of the linear decrease of the norm that a step must achieve


class Projection(NamedTuple):
    """Result of a projection.

    Args:
        point: the last one that was accepted.
        status: outcome.
        evaluations: number of evaluations, with that of the start.
    """

    point: Any
    status: Status
    evaluations: int


def project(
    problem: Any, start: Any, *, tolerance: float, max_iterations: int, line_search: bool = True
) -> Projection:
    """Solve G(q, w) = 0 for q with the weights of a start.

    Args:
        problem: the equations, as `StageEquations`.
        start: evaluated point.
        tolerance: on the norm of G [N, N m].
        max_iterations: Newton steps at most.
        line_search: halve steps until |G| falls by a share of what the linearisation promises.
            Without it steps are taken whole, and the projection stops where |G| does not fall.
    """
    point, evaluations = start, 1
    for _ in range(max_iterations):
        if point.residual <= tolerance:
            return Projection(point, Status.CONVERGED, evaluations)
        if not point.residual < np.inf:
            return Projection(point, Status.NOT_FINITE, evaluations)
        dq = -point.G[:, None]
        solved = solve_in_place(problem.linearise(point).A.copy(), dq)
        if not (solved and np.isfinite(dq).all()):
            return Projection(point, Status.SINGULAR, evaluations)
        t = 1.0
        for _ in range(MAX_HALVINGS if line_search else 1):
            trial = problem.evaluate(problem.retract(point.q, t * dq[:, 0]), start.w, point)
            evaluations += 1
            if trial.residual <= (1.0 - SUFFICIENT * t) * point.residual:
                break
            t *= 0.5
        else:
            return Projection(point, Status.PROJECTION_FAILED, evaluations)
        point = trial
    ok = point.residual <= tolerance
    status = Status.CONVERGED if ok else Status.PROJECTION_FAILED
    return Projection(point, status, evaluations)
