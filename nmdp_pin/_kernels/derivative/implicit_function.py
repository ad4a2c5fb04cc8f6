"""The implicit function theorem for a stage: how its end answers its start and its parameters.

With z and p as in `step_derivatives`, dq = P dw - G_q^-1 dG, and along free weights
r_q dq + r_w dw + dr + dlambda = 0; dG and dr are those of z and p. The weights stay on a face of
their simplices (`weight_face`).
"""

from __future__ import annotations

import math

import numpy as np

from nmdp_pin._kernels.algebra.linear import add_product, solve_in_place, solve_redundant
from nmdp_pin._kernels.compiler.jit import Array, jit
from nmdp_pin._kernels.derivative.stage_rates import StageRates
from nmdp_pin._kernels.derivative.weight_face import (
    Face,
    block_scales,
    face_basis,
    find_face,
    open_face,
)


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
    elif find_face(rates, moves, known, face):
        open_face(rates, face)
    if smoothing > 0.0 and not free:
        _solve_smoothed(rates, face, H, turned, smoothing, dw)
    else:
        _solve_on_face(rates, face, H, turned, dw)
    add_product(P, dw, dq)
    return True


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
