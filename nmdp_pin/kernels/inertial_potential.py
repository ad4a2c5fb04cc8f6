"""The inertial potential of the position-based form ([N] eq. 12), with gradient and Hessian.

It is the integral of rho |X - X_hat|^2 / 2 over the bodies, where X_hat is affine on each of them.
With homogeneous coordinates x~ = (x, 1), X = P' x~ and the second moment Sigma = integral of
rho x~ x~' of a body about its joint's origin it is the sum over the bodies of

    E = tr(D' Sigma D) / 2,   D = P - P_hat,

where P and P_hat are the placement and the reference placement, (4, 3): the columns of the rotation
over the origin. In all functions `placements` holds P and `reference` P_hat of each body, shapes
(n, 4, 3), `moments` Sigma, shape (n, 4, 4), and S the motions of the dofs; see `subtree`.
"""

import numpy as np

from nmdp_pin.kernels.contact_kinematics import cross_into
from nmdp_pin.kernels.jit import jit
from nmdp_pin.kernels.subtree import Bodies, add_children, project_stiffness, project_wrenches
from nmdp_pin.kernels.tree import Tree


@jit
def inertial_wrenches(
    placements: np.ndarray, reference: np.ndarray, moments: np.ndarray, wrenches: np.ndarray
) -> float:
    """Derivatives of E with respect to motions of the single bodies; returns E [kg m^2].

    They are the integrals of rho (X - X_hat) and of rho X x (X - X_hat), written into `wrenches`,
    at the world's origin, shape (n, 6).
    """
    value = 0.0
    for b in range(len(placements)):
        P, Q, Sigma, F = placements[b], reference[b], moments[b], wrenches[b]
        F[:] = 0.0
        for i in range(4):
            x, y, z = 0.0, 0.0, 0.0  # row i of Sigma D
            for j in range(4):
                x += Sigma[i, j] * (P[j, 0] - Q[j, 0])
                y += Sigma[i, j] * (P[j, 1] - Q[j, 1])
                z += Sigma[i, j] * (P[j, 2] - Q[j, 2])
            p = P[i]
            value += x * (p[0] - Q[i, 0]) + y * (p[1] - Q[i, 1]) + z * (p[2] - Q[i, 2])
            F[3] += p[1] * z - p[2] * y
            F[4] += p[2] * x - p[0] * z
            F[5] += p[0] * y - p[1] * x
            if i == 3:
                F[0], F[1], F[2] = x, y, z
    return 0.5 * value


@jit
def inertial_stiffness(
    placements: np.ndarray, reference: np.ndarray, moments: np.ndarray, stiffness: np.ndarray
) -> None:
    """Derivatives of `inertial_wrenches` with respect to motions of the single bodies.

    [[m 1, -[c]], [[c_hat], tr(Y) 1 - Y]], where c and c_hat are the integrals of rho X and
    rho X_hat, and Y that of rho X X_hat'; written into `stiffness`, row-major, shape (n, 36).
    """
    Y = np.zeros((3, 3))
    c = np.zeros((2, 3))
    for b in range(len(placements)):
        P, Q, Sigma, K = placements[b], reference[b], moments[b], stiffness[b]
        Y[:] = 0.0
        for i in range(4):
            x, y, z = 0.0, 0.0, 0.0  # row i of Sigma P_hat
            for j in range(4):
                x += Sigma[i, j] * Q[j, 0]
                y += Sigma[i, j] * Q[j, 1]
                z += Sigma[i, j] * Q[j, 2]
            for j in range(3):
                Y[j, 0] += P[i, j] * x
                Y[j, 1] += P[i, j] * y
                Y[j, 2] += P[i, j] * z
            if i == 3:
                c[1, 0], c[1, 1], c[1, 2] = x, y, z
        for j in range(3):
            c[0, j] = Sigma[3, 0] * P[0, j] + Sigma[3, 1] * P[1, j]
            c[0, j] += Sigma[3, 2] * P[2, j] + Sigma[3, 3] * P[3, j]
        trace = Y[0, 0] + Y[1, 1] + Y[2, 2]
        K[:] = 0.0
        K[0] = K[7] = K[14] = Sigma[3, 3]
        K[4], K[5] = c[0, 2], -c[0, 1]
        K[9], K[11] = -c[0, 2], c[0, 0]
        K[15], K[16] = c[0, 1], -c[0, 0]
        K[19], K[20] = -c[1, 2], c[1, 1]
        K[24], K[26] = c[1, 2], -c[1, 0]
        K[30], K[31] = -c[1, 1], c[1, 0]
        for i in range(3):
            for j in range(3):
                K[21 + 6 * i + j] = -Y[i, j]
            K[21 + 7 * i] += trace


@jit
def inertial_gradient(
    placements: np.ndarray,
    reference: np.ndarray,
    bodies: Bodies | Tree,
    S: np.ndarray,
    wrenches: np.ndarray,
    gradient: np.ndarray,
) -> float:
    """The gradient of E with respect to the configuration (tangent); returns E [kg m^2].

    Writes it, shape (nv,), and the sums of the wrenches over the subtrees, shape (n, 6).
    """
    value = inertial_wrenches(placements, reference, bodies.moments, wrenches)
    add_children(bodies.parents, wrenches)
    project_wrenches(S, bodies.first_dofs, wrenches, gradient)
    return value


@jit
def inertial_hessian(
    placements: np.ndarray,
    reference: np.ndarray,
    bodies: Bodies | Tree,
    S: np.ndarray,
    wrenches: np.ndarray,
    hessian: np.ndarray,
) -> None:
    """The derivative of `inertial_gradient` with respect to the configuration (tangent).

    Writes it, shape (nv, nv); `wrenches` are those that `inertial_gradient` wrote.
    """
    stiffness = np.empty((len(placements), 36))
    inertial_stiffness(placements, reference, bodies.moments, stiffness)
    add_children(bodies.parents, stiffness)
    project_stiffness(S, bodies.parents, bodies.first_dofs, stiffness, wrenches, hessian)


@jit
def rates_derivative(
    placements: np.ndarray,
    bodies: Bodies | Tree,
    S: np.ndarray,
    v: np.ndarray,
    derivative: np.ndarray,
) -> None:
    """Derivative of the rates of the placements with respect to the configuration, v held.

    The motion of a body is the sum of S_k v_k over the dofs above it; a dof l carries those of its
    own joint and below along, by S_l x S_k v_k, and the body itself. Written, (n, 4, 3, nv).
    """
    parents, first_dofs = bodies.parents, bodies.first_dofs
    n = len(placements)
    twists = np.zeros((n, 6))
    derivative[:] = 0.0
    t, c, w, x = np.empty(6), np.empty(6), np.empty(3), np.empty(3)
    for b in range(n):
        if parents[b] >= 0:
            twists[b] = twists[parents[b]]
        for k in range(first_dofs[b], first_dofs[b + 1]):
            for i in range(6):
                twists[b, i] += S[k, i] * v[k]
        w[:] = twists[b, 3:]
        above = b
        while above >= 0:
            t[:] = twists[b]
            if parents[above] >= 0:
                t -= twists[parents[above]]
            for l in range(first_dofs[above], first_dofs[above + 1]):
                s = S[l]
                cross_into(s[3:], t[:3], c[:3])
                cross_into(s[:3], t[3:], x)
                for i in range(3):
                    c[i] += x[i]
                cross_into(s[3:], t[3:], c[3:])
                for r in range(4):
                    # c x P + w x (S_l x P), and the linear parts of both at the origin
                    p = placements[b, r]
                    cross_into(s[3:], p, x)
                    if r == 3:
                        for i in range(3):
                            x[i] += s[i]
                    for i in range(3):
                        j, k = (i + 1) % 3, (i + 2) % 3
                        value = c[3 + j] * p[k] - c[3 + k] * p[j] + w[j] * x[k] - w[k] * x[j]
                        if r == 3:
                            value += c[i]
                        derivative[b, r, i, l] = value
            above = parents[above]


@jit
def reference_derivative(
    placements: np.ndarray,
    bodies: Bodies | Tree,
    S: np.ndarray,
    change: np.ndarray,
    derivative: np.ndarray,
) -> None:
    """The derivative of `inertial_gradient`, which is affine in the reference, along changes of it.

    Args:
        placements: as in the module's description.
        bodies: bodies of the tree.
        S: as in the module's description.
        change: changes of the reference along m directions, shape (m, n, 4, 3).
        derivative: output with a row for each direction, shape (m, nv).
    """
    moments, wrenches = bodies.moments, np.empty((len(placements), 6))
    for d in range(len(change)):
        for b in range(len(placements)):
            P, Q, Sigma, F = placements[b], change[d, b], moments[b], wrenches[b]
            F[:] = 0.0
            for i in range(4):
                x, y, z = 0.0, 0.0, 0.0  # row i of -Sigma dP_hat
                for j in range(4):
                    x -= Sigma[i, j] * Q[j, 0]
                    y -= Sigma[i, j] * Q[j, 1]
                    z -= Sigma[i, j] * Q[j, 2]
                F[3] += P[i, 1] * z - P[i, 2] * y
                F[4] += P[i, 2] * x - P[i, 0] * z
                F[5] += P[i, 0] * y - P[i, 1] * x
                if i == 3:
                    F[0], F[1], F[2] = x, y, z
        add_children(bodies.parents, wrenches)
        project_wrenches(S, bodies.first_dofs, wrenches, derivative[d])
