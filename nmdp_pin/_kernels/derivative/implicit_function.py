"""The implicit function theorem for a stage: how its end answers its start and its parameters.

With z and p as in `step_derivatives`, dq = P dw - G_q^-1 dG, and along free weights
r_q dq + r_w dw + dr + dlambda = 0; dG and dr are those of z and p. The weights stay on a face of
their simplices: a row of weights, which are at least zero and at most one in sum, is that of a
contact, or of a joint with a stop or dry friction.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from nmdp_pin._kernels.algebra.linear import add_product, eliminate, solve_in_place, solve_redundant
from nmdp_pin._kernels.compiler.jit import Array, jit
from nmdp_pin._kernels.solver.affine_solution import SOLVED, solve_affine_vi
from nmdp_pin._kernels.solver.affine_vi import AffineVI
from nmdp_pin._kernels.solver.force_sets import SIMPLEX, new_sets

_POSITIVE = 1e-9  # share of a row's weights that counts as more than zero
_FULL = 1e-9  # what a sum of weights may lack of one
_LEAST = 1e-6  # sum of weights that is its own unit
_UNIT = 1e-2  # least sum of weights of a row of which changes are shares
_INSIDE = 1e-4  # share of a row's weights below which a weight cannot give any away
_FELT = 1e-11  # share of the largest force of a vertex; dofs that feel less feel nothing
_MOST = 1e4  # largest change of a weight, in units of the least one
_ZERO = 1e-6  # residual of a system that counts as solved, and multiplier that counts as none
_CENTRED = 1e-12  # natural map that is zero
_LEAST_SCALE = 1e-9  # least curvature of a row, relative to the largest one


class StageRates(NamedTuple):
    """Derivatives of the equations of a stage at its end, with nw weights in k rows.

    Args:
        G_q: derivative dG/dq, shape (nv, nv).
        G_z: derivative dG/dz, shape (nv, nz).
        v_q: derivative dv/dq of the velocity at the end, shape (nv, nv).
        v_z: derivative dv/dz, shape (nv, nz).
        first: first weight of each row, shape (k + 1,).
        w: weights, shape (nw,).
        forces: generalised forces of the vertices, -(dG/dw)', shape (nw, nv).
        r: residual that vanishes along free weights but for the multiplier of their sum [J], (nw,).
        r_q: derivative dr/dq, shape (nw, nv).
        r_w: derivative dr/dw with q held, shape (nw, nw), or (0, 0) where it is zero.
        r_z: derivative dr/dz, shape (nw, nz).
        bends: rows whose products with the responses dq/dw estimate dr_j/dw_j, (nw, nv).
    """

    G_q: Array
    G_z: Array
    v_q: Array
    v_z: Array
    first: Array
    w: Array
    forces: Array
    r: Array
    r_q: Array
    r_w: Array
    r_z: Array
    bends: Array


class Face(NamedTuple):
    """Face of the simplices on which the weights stay.

    Args:
        free: whether each weight may move, shape (nw,).
        tight: whether the sum of each row stays at one, shape (k,).
        kink: whether a weight is zero and may increase, shape (nw,).
        kink_sum: whether a sum is one and may decrease, shape (k,).
        slack: r + lambda of each weight [J], shape (nw,).
        multiplier: lambda of each row [J], shape (k,).
        scale: curvature of each row [J], shape (nw,).
    """

    free: Array
    tight: Array
    kink: Array
    kink_sum: Array
    slack: Array
    multiplier: Array
    scale: Array


@jit
def new_rates(nv: int, nz: int, k: int, nw: int, moving: bool) -> StageRates:
    """Memory for the derivatives of a stage with nw weights in k rows, with r_w if `moving`."""
    return StageRates(
        np.empty((nv, nv)),
        np.empty((nv, nz)),
        np.empty((nv, nv)),
        np.empty((nv, nz)),
        np.empty(k + 1, np.int64),
        np.empty(nw),
        np.empty((nw, nv)),
        np.empty(nw),
        np.empty((nw, nv)),
        np.empty((nw, nw) if moving else (0, 0)),
        np.empty((nw, nz)),
        np.empty((nw, nv)),
    )


@jit
def new_face(k: int, nw: int) -> Face:
    """Memory for the face of nw weights in k rows."""
    return Face(
        np.zeros(nw, np.bool_),
        np.zeros(k, np.bool_),
        np.zeros(nw, np.bool_),
        np.zeros(k, np.bool_),
        np.zeros(nw),
        np.zeros(k),
        np.zeros(nw),
    )


@jit
def block_scales(curvature: Array, first: Array, scale: Array) -> bool:
    """Largest curvature of each row, the unit of its weights; False where all are zero.

    Contacts differ by orders of magnitude: one about to lift off responds strongly to its weights.

    Args:
        curvature: curvature along each variable, shape (n,).
        first: first variable of each row, shape (k + 1,).
        scale: output, shape (n,).
    """
    largest = 0.0
    for b in range(first.size - 1):
        of_row = 0.0
        for e in range(first[b], first[b + 1]):
            of_row = max(of_row, abs(curvature[e]))
        largest = max(largest, of_row)
        for e in range(first[b], first[b + 1]):
            scale[e] = of_row
    for e in range(curvature.size):
        scale[e] = max(scale[e], _LEAST_SCALE * largest)
    return largest > 0.0


@jit
def add_by_numbers(A: Array, Z: Array, C: Array) -> None:
    """C += A [1; Z]: derivatives by z become those by the numbers, which begin with the start.

    Args:
        A: derivatives by z, shape (m, nz).
        Z: as in `respond`.
        C: shape (m, >= n).
    """
    start = A.shape[1] - Z.shape[0]
    for i in range(A.shape[0]):
        for k in range(start):
            C[i, k] += A[i, k]
    add_product(A[:, start:], Z, C)


@jit
def respond(
    rates: StageRates,
    G_p: Array,
    r_p: Array,
    Z: Array,
    known: float,
    smoothing: float,
    free: bool,
    face: Face,
    dq: Array,
) -> bool:
    """Derivatives of q at the end of a stage by n numbers; False where dG/dq is singular.

    The numbers begin with the start of the step.

    Args:
        rates: derivatives of the stage's equations.
        G_p: derivative dG/dp, p being the last ones of the numbers, shape (nv, np).
        r_p: derivative dr/dp, of the last ones of p, shape (nw, <= np).
        Z: derivatives by the numbers of the ends of the stages before, shape (nz - 2 nv, n).
        known: smallest motion that the end resolves [m, rad].
        smoothing: share of a row's weights up to which they are known; 0 is exact.
        free: whether all may move, as forces whose natural map r is.
        face: output, kinks among others.
        dq: output, shape (nv, n).
    """
    nv, n, nw = rates.G_q.shape[0], dq.shape[1], rates.w.size
    X = np.zeros((nv, n + nw))
    add_by_numbers(rates.G_z, Z, X)
    for i in range(nv):
        for j in range(G_p.shape[1]):
            X[i, n - G_p.shape[1] + j] += G_p[i, j]
        for j in range(nw):
            X[i, n + j] = rates.forces[j, i]
    if not solve_in_place(rates.G_q.copy(), X):
        return False
    P = np.empty((nv, nw))
    for i in range(nv):
        for j in range(n):
            dq[i, j] = -X[i, j]
        for j in range(nw):
            P[i, j] = X[i, n + j]
    if nw == 0:
        return True
    # dr/dw with q following, and dr with the weights held
    H, turned, curvature = np.zeros((nw, nw)), np.zeros((nw, n)), np.empty(nw)
    moves, dw = np.empty(nw), np.zeros((nw, n))  # how far a weight moves q
    for i in range(nw):
        total, largest = 0.0, 0.0
        for l in range(nv):
            total += rates.bends[i, l] * P[l, i]
            largest = max(largest, abs(P[l, i]))
        curvature[i], moves[i] = abs(total), largest
        for j in range(rates.r_w.shape[0]):
            H[i, j] = rates.r_w[i, j]
        for j in range(r_p.shape[1]):
            turned[i, n - r_p.shape[1] + j] = r_p[i, j]
    add_product(rates.r_q, P, H)
    add_product(rates.r_q, dq, turned)
    add_by_numbers(rates.r_z, Z, turned)
    if not block_scales(curvature, rates.first, face.scale):
        face.scale[:] = 1.0
    for i in range(nw):
        moves[i] /= face.scale[i]
    if free:
        face.free[:] = True
    elif _find_face(rates, moves, known, face):
        _open_face(rates, face)
    if smoothing > 0.0 and not free:
        _solve_smoothed(rates, face, H, turned, smoothing, dw)
    else:
        _solve_on_face(rates, face, H, turned, dw)
    add_product(P, dw, dq)
    return True


@jit
def _find_face(rates: StageRates, moves: Array, known: float, face: Face) -> bool:
    """Write the face on which the weights stay; True where some multipliers vanish on it.

    The multiplier of a weight counts as none where the weight would move q by less than `known`;
    `moves` are the motions for each joule.
    """
    some = False
    for b in range(face.tight.size):
        begin, end = rates.first[b], rates.first[b + 1]
        total, along, largest = 0.0, 0.0, 0.0
        for e in range(begin, end):
            total += rates.w[e]
            along += rates.w[e] * rates.r[e]
        face.tight[b] = total >= 1.0 - _FULL
        face.multiplier[b] = -along / total if face.tight[b] else 0.0
        for e in range(begin, end):
            face.slack[e] = rates.r[e] + face.multiplier[b]
            face.free[e] = rates.w[e] > _POSITIVE * max(total, _LEAST)
            felt = False
            for l in range(rates.forces.shape[1]):
                felt |= rates.forces[e, l] != 0.0
            weak = felt and not face.free[e] and abs(face.slack[e]) * moves[e] <= known
            face.kink[e] = weak
            some |= weak
            if face.free[e]:
                largest = max(largest, moves[e])
        face.kink_sum[b] = face.tight[b] and abs(face.multiplier[b]) * largest <= known
        some |= face.kink_sum[b]
    return some


@jit
def _open_face(rates: StageRates, face: Face) -> None:
    """Free the weights without a multiplier that are zero by chance; the others stay kinks.

    Where contacts are redundant, weights are not unique, and one may be zero by chance: the same
    generalised force is possible with all of them above zero. A change d of the weights and of what
    sums lack of one has to leave the forces and the tight sums: A d = 0, with d >= 0 where there is
    nothing to give. Elimination of the others leaves B d = 0.
    """
    nv, nw, k = rates.forces.shape[1], rates.w.size, face.tight.size
    # variables: weights, and what sums lack of one; those that may only grow are `held`
    used, held = np.zeros(nw + k, np.bool_), np.zeros(nw + k, np.bool_)
    A, size = np.zeros((nv + k, nw + k)), np.zeros(nv)
    for b in range(k):
        begin, end = rates.first[b], rates.first[b + 1]
        total = 0.0
        for e in range(begin, end):
            total += rates.w[e]
        unit = max(total, _UNIT)
        for e in range(begin, end):
            used[e] = face.free[e] or face.kink[e]
            held[e] = rates.w[e] < _INSIDE * unit
            A[nv + b, e] = 1.0
            for l in range(nv):
                A[l, e] = unit * rates.forces[e, l]
                size[l] = max(size[l], abs(A[l, e]))
        used[nw + b] = not face.tight[b] or face.kink_sum[b]
        held[nw + b] = 1.0 - total < _INSIDE * unit
        A[nv + b, nw + b] = 1.0
    largest = 0.0
    for l in range(nv):
        largest = max(largest, size[l])
    others, few = 0, np.empty(nw + k, np.int64)
    n = 0
    for i in range(nw + k):
        others += used[i] and not held[i]
        if used[i] and held[i]:
            few[n] = i
            n += 1
    free, B, order = np.zeros((nv + k, others)), np.zeros((nv + k, n)), np.empty(others, np.int64)
    for l in range(nv + k):
        share = 1.0
        if l < nv:
            share = 1.0 / size[l] if size[l] > _FELT * largest else 0.0
        c, d = 0, 0
        for i in range(nw + k):
            if used[i] and held[i]:
                B[l, d] = share * A[l, i]
                d += 1
            elif used[i]:
                free[l, c] = share * A[l, i]
                c += 1
    rank = eliminate(free, others, B, order)
    positive = np.ones(n, np.bool_)
    _positive_solutions(B[rank:], positive)
    for d in range(n):
        if positive[d] and few[d] < nw:
            face.free[few[d]] = True
            face.kink[few[d]] = False
        elif positive[d] and face.kink_sum[few[d] - nw]:
            face.tight[few[d] - nw] = face.kink_sum[few[d] - nw] = False


@jit
def _positive_solutions(B: Array, positive: Array) -> None:
    """Mark the entries that are above zero in some solution of B d = 0, d >= 0.

    With the least residual y = B (1 + e), e >= 0, every solution has (B'y) . d = 0 with B'y >= 0: d
    vanishes where B'y does not (Stiemke's lemma). Without these entries there is another y, until
    it is zero.
    """
    rows, n = B.shape
    while True:
        index, m, largest = np.empty(n, np.int64), 0, 0.0
        for j in range(n):
            if positive[j]:
                index[m] = j
                m += 1
        if m == 0 or rows == 0:
            return
        square = 0.0
        for i in range(rows):
            total = 0.0
            for a in range(m):
                total += B[i, index[a]]
            square += total * total
        if square <= _ZERO**2:
            return
        V, e, sums = np.empty((1, rows, m)), np.zeros(m), np.zeros((1, rows))
        for a in range(m):
            of_column = 0.0
            for i in range(rows):
                V[0, i, a] = B[i, index[a]]
                sums[0, i] += V[0, i, a]
                of_column += V[0, i, a] ** 2
            largest = max(largest, _MOST * of_column)
        if largest == 0.0:
            return
        # the motion is that of the residual itself
        J, motion = np.zeros((1, m, rows)), np.zeros((1, m))
        for a in range(m):
            for i in range(rows):
                J[0, a, i] = V[0, i, a]
                motion[0, a] += V[0, i, a] * sums[0, i]
        one, none = np.zeros(1), np.zeros((1, m))
        sets = new_sets(1, 0, 0.0, 1.0)
        sets.kind[0], sets.first[1], sets.rho[0] = SIMPLEX, m, 1.0 / largest
        vi = AffineVI(
            sets=sets,
            J_force=J,
            J_motion=J,
            of_depth=np.zeros((1, rows)),
            motion=motion,
            depth=one,
            lift=none,
            dofs=np.arange(rows).reshape((1, rows)),
            felt=np.array([rows]),
            A=np.eye(rows) / _MOST,
            G=np.zeros(rows),
            proximal=np.zeros(1),
            held=np.zeros(m),
            length=np.ones(1),
            enough=np.full(1, _CENTRED),
            rough=np.full(m, _CENTRED),
            rounding=np.zeros(1),
            groups=np.array([0, rows]),
            coupled=np.ones((1, 1), np.bool_),
        )
        if solve_affine_vi(vi, np.zeros(m), e, np.zeros(rows)) != SOLVED:
            positive[:] = False
            return
        y = np.zeros(rows)
        square = 0.0
        for i in range(rows):
            for a in range(m):
                y[i] += B[i, index[a]] * (1.0 + _MOST * e[a])
            square += y[i] * y[i]
        if square <= _ZERO**2:
            return
        removed = False
        for a in range(m):
            total = 0.0
            for i in range(rows):
                total += B[i, index[a]] * y[i]
            if total > _ZERO * square:
                positive[index[a]] = False
                removed = True
        if not removed:
            positive[:] = False
            return


@jit
def _solve_on_face(rates: StageRates, face: Face, H: Array, turned: Array, dw: Array) -> None:
    """Dw on the face, shape (nw, n).

    Along tight sums weights move in an orthonormal basis of the changes that keep the sum: a single
    free weight stays.
    """
    nw, n = turned.shape
    basis = np.zeros((nw, nw))
    columns = face_basis(face.free, face.tight, rates.first, face.scale, basis)
    if columns == 0:
        return
    half, A = np.zeros((columns, nw)), np.zeros((columns, columns))
    b, x = np.zeros((columns, n)), np.zeros((columns, n))
    for i in range(columns):
        for e in range(nw):
            p = basis[e, i]
            if p != 0.0:
                for j in range(nw):
                    half[i, j] += p * H[e, j]
                for j in range(n):
                    b[i, j] -= p * turned[e, j]
    add_product(half, basis[:, :columns], A)
    # where a contact slides much further than it is deep its rows outweigh those of the others
    for i in range(columns):
        size = 1.0
        for j in range(columns):
            size = max(size, abs(A[i, j]))
        for j in range(columns):
            A[i, j] /= size
        for j in range(n):
            b[i, j] /= size
    solve_redundant(A, b, x)
    add_product(basis[:, :columns], x, dw)


@jit
def face_basis(free: Array, tight: Array, first: Array, scale: Array, basis: Array) -> int:
    """Changes of the weights along a face as columns, over the roots of the curvatures.

    They are unit vectors, or orthonormal ones that keep the sum where it is tight.

    Args:
        free: whether each weight moves, shape (nw,).
        tight: whether the sum of each row stays, shape (k,).
        first: first weight of each row, shape (k + 1,).
        scale: curvature of each row, shape (nw,).
        basis: output, zero on entry, shape (nw, nw).

    Returns:
        Number of columns.
    """
    column = 0
    for c in range(tight.size):
        if first[c] == first[c + 1]:
            continue
        unit, before = 1.0 / math.sqrt(scale[first[c]]), 0
        for e in range(first[c], first[c + 1]):
            if not free[e]:
                continue
            if not tight[c]:
                basis[e, column] = unit
                column += 1
                continue
            if before > 0:
                size = unit / math.sqrt(before * (before + 1.0))
                for i in range(first[c], e):
                    if free[i]:
                        basis[i, column] = size
                basis[e, column] = -before * size
                column += 1
            before += 1
    return column


@jit
def _solve_smoothed(
    rates: StageRates, face: Face, H: Array, turned: Array, smoothing: float, dw: Array
) -> None:
    """Dw with complementarity w s = kappa in place of w s = 0, kappa = smoothing^2, shape (nw, n).

    With z = w - s / scale the face is the sign of z; here a weight follows its condition by the
    share theta = (1 + z / sqrt(z^2 + 4 kappa)) / 2 and stays by the rest. Sums likewise.
    """
    (nw, n), k, w = turned.shape, face.tight.size, rates.w
    A, right, x = np.zeros((nw + k, nw + k)), np.zeros((nw + k, n)), np.zeros((nw + k, n))
    for b in range(k):
        begin, end, gap = rates.first[b], rates.first[b + 1], 1.0
        for e in range(begin, end):
            gap -= w[e]
            theta = _share(w[e] - face.slack[e] / face.scale[e], smoothing)
            follow = theta / face.scale[e]
            for j in range(nw):
                A[e, j] = follow * H[e, j]
            A[e, e] += 1.0 - theta
            A[e, nw + b] = theta
            for j in range(n):
                right[e, j] = -follow * turned[e, j]
        of_sum = face.scale[begin]
        theta = _share(gap - face.multiplier[b] / of_sum, smoothing)
        for e in range(begin, end):
            A[nw + b, e] = theta - 1.0
        A[nw + b, nw + b] = theta
    solve_redundant(A, right, x)
    for e in range(nw):
        for j in range(n):
            dw[e, j] = x[e, j]


@jit
def _share(z: float, smoothing: float) -> float:
    return 0.5 * (1.0 + z / math.sqrt(z * z + 4.0 * smoothing * smoothing))
