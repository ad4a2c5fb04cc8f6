"""Cross products as matrices."""

import numpy as np

# Row-major [a]_x as a linear map of a, so that all matrices are one product.
SKEW = np.zeros((3, 9))
for _i, _j, _k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
    SKEW[_k, 3 * _i + _j] = -1.0
    SKEW[_k, 3 * _j + _i] = 1.0


def skew(a: np.ndarray) -> np.ndarray:
    """Matrices [a]_x with [a]_x b = a x b; shape (n, 3) to (n, 3, 3)."""
    return (a @ SKEW).reshape(-1, 3, 3)
