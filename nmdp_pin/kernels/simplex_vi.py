"""Affine variational inequalities over a product of simplices, by an active-set method.

The set is that of blocks x_i >= 0, sum(x_i) <= 1. Each iteration projects x - F(x) / unit onto the
set, which determines a face, and solves F = 0 on that face; the solution is found when the face
no longer changes: Newton's method on the natural map.
"""

from __future__ import annotations

import numpy as np

from nmdp_pin.kernels.jit import jit
from nmdp_pin.kernels.linear import finite, lu_factor, lu_solve

MOST_FACES = 20  # largest number of faces; two or three are usual
_BELOW_ONE = 1.0 + 1e-15  # rounding error of a sum of shares


@jit
def clip_to_simplices(x: np.ndarray, m: int) -> None:
    """Remove rounding errors in place: no entry below zero, no block's sum above one."""
    for b in range(x.size // m):
        total = 0.0
        for e in range(b * m, b * m + m):
            x[e] = max(x[e], 0.0)
            total += x[e]
        if total > 1.0:
            for e in range(b * m, b * m + m):
                x[e] /= total * _BELOW_ONE


@jit
def face_of(y: np.ndarray, m: int, face: np.ndarray) -> bool:
    """Find the face on which the projection of y lies, and whether it differs from `face`.

    Args:
        y: point, shape (n m,).
        m: size of a block.
        face: variables above zero, then sums at one, shape (n m + n,); overwritten.
    """
    n = y.size // m
    changed, ordered = False, np.empty(m)
    for b in range(n):
        for e in range(m):  # ascending, by insertion
            value, place = y[b * m + e], e
            while place > 0 and ordered[place - 1] > value:
                ordered[place] = ordered[place - 1]
                place -= 1
            ordered[place] = value
        # The threshold tau with sum(max(y - tau, 0)) = 1; where sum(max(y, 0)) <= 1 the sum is
        # free, and zero is the threshold. It is counted from the largest entry: beside entries of
        # 1e16 and more, which weights of a contact have that can give next to nothing, one is lost.
        top, total, positive, tau = ordered[m - 1], 0.0, 0.0, 0.0
        for e in range(m):
            value = ordered[m - 1 - e]
            positive += max(value, 0.0)
            total += value - top
            threshold = (total - 1.0) / (e + 1)
            if value - top > threshold:
                tau = threshold
        tight = positive > 1.0
        if face[n * m + b] != tight:
            face[n * m + b] = tight
            changed = True
        for e in range(b * m, b * m + m):
            above = y[e] - top > tau if tight else y[e] > 0.0
            if face[e] != above:
                face[e] = above
                changed = True
    return changed


@jit
def solve_on_face(
    M: np.ndarray, constant: np.ndarray, m: int, face: np.ndarray, x: np.ndarray
) -> bool:
    """Set x so that F + multiplier = 0 where free, 0 elsewhere, tight sums one; False: singular."""
    n, size = x.size, face.size
    rows = np.empty(size, np.int64)
    k = 0
    for e in range(size):
        if face[e]:
            rows[k] = e
            k += 1
    free = 0
    while free < k and rows[free] < n:
        free += 1
    x[:] = 0.0
    if free == 0:
        return True
    A, right = np.zeros((k, k)), np.ones((k, 1))
    for a in range(free):
        ra = rows[a]
        right[a, 0] = -constant[ra]
        for c in range(free):
            A[a, c] = M[ra, rows[c]]
        for c in range(free, k):
            if ra // m == rows[c] - n:
                A[a, c] = 1.0
                A[c, a] = 1.0
    pivots = np.empty(k, np.int64)
    if not lu_factor(A, pivots):
        return False
    lu_solve(A, pivots, right)
    if not finite(right.ravel()):
        return False
    for a in range(free):
        x[rows[a]] = right[a, 0]
    return True


@jit
def add_product(
    M: np.ndarray, x: np.ndarray, factor: float, constant: np.ndarray, out: np.ndarray
) -> None:
    """Out = constant + factor M x with an x of which most entries are zero.

    Args:
        M: matrix, shape (n, n).
        x: vector, shape (n,).
        factor: factor of the product.
        constant: vector, shape (n,).
        out: output, shape (n,).
    """
    n, k, kept = x.size, 0, np.empty(x.size, np.int64)
    for j in range(n):
        if x[j] != 0.0:
            kept[k] = j
            k += 1
    for i in range(n):
        total = 0.0
        for c in range(k):
            total += M[i, kept[c]] * x[kept[c]]
        out[i] = constant[i] + factor * total


@jit
def solve_affine_vi(M: np.ndarray, g: np.ndarray, x0: np.ndarray, m: int, x: np.ndarray) -> bool:
    """Find x in the set with (g + M (x - x0))' (y - x) >= 0 for every y in the set.

    M need not be symmetric; where it is symmetric and positive definite, x minimises a quadratic
    function.

    Args:
        M: matrix with a positive diagonal, shape (n, n).
        g: value F(x0), shape (n,).
        x0: point at which the problem is stated and the search begins, shape (n,).
        m: size of a block.
        x: output, the solution, feasible to the last bit, shape (n,).

    Returns:
        False where the faces cycle, M is singular on a face, or a number is not finite.
    """
    n = x0.size
    blocks = n // m
    constant = np.empty(n)
    add_product(M, x0, -1.0, g, constant)
    # One unit a block, so that the projection of a block is the usual one.
    unit = np.empty(blocks)
    for b in range(blocks):
        unit[b] = M[b * m, b * m]
        for e in range(b * m + 1, b * m + m):
            unit[b] = max(unit[b], M[e, e])
        if not (unit[b] > 0.0 and unit[b] < np.inf):
            return False
    if not finite(constant):
        return False
    face = np.zeros(n + blocks, np.bool_)
    tried = np.zeros((MOST_FACES, n + blocks), np.bool_)
    y, F = np.empty(n), g.copy()
    x[:] = x0
    for trial in range(MOST_FACES):
        for i in range(n):
            y[i] = x[i] - F[i] / unit[i // m]
        if not face_of(y, m, face) and trial > 0:
            clip_to_simplices(x, m)
            return True
        for before in range(trial):
            same = True
            for e in range(face.size):
                if tried[before, e] != face[e]:
                    same = False
                    break
            if same:
                return False
        tried[trial] = face
        if not solve_on_face(M, constant, m, face, x):
            return False
        add_product(M, x, 1.0, constant, F)
    return False
