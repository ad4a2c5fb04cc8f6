"""Quadratic programs over a product of simplices, by DAQP or ProxSuite.

DAQP is the default: whole runs are faster with it (benchmarks/step.py), and it gives the same
bits in every process; ProxQP's last bits depend on where its memory lies.
"""

from __future__ import annotations

from typing import Any

import daqp
import numpy as np
import proxsuite

from nmdp_pin.errors import IntegratorError
from nmdp_pin.solvers.simplices import Simplices

_TOLERANCE = 1e-9  # on the KKT residuals of the scaled problem
_DAQP_TOLERANCE = 1e-11  # on the constraints, in units of weights
_HIDDEN = 1e3 * _TOLERANCE  # weights and gradients so small that the tolerance would hide them
_ITERATIONS = (1000, 100)  # of ProxQP's two loops, 20 being usual; its own limits take minutes
_FREE = 1e20  # no bound, for both solvers
_SOLVERS = ("daqp", "proxqp")


class SimplexQP(Simplices):
    """min g'(x - x0) + (x - x0)' H (x - x0) / 2 over blocks x_i >= 0, sum(x_i) <= 1.

    A solve depends on its arguments alone: nothing is carried from one to the next.

    Args:
        n_blocks: number of simplices.
        block_size: variables of each.
        solver: "daqp" (dual active set) or "proxqp" (ProxSuite, an augmented Lagrangian method).

    Raises:
        IntegratorError: the solver is not known.
    """

    def __init__(self, n_blocks: int, block_size: int, solver: str = "daqp") -> None:
        if solver not in _SOLVERS:
            raise IntegratorError(f"qp_solver '{solver}' is not known; choose from {_SOLVERS}")
        super().__init__(n_blocks, block_size)
        n = self.n
        self._lower = np.concatenate([np.zeros(n), np.full(n_blocks, -_FREE)])
        self._upper = np.concatenate([np.full(n, _FREE), np.ones(n_blocks)])
        if solver == "daqp":
            self._minimise = self._by_daqp
        else:
            self._proxqp: Any = self._new_proxqp() if n else None
            self._minimise = self._by_proxqp

    def solve(self, H: np.ndarray, g: np.ndarray, x0: np.ndarray) -> np.ndarray | None:
        """Minimiser, feasible to the last bit; None if the solver fails.

        Args:
            H: positive definite, shape (n, n).
            g: gradient at x0, shape (n,).
            x0: where the problem is stated and the search starts, shape (n,).
        """
        if not self.n:
            return x0.copy()
        # At first touch H is of order V^2 and g of order V: the larger is the unit.
        largest = max(H.diagonal().max(), np.abs(g).max())
        if not 0.0 < largest < np.inf:
            return None
        H = H / largest
        linear = g / largest - H @ x0
        # Not finite where anything in H, g or x0 is not: ProxQP would never return.
        if not np.isfinite(linear).all():
            return None
        # Contacts deep in the ground have tiny weights: a unit that the tolerance does not hide.
        unit = max(np.abs(x0).max(), np.abs(linear).max())
        unit = unit if 0.0 < unit < _HIDDEN else 1.0
        upper = np.minimum(self._upper / unit, _FREE)
        x = self._minimise(H, linear / unit, x0 / unit, upper)
        return None if x is None else self.clip(unit * x)

    def _by_daqp(
        self, H: np.ndarray, g: np.ndarray, x0: np.ndarray, upper: np.ndarray
    ) -> np.ndarray | None:
        x, _, flag, _ = daqp.solve(
            H, g, self._sums, upper, self._lower, primal_start=x0, primal_tol=_DAQP_TOLERANCE
        )
        return x if flag == 1 else None

    def _by_proxqp(
        self, H: np.ndarray, g: np.ndarray, x0: np.ndarray, upper: np.ndarray
    ) -> np.ndarray | None:
        qp = self._proxqp
        qp.update(H=H, g=g, u=upper, update_preconditioner=False)
        qp.solve(x0, None, self._multipliers)
        solved = qp.results.info.status == proxsuite.proxqp.QPSolverOutput.PROXQP_SOLVED
        return qp.results.x if solved else None

    def _new_proxqp(self) -> proxsuite.proxqp.dense.QP:
        # The bounds go into the constraint matrix: ProxQP 0.8 with its own box constraints does not
        # converge from a warm start.
        rows = np.vstack([np.eye(self.n), self._sums])
        self._multipliers = np.zeros(len(rows))
        qp = proxsuite.proxqp.dense.QP(self.n, 0, len(rows))
        qp.settings.eps_abs = _TOLERANCE
        qp.settings.eps_rel = 0.0
        qp.settings.max_iter, qp.settings.max_iter_in = _ITERATIONS
        qp.settings.initial_guess = proxsuite.proxqp.InitialGuess.WARM_START
        zero = np.zeros(self.n)
        qp.init(np.eye(self.n), zero, None, None, rows, self._lower, self._upper, False)
        return qp
