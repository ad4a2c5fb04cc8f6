"""Affine variational inequalities over a product of simplices, by an active-set method."""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dgesv

from nmdp_pin.solvers.simplices import Simplices

_MOST_FACES = 20  # tried before giving up; two or three are usual


class SimplexVI(Simplices):
    """Find x in the set with (g + M (x - x0))' (y - x) >= 0 for every y in the set.

    The set is that of blocks x_i >= 0, sum(x_i) <= 1. M need not be symmetric; where it is
    symmetric and positive definite the solution is the minimiser of a quadratic program. Each
    iteration projects x - F(x) / scale onto the set, which tells a face, and solves F = 0 on that
    face; the solution is found when the face stays: Newton's method on the natural map.

    Args:
        n_blocks: number of simplices.
        block_size: variables of each.
    """

    def __init__(self, n_blocks: int, block_size: int) -> None:
        super().__init__(n_blocks, block_size)
        self._counts = np.arange(1.0, block_size + 1.0)
        self._others: dict[int, SimplexVI] = {n_blocks: self}
        # [[M, E'], [E, 0]] of all variables and all sums, of which a face takes its rows.
        self._system = np.zeros((self.n + n_blocks, self.n + n_blocks))
        self._system[: self.n, self.n :] = self._sums.T
        self._system[self.n :, : self.n] = self._sums
        self._right = np.ones(self.n + n_blocks)
        self._places = np.arange(n_blocks)

    def of(self, n_blocks: int) -> SimplexVI:
        """The same for another number of blocks of this size."""
        if n_blocks not in self._others:
            self._others[n_blocks] = SimplexVI(n_blocks, self.block_size)
        return self._others[n_blocks]

    def solve(self, M: np.ndarray, g: np.ndarray, x0: np.ndarray) -> np.ndarray | None:
        """The solution, feasible to the last bit; None when the faces go round in circles.

        None also where M is singular on a face or a number is not finite.

        Args:
            M: shape (n, n), with a positive diagonal.
            g: F at x0, shape (n,).
            x0: where the problem is stated and the search starts, shape (n,).
        """
        if not self.n:
            return x0.copy()
        # One unit a block, so that the projection of a block is the usual one.
        blocks = np.maximum.reduce(M.diagonal().reshape(self._shape), axis=1)
        constant = g - M @ x0
        if not (blocks.min() > 0.0 and np.isfinite(blocks).all() and np.isfinite(constant).all()):
            return None
        unit = np.repeat(blocks, self.block_size)
        self._system[: self.n, : self.n] = M
        self._right[: self.n] = -constant
        x, F, face = x0, g, b""
        tried = set()
        for _ in range(_MOST_FACES):
            binding = self._face(x - F / unit)
            new = binding.tobytes()
            if new == face:
                return self.clip(x)
            if new in tried:
                return None
            tried.add(new)
            face = new
            solution = self._solve_on_face(binding.nonzero()[0])
            if solution is None:
                return None
            x = solution
            F = constant + M @ x
        return None

    def _face(self, y: np.ndarray) -> np.ndarray:
        """Where the projection of y lies: variables above zero and sums at one, (n + n_blocks,)."""
        blocks = y.reshape(self._shape)
        # The threshold tau with sum(max(y - tau, 0)) = 1, from the largest entries; where it is
        # not positive the sum is free, and zero is the threshold.
        ordered = np.sort(blocks, axis=1)[:, ::-1]
        thresholds = (np.add.accumulate(ordered, axis=1) - 1.0) / self._counts
        count = np.add.reduce(ordered > thresholds, axis=1)
        tau = thresholds[self._places, count - 1]
        face = np.empty(self.n + self.n_blocks, dtype=bool)
        np.greater(tau, 0.0, out=face[self.n :])
        np.greater(blocks, np.maximum(tau, 0.0)[:, None], out=face[: self.n].reshape(self._shape))
        return face

    def _solve_on_face(self, rows: np.ndarray) -> np.ndarray | None:
        """Where F + multiplier = 0 if free, 0 elsewhere, and the tight sums at one."""
        x = np.zeros(self.n)
        n = int(rows.searchsorted(self.n))
        if n == 0:
            return x
        solution, singular = dgesv(self._system[rows[:, None], rows], self._right[rows])[2:]
        if singular or not np.logical_and.reduce(np.isfinite(solution)):
            return None
        x[rows[:n]] = solution[:n]
        return x
