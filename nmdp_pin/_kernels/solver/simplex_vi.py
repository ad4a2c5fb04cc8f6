"""Affine variational inequalities over a product of simplices, by an active-set method.

The set is that of blocks x_i >= 0, sum(x_i) <= 1. F = V'u is the work of the vertices V of a set of
forces V x on motions u, which follow from the motion dq that the forces cause. Each iteration
projects x - F(x) / unit onto the set, which determines a face, and solves F = 0 on that face; the
solution is found when the face no longer changes: Newton's method on the natural map
x - P(x - F(x) / unit). Steps are halved where that does not fall, as with many contacts. The first
face is that of the weights that are there, and where it leads nowhere the one that they project to.

A proximal term makes each block's own equations regular, which leaves one system for dq. What a
block adds to it is kept while its face stays, as that of most blocks does from face to face. Where
there are more forces than motions it is large, since they are not unique, and its centre follows
the solution until it no longer matters: the proximal point method.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from nmdp_pin._kernels.algebra.linear import (
    all_finite,
    clear_vector,
    copy_matrix,
    copy_vector,
    factor,
    lu_factor,
    lu_solve,
    solve_factored,
)
from nmdp_pin._kernels.compiler.jit import Array, jit
from nmdp_pin._kernels.compiler.record import indices, matrix, vector

MOST_FACES = 20  # largest number of faces; one or two are usual
_MORE_FACES = 5  # with another centre
_FALL, _LEAST = 1e-3, 0.02  # of the natural map's square, by a share of a step; and least share
_BELOW_ONE = 1.0 + 1e-15  # rounding error of a sum of shares
_TIGHT = 1.0 - 1e-9  # sum of a block at which it is one
_DEPENDENT = 1e-8  # share of a row of V that is left of it beside the others, if it is independent
_SLOW, _SMALLER = 0.75, 0.1  # share of its last move by which a centre moves on; the next term
_LEAST_PROXIMAL = 1e-6


class AffineVI(NamedTuple):
    """Find x and dq with A dq = J_force' V (x - x0) - G and F(x)' (y - x) >= 0 for feasible y.

    The works are F = V'u on u = motion + J_motion dq + lift sum(x - x0). The variables of block b
    are those from first[b] to first[b + 1]; it has rows[b] forces. J_force and J_motion hold what
    belongs to the felt[b] dofs that the block acts on or depends on.

    Args:
        first: shape (blocks + 1,).
        rows: shape (blocks,).
        V: vertices of the blocks, shape (blocks, r, m).
        motion: motions at x0, shape (blocks, r).
        dofs: those that each block feels, shape (blocks, k).
        felt: their numbers, shape (blocks,).
        J_force: as of `StageJacobians`, for those dofs, shape (blocks, r, k).
        J_motion: likewise.
        lift: derivatives of the motions by the sums of their own blocks, shape (blocks, r).
        A: shape (nv, nv).
        G: shape (nv,).
        unit: works of the blocks by a change of their variables, shape (blocks,).
        enough: works that do not matter, in units, shape (blocks,).
    """

    first: Array
    rows: Array
    V: Array
    motion: Array
    dofs: Array
    felt: Array
    J_force: Array
    J_motion: Array
    lift: Array
    A: Array
    G: Array
    unit: Array
    enough: Array


class Answers(NamedTuple):
    """Answers of the blocks on their faces: they move from x by -Y [1; dq] along directions D.

    Here dq is that of the k dofs that a block feels.

    Args:
        stale: whether they belong to another face, centre or proximal term, shape (blocks,).
        x: points on the faces, shape (n,).
        number: numbers of directions, shape (blocks,).
        D: directions, shape (blocks, r, m).
        Y: shape (blocks, r, 1 + k).
        wrench: J_force' V D, shape (blocks, r, k).
        push: generalised forces where dq is zero, shape (blocks, k).
    """

    stale: Array
    x: Array
    number: Array
    D: Array
    Y: Array
    wrench: Array
    push: Array


@jit
def dofs_of(J_force: Array, J_motion: Array, rows: Array, felt: Array) -> Array:
    """Dofs that blocks act on or depend on, in order, shape (blocks, nv).

    Args:
        J_force: shape (>= blocks, r, nv).
        J_motion: likewise.
        rows: numbers of forces, shape (blocks,).
        felt: output, numbers of dofs, shape (blocks,).
    """
    nv = J_force.shape[2]
    dofs = np.empty((rows.size, nv), np.int64)
    for b in range(rows.size):
        k = 0
        for l in range(nv):
            for i in range(rows[b]):
                if J_force[b, i, l] != 0.0 or J_motion[b, i, l] != 0.0:
                    dofs[b, k] = l
                    k += 1
                    break
        felt[b] = k
    return dofs


@jit
def of_dofs(J: Array, dofs: Array, felt: Array) -> Array:
    """Columns of J for the dofs of each block, shape (blocks, r, k), where k is the most of any."""
    most = 0
    for b in range(felt.size):
        most = max(most, felt[b])
    part = np.zeros((felt.size, J.shape[1], most))
    for b in range(felt.size):
        for i in range(J.shape[1]):
            for s in range(felt[b]):
                part[b, i, s] = J[b, i, dofs[b, s]]
    return part


@jit
def works_at(
    vi: AffineVI, proximal: float, x0: Array, centre: Array, dq: Array, x: Array, F: Array
) -> None:
    """Works F at x and dq with the proximal term around a centre, shape (n,)."""
    for b in range(vi.rows.size):
        begin, end, total = vi.first[b], vi.first[b + 1], 0.0
        for e in range(begin, end):
            total += x[e] - x0[e]
            F[e] = proximal * vi.unit[b] * (x[e] - centre[e])
        for i in range(vi.rows[b]):
            u = vi.motion[b, i] + vi.lift[b, i] * total
            for s in range(vi.felt[b]):
                u += vi.J_motion[b, i, s] * dq[vi.dofs[b, s]]
            for e in range(begin, end):
                F[e] += vi.V[b, i, e - begin] * u


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
def _threshold(y: Array, begin: int, m: int, ordered: Array) -> tuple[float, float]:
    """What is subtracted from a block of y in its projection, where sum(max(y, 0)) > 1.

    That is the threshold tau with sum(max(y - tau, 0)) = 1, in two parts: the largest entry of the
    block and the rest. Beside entries of 1e16 and more, which weights of a contact have that can
    give next to nothing, one is lost.
    """
    for e in range(m):  # ascending, by insertion
        value, place = y[begin + e], e
        while place > 0 and ordered[place - 1] > value:
            ordered[place] = ordered[place - 1]
            place -= 1
        ordered[place] = value
    top, total, tau = ordered[m - 1], 0.0, 0.0
    for e in range(m):
        value = ordered[m - 1 - e]
        total += value - top
        threshold = (total - 1.0) / (e + 1)
        if value - top > threshold:
            tau = threshold
    return top, tau


@jit
def natural_map(
    vi: AffineVI,
    proximal: float,
    passing: float,
    x: Array,
    F: Array,
    centre: Array,
    ordered: Array,
    y: Array,
    face: Array,
) -> float:
    """Squared distance from x to the projection of y = x - F / unit, in units, and its face.

    It is zero where no block is farther from its projection than matters, or than a proximal term
    moves it that goes as its centre follows: faces that differ by less never settle.

    Args:
        vi: the inequality.
        proximal: proximal term, in units.
        passing: what goes of it as its centre follows.
        x: point, shape (n,).
        F: works there, shape (n,).
        centre: centre of the proximal term, shape (n,).
        ordered: workspace, shape (n,).
        y: workspace, shape (n,).
        face: output, variables above zero, then sums at one, shape (n + blocks,).
    """
    square, near = 0.0, True
    for b in range(vi.rows.size):
        begin, end, farthest, moved = vi.first[b], vi.first[b + 1], 0.0, 0.0
        unit = (1.0 + proximal) * vi.unit[b]  # one a block, so that its projection is the usual one
        total, top, tau = 0.0, 0.0, 0.0
        for e in range(begin, end):
            y[e] = x[e] - F[e] / unit
            total += max(y[e], 0.0)
        face[x.size + b] = total > 1.0
        if total > 1.0:
            top, tau = _threshold(y, begin, end - begin, ordered)
        for e in range(begin, end):
            face[e] = y[e] - top > tau
            off = x[e] - max(y[e] - top - tau, 0.0)
            square += unit * off * off
            farthest = max(farthest, abs(off))
            moved = max(moved, abs(x[e] - centre[e]))
        near = near and farthest <= max(vi.enough[b], passing * moved)
    return 0.0 if near and square < np.inf else square  # a NaN is not near


@jit
def face_of(vi: AffineVI, x: Array, face: Array) -> None:
    """Face of a feasible point, shape (n + blocks,)."""
    for b in range(vi.rows.size):
        total = 0.0
        for e in range(vi.first[b], vi.first[b + 1]):
            face[e] = x[e] > 0.0
            total += x[e]
        face[x.size + b] = total >= _TIGHT


@jit
def directions_of(
    vi: AffineVI, b: int, face: Array, centre: Array, x: Array, directions: Array
) -> int:
    """A point of a block on its face, and directions in which x can solve F = 0 from there.

    Of more free variables than forces only changes of forces are asked for: they decide all works,
    and what changes none stays as it is at the centre, but for a tight sum.

    Args:
        vi: the inequality.
        b: index of the block.
        face: variables above zero, then sums at one, shape (n + blocks,).
        centre: centre of the proximal term, shape (n,).
        x: output, of which the block is written, shape (n,).
        directions: output, shape (>= rows, m).

    Returns:
        The number of directions.
    """
    begin, rows = vi.first[b], vi.rows[b]
    m = vi.first[b + 1] - begin
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
            x[begin + e] = centre[begin + e]
            total += centre[begin + e]
    if tight:
        for e in range(m):
            if face[begin + e]:
                x[begin + e] += (1.0 - total) / p
    for i in range(rows):
        mean, square = 0.0, 0.0
        for e in range(m):
            v = vi.V[b, i, e] if face[begin + e] else 0.0
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
def answer_of(
    vi: AffineVI, b: int, term: float, x0: Array, centre: Array, face: Array, answers: Answers
) -> bool:
    """Write the answer of a block; False where its equations are singular.

    Args:
        vi: the inequality.
        b: index of the block.
        term: proximal term of the block.
        x0: point at which the inequality is stated, shape (n,).
        centre: centre of the proximal term, shape (n,).
        face: variables above zero, then sums at one, shape (n + blocks,).
        answers: output, of which the block is written.
    """
    begin, rows, felt, x = vi.first[b], vi.rows[b], vi.felt[b], answers.x
    D, Y, wrench, push = answers.D[b], answers.Y[b], answers.wrench[b], answers.push[b]
    m, total, k = vi.first[b + 1] - begin, 0.0, directions_of(vi, b, face, centre, x, D)
    answers.number[b] = k
    for s in range(felt):
        push[s] = 0.0
    for e in range(m):
        total += x[begin + e] - x0[begin + e]
    for i in range(rows):
        force = 0.0
        for e in range(m):
            force += vi.V[b, i, e] * (x[begin + e] - x0[begin + e])
        if force != 0.0:
            for s in range(felt):
                push[s] += vi.J_force[b, i, s] * force
    if k == 0:
        return True
    M, pivots = matrix(k, k), indices(k)
    for a in range(k):
        Y[a, 0], lift = 0.0, 0.0
        for e in range(m):
            Y[a, 0] += term * D[a, e] * (x[begin + e] - centre[begin + e])
        for s in range(felt):
            Y[a, 1 + s] = wrench[a, s] = 0.0
        for i in range(rows):
            force = 0.0
            for e in range(m):
                force += vi.V[b, i, e] * D[a, e]
            lift += force * vi.lift[b, i]
            Y[a, 0] += force * (vi.motion[b, i] + vi.lift[b, i] * total)
            for s in range(felt):
                Y[a, 1 + s] += force * vi.J_motion[b, i, s]
                wrench[a, s] += force * vi.J_force[b, i, s]
        for c in range(k):
            M[a, c] = 0.0
            for e in range(m):
                M[a, c] += (lift + term * D[a, e]) * D[c, e]
    if not lu_factor(M, pivots):
        return False
    lu_solve(M, pivots, Y[:k])
    for a in range(k):
        for s in range(felt):
            push[s] -= wrench[a, s] * Y[a, 0]
    return True


@jit
def solve_on_face(
    vi: AffineVI,
    proximal: float,
    x0: Array,
    centre: Array,
    face: Array,
    fresh: bool,
    answers: Answers,
    LU: Array,
    pivots: Array,
    x: Array,
    dq: Array,
) -> bool:
    """Set x and dq so that F + multiplier = 0 where free, x = 0 elsewhere, tight sums one.

    The multiplier of a block leaves its equations with the sum of its directions, which is zero.

    Args:
        vi: the inequality.
        proximal: proximal term, in units.
        x0: point at which it is stated, shape (n,).
        centre: centre of the proximal term, shape (n,).
        face: variables above zero, then sums at one, shape (n + blocks,).
        fresh: whether the face or the term differs from that of `LU`.
        answers: those of the blocks; stale ones are written.
        LU: factors of the matrix of dq, shape (nv, nv).
        pivots: those of `LU`, shape (nv,).
        x: output, shape (n,).
        dq: output, shape (nv,).

    Returns:
        False where equations are singular or a number is not finite.
    """
    nv, right = dq.size, np.empty((dq.size, 1))
    if fresh:
        copy_matrix(vi.A, LU)
    for l in range(nv):
        right[l, 0] = -vi.G[l]
    for b in range(vi.rows.size):
        if answers.stale[b]:
            term = proximal * vi.unit[b]
            if not answer_of(vi, b, term, x0, centre, face, answers):
                return False
            answers.stale[b] = False
        for s in range(vi.felt[b]):
            l = vi.dofs[b, s]
            right[l, 0] += answers.push[b, s]
            if fresh:
                for a in range(answers.number[b]):
                    wrench = answers.wrench[b, a, s]
                    for c in range(vi.felt[b]):
                        LU[l, vi.dofs[b, c]] += wrench * answers.Y[b, a, 1 + c]
    if fresh and not factor(LU, pivots):
        return False
    solve_factored(LU, pivots, right)
    for l in range(nv):
        dq[l] = right[l, 0]
    copy_vector(answers.x, x)
    for b in range(vi.rows.size):
        for a in range(answers.number[b]):
            along = answers.Y[b, a, 0]
            for s in range(vi.felt[b]):
                along += answers.Y[b, a, 1 + s] * dq[vi.dofs[b, s]]
            for e in range(vi.first[b], vi.first[b + 1]):
                x[e] -= along * answers.D[b, a, e - vi.first[b]]
    return all_finite(dq) and all_finite(x)


@jit
def take_face(first: Array, other: Array, face: Array, stale: Array) -> None:
    """Copy another face; the answers of blocks where it differs become stale, and no others."""
    n = first[-1]
    for b in range(stale.size):
        changed = face[n + b] != other[n + b]
        for e in range(first[b], first[b + 1]):
            changed = changed or face[e] != other[e]
            face[e] = other[e]
        face[n + b] = other[n + b]
        stale[b] = changed


@jit
def _distance_left(vi: AffineVI, proximal: float, x: Array, centre: Array) -> tuple[float, bool]:
    """Largest distance from the centre, and whether the proximal term there does not matter."""
    most, enough = 0.0, True
    for b in range(vi.rows.size):
        of_block = 0.0
        for e in range(vi.first[b], vi.first[b + 1]):
            of_block = max(of_block, abs(x[e] - centre[e]))
        most = max(most, of_block)
        enough = enough and proximal * of_block <= vi.enough[b]
    return most, enough


@jit
def solve_affine_vi(
    vi: AffineVI, proximal: float, centres: int, x0: Array, x: Array, dq: Array
) -> bool:
    """Solve an affine variational inequality.

    The derivative of u by the forces need not be symmetric; where it is symmetric and positive
    definite, x minimises a quadratic function.

    Args:
        vi: the inequality.
        proximal: proximal term at first, in units.
        centres: how often its centre may follow the solution; 0: it is x0. Where the centre goes on
            and on, the term becomes smaller.
        x0: point at which the inequality is stated and the search begins, shape (n,).
        x: output, the solution, feasible to the last bit, shape (n,).
        dq: output, the motion, shape (nv,).

    Returns:
        False where the faces do not settle, the equations are singular on a face, or a number is
        not finite.
    """
    n, nv, blocks, first = x0.size, dq.size, vi.rows.size, vi.first
    z, Fz, F, dz, centre = vector(n), vector(n), vector(n), vector(nv), vector(n)
    LU, pivots, ordered, y = np.empty((nv, nv)), indices(nv), vector(n), vector(n)
    face, other = np.zeros(n + blocks, np.bool_), np.zeros(n + blocks, np.bool_)
    rows, m, felt = vi.V.shape[1], vi.V.shape[2], vi.J_motion.shape[2]
    answers = Answers(
        stale=np.ones(blocks, np.bool_),
        x=vector(n),
        number=indices(blocks),
        D=np.empty((blocks, rows, m)),
        Y=np.empty((blocks, rows, 1 + felt)),
        wrench=np.empty((blocks, rows, felt)),
        push=np.empty((blocks, felt)),
    )
    for b in range(blocks):
        if not (vi.unit[b] > 0.0 and vi.unit[b] < np.inf):
            return False
    copy_vector(x0, x)
    copy_vector(x0, centre)
    clear_vector(dq)
    works_at(vi, proximal, x0, centre, dq, x, F)
    if not all_finite(F):
        return False
    face_of(vi, x0, face)
    # the motion is not yet the one that the forces at x0 cause
    here, last, fresh, guessed = np.inf, np.inf, True, True
    settled, at_centre = False, vector(nv)  # with a former centre, and the motion there
    faces = MOST_FACES
    while faces > 0:
        faces -= 1
        if not solve_on_face(vi, proximal, x0, centre, face, fresh, answers, LU, pivots, z, dz):
            break
        works_at(vi, proximal, x0, centre, dz, z, Fz)
        passing, fresh = proximal if centres > 0 else 0.0, False
        there = natural_map(vi, proximal, passing, z, Fz, centre, ordered, y, other)
        share, same = 1.0, np.array_equal(face, other)
        while not same and not there <= (1.0 - _FALL * share) * here and share > _LEAST:
            share *= 0.5
            for i in range(n):
                z[i] = 0.5 * (x[i] + z[i])
                Fz[i] = 0.5 * (F[i] + Fz[i])
            for l in range(nv):
                dz[l] = 0.5 * (dq[l] + dz[l])
            there = natural_map(vi, proximal, passing, z, Fz, centre, ordered, y, other)
        if same or there == 0.0:
            moved, enough = _distance_left(vi, proximal, z, centre)
            copy_vector(z, x)
            copy_vector(dz, dq)
            clip_to_simplices(x, first)
            if centres == 0 or enough:
                return True
            if moved > _SLOW * last:
                if proximal <= _LEAST_PROXIMAL:
                    return True
                proximal, fresh, moved = max(_SMALLER * proximal, _LEAST_PROXIMAL), True, np.inf
            copy_vector(x, centre)
            copy_vector(dq, at_centre)
            settled, faces = True, _MORE_FACES
            here, last, centres = np.inf, moved, centres - 1
            answers.stale.fill(True)
            continue
        fresh = True
        if share <= _LEAST and settled:
            break
        if share <= _LEAST and guessed:  # once more, from where x0 projects to
            guessed, here, faces = False, np.inf, MOST_FACES
            copy_vector(x0, x)
            clear_vector(dq)
            works_at(vi, proximal, x0, centre, dq, x, F)
            natural_map(vi, proximal, 0.0, x, F, centre, ordered, y, face)
            answers.stale.fill(True)
            continue
        copy_vector(z, x)
        copy_vector(Fz, F)
        copy_vector(dz, dq)
        here = there
        take_face(first, other, face, answers.stale)
    if settled:
        copy_vector(centre, x)
        copy_vector(at_centre, dq)
    return settled
