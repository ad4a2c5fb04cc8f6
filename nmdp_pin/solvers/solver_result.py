"""What a solver of a step leaves."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dgecon

from nmdp_pin.status import Status


@dataclass(frozen=True, eq=False)
class SolverResult:
    """Where a solver stopped.

    Args:
        q: configuration with G(q, w) = 0.
        w: weights in the simplices, shape (n w,).
        gamma: step-size parameter to start from next time.
        status: how it ended.
        residual: norm of G.
        values: what is driven down, at every accepted iterate, shape (accepted + 1,): the
            objective, which never rises, or the gap of a variational inequality.
        iterations: outer iterations: quadratic programs or affine inequalities solved.
        rejected: iterations whose step was not taken.
        condition: of dG/dq where it was last factorised, 1-norm; inf where it is singular, NaN
            where it was not needed.
    """

    q: np.ndarray
    w: np.ndarray
    gamma: float
    status: Status
    residual: float
    values: tuple[float, ...]
    iterations: int
    rejected: int = 0
    condition: float = math.nan


def condition_number(A: np.ndarray, lu: np.ndarray) -> float:
    """Estimate of the condition number in the 1-norm from LAPACK's factors of A."""
    reciprocal = float(dgecon(lu, np.abs(A).sum(axis=0).max())[0])
    return 1.0 / reciprocal if reciprocal > 0.0 else math.inf
