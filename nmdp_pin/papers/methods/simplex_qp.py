"""Quadratic programs over a product of simplices, by ProxQP or DAQP."""

import importlib.util
from typing import Literal

import numpy as np

from nmdp_pin.errors import MissingExtra
from nmdp_pin.papers.methods.proxqp import proxqp, work_of

QpSolver = Literal["proxqp", "daqp"]

_DAQP_TOLERANCE = 1e-11  # on the constraints, in units of weights
_HIDDEN = 1e-6  # weights and gradients so small that the tolerances would hide them
_PER_EVALUATION = 8  # iterations that take as long as an evaluation
_MOST = 1000  # work of an iteration beyond which a program is not begun, in evaluations
_BELOW_ONE = 1.0 + 1e-15  # what rounding may add to a sum of shares
_FREE = 1e20  # no bound, for both solvers


class SimplexQP:
    """min g'(x - x0) + (x - x0)' H (x - x0) / 2 over blocks x_i >= 0, sum(x_i) <= 1.

    A solve depends on its arguments alone: nothing is carried from one to the next.

    Attributes:
        work: work of the last solve, in evaluations of the dynamics.

    Args:
        n_blocks: number of simplices.
        block_size: variables of each.
        solver: "proxqp" (ProxSuite, an augmented Lagrangian method) or "daqp" (dual active set).

    Raises:
        MissingExtra: DAQP is not installed.
    """

    def __init__(self, n_blocks: int, block_size: int, solver: str = "proxqp") -> None:
        if solver == "daqp" and importlib.util.find_spec("daqp") is None:
            raise MissingExtra("daqp", "qp")
        self.n, self.n_blocks, self.block_size = n_blocks * block_size, n_blocks, block_size
        self._shape, n = (n_blocks, block_size), self.n
        sums = np.kron(np.eye(n_blocks), np.ones((1, block_size)))
        self._minimise, self.work = _SOLVERS[solver], 0
        self._rows = np.vstack([np.eye(n), sums])
        self._lower = np.concatenate([np.zeros(n), np.full(n_blocks, -_FREE)])
        self._upper = np.concatenate([np.full(n, _FREE), np.ones(n_blocks)])

    def solve(self, H: np.ndarray, g: np.ndarray, x0: np.ndarray) -> np.ndarray | None:
        """Minimiser, feasible to the last bit; None if the solver fails.

        Args:
            H: positive definite, shape (n, n).
            g: gradient at x0, shape (n,).
            x0: where the problem is stated and the search starts, shape (n,).
        """
        free, self.work = self._free(H, g, x0), 0
        if not free.any():
            return x0.copy()
        x = x0.copy()
        in_x = np.repeat(free, self.block_size)
        found = self._solve(H[np.ix_(in_x, in_x)], g[in_x], x0[in_x], np.append(in_x, free))
        if found is None:
            return None
        x[in_x] = found
        return self.clip(x)

    def clip(self, x: np.ndarray) -> np.ndarray:
        """Remove rounding errors: not negative, and no block's sum above one."""
        blocks = np.maximum(x, 0.0).reshape(self._shape)
        sums = np.add.reduce(blocks, axis=1, keepdims=True)
        blocks /= np.where(sums > 1.0, sums * _BELOW_ONE, 1.0)
        result: np.ndarray = blocks.ravel()
        return result

    def _free(self, H: np.ndarray, g: np.ndarray, x0: np.ndarray) -> np.ndarray:
        """Blocks that are to be solved for, shape (n_blocks,).

        The others stay: they are feasible, at rest and coupled with no variable. So are contacts
        that are apart, which are most of a robot's.
        """
        blocks = x0.reshape(self._shape)
        feasible = (blocks >= 0.0) & (np.add.reduce(blocks, axis=1, keepdims=True) <= 1.0)
        still = (g == 0.0) & (np.count_nonzero(H, axis=1) <= 1) & feasible.ravel()
        result: np.ndarray = ~still.reshape(self._shape).all(axis=1)
        return result

    def _solve(
        self, H: np.ndarray, g: np.ndarray, x0: np.ndarray, rows: np.ndarray
    ) -> np.ndarray | None:
        """Minimiser of a program of the blocks whose rows are True."""
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
        upper = np.minimum(self._upper[rows] / unit, _FREE)
        C = self._rows[np.ix_(rows, rows[: self.n])]
        each = 1 + work_of(0, len(g))
        if each > _MOST:
            self.work = each
            return None
        bounds = self._lower[rows], upper
        x, iterations = self._minimise(H, linear / unit, C, *bounds, x0 / unit)
        self.work = iterations * each // _PER_EVALUATION
        return None if x is None else unit * x


def _daqp(
    H: np.ndarray,
    g: np.ndarray,
    rows: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    x0: np.ndarray,
) -> tuple[np.ndarray | None, int]:
    """As `proxqp`; the first rows are the bounds of the variables, which DAQP has of its own."""
    import daqp  # an extra

    sums = rows[len(g) :]
    x, _, flag, info = daqp.solve(
        H, g, sums, upper, lower, primal_start=x0, primal_tol=_DAQP_TOLERANCE
    )
    return x if flag == 1 else None, int(info["iterations"])


_SOLVERS = {"proxqp": proxqp, "daqp": _daqp}
