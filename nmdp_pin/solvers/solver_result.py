"""What a solver of a step leaves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

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
    """

    q: np.ndarray
    w: np.ndarray
    gamma: float
    status: Status
    residual: float
    values: tuple[float, ...]
    iterations: int
    rejected: int = 0
