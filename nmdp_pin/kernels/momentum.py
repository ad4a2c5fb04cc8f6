"""Inertia of material points whose velocities are compared ([N] eq. 12, at velocities)."""

from __future__ import annotations

import numpy as np

from nmdp_pin.kernels.contact_kinematics import relative_twist
from nmdp_pin.kernels.jit import jit
from nmdp_pin.kernels.subtree import Bodies, add_children, project_stiffness, project_wrenches


@jit
def placement_rate(X: np.ndarray, twist: np.ndarray, rate: np.ndarray) -> None:
    """Rate of the placement of a body.

    Args:
        X: placement, shape (4, 3).
        twist: motion of the body at the world's origin, shape (6,).
        rate: output, shape (4, 3).
    """
    w0, w1, w2 = twist[3], twist[4], twist[5]
    for r in range(4):
        x, y, z = X[r, 0], X[r, 1], X[r, 2]
        rate[r, 0] = w1 * z - w2 * y
        rate[r, 1] = w2 * x - w0 * z
        rate[r, 2] = w0 * y - w1 * x
    for a in range(3):
        rate[3, a] += twist[a]


@jit
def placement_rates(
    P: np.ndarray, S: np.ndarray, support: np.ndarray, v: np.ndarray, rates: np.ndarray
) -> None:
    """Rates of the placements of bodies at a velocity.

    Args:
        P: placements of all joints, shape (n + 1, 4, 3).
        S: motions of the dofs at the world's origin, shape (nv, 6).
        support: 1 for dofs that move a body, else 0, shape (n, nv).
        v: velocity, shape (nv,).
        rates: output [1/s, m/s], shape (n, 4, 3).
    """
    twist = np.empty(6)
    for b in range(support.shape[0]):
        relative_twist(S, support[b], v, twist)
        placement_rate(P[b + 1], twist, rates[b])


@jit
def placements_derivative(
    P: np.ndarray, S: np.ndarray, support: np.ndarray, change: np.ndarray
) -> None:
    """Derivatives of the placements of bodies with respect to each dof.

    Args:
        P: placements of the bodies, shape (n, 4, 3).
        S: motions of the dofs at the world's origin, shape (nv, 6).
        support: 1 for dofs that move a body, else 0, shape (n, nv).
        change: output, shape (nv, n, 4, 3).
    """
    for l in range(S.shape[0]):
        for b in range(P.shape[0]):
            if support[b, l] == 0.0:
                change[l, b] = 0.0
            else:
                placement_rate(P[b], S[l], change[l, b])


@jit
def point_momenta(
    P: np.ndarray, Z: np.ndarray, moments: np.ndarray, wrenches: np.ndarray, stiffness: np.ndarray
) -> None:
    """Negative momenta of bodies whose points have the velocities Z, and their derivatives.

    The momenta about the world's origin are the integrals of rho Z and of rho X x Z. As a body
    moves with Z held they change by [[0, 0], [[c]x, tr(Y) 1 - Y]], where c and Y are the integrals
    of rho Z and of rho X Z'.

    Args:
        P: placements of all joints, shape (n + 1, 4, 3).
        Z: velocities, affine on each body, as rates of placements, shape (n, 4, 3).
        moments: second moments of the bodies, shape (n, 4, 4).
        wrenches: output, shape (n, 6).
        stiffness: output, row-major, shape (n, 36).
    """
    Y, c = np.empty((3, 3)), np.empty(3)
    for b in range(Z.shape[0]):
        Y[:] = 0.0
        for i in range(4):
            for a in range(3):
                total = 0.0
                for j in range(4):
                    total += moments[b, i, j] * Z[b, j, a]
                c[a] = total
            for e in range(3):
                for a in range(3):
                    Y[e, a] += P[b + 1, i, e] * c[a]
        trace = Y[0, 0] + Y[1, 1] + Y[2, 2]
        F, K = wrenches[b], stiffness[b]
        K[:] = 0.0
        for a in range(3):
            F[a] = -c[a]
            for e in range(3):
                K[21 + 6 * a + e] = -Y[a, e]
            K[21 + 7 * a] += trace
        F[3], F[4], F[5] = Y[2, 1] - Y[1, 2], Y[0, 2] - Y[2, 0], Y[1, 0] - Y[0, 1]
        K[19], K[20] = -c[2], c[1]
        K[24], K[26] = c[2], -c[0]
        K[30], K[31] = -c[1], c[0]


@jit
def momentum_change(
    P: np.ndarray,
    expected: np.ndarray,
    bodies: Bodies,
    S: np.ndarray,
    momentum: np.ndarray,
    M: np.ndarray,
    dmomentum: np.ndarray,
    rate: float,
    D: np.ndarray,
    G: np.ndarray,
    A: np.ndarray,
) -> None:
    """G = rate (M v - integral of rho (dX/dq)' Z), and its derivative.

    Args:
        P: placements of all joints, shape (n + 1, 4, 3).
        expected: Z, the velocities that the points would have without forces, as rates of the
            placements, shape (n, 4, 3).
        bodies: bodies of the tree.
        S: motions of the dofs, shape (nv, 6).
        momentum: generalised momentum M v, shape (nv,).
        M: mass matrix, shape (nv, nv).
        dmomentum: d(M v)/dq with v held, shape (nv, nv).
        rate: rate of the stage [1/s].
        D: dv/dq, shape (nv, nv), or (0, 0) where it is the identity times the rate.
        G: output, shape (nv,).
        A: output, shape (nv, nv).
    """
    nv, n = G.size, expected.shape[0]
    wrenches, stiffness = np.empty((n, 6)), np.empty((n, 36))
    point_momenta(P, expected, bodies.moments, wrenches, stiffness)
    add_children(bodies.parents, wrenches)
    add_children(bodies.parents, stiffness)
    project_wrenches(S, bodies.first_dofs, wrenches, G)
    project_stiffness(S, bodies.parents, bodies.first_dofs, stiffness, wrenches, A)
    for k in range(nv):
        G[k] = rate * (G[k] + momentum[k])
        for l in range(nv):
            A[k, l] = rate * (A[k, l] + dmomentum[k, l])
            if D.size == 0:
                A[k, l] += rate * rate * M[k, l]
        if D.size:
            for c in range(nv):
                m = rate * M[k, c]
                if m != 0.0:
                    for l in range(nv):
                        A[k, l] += m * D[c, l]
