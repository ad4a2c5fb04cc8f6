"""Linear algebra of the implicit function theorem at the end of a stage."""

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
        G_q: derivative dG/dq, shape (nv, nv).
        G_z: derivative dG/dz, shape (nv, nz).
        G_p: derivative dG/dp, added to the last columns, shape (nv, np).
        Z: derivatives of z with respect to K numbers, shape (nz, K).
        forces: generalised forces of the vertices, shape (nw, nv).
        dq: output, shape (nv, K).
        P: output, shape (nv, nw).

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
    """Derivative of the conditions on the weights, dr = H dw + turned.

    Args:
        r_q: derivative dr/dq, shape (nw, nv).
        r_w: derivative dr/dw, shape (nw, nw).
        r_z: derivative dr/dz, shape (nw, nz).
        r_p: derivative dr/dp, added to the last columns, shape (nw, np).
        curved: rows whose products with the responses estimate the curvature, shape (nw, nv).
        Z: derivatives of z with respect to K numbers, shape (nz, K).
        dq: change of q with the weights held, shape (nv, K).
        P: responses dq/dw, shape (nv, nw).
        H: output, dr/dw with q following, shape (nw, nw).
        turned: output, dr with the weights held, shape (nw, K).
        curvature: output, curvature of each weight, shape (nw,).
        moves: output, largest entry of each response, shape (nw,).
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

    They are unit vectors, or orthonormal ones that keep the sum where it is tight.

    Args:
        free: whether each weight moves, shape (k, m).
        tight: whether the sum of each contact stays, shape (k,).
        scale: curvature of each contact, shape (k m,).
        basis: output, zero on entry, shape (k m, k m).

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
