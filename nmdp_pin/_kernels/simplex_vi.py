"""Affine variational inequalities over a product of simplices, by an active-set method.

The set is that of blocks x_i >= 0, sum(x_i) <= 1; block b has the variables from first[b] to
first[b + 1]. Each iteration projects x - F(x) / unit onto the
set, which determines a face, and solves F = 0 on that face; the solution is found when the face
no longer changes: Newton's method on the natural map.
"""

from __future__ import annotations

import numpy as np

from nmdp_pin._kernels.jit import Array, jit
from nmdp_pin._kernels.linear import all_finite, clear_vector, solve_in_place
from nmdp_pin._kernels.record import indices, vector

MOST_FACES = 20  # largest number of faces; two or three are usual
_BELOW_ONE = 1.0 + 1e-15  # rounding error of a sum of shares


@jit
def clip_to_simplices(x: Array, first: Array) -> None:
    """Remove rounding errors in place: no entry below zero, no block's sum above one."""
    for b in range(first.size - 1):
        total = 0.0
        for e in range(first[b], first[b + 1]):
            x[e] = max(x[e], 0.0)
            total += x[e]
        if total > 1.0:
            for e in range(first[b], first[b + 1]):
                x[e] /= total * _BELOW_ONE


@jit
def face_of(y: Array, first: Array, ordered: Array, face: Array) -> bool:
    """Find the face on which the projection of y lies, and whether it differs from `face`.

    Args:
        y: point, shape (n,).
        first: first variable of each block, shape (blocks + 1,).
        ordered: workspace, shape (n,).
        face: variables above zero, then sums at one, shape (n + blocks,); overwritten.
    """
    n, changed = y.size, False
    for b in range(first.size - 1):
        begin, m = first[b], first[b + 1] - first[b]
        for e in range(m):  # ascending, by insertion
            value, place = y[begin + e], e
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
        if face[n + b] != tight:
            face[n + b] = tight
            changed = True
        for e in range(begin, begin + m):
            above = y[e] - top > tau if tight else y[e] > 0.0
            if face[e] != above:
                face[e] = above
                changed = True
    return changed


@jit
def solve_on_face(M: Array, constant: Array, block_of: Array, face: Array, x: Array) -> bool:
    """Set x so that F + multiplier = 0 where free, 0 elsewhere, tight sums one; False: singular."""
    n, size = x.size, face.size
    rows, k = indices(size), 0
    for e in range(size):
        if face[e]:
            rows[k] = e
            k += 1
    free = 0
    while free < k and rows[free] < n:
        free += 1
    clear_vector(x)
    if free == 0:
        return True
    A, right = np.zeros((k, k)), np.ones((k, 1))
    for a in range(free):
        ra = rows[a]
        right[a, 0] = -constant[ra]
        for c in range(free):
            A[a, c] = M[ra, rows[c]]
        for c in range(free, k):
            if block_of[ra] == rows[c] - n:
                A[a, c] = 1.0
                A[c, a] = 1.0
    if not solve_in_place(A, right):
        return False
    if not all_finite(right.ravel()):
        return False
    for a in range(free):
        x[rows[a]] = right[a, 0]
    return True


@jit
def add_sparse_product(M: Array, x: Array, factor: float, constant: Array, out: Array) -> None:
    """Out = constant + factor M x with an x of which most entries are zero.

    Args:
        M: matrix, shape (n, n).
        x: vector, shape (n,).
        factor: factor of the product.
        constant: vector, shape (n,).
        out: output, shape (n,).
    """
    n, k, kept = x.size, 0, indices(x.size)
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
def solve_affine_vi(M: Array, g: Array, x0: Array, first: Array, x: Array) -> bool:
    """Find x in the set with (g + M (x - x0))' (y - x) >= 0 for every y in the set.

    M need not be symmetric; where it is symmetric and positive definite, x minimises a quadratic
    function.

    Args:
        M: matrix with a positive diagonal, shape (n, n).
        g: value F(x0), shape (n,).
        x0: point at which the problem is stated and the search begins, shape (n,).
        first: first variable of each block, shape (blocks + 1,).
        x: output, the solution, feasible to the last bit, shape (n,).

    Returns:
        False where the faces cycle, M is singular on a face, or a number is not finite.
    """
    n, blocks = x0.size, first.size - 1
    constant, block_of = vector(n), indices(n)
    add_sparse_product(M, x0, -1.0, g, constant)
    # One unit a block, so that the projection of a block is the usual one.
    unit = vector(blocks)
    for b in range(blocks):
        unit[b] = 0.0
        for e in range(first[b], first[b + 1]):
            unit[b] = max(unit[b], M[e, e])
            block_of[e] = b
        if not (unit[b] > 0.0 and unit[b] < np.inf):
            return False
    if not all_finite(constant):
        return False
    face = np.zeros(n + blocks, np.bool_)
    tried = np.empty((MOST_FACES, n + blocks), np.bool_)
    y, F, ordered = vector(n), vector(n), vector(n)
    for i in range(n):
        F[i], x[i] = g[i], x0[i]
    for trial in range(MOST_FACES):
        for i in range(n):
            y[i] = x[i] - F[i] / unit[block_of[i]]
        if not face_of(y, first, ordered, face) and trial > 0:
            clip_to_simplices(x, first)
            return True
        for before in range(trial):
            same = True
            for e in range(face.size):
                if tried[before, e] != face[e]:
                    same = False
                    break
            if same:
                return False
        for e in range(face.size):
            tried[trial, e] = face[e]
        if not solve_on_face(M, constant, block_of, face, x):
            return False
        add_sparse_product(M, x, 1.0, constant, F)
    return False
