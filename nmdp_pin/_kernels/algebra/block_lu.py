"""Factors of matrices of groups of rows, few of which are coupled, as bodies are in a pile.

Groups are eliminated one after another, each time the one that couples the fewest others (minimum
degree), with partial pivoting within a group. What is zero before and after it is never touched, so
that the cost grows like the number of groups. Without groups, as of small matrices, the factors are
dense.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nmdp_pin._kernels.algebra.linear import copy_matrix, factor, pivot_row, solve_factored
from nmdp_pin._kernels.compiler.jit import Array, deferred, jit

_SMALL = 64  # rows up to which dense factors are faster


class BlockOrder(NamedTuple):
    """Order in which t groups are eliminated, and those that each of them couples; 0: dense.

    Args:
        first: first row of each group, and the end, shape (t + 1,).
        order: the groups in their order, shape (t,).
        later: groups that are coupled with the one of each place and follow it, shape (t, t).
        counts: their numbers, shape (t,).
    """

    first: Array
    order: Array
    later: Array
    counts: Array


@jit
def order_of(first: Array, near: Array) -> BlockOrder:
    """The order of elimination of a matrix; dense where it is small. See `order_blocks`."""
    t = len(near) if len(near) > 1 and first[-1] > _SMALL else 0
    own = np.empty((t, t), np.bool_)
    for g in range(t):
        for h in range(t):
            own[g, h] = near[g, h]
    return order_blocks(first, own)


@jit
def copy_coupled(A: Array, blocks: BlockOrder, B: Array) -> None:
    """Copy A, or what of it `factor_coupled` touches, into B."""
    if blocks.order.size == 0:
        copy_matrix(A, B)
    else:
        copy_blocks(A, blocks, B)


@jit
def factor_coupled(A: Array, blocks: BlockOrder, pivots: Array) -> bool:
    """Factorise A in place; False where it is singular or not finite."""
    if blocks.order.size == 0:
        return factor(A, pivots)
    return factor_blocks(A, blocks, pivots)


@jit
def solve_coupled(LU: Array, blocks: BlockOrder, pivots: Array, X: Array) -> None:
    """Overwrite X, shape (n, r), by the solution of A X = B, with B in X."""
    if blocks.order.size == 0:
        solve_factored(LU, pivots, X)
    else:
        solve_blocks(LU, blocks, pivots, X)


@jit
def order_blocks(first: Array, near: Array) -> BlockOrder:
    """The order of elimination.

    Args:
        first: first row of each group, and the end, shape (t + 1,).
        near: whether two groups are coupled, symmetric; overwritten, shape (t, t).
    """
    t = len(near)
    order, later, count = np.empty(t, np.int64), np.empty((t, t), np.int64), np.zeros(t, np.int64)
    degree = np.zeros(t, np.int64)
    for g in range(t):
        near[g, g] = False
        for h in range(t):
            degree[g] += near[g, h]
    for p in range(t):
        g = -1
        for h in range(t):
            if degree[h] >= 0 and (g < 0 or degree[h] < degree[g]):
                g = h
        order[p], degree[g] = g, -1
        for h in range(t):
            if near[g, h]:
                later[p, count[p]] = h
                count[p] += 1
                near[h, g] = near[g, h] = False
        for x in range(count[p]):
            h = later[p, x]
            for y in range(count[p]):
                near[h, later[p, y]] = x != y
            degree[h] = 0
            for other in range(t):
                degree[h] += near[h, other]
    return BlockOrder(first, order, later, count)


@jit
def _columns_after(blocks: BlockOrder, p: int, columns: Array) -> int:
    """Write the columns of the groups that follow the one of place p; their number."""
    m = 0
    for x in range(blocks.counts[p]):
        h = blocks.later[p, x]
        for c in range(blocks.first[h], blocks.first[h + 1]):
            columns[m] = c
            m += 1
    return m


@deferred
def copy_blocks(A: Array, blocks: BlockOrder, B: Array) -> None:
    """Copy what `factor_blocks` touches of A into B."""
    columns = np.empty(len(A), np.int64)
    for p in range(blocks.order.size):
        begin, end = blocks.first[blocks.order[p]], blocks.first[blocks.order[p] + 1]
        m = _columns_after(blocks, p, columns)
        for i in range(begin, end):
            for j in range(begin, end):
                B[i, j] = A[i, j]
            for x in range(m):
                j = columns[x]
                B[i, j], B[j, i] = A[i, j], A[j, i]


@deferred
def factor_blocks(A: Array, blocks: BlockOrder, pivots: Array) -> bool:
    """Factorise A in place; False where a group is singular by itself, or not finite.

    Args:
        A: matrix, shape (n, n).
        blocks: order of its groups.
        pivots: output, row exchanged with row i, of the same group, shape (n,).
    """
    n, largest = len(A), 0
    for g in range(blocks.order.size):
        largest = max(largest, blocks.first[g + 1] - blocks.first[g])
    # rows of one group, and one of another, without the columns between
    upper, row, columns = np.empty((largest, n)), np.empty(n), np.empty(n, np.int64)
    for p in range(blocks.order.size):
        begin, end = blocks.first[blocks.order[p]], blocks.first[blocks.order[p] + 1]
        m = _columns_after(blocks, p, columns)
        if not _factor_group(A, begin, end, columns[:m], pivots):
            return False
        for i in range(begin, end):
            for x in range(m):
                upper[i - begin, x] = A[i, columns[x]]
        for y in range(m):
            j = columns[y]
            for x in range(m):
                row[x] = A[j, columns[x]]
            for i in range(begin, end):
                share = A[j, i] / A[i, i]
                A[j, i] = share
                for c in range(i + 1, end):
                    A[j, c] -= share * A[i, c]
                for x in range(m):
                    row[x] -= share * upper[i - begin, x]
            for x in range(m):
                A[j, columns[x]] = row[x]
    return True


@jit
def _factor_group(A: Array, begin: int, end: int, columns: Array, pivots: Array) -> bool:
    """Eliminate the rows of a group from each other, in its own columns and those that follow."""
    for i in range(begin, end):
        pivot = pivot_row(A, i, end)
        if pivot < 0:
            return False
        pivots[i] = pivot
        if pivot != i:
            for c in range(begin, end):
                A[i, c], A[pivot, c] = A[pivot, c], A[i, c]
            for x in range(columns.size):
                c = columns[x]
                A[i, c], A[pivot, c] = A[pivot, c], A[i, c]
        for j in range(i + 1, end):
            share = A[j, i] / A[i, i]
            A[j, i] = share
            for c in range(i + 1, end):
                A[j, c] -= share * A[i, c]
            for x in range(columns.size):
                A[j, columns[x]] -= share * A[i, columns[x]]
    return True


@deferred
def solve_blocks(LU: Array, blocks: BlockOrder, pivots: Array, X: Array) -> None:
    """Overwrite X, shape (n, r), by the solution of A X = B, from `factor_blocks`, with B in X."""
    r, columns = X.shape[1], np.empty(len(LU), np.int64)
    for p in range(blocks.order.size):
        begin, end = blocks.first[blocks.order[p]], blocks.first[blocks.order[p] + 1]
        m = _columns_after(blocks, p, columns)
        for i in range(begin, end):
            if pivots[i] != i:
                for k in range(r):
                    X[i, k], X[pivots[i], k] = X[pivots[i], k], X[i, k]
        for k in range(r):
            for j in range(begin, end):
                for i in range(begin, j):
                    X[j, k] -= LU[j, i] * X[i, k]
            for x in range(m):
                total = X[columns[x], k]
                for i in range(begin, end):
                    total -= LU[columns[x], i] * X[i, k]
                X[columns[x], k] = total
    for p in range(blocks.order.size - 1, -1, -1):
        begin, end = blocks.first[blocks.order[p]], blocks.first[blocks.order[p] + 1]
        m = _columns_after(blocks, p, columns)
        for i in range(end - 1, begin - 1, -1):
            for k in range(r):
                total = X[i, k]
                for j in range(i + 1, end):
                    total -= LU[i, j] * X[j, k]
                for x in range(m):
                    total -= LU[i, columns[x]] * X[columns[x], k]
                X[i, k] = total / LU[i, i]


@jit
def solve_group(LU: Array, begin: int, end: int, pivots: Array, X: Array) -> None:
    """As `solve_blocks`, of the rows of one group that is coupled with no other."""
    r = X.shape[1]
    for i in range(begin, end):
        if pivots[i] != i:
            for k in range(r):
                X[i, k], X[pivots[i], k] = X[pivots[i], k], X[i, k]
    for i in range(begin, end):
        for k in range(r):
            total = X[i, k]
            for j in range(begin, i):
                total -= LU[i, j] * X[j, k]
            X[i, k] = total
    for i in range(end - 1, begin - 1, -1):
        for k in range(r):
            total = X[i, k]
            for j in range(i + 1, end):
                total -= LU[i, j] * X[j, k]
            X[i, k] = total / LU[i, i]
