"""Inertia of material points whose velocities are compared ([N] eq. 12, at velocities)."""

from __future__ import annotations

import numpy as np

from nmdp_pin.kernels.inertial_potential import inertial_gradient, inertial_hessian
from nmdp_pin.kernels.jit import jit


@jit
def momentum_change(
    placements: np.ndarray,
    expected: np.ndarray,
    moments: np.ndarray,
    S: np.ndarray,
    parents: np.ndarray,
    first_dofs: np.ndarray,
    momentum: np.ndarray,
    M: np.ndarray,
    dmomentum: np.ndarray,
    rate: float,
    D: np.ndarray,
    G: np.ndarray,
    A: np.ndarray,
) -> None:
    """G = rate (M v - integral of rho (dX/dq)' Z), and its derivative.

    Z, the velocities that the points would have without forces, is affine on each body. The second
    term is linear in Z: the inertial potential's gradient at the reference Z less that at 0.

    Args:
        placements: of the bodies, shape (n, 4, 3).
        expected: Z as rates of the placements, shape (n, 4, 3).
        moments: second moments of the bodies, shape (n, 4, 4).
        S: motions of the dofs, shape (nv, 6).
        parents: of the bodies, shape (n,).
        first_dofs: of the bodies, shape (n + 1,).
        momentum: M v, shape (nv,).
        M: mass matrix, shape (nv, nv).
        dmomentum: d(M v)/dq with v held, shape (nv, nv).
        rate: of the stage [1/s].
        D: dv/dq, shape (nv, nv), or (0, 0) where it is the identity times the rate.
        G: an output, shape (nv,).
        A: an output, shape (nv, nv).
    """
    nv, n = G.size, placements.shape[0]
    wrenches, stiffness = np.empty((n, 6)), np.empty((n, 36))
    none, here, there = np.zeros_like(expected), np.empty(nv), np.empty(nv)
    H = np.empty((nv, nv))
    inertial_gradient(placements, none, moments, S, parents, first_dofs, wrenches, here)
    inertial_hessian(placements, none, moments, S, parents, first_dofs, wrenches, stiffness, H)
    inertial_gradient(placements, expected, moments, S, parents, first_dofs, wrenches, there)
    inertial_hessian(placements, expected, moments, S, parents, first_dofs, wrenches, stiffness, A)
    for k in range(nv):
        G[k] = rate * (momentum[k] + there[k] - here[k])
        for l in range(nv):
            A[k, l] = rate * (A[k, l] - H[k, l] + dmomentum[k, l])
            if D.size == 0:
                A[k, l] += rate * rate * M[k, l]
        if D.size:
            for c in range(nv):
                m = rate * M[k, c]
                if m != 0.0:
                    for l in range(nv):
                        A[k, l] += m * D[c, l]
