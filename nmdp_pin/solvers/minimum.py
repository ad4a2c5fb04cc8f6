"""Problem and result of an optimiser on a manifold."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from nmdp_pin.status import Status


class Minimisation(Protocol):
    """A function of x; everything but `retract` and `pull_back` speaks of the last point."""

    def evaluate(self, x: np.ndarray) -> tuple[float, float]:
        """Function f, and the error to minimise, such as |df/dx|."""

    def gradient(self) -> np.ndarray:
        """Gradient of f in the tangent, shape (n,)."""

    def retract(self, x: np.ndarray, dx: np.ndarray) -> np.ndarray:
        """The point at tangent dx from x."""

    def pull_back(self, x: np.ndarray, dx: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """Gradient with respect to dx of f(retract(x, dx)), given that at the point."""


@dataclass(frozen=True, eq=False)
class Minimum:
    """Result of an optimiser.

    Args:
        x: the point of the least error accepted.
        status: outcome.
        value: f there.
        error: there.
        iterations: steps tried, each with one linear solve, or steps of L-BFGS.
        rejected: those not taken.
        evaluations: evaluations of f.
        seconds: that it took.
        condition: estimate of the last matrix's condition number (1-norm); NaN where there is none.
    """

    x: np.ndarray
    status: Status
    value: float
    error: float
    iterations: int
    rejected: int
    evaluations: int
    seconds: float
    condition: float = math.nan
