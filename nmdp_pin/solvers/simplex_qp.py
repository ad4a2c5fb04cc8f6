"""Quadratic programs over a product of simplices, by ProxSuite."""

from __future__ import annotations

import numpy as np
import proxsuite

_TOLERANCE = 1e-9  # on the KKT residuals of the scaled problem
_FREE = 1e20  # ProxQP's "no bound"


class SimplexQP:
    """min g'(x - x0) + (x - x0)' H (x - x0) / 2 over blocks x_i >= 0, sum(x_i) <= 1.

    Args:
        n_blocks: number of simplices.
        block_size: variables of each.
    """

    def __init__(self, n_blocks: int, block_size: int) -> None:
        n = n_blocks * block_size
        self.n, self.block_size, self._shape = n, block_size, (n_blocks, block_size)
        self._sums = np.kron(np.eye(n_blocks), np.ones((1, block_size)))
        self._lower, self._upper = np.full(n_blocks, -_FREE), np.ones(n_blocks)
        self._lower_box, self._upper_box = np.zeros(n), np.full(n, _FREE)
        self._qp = self._new()

    def _new(self) -> proxsuite.proxqp.dense.QP:
        n_blocks, _ = self._shape
        qp = proxsuite.proxqp.dense.QP(self.n, 0, n_blocks, True)
        qp.settings.eps_abs = _TOLERANCE
        qp.settings.eps_rel = 0.0
        qp.settings.initial_guess = proxsuite.proxqp.InitialGuess.WARM_START
        qp.init(
            np.eye(self.n), np.zeros(self.n), None, None,
            self._sums, self._lower, self._upper, self._lower_box, self._upper_box,
        )  # fmt: skip
        return qp

    def solve(self, H: np.ndarray, g: np.ndarray, x0: np.ndarray) -> np.ndarray | None:
        """The minimiser, feasible to the last bit; None when ProxQP does not converge.

        Args:
            H: positive definite, shape (n, n).
            g: gradient at x0, shape (n,).
            x0: where the problem is stated and the search starts, shape (n,).
        """
        scale = 1.0 / H.diagonal().max()
        qp = self._qp
        qp.update(H=scale * H, g=scale * (g - H @ x0))
        qp.solve(x0, None, None)
        if qp.results.info.status != proxsuite.proxqp.QPSolverOutput.PROXQP_SOLVED:
            return None
        return self.clip(qp.results.x)

    def clip(self, x: np.ndarray) -> np.ndarray:
        """x with rounding errors removed: not negative, and no block's sum above one."""
        blocks = np.maximum(x, 0.0).reshape(self._shape)
        blocks /= np.maximum(blocks.sum(axis=1, keepdims=True), 1.0)
        return blocks.ravel()
