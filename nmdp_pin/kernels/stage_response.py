"""Algebra of the implicit function theorem at the end of a stage."""

from __future__ import annotations

import numpy as np

from nmdp_pin.kernels.jit import jit
from nmdp_pin.kernels.linear import lu_factor, lu_solve


@jit
def add_product(A: np.ndarray, B: np.ndarray, C: np.ndarray) -> None:
    """C += A B."""
    for i in range(A.shape[0]):
        for k in range(A.shape[1]):
            a = A[i, k]
            if a != 0.0:
                for j in range(B.shape[1]):
                    C[i, j] += a * B[k, j]


@jit
def motion_response(
    G_q: np.ndarray,
    G_z: np.ndarray,
    G_p: np.ndarray,
    Z: np.ndarray,
    forces: np.ndarray,
    dq: np.ndarray,
    P: np.ndarray,
) -> bool:
    """Dq = -G_q^-1 (G_z Z + G_p), with the weights held, and P = G_q^-1 forces'.

    Args:
        G_q: shape (nv, nv).
        G_z: shape (nv, nz).
        G_p: shape (nv, np), added to the last columns.
        Z: shape (nz, K).
        forces: shape (nw, nv).
        dq: an output, shape (nv, K).
        P: an output, shape (nv, nw).

    Returns:
        False where G_q is singular.
    """
    nv, n, nw = G_q.shape[0], Z.shape[1], forces.shape[0]
    LU, pivots, X = G_q.copy(), np.empty(nv, np.int64), np.zeros((nv, n + nw))
    if not lu_factor(LU, pivots):
        return False
    add_product(G_z, Z, X)
    first = n - G_p.shape[1]
    for i in range(nv):
        for j in range(G_p.shape[1]):
            X[i, first + j] += G_p[i, j]
        for j in range(nw):
            X[i, n + j] = forces[j, i]
    lu_solve(LU, pivots, X)
    for i in range(nv):
        for j in range(n):
            dq[i, j] = -X[i, j]
        for j in range(nw):
            P[i, j] = X[i, n + j]
    return True


@jit
def weight_conditions(
    r_q: np.ndarray,
    r_w: np.ndarray,
    r_z: np.ndarray,
    r_p: np.ndarray,
    curved: np.ndarray,
    Z: np.ndarray,
    dq: np.ndarray,
    P: np.ndarray,
    H: np.ndarray,
    turned: np.ndarray,
    curvature: np.ndarray,
    moves: np.ndarray,
) -> None:
    """What the conditions on the weights answer: H dw + turned = dr.

    Args:
        r_q: shape (nw, nv).
        r_w: shape (nw, nw).
        r_z: shape (nw, nz).
        r_p: shape (nw, np), added to the last columns.
        curved: rows whose products with the responses estimate the curvature, shape (nw, nv).
        Z: shape (nz, K).
        dq: with the weights held, shape (nv, K).
        P: responses dq/dw, shape (nv, nw).
        H: dr/dw with q following, an output, shape (nw, nw).
        turned: dr with the weights held, an output, shape (nw, K).
        curvature: of each weight, an output, shape (nw,).
        moves: largest entry of each response, an output, shape (nw,).
    """
    nw, nv, n = H.shape[0], P.shape[0], Z.shape[1]
    for i in range(nw):
        total, largest = 0.0, 0.0
        for l in range(nv):
            total += curved[i, l] * P[l, i]
            largest = max(largest, abs(P[l, i]))
        curvature[i], moves[i] = abs(total), largest
        for j in range(nw):
            H[i, j] = r_w[i, j]
        for j in range(n):
            turned[i, j] = 0.0
        for j in range(r_p.shape[1]):
            turned[i, n - r_p.shape[1] + j] = r_p[i, j]
    add_product(r_q, P, H)
    add_product(r_q, dq, turned)
    add_product(r_z, Z, turned)


@jit
def face_basis(free: np.ndarray, tight: np.ndarray, scale: np.ndarray, basis: np.ndarray) -> int:
    """Changes of the weights along a face as columns, over the roots of the curvatures.

    They are unit vectors, and orthonormal ones that keep the sum where it is tight.

    Args:
        free: weights that move, shape (k, m).
        tight: contacts whose sum stays, shape (k,).
        scale: curvature of each contact, shape (k m,).
        basis: an output, zero, shape (k m, k m).

    Returns:
        Number of columns.
    """
    m, column = free.shape[1], 0
    for c in range(free.shape[0]):
        unit, before = 1.0 / np.sqrt(scale[c * m]), 0
        for e in range(m):
            if not free[c, e]:
                continue
            if not tight[c]:
                basis[c * m + e, column] = unit
                column += 1
                continue
            if before > 0:
                size = unit / np.sqrt(before * (before + 1.0))
                for i in range(e):
                    if free[c, i]:
                        basis[c * m + i, column] = size
                basis[c * m + e, column] = -before * size
                column += 1
            before += 1
    return column
