"""Affine variational inequalities over a product of simplices, by an active-set method.

The set is that of blocks x_i >= 0, sum(x_i) <= 1; block b has the variables from first[b] to
first[b + 1]. F = V'u is the work of the vertices V of a set of forces V x on motions u that are
affine in x. Each iteration projects x - F(x) / unit onto the set, which determines a face, and
solves F = 0 on that face; the solution is found when the face no longer changes: Newton's method on
the natural map x - P(x - F(x) / unit). Steps are halved where that does not fall, as with many
contacts, or where forces are not unique.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from nmdp_pin._kernels.jit import Array, jit
from nmdp_pin._kernels.linear import all_finite, clear_vector, solve_in_place
from nmdp_pin._kernels.record import indices, matrix, vector

MOST_FACES = 20  # largest number of faces; two or three are usual
_FALL, _LEAST = 1e-3, 0.02  # of the natural map's square, by a share of a step; and least share
_BELOW_ONE = 1.0 + 1e-15  # rounding error of a sum of shares
# Largest distance from the solution on a face to its projection at which it is the solution: faces
# that differ by the signs of rounding errors, as those of a body that rests, never settle.
_ROUNDING = 1e-12
_DEPENDENT = 1e-8  # share of a row of V that is left of it beside the others, if it is independent


class AffineWorks(NamedTuple):
    """Works F(x) = V'u + proximal (x - x0), u = motion + response V (x - x0) + lift sum(x - x0).

    The variables and the forces of block b are those from first[b] and row[b] to first[b + 1] and
    row[b + 1].

    Args:
        first: shape (blocks + 1,).
        row: shape (blocks + 1,).
        V: vertices of the blocks, shape (blocks, rows, m).
        motion: motions at x0, shape (f,).
        response: derivatives of the motions by the forces, shape (f, f).
        lift: derivatives of the motions by the sums of their own blocks, shape (f,).
        proximal: shape (blocks,).
    """

    first: Array
    row: Array
    V: Array
    motion: Array
    response: Array
    lift: Array
    proximal: Array


@jit
def works_at(works: AffineWorks, x0: Array, x: Array, u: Array, F: Array) -> None:
    """Works F at x, shape (n,), and motions u, shape (f,)."""
    forces, k, pressed = vector(u.size), 0, indices(u.size)
    for i in range(u.size):
        u[i] = works.motion[i]
    for b in range(works.first.size - 1):
        begin, end, row, total = works.first[b], works.first[b + 1], works.row[b], 0.0
        for e in range(begin, end):
            total += x[e] - x0[e]
        for i in range(row, works.row[b + 1]):
            force = 0.0
            for e in range(begin, end):
                force += works.V[b, i - row, e - begin] * (x[e] - x0[e])
            u[i] += works.lift[i] * total
            if force != 0.0:
                forces[k], pressed[k] = force, i
                k += 1
    for i in range(u.size):
        for c in range(k):
            u[i] += works.response[i, pressed[c]] * forces[c]
    for b in range(works.first.size - 1):
        begin, row = works.first[b], works.row[b]
        for e in range(begin, works.first[b + 1]):
            F[e] = works.proximal[b] * (x[e] - x0[e])
            for i in range(row, works.row[b + 1]):
                F[e] += works.V[b, i - row, e - begin] * u[i]


@jit
def curvatures(works: AffineWorks, curvature: Array) -> None:
    """Derivatives of the works by their own variables, without the proximal terms, shape (n,)."""
    for b in range(works.first.size - 1):
        begin, row = works.first[b], works.row[b]
        rows = works.row[b + 1] - row
        for e in range(works.first[b + 1] - begin):
            total = 0.0
            for i in range(rows):
                u = works.lift[row + i]
                for j in range(rows):
                    u += works.response[row + i, row + j] * works.V[b, j, e]
                total += works.V[b, i, e] * u
            curvature[begin + e] = total


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
def directions_of(
    works: AffineWorks, b: int, face: Array, x0: Array, x: Array, directions: Array
) -> int:
    """A point of a block on its face, and directions in which x - x0 can solve F = 0 from there.

    Of more free variables than forces only changes of forces are asked for: they decide all works,
    and what changes none stays as it is at x0, but for a tight sum.

    Args:
        works: the works.
        b: index of the block.
        face: variables above zero, then sums at one, shape (n + blocks,).
        x0: point at which the works are stated, shape (n,).
        x: output, of which the block is written, shape (n,).
        directions: output, shape (>= rows, m).

    Returns:
        The number of directions.
    """
    begin, rows = works.first[b], works.row[b + 1] - works.row[b]
    m = works.first[b + 1] - begin
    tight, k, p, last = face[x.size + b], 0, 0, -1
    for e in range(m):
        if face[begin + e]:
            p += 1
            last = e
    for e in range(m):
        x[begin + e] = 0.0
    if p == 0:
        return 0
    if p <= rows:
        for e in range(m):
            if face[begin + e] and not (tight and e == last):
                for c in range(m):
                    directions[k, c] = 0.0
                directions[k, e] = 1.0
                if tight:
                    directions[k, last] = -1.0
                k += 1
        if tight:
            x[begin + last] = 1.0
        return k
    total = 0.0
    for e in range(m):
        if face[begin + e]:
            x[begin + e] = x0[begin + e]
            total += x0[begin + e]
    if tight:
        for e in range(m):
            if face[begin + e]:
                x[begin + e] += (1.0 - total) / p
    for i in range(rows):
        mean, square = 0.0, 0.0
        for e in range(m):
            v = works.V[b, i, e] if face[begin + e] else 0.0
            directions[k, e] = v
            mean += v / p
            square += v * v
        if tight:
            for e in range(m):
                directions[k, e] -= mean if face[begin + e] else 0.0
        k += make_orthonormal(directions, k, m, _DEPENDENT * math.sqrt(square))
    return k


@jit
def make_orthonormal(directions: Array, k: int, m: int, least: float) -> bool:
    """Make direction k orthonormal to those before; False where no more than `least` is left."""
    for _ in range(2):  # the second time removes rounding
        for c in range(k):
            along = 0.0
            for e in range(m):
                along += directions[k, e] * directions[c, e]
            for e in range(m):
                directions[k, e] -= along * directions[c, e]
    length = 0.0
    for e in range(m):
        length += directions[k, e] * directions[k, e]
    length = math.sqrt(length)
    if not length > least:
        return False
    for e in range(m):
        directions[k, e] /= length
    return True


@jit
def solve_on_face(works: AffineWorks, x0: Array, face: Array, x: Array) -> bool:
    """Set x so that F + multiplier = 0 where free, 0 elsewhere, tight sums one; False: singular.

    The multiplier of a block leaves its equations with the sum of its directions, which is zero.
    """
    blocks, f = works.first.size - 1, works.motion.size
    most = works.V.shape[1]
    directions, mine = np.empty((blocks, most, works.V.shape[2])), indices(blocks + 1)
    k, mine[0] = 0, 0
    for b in range(blocks):
        k += directions_of(works, b, face, x0, x, directions[b])
        mine[b + 1] = k
    if k == 0:
        return True
    # what the directions do: forces, and the sums of their variables
    forces, sums, u, F = matrix(k, most), vector(k), vector(f), vector(x.size)
    works_at(works, x0, x, u, F)
    A, right = np.empty((k, k)), np.empty((k, 1))
    for b in range(blocks):
        begin, rows = works.first[b], works.row[b + 1] - works.row[b]
        m = works.first[b + 1] - begin
        for c in range(mine[b], mine[b + 1]):
            d = directions[b, c - mine[b]]
            sums[c], right[c, 0] = 0.0, 0.0
            for e in range(m):
                sums[c] += d[e]
                right[c, 0] -= d[e] * F[begin + e]
            for i in range(rows):
                forces[c, i] = 0.0
                for e in range(m):
                    forces[c, i] += works.V[b, i, e] * d[e]
    answer = vector(most)
    for b in range(blocks):
        row, rows = works.row[b], works.row[b + 1] - works.row[b]
        for other in range(blocks):
            at, long = works.row[other], works.row[other + 1] - works.row[other]
            for c in range(mine[other], mine[other + 1]):
                for i in range(rows):
                    answer[i] = works.lift[row + i] * sums[c] if other == b else 0.0
                    for j in range(long):
                        answer[i] += works.response[row + i, at + j] * forces[c, j]
                for a in range(mine[b], mine[b + 1]):
                    A[a, c] = 0.0
                    for i in range(rows):
                        A[a, c] += forces[a, i] * answer[i]
        for a in range(mine[b], mine[b + 1]):
            for c in range(mine[b], mine[b + 1]):
                for e in range(works.first[b + 1] - works.first[b]):
                    A[a, c] += works.proximal[b] * (
                        directions[b, a - mine[b], e] * directions[b, c - mine[b], e]
                    )
    if not solve_in_place(A, right):
        return False
    if not all_finite(right.ravel()):
        return False
    for b in range(blocks):
        begin = works.first[b]
        for c in range(mine[b], mine[b + 1]):
            for e in range(works.first[b + 1] - begin):
                x[begin + e] += right[c, 0] * directions[b, c - mine[b], e]
    return True


@jit
def solve_affine_vi(works: AffineWorks, x0: Array, x: Array) -> bool:
    """Find x in the set with F(x)' (y - x) >= 0 for every y in the set.

    The response need not be symmetric; where it is symmetric and positive definite, x minimises a
    quadratic function.

    Args:
        works: the works F, whose derivatives by their own variables are positive.
        x0: point at which they are stated and the search begins, shape (n,).
        x: output, the solution, feasible to the last bit, shape (n,).

    Returns:
        False where the faces do not settle, the derivative of F is singular on a face, or a number
        is not finite.
    """
    n, blocks, first = x0.size, works.first.size - 1, works.first
    z, Fz, F, u = vector(n), vector(n), vector(n), vector(works.motion.size)
    # One unit a block, so that the projection of a block is the usual one.
    unit = vector(blocks)
    curvatures(works, F)
    for b in range(blocks):
        unit[b] = 0.0
        for e in range(first[b], first[b + 1]):
            unit[b] = max(unit[b], F[e] + works.proximal[b])
        if not (unit[b] > 0.0 and unit[b] < np.inf):
            return False
    # At x0 itself only the motions count, as far as x0 from it the derivatives too.
    works_at(works, x0, x0, u, F)
    clear_vector(z)
    works_at(works, z, x0, u, Fz)
    if not (all_finite(F) and all_finite(Fz)):
        return False
    face, ordered, y = np.zeros(n + blocks, np.bool_), vector(n), vector(n)
    for i in range(n):
        x[i] = x0[i]
    here, _ = natural_map(x, F, unit, first, ordered, y, face)
    for _ in range(MOST_FACES):
        if not solve_on_face(works, x0, face, z):
            return False
        works_at(works, x0, z, u, Fz)
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
