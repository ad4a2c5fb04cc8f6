"""Factors of small dense matrices, and solutions with them.

LAPACK is faster from about 30 rows on, and slower below, where the matrices of most robots are.
"""

from __future__ import annotations

import math

import numpy as np

from nmdp_pin._kernels.compiler.callbacks import call_factor, call_solve
from nmdp_pin._kernels.compiler.jit import Array, jit
from nmdp_pin._kernels.compiler.record import indices

RANK = 1e-10  # share of the largest pivot below which a row is redundant
_FEW = 3  # right sides up to which columns are faster than rows
_SMALL = 64  # rows up to which the factorisation here is faster than a call of LAPACK


@jit
def all_finite(values: Array) -> bool:
    """Whether all numbers are finite, shape (n,)."""
    total = 0.0
    for value in values:
        total += 0.0 * value
    return total == 0.0


@jit
def pivot_row(A: Array, i: int, end: int) -> int:
    """Row of the largest entry of column i from row i on, -1: it is zero or not finite."""
    p, largest = i, abs(A[i, i])
    for j in range(i + 1, end):
        if abs(A[j, i]) > largest:
            p, largest = j, abs(A[j, i])
    return p if largest > 0.0 and largest < np.inf else -1


@jit
def lu_factor(A: Array, pivots: Array) -> bool:
    """Factorise A in place with partial pivoting; False where it is singular or not finite.

    Args:
        A: matrix, shape (n, n); on return L below the diagonal and U on and above it.
        pivots: output, row exchanged with row i in step i, shape (n,).
    """
    n = A.shape[0]
    for i in range(n):
        p = pivot_row(A, i, n)
        if p < 0:
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
def lu_solve(LU: Array, pivots: Array, B: Array) -> None:
    """Overwrite B, shape (n, r), by the solution X of A X = B."""
    n, r = B.shape
    for i in range(n):
        p = pivots[i]
        if p != i:
            for k in range(r):
                B[i, k], B[p, k] = B[p, k], B[i, k]
    if r <= _FEW:
        _solve_few(LU, B)
        return
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
def _solve_few(LU: Array, B: Array) -> None:
    """As `lu_solve` after the exchange of rows, column by column, which are summed in numbers."""
    n, r = B.shape
    for k in range(r):
        for i in range(n):
            total = B[i, k]
            for j in range(i):
                total -= LU[i, j] * B[j, k]
            B[i, k] = total
        for i in range(n - 1, -1, -1):
            total = B[i, k]
            for j in range(i + 1, n):
                total -= LU[i, j] * B[j, k]
            B[i, k] = total * (1.0 / LU[i, i])


@jit
def eliminate(A: Array, columns: int, B: Array, order: Array) -> int:
    """Reduce A to an upper triangle in place by rows, with complete pivoting; returns the rank.

    Args:
        A: matrix, shape (n, >= columns); its rows are exchanged, and the columns of pivots.
        columns: number of columns that pivots come from.
        B: right sides, which undergo the same operations, shape (n, r).
        order: output, indices of the columns in their new order, shape (columns,).
    """
    n, rank, least = A.shape[0], 0, 0.0
    for j in range(columns):
        order[j] = j
    while rank < min(n, columns):
        row, column, largest = rank, rank, 0.0
        for i in range(rank, n):
            for j in range(rank, columns):
                if abs(A[i, j]) > largest:
                    row, column, largest = i, j, abs(A[i, j])
        if rank == 0:
            least = RANK * largest
        if not (largest > least and largest < np.inf):
            break
        _exchange(A, rank, row)
        _exchange(B, rank, row)
        order[rank], order[column] = order[column], order[rank]
        for i in range(n):
            A[i, rank], A[i, column] = A[i, column], A[i, rank]
        for i in range(rank + 1, n):
            factor = A[i, rank] / A[rank, rank]
            if factor != 0.0:
                for j in range(rank, columns):
                    A[i, j] -= factor * A[rank, j]
                for j in range(B.shape[1]):
                    B[i, j] -= factor * B[rank, j]
        rank += 1
    return rank


@jit
def _exchange(A: Array, i: int, j: int) -> None:
    """Exchange two rows."""
    for k in range(A.shape[1]):
        A[i, k], A[j, k] = A[j, k], A[i, k]


@jit
def solve_redundant(A: Array, B: Array, X: Array) -> None:
    """Write a solution of A X = B whose matrix may have redundant rows and columns.

    Where it has, some of the entries of X are zero.

    Args:
        A: matrix, shape (n, n); overwritten.
        B: right sides, shape (n, r); overwritten.
        X: output, shape (n, r).
    """
    n, r = B.shape
    order = indices(n)
    rank = eliminate(A, n, B, order)
    clear_matrix(X)
    for i in range(rank - 1, -1, -1):
        for j in range(i + 1, rank):
            if A[i, j] != 0.0:
                for k in range(r):
                    B[i, k] -= A[i, j] * B[j, k]
        for k in range(r):
            B[i, k] /= A[i, i]
            X[order[i], k] = B[i, k]


@jit
def clear_vector(x: Array) -> None:
    """Make all entries 0; faster to compile than an assignment to a slice."""
    for i in range(len(x)):
        x[i] = 0.0


@jit
def clear_matrix(A: Array) -> None:
    """Make all entries 0."""
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            A[i, j] = 0.0


@jit
def copy_vector(source: Array, target: Array) -> None:
    """Target = source."""
    for i in range(len(source)):
        target[i] = source[i]


@jit
def factor(A: Array, pivots: Array) -> bool:
    """Factorise A in place, shape (n, n); False where it is singular or not finite.

    Args:
        A: matrix, shape (n, n); on return its factors, by LAPACK where it is large.
        pivots: output, shape (n,).
    """
    return lu_factor(A, pivots) if len(A) <= _SMALL else call_factor(A, pivots)


@jit
def solve_factored(LU: Array, pivots: Array, X: Array) -> None:
    """Overwrite X by the solution of A X = B, from the factors of `factor` and with B in X."""
    if len(LU) <= _SMALL:
        lu_solve(LU, pivots, X)
    else:
        call_solve(LU, pivots, X)


@jit
def solve_in_place(A: Array, X: Array) -> bool:
    """Solve A X = B, with B in X; False where A is singular. Both are overwritten.

    Args:
        A: matrix, shape (n, n).
        X: right sides on entry, solution on exit, shape (n, m).
    """
    pivots = indices(len(A))
    if not factor(A, pivots):
        return False
    solve_factored(A, pivots, X)
    return True


@jit
def copy_matrix(source: Array, target: Array) -> None:
    """Target = source."""
    for i in range(source.shape[0]):
        for j in range(source.shape[1]):
            target[i, j] = source[i, j]


@jit
def cholesky(A: Array) -> bool:
    """Overwrite A's upper triangle, which alone is read, by U with U' U = A; False: none exists."""
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
def solve_upper_transposed(U: Array, x: Array) -> None:
    """Overwrite x by U'^-1 x, U being upper triangular."""
    n = len(U)
    for i in range(n):
        x[i] /= U[i, i]
        for k in range(i + 1, n):
            x[k] -= U[i, k] * x[i]


@jit
def solve_upper(U: Array, x: Array) -> None:
    """Overwrite x by U^-1 x, U being upper triangular."""
    for i in range(len(U) - 1, -1, -1):
        total = x[i]
        for k in range(i + 1, len(U)):
            total -= U[i, k] * x[k]
        x[i] = total / U[i, i]


@jit
def solve_upper_transposed_rows(U: Array, X: Array) -> None:
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
def add_gram(X: Array, factor: float, H: Array) -> None:
    """Upper triangle of H += factor X' X."""
    n = len(X)
    for r in range(len(X)):
        for i in range(n):
            a = factor * X[r, i]
            if a != 0.0:
                for k in range(i, n):
                    H[i, k] += a * X[r, k]


@jit
def pivot_ratio(factor: Array) -> float:
    """Largest over smallest absolute value on the diagonal: a lower bound of the condition."""
    least, most = np.inf, 0.0
    for i in range(len(factor)):
        a = abs(factor[i, i])
        least, most = min(least, a), max(most, a)
    return most / least if least > 0.0 else np.inf


@jit
def add_product(A: Array, B: Array, C: Array) -> None:
    """C += A B."""
    for i in range(A.shape[0]):
        for k in range(A.shape[1]):
            a = A[i, k]
            if a != 0.0:
                for j in range(B.shape[1]):
                    C[i, j] += a * B[k, j]
