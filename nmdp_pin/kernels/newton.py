"""Newton steps of a dynamics residual, with constant and with varying weights."""

from __future__ import annotations

import numpy as np

from nmdp_pin.kernels.jit import jit
from nmdp_pin.kernels.linear import finite, lu_factor, lu_solve
from nmdp_pin.kernels.simplex_vi import solve_affine_vi

LEAST_SCALE = 1e-9  # least curvature of a block, relative to the largest one

CONVERGED, SINGULAR, CIRCLES = 0, 1, 2


@jit
def newton_direction(A: np.ndarray, G: np.ndarray, dq: np.ndarray) -> bool:
    """Solve A dq = -G; False where A is singular or dq is not finite.

    Args:
        A: dG/dq, shape (n, n).
        G: dynamics residual, shape (n,).
        dq: output, shape (n,).
    """
    n = G.size
    LU, pivots, x = A.copy(), np.empty(n, np.int64), np.empty((n, 1))
    if not lu_factor(LU, pivots):
        return False
    for i in range(n):
        x[i, 0] = -G[i]
    lu_solve(LU, pivots, x)
    for i in range(n):
        dq[i] = x[i, 0]
    return finite(dq)


@jit
def block_scales(curvature: np.ndarray, m: int, scale: np.ndarray) -> bool:
    """Largest curvature of each block, the unit of its proximal term; False where all are zero.

    Contacts differ by orders of magnitude: one about to lift off responds strongly to its weights.

    Args:
        curvature: curvature along each variable, shape (n m,).
        m: size of a block.
        scale: output, shape (n m,).
    """
    largest = 0.0
    for b in range(curvature.size // m):
        of_block = 0.0
        for e in range(b * m, b * m + m):
            of_block = max(of_block, abs(curvature[e]))
        largest = max(largest, of_block)
        for e in range(b * m, b * m + m):
            scale[e] = of_block
    for e in range(curvature.size):
        scale[e] = max(scale[e], LEAST_SCALE * largest)
    return largest > 0.0


@jit
def josephy_newton(
    A: np.ndarray,
    G: np.ndarray,
    J_force: np.ndarray,
    J_motion: np.ndarray,
    V: np.ndarray,
    active: np.ndarray,
    work: np.ndarray,
    w: np.ndarray,
    proximal: float,
    w1: np.ndarray,
    dq: np.ndarray,
) -> int:
    """One iteration of Josephy and Newton: solve the linearised variational inequality.

    With the response P = A^-1 B', B = V' J_force, the matrix of the affine inequality is
    H = V' J_motion P; weights w1 solve it, and dq = -A^-1 G + P (w1 - w).

    Args:
        A: dG/dq, shape (nv, nv).
        G: dynamics residual, shape (nv,).
        J_force: Jacobian on which the wrenches of the active contacts work, shape (k, rows, nv).
        J_motion: Jacobian of their motions, shape (k, rows, nv).
        V: vertices of all contacts, shape (n, rows, m).
        active: indices of the active contacts, shape (k,).
        work: works g of all contacts, shape (n, m).
        w: weights of all contacts, shape (n, m).
        proximal: diagonal added to H, relative to the curvature of each contact.
        w1: output, shape (n, m).
        dq: output, shape (nv,).

    Returns:
        CONVERGED, SINGULAR, or CIRCLES where the inequality was not solved.
    """
    nv, k, rows, m = G.size, active.size, V.shape[1], V.shape[2]
    nf = k * rows
    LU, pivots, X = A.copy(), np.empty(nv, np.int64), np.empty((nv, 1 + nf))
    if not lu_factor(LU, pivots):
        return SINGULAR
    for l in range(nv):
        X[l, 0] = -G[l]
        for x in range(k):
            for a in range(rows):
                X[l, 1 + x * rows + a] = J_force[x, a, l]
    lu_solve(LU, pivots, X)
    if not finite(X.ravel()):
        return SINGULAR
    w1[:] = w
    for l in range(nv):
        dq[l] = X[l, 0]
    if k == 0:
        return CONVERGED
    # motions that follow -G, and those that follow the vertices
    free, by_wrench, by_vertex = np.zeros(nf), np.zeros((nf, nf)), np.zeros((nf, k * m))
    for x in range(k):
        for a in range(rows):
            c = x * rows + a
            for l in range(nv):
                j = J_motion[x, a, l]
                if j != 0.0:
                    free[c] += j * X[l, 0]
                    for d in range(nf):
                        by_wrench[c, d] += j * X[l, 1 + d]
    for c in range(nf):
        for y in range(k):
            for a in range(rows):
                f, vertices = by_wrench[c, y * rows + a], V[active[y], a]
                for e in range(m):
                    by_vertex[c, y * m + e] += f * vertices[e]
    n = k * m
    H, ahead, here = np.zeros((n, n)), np.empty(n), np.empty(n)
    for x in range(k):
        i = active[x]
        for d in range(m):
            row = H[x * m + d]
            ahead[x * m + d], here[x * m + d] = work[i, d], w[i, d]
            for a in range(rows):
                p, c = V[i, a, d], x * rows + a
                if p != 0.0:
                    ahead[x * m + d] += p * free[c]
                    for e in range(n):
                        row[e] += p * by_vertex[c, e]
    scale, diagonal, found = np.empty(n), np.empty(n), np.empty(n)
    for e in range(n):
        diagonal[e] = H[e, e]
    if not block_scales(diagonal, m, scale):
        return CONVERGED
    for e in range(n):
        H[e, e] += proximal * scale[e]
    if not solve_affine_vi(H, ahead, here, m, found):
        return CIRCLES
    dw, force = np.empty(m), np.empty(nf)
    for x in range(k):
        i = active[x]
        for e in range(m):
            dw[e] = found[x * m + e] - here[x * m + e]
            w1[i, e] = found[x * m + e]
        for a in range(rows):
            total = 0.0
            for e in range(m):
                total += V[i, a, e] * dw[e]
            force[x * rows + a] = total
    for l in range(nv):
        total = 0.0
        for c in range(nf):
            total += X[l, 1 + c] * force[c]
        dq[l] += total
    return CONVERGED
