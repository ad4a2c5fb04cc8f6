"""Factors of small dense symmetric matrices."""

from __future__ import annotations

import math

import numpy as np

from nmdp_pin.kernels.jit import jit


@jit
def copy_vector(source: np.ndarray, target: np.ndarray) -> None:
    """Target = source; faster to compile than an assignment to a slice."""
    for i in range(len(source)):
        target[i] = source[i]


@jit
def copy_matrix(source: np.ndarray, target: np.ndarray) -> None:
    """Target = source."""
    for i in range(source.shape[0]):
        for j in range(source.shape[1]):
            target[i, j] = source[i, j]


@jit
def cholesky(A: np.ndarray) -> bool:
    """Overwrite the upper triangle of A by U with U' U = A; False where A is not positive definite.

    Args:
        A: symmetric, of which the upper triangle is read, shape (n, n).
    """
    n = len(A)
    for i in range(n):
        pivot = A[i, i]
        if not (pivot > 0.0 and pivot < np.inf):
            return False
        root = math.sqrt(pivot)
        for k in range(i, n):
            A[i, k] /= root
        for j in range(i + 1, n):
            factor = A[i, j]
            if factor != 0.0:
                for k in range(j, n):
                    A[j, k] -= factor * A[i, k]
    return True


@jit
def solve_upper_transposed(U: np.ndarray, x: np.ndarray) -> None:
    """Overwrite x by U'^-1 x, U being upper triangular."""
    n = len(U)
    for i in range(n):
        x[i] /= U[i, i]
        for k in range(i + 1, n):
            x[k] -= U[i, k] * x[i]


@jit
def solve_upper(U: np.ndarray, x: np.ndarray) -> None:
    """Overwrite x by U^-1 x, U being upper triangular."""
    for i in range(len(U) - 1, -1, -1):
        total = x[i]
        for k in range(i + 1, len(U)):
            total -= U[i, k] * x[k]
        x[i] = total / U[i, i]


@jit
def solve_upper_transposed_rows(U: np.ndarray, X: np.ndarray) -> None:
    """Overwrite X by U'^-1 X, U being upper triangular, shapes (n, n)."""
    n = len(U)
    for i in range(n):
        for c in range(n):
            X[i, c] /= U[i, i]
        for k in range(i + 1, n):
            factor = U[i, k]
            if factor != 0.0:
                for c in range(n):
                    X[k, c] -= factor * X[i, c]


@jit
def add_gram(X: np.ndarray, factor: float, H: np.ndarray) -> None:
    """Upper triangle of H += factor X' X."""
    n = len(X)
    for r in range(len(X)):
        for i in range(n):
            a = factor * X[r, i]
            if a != 0.0:
                for k in range(i, n):
                    H[i, k] += a * X[r, k]


@jit
def pivot_ratio(factor: np.ndarray) -> float:
    """Largest over smallest absolute value on the diagonal: a lower bound of the condition."""
    least, most = np.inf, 0.0
    for i in range(len(factor)):
        a = abs(factor[i, i])
        least, most = min(least, a), max(most, a)
    return most / least if least > 0.0 else np.inf
