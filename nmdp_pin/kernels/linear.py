"""LU factorisation of small dense matrices, and solutions with it."""

from __future__ import annotations

import numpy as np

from nmdp_pin.kernels.jit import jit


@jit
def lu_factor(A: np.ndarray, pivots: np.ndarray) -> bool:
    """Factorise A in place with partial pivoting; False where it is singular or not finite.

    Args:
        A: matrix, shape (n, n); on return L below the diagonal and U on and above it.
        pivots: output, row exchanged with row i in step i, shape (n,).
    """
    n = A.shape[0]
    for i in range(n):
        p, largest = i, abs(A[i, i])
        for j in range(i + 1, n):
            if abs(A[j, i]) > largest:
                p, largest = j, abs(A[j, i])
        if not (largest > 0.0 and largest < np.inf):
            return False
        pivots[i] = p
        if p != i:
            for k in range(n):
                A[i, k], A[p, k] = A[p, k], A[i, k]
        inverse = 1.0 / A[i, i]
        for j in range(i + 1, n):
            if A[j, i] != 0.0:
                l = A[j, i] * inverse
                A[j, i] = l
                for k in range(i + 1, n):
                    A[j, k] -= l * A[i, k]
    return True


@jit
def lu_solve(LU: np.ndarray, pivots: np.ndarray, B: np.ndarray) -> None:
    """Overwrite B, shape (n, r), by the solution X of A X = B."""
    n, r = B.shape
    for i in range(n):
        p = pivots[i]
        if p != i:
            for k in range(r):
                B[i, k], B[p, k] = B[p, k], B[i, k]
    for i in range(n):
        for j in range(i):
            l = LU[i, j]
            if l != 0.0:
                for k in range(r):
                    B[i, k] -= l * B[j, k]
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            u = LU[i, j]
            if u != 0.0:
                for k in range(r):
                    B[i, k] -= u * B[j, k]
        inverse = 1.0 / LU[i, i]
        for k in range(r):
            B[i, k] *= inverse


@jit
def finite(x: np.ndarray) -> bool:
    """Whether every entry of a flat array is finite."""
    total = 0.0
    for i in range(x.size):
        total += abs(x[i])
    return total < np.inf
