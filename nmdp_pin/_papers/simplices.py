"""A product of simplices, the set in which the weights of the contacts lie."""

from __future__ import annotations

import numpy as np

_BELOW_ONE = 1.0 + 1e-15  # what rounding may add to a sum of shares


class Simplices:
    """Blocks x_i >= 0, sum(x_i) <= 1.

    Args:
        n_blocks: number of simplices.
        block_size: variables of each.
    """

    def __init__(self, n_blocks: int, block_size: int) -> None:
        self.n, self.n_blocks, self.block_size = n_blocks * block_size, n_blocks, block_size
        self._shape = (n_blocks, block_size)
        self._sums = np.kron(np.eye(n_blocks), np.ones((1, block_size)))

    def clip(self, x: np.ndarray) -> np.ndarray:
        """Remove rounding errors: not negative, and no block's sum above one."""
        blocks = np.maximum(x, 0.0).reshape(self._shape)
        sums = np.add.reduce(blocks, axis=1, keepdims=True)
        blocks /= np.where(sums > 1.0, sums * _BELOW_ONE, 1.0)
        return blocks.ravel()
