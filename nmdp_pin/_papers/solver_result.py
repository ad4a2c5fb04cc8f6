"""Results of the solvers of a step."""

from __future__ import annotations

from typing import Any, NamedTuple

from nmdp_pin._state.status import Status


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
