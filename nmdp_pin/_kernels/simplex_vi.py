"""Affine variational inequalities over a product of simplices, by an active-set method.

The set is that of blocks x_i >= 0, sum(x_i) <= 1; block b has the variables from first[b] to
first[b + 1]. Each iteration projects x - F(x) / unit onto the set, which determines a face, and
solves F = 0 on that face; the solution is found when the face no longer changes: Newton's method on
the natural map x - P(x - F(x) / unit). Steps are halved where that does not fall, as with many
contacts, or where forces are not unique.
"""

from __future__ import annotations

import numpy as np

from nmdp_pin._kernels.jit import Array, jit
from nmdp_pin._kernels.linear import all_finite, clear_vector, solve_in_place
from nmdp_pin._kernels.record import indices, vector

MOST_FACES = 20  # largest number of faces; two or three are usual
_FALL, _LEAST = 1e-3, 0.02  # of the natural map's square, by a share of a step; and least share
_BELOW_ONE = 1.0 + 1e-15  # rounding error of a sum of shares
# Largest distance from a point to its projection at which it is the solution: faces that differ by
# the signs of rounding errors, as those of a body that rests, never settle.
_ROUNDING = 1e-12


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
def _threshold(y: Array, begin: int, m: int, ordered: Array) -> tuple[bool, float, float]:
    """Whether the sum of a block of the projection of y is one, and what is subtracted from y.

    That is the threshold tau with sum(max(y - tau, 0)) = 1, in two parts: the largest entry of the
    block and the rest. Beside entries of 1e16 and more, which weights of a contact have that can
    give next to nothing, one is lost. Where sum(max(y, 0)) <= 1 it is zero.
    """
    for e in range(m):  # ascending, by insertion
        value, place = y[begin + e], e
        while place > 0 and ordered[place - 1] > value:
            ordered[place] = ordered[place - 1]
            place -= 1
        ordered[place] = value
    top, total, positive, tau = ordered[m - 1], 0.0, 0.0, 0.0
    for e in range(m):
        value = ordered[m - 1 - e]
        positive += max(value, 0.0)
        total += value - top
        threshold = (total - 1.0) / (e + 1)
        if value - top > threshold:
            tau = threshold
    return (True, top, tau) if positive > 1.0 else (False, 0.0, 0.0)


@jit
def natural_map(
    x: Array, F: Array, unit: Array, first: Array, ordered: Array, y: Array, face: Array
) -> tuple[float, bool]:
    """Squared distance from x to the projection of y = x - F / unit, in units, and its face.

    It is zero where no entry of x is farther from its projection than rounding.

    Args:
        x: point, shape (n,).
        F: value there, shape (n,).
        unit: units of the blocks, shape (blocks,).
        first: first variable of each block, shape (blocks + 1,).
        ordered: workspace, shape (n,).
        y: workspace, shape (n,).
        face: variables above zero, then sums at one, shape (n + blocks,); overwritten.

    Returns:
        The squared distance, and whether the face differs from the one that was there.
    """
    n, square, farthest, changed = x.size, 0.0, 0.0, False
    for b in range(first.size - 1):
        begin = first[b]
        for e in range(begin, first[b + 1]):
            y[e] = x[e] - F[e] / unit[b]
        tight, top, tau = _threshold(y, begin, first[b + 1] - begin, ordered)
        if face[n + b] != tight:
            face[n + b] = tight
            changed = True
        for e in range(begin, first[b + 1]):
            above = y[e] - top > tau
            if face[e] != above:
                face[e] = above
                changed = True
            off = x[e] - max(y[e] - top - tau, 0.0)
            square += unit[b] * off * off
            farthest = max(farthest, abs(off))
    at_rounding = farthest <= _ROUNDING and square < np.inf  # a NaN is not
    return (0.0, False) if at_rounding else (square, changed)


@jit
def solve_on_face(M: Array, constant: Array, first: Array, face: Array, x: Array) -> bool:
    """Set x so that F + multiplier = 0 where free, 0 elsewhere, tight sums one; False: singular.

    The first free variable of a tight block is what the others leave of one. The multiplier of the
    block is minus its F, and leaves their equations with it.
    """
    n, k, tight = x.size, 0, False
    free, rests, base = indices(n), indices(n), vector(n)
    clear_vector(x)
    for b in range(first.size - 1):
        rest = -1
        for e in range(first[b], first[b + 1]):
            if face[e] and face[n + b] and rest < 0:
                x[e], rest, tight = 1.0, e, True
            elif face[e]:
                free[k], rests[k] = e, rest
                k += 1
    if k == 0:
        return True
    add_sparse_product(M, x, 1.0, constant, base)
    A, right = np.empty((k, k)), np.empty((k, 1))
    for a in range(k):
        row, rest = M[free[a]], rests[a]
        right[a, 0] = -base[free[a]]
        for c in range(k):
            A[a, c] = row[free[c]]
        if tight:
            for c in range(k):
                if rests[c] >= 0:
                    A[a, c] -= row[rests[c]]
        if rest >= 0:
            right[a, 0] += base[rest]
            for c in range(k):
                A[a, c] -= M[rest, free[c]]
                if rests[c] >= 0:
                    A[a, c] += M[rest, rests[c]]
    if not solve_in_place(A, right):
        return False
    if not all_finite(right.ravel()):
        return False
    for a in range(k):
        x[free[a]] = right[a, 0]
        if rests[a] >= 0:
            x[rests[a]] -= right[a, 0]
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
        False where the faces do not settle, M is singular on a face, or a number is not finite.
    """
    n, blocks = x0.size, first.size - 1
    constant = vector(n)
    add_sparse_product(M, x0, -1.0, g, constant)
    # One unit a block, so that the projection of a block is the usual one.
    unit = vector(blocks)
    for b in range(blocks):
        unit[b] = 0.0
        for e in range(first[b], first[b + 1]):
            unit[b] = max(unit[b], M[e, e])
        if not (unit[b] > 0.0 and unit[b] < np.inf):
            return False
    if not all_finite(constant):
        return False
    face, ordered, y = np.zeros(n + blocks, np.bool_), vector(n), vector(n)
    z, Fz, F = vector(n), vector(n), vector(n)
    for i in range(n):
        F[i], x[i] = g[i], x0[i]
    here, _ = natural_map(x, F, unit, first, ordered, y, face)
    for _ in range(MOST_FACES):
        if here == 0.0:
            clip_to_simplices(x, first)
            return True
        if not solve_on_face(M, constant, first, face, z):
            return False
        add_sparse_product(M, z, 1.0, constant, Fz)
        there, changed = natural_map(z, Fz, unit, first, ordered, y, face)
        if not changed:
            for i in range(n):
                x[i] = z[i]
            clip_to_simplices(x, first)
            return True
        share = 1.0
        while not there <= (1.0 - _FALL * share) * here and share > _LEAST:
            share *= 0.5
            for i in range(n):
                z[i] = 0.5 * (x[i] + z[i])
                Fz[i] = 0.5 * (F[i] + Fz[i])
            there, _ = natural_map(z, Fz, unit, first, ordered, y, face)
        for i in range(n):
            x[i], F[i] = z[i], Fz[i]
        here = there
    return False
