"""L-BFGS of SciPy on a manifold: it works in the tangent at the start, with gradients alone."""

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import scipy  # whose parts are imported when they are used

from nmdp_pin._state.status import Status

MEMORY = 20  # pairs of steps and gradients remembered
_RESTARTS = 10  # where SciPy stops short of the tolerance, as its line search is lost in rounding


class Minimisation(Protocol):
    """Function of x; `gradient` is that at the point that was evaluated last."""

    def evaluate(self, x: np.ndarray) -> tuple[float, float]:
        """The function f, and the error that is to become small, such as |df/dx|."""

    def gradient(self) -> np.ndarray:
        """Gradient of f in the tangent, shape (n,)."""

    def retract(self, x: np.ndarray, dx: np.ndarray) -> np.ndarray:
        """The point at tangent dx from x."""

    def pull_back(self, x: np.ndarray, dx: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """Gradient of f(retract(x, dx)) with respect to dx, from `gradient` at retract(x, dx)."""


@dataclass(frozen=True, eq=False)
class Minimum:
    """Point at which a minimisation stopped.

    Args:
        x: the point of the least error accepted.
        status: how it ended.
        value: f there.
        error: there.
        iterations: steps of L-BFGS.
        evaluations: of f.
    """

    x: np.ndarray
    status: Status
    value: float
    error: float
    iterations: int
    evaluations: int


class _Tangent:
    """f(retract(x0, z)) and its gradient, with counters and the point of the least error."""

    def __init__(self, problem: Minimisation, x0: np.ndarray, n: int) -> None:
        self._problem, self._x0 = problem, x0
        self.evaluations = 0
        self.z, self.value, self.error = np.zeros(n), math.inf, math.inf

    def __call__(self, z: np.ndarray) -> tuple[float, np.ndarray]:
        x = self._problem.retract(self._x0, z)
        f, error = self._problem.evaluate(x)
        self.evaluations += 1
        gradient = self._problem.pull_back(self._x0, z, self._problem.gradient())
        if not (math.isfinite(f + error) and np.isfinite(gradient).all()):
            raise FloatingPointError
        if error < self.error:
            self.z, self.value, self.error = z.copy(), f, error
        return f, gradient


def lbfgs(
    problem: Minimisation, x: np.ndarray, n: int, *, tolerance: float, max_iterations: int = 10_000
) -> Minimum:
    """Minimise f from x until the error is within the tolerance."""
    tangent, iterations = _Tangent(problem, x, n), 0
    status = Status.ITERATION_LIMIT

    def stop_when_done(z: np.ndarray) -> None:
        nonlocal iterations
        iterations += 1
        if tangent.error <= tolerance:
            raise StopIteration

    z, last = np.zeros(n), math.inf
    while iterations < max_iterations:
        before = iterations
        try:
            scipy.optimize.minimize(
                tangent,
                z,
                jac=True,
                method="L-BFGS-B",
                callback=stop_when_done,
                options={
                    "maxiter": max_iterations - iterations,
                    "maxfun": 20 * max_iterations,
                    "maxcor": MEMORY,
                    "ftol": 0.0,
                    "gtol": 0.0,
                },
            )
        except FloatingPointError:
            status = Status.NOT_FINITE
            break
        if tangent.error <= tolerance:
            status = Status.CONVERGED
            break
        if iterations == before or not tangent.error < last:
            status = Status.STALLED
            break
        z, last = tangent.z, tangent.error
    return Minimum(
        x=problem.retract(x, tangent.z),
        status=status,
        value=tangent.value,
        error=tangent.error,
        iterations=iterations,
        evaluations=tangent.evaluations,
    )
