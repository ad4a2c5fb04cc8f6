"""Inertia of material points ([N] eq. 12): the inertial potential, and momenta.

The inertial potential is the integral of rho |X - X_hat|^2 / 2 over the bodies, where X_hat is
affine on each of them. With homogeneous coordinates x~ = (x, 1), X = P' x~ and the second moment
Sigma = integral of rho x~ x~' of a body about its joint's origin it is the sum over the bodies of

    E = tr(D' Sigma D) / 2,   D = P - P_hat,

where P and P_hat are the placement and the reference placement, (4, 3): the columns of the rotation
over the origin. In all functions `placements` holds P and `reference` P_hat of each body, shapes
(n, 4, 3), `moments` Sigma, shape (n, 4, 4), and S the motions of the dofs; see `tree`.
"""

from __future__ import annotations

import numpy as np

from nmdp_pin._kernels.jit import Array, jit
from nmdp_pin._kernels.linear import clear_matrix
from nmdp_pin._kernels.manifold import add_multiplied_rows, add_rows
from nmdp_pin._kernels.record import matrix, vector, zero_matrix
from nmdp_pin._kernels.stage import VELOCITIES, Point, Stage, System, copy_kinematics
from nmdp_pin._kernels.tree import (
    Tree,
    add_children,
    placement_rate,
    project_stiffness,
    project_wrenches,
)
from nmdp_pin._kernels.vector3 import cross_into


@jit
def body_wrench(P: Array, D: Array, Sigma: Array, F: Array) -> float:
    """The integrals of rho d and of rho X x d, written into F, and of rho |d|^2, d = D' x~.

    Args:
        P: placement, shape (4, 3).
        D: difference of placements, shape (4, 3).
        Sigma: second moment, shape (4, 4).
        F: output, at the world's origin, shape (6,).
    """
    value = 0.0
    F[:] = 0.0
    for i in range(4):
        x, y, z = 0.0, 0.0, 0.0  # row i of Sigma D
        for j in range(4):
            x += Sigma[i, j] * D[j, 0]
            y += Sigma[i, j] * D[j, 1]
            z += Sigma[i, j] * D[j, 2]
        p = P[i]
        value += x * D[i, 0] + y * D[i, 1] + z * D[i, 2]
        F[3] += p[1] * z - p[2] * y
        F[4] += p[2] * x - p[0] * z
        F[5] += p[0] * y - p[1] * x
        if i == 3:
            F[0], F[1], F[2] = x, y, z
    return value


@jit
def inertial_wrenches(
    placements: Array, reference: Array, moments: Array, wrenches: Array
) -> float:
    """Derivatives of E with respect to motions of the single bodies; returns E [kg m^2].

    They are the integrals of rho (X - X_hat) and of rho X x (X - X_hat), written into `wrenches`,
    at the world's origin, shape (n, 6).
    """
    D, value = matrix(4, 3), 0.0
    for b in range(len(placements)):
        for i in range(4):
            for a in range(3):
                D[i, a] = placements[b, i, a] - reference[b, i, a]
        value += body_wrench(placements[b], D, moments[b], wrenches[b])
    return 0.5 * value


@jit
def inertial_stiffness(
    placements: Array, reference: Array, moments: Array, own: float, stiffness: Array
) -> None:
    """Derivatives of `inertial_wrenches` with respect to motions of single bodies.

    [[m 1, -[c]], [[c_hat], tr(Y) 1 - Y]], where c and c_hat are the integrals of rho X and
    rho X_hat, and Y that of rho X X_hat'; written into `stiffness`, row-major, shape (n, 36). The
    part of m and c is that of X itself, and is multiplied by `own`: with 0 it is left out.
    """
    Y = zero_matrix(3, 3)
    c = zero_matrix(2, 3)
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
            c[0, j] *= own
        trace = Y[0, 0] + Y[1, 1] + Y[2, 2]
        K[:] = 0.0
        K[0] = K[7] = K[14] = own * Sigma[3, 3]
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
    placements: Array, reference: Array, tree: Tree, S: Array, wrenches: Array, gradient: Array
) -> float:
    """The gradient of E with respect to the configuration (tangent); returns E [kg m^2].

    Writes it, shape (nv,), and the sums of the wrenches over the subtrees, shape (n, 6).
    """
    value = inertial_wrenches(placements, reference, tree.moments, wrenches)
    add_children(tree.parents, wrenches)
    project_wrenches(S, tree.first_dofs, wrenches, gradient)
    return value


@jit
def inertial_hessian(
    placements: Array,
    reference: Array,
    tree: Tree,
    S: Array,
    own: float,
    wrenches: Array,
    hessian: Array,
) -> None:
    """Add the derivative of `inertial_gradient` by the configuration (tangent) to `hessian`.

    Its shape is (nv, nv); `wrenches` are those that `inertial_gradient` wrote. With `own` 0 it is
    the derivative of the force that `momentum_wrenches` wrote, with its wrenches.
    """
    stiffness = np.empty((len(placements), 36))
    inertial_stiffness(placements, reference, tree.moments, own, stiffness)
    add_children(tree.parents, stiffness)
    project_stiffness(S, tree.parents, tree.first_dofs, stiffness, wrenches, hessian)


@jit
def rates_derivative(placements: Array, tree: Tree, S: Array, v: Array, derivative: Array) -> None:
    """Derivative of the rates of the placements with respect to the configuration, v held.

    The motion of a body is the sum of S_k v_k over the dofs above it; a dof l carries those of its
    own joint and below along, by S_l x S_k v_k, and the body itself. Written, (nv, n, 4, 3).
    """
    parents, first_dofs = tree.parents, tree.first_dofs
    n = len(placements)
    twists = np.zeros((n, 6))
    derivative[:] = 0.0
    t, c, w, x = vector(6), vector(6), vector(3), vector(3)
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
                        derivative[l, b, r, i] = value
            above = parents[above]


@jit
def momentum_wrenches(
    placements: Array, Z: Array, tree: Tree, S: Array, wrenches: Array, force: Array
) -> None:
    """Minus the integral of rho (dX/dq)' Z, of vectors that are affine on each body.

    Args:
        placements: as in the module's description.
        Z: the vectors, as differences of placements, shape (n, 4, 3).
        tree: bodies of the tree.
        S: as in the module's description.
        wrenches: output, sums over the subtrees, shape (n, 6).
        force: output, shape (nv,).
    """
    for b in range(len(placements)):
        body_wrench(placements[b], Z[b], tree.moments[b], wrenches[b])
        for i in range(6):
            wrenches[b, i] = -wrenches[b, i]
    add_children(tree.parents, wrenches)
    project_wrenches(S, tree.first_dofs, wrenches, force)


@jit
def reference_derivative(
    placements: Array, tree: Tree, S: Array, change: Array, derivative: Array
) -> None:
    """The derivative of `inertial_gradient`, which is affine in the reference, as dofs change it.

    Args:
        placements: as in the module's description.
        tree: bodies of the tree.
        S: as in the module's description.
        change: changes of the reference by each dof, which are those of bodies that it moves,
            shape (nv, n, 4, 3).
        derivative: output with a row for each dof, shape (nv, nv).
    """
    wrenches = np.empty((len(placements), 6))
    for d in range(len(change)):
        for b in range(len(placements)):
            if tree.moves[b + 1, d] != 0.0:
                body_wrench(placements[b], change[d, b], tree.moments[b], wrenches[b])
            else:
                wrenches[b] = 0.0
            for i in range(6):
                wrenches[b, i] = -wrenches[b, i]
        add_children(tree.parents, wrenches)
        project_wrenches(S, tree.first_dofs, wrenches, derivative[d])


@jit
def placement_rates(P: Array, twists: Array, rates: Array) -> None:
    """Rates of the placements of bodies.

    Args:
        P: placements, that of the world first, shape (n + 1, 4, 3).
        twists: motions of the bodies at the world's origin, shape (n + 1, 6).
        rates: output [1/s, m/s], shape (n, 4, 3).
    """
    for b in range(rates.shape[0]):
        placement_rate(P[b + 1], twists[b + 1], rates[b])


@jit
def placements_derivative(P: Array, S: Array, moves: Array, change: Array) -> None:
    """Derivatives of the placements of bodies with respect to each dof.

    Args:
        P: placements, that of the world first, shape (n + 1, 4, 3).
        S: motions of the dofs at the world's origin, shape (nv, 6).
        moves: 1 for dofs that move a body, else 0, shape (n + 1, nv).
        change: output, shape (nv, n, 4, 3).
    """
    for l in range(S.shape[0]):
        for b in range(change.shape[1]):
            if moves[b + 1, l] == 0.0:
                for r in range(4):
                    for a in range(3):
                        change[l, b, r, a] = 0.0
            else:
                placement_rate(P[b + 1], S[l], change[l, b])


@jit
def material_inertia(system: System, stage: Stage, derived: bool, at: Point) -> None:
    """Write kinematics, and the inertia of material points in G, with its derivative in A.

    In first order G is the gradient of rate^2 E with the inertial potential E and
    the target X_hat, in second order the change rate (M v - integral of rho (dX/dq)' Z) of the
    momentum, Z being the velocities that the points would have without forces. Pinocchio has
    written the kinematics, and in second order the momentum of the bodies and rotors.
    """
    dynamics, tree, rate, nv = system.dynamics, system.tree, stage.rate, at.v.size
    wrenches = np.empty((len(tree.parents), 6))
    copy_kinematics(dynamics, at)
    if stage.form == VELOCITIES:
        momentum_wrenches(at.P[1:], stage.target, tree, at.S, wrenches, at.G)
        for k in range(nv):
            at.G[k] = rate * (at.G[k] + dynamics.tau[k] - tree.rotors[k] * stage.v_ref[k])
    else:
        inertial_gradient(at.P[1:], stage.target, tree, at.S, wrenches, at.G)
        for k in range(nv):
            at.G[k] = rate * (rate * at.G[k] + tree.rotors[k] * (at.v[k] - stage.v_ref[k]))
    if derived:
        _material_stiffness(system, stage, wrenches, at)


@jit
def _material_stiffness(system: System, stage: Stage, wrenches: Array, at: Point) -> None:
    """Write the derivative of the inertia of material points into A.

    Args:
        system: what all steps share.
        stage: the stage.
        wrenches: those that `momentum_wrenches` or `inertial_gradient` wrote, shape (n, 6).
        at: the point.
    """
    dynamics, tree, rate, nv = system.dynamics, system.tree, stage.rate, at.v.size
    clear_matrix(at.A)
    if stage.form == VELOCITIES:
        inertial_hessian(at.P[1:], stage.target, tree, at.S, 0.0, wrenches, at.A)
        for k in range(nv):
            for l in range(nv):
                at.A[k, l] = rate * (at.A[k, l] + dynamics.of_q[k, l])
        add_multiplied_rows(tree.space, dynamics.M, at.D, rate * rate, at.A)
        return
    inertial_hessian(at.P[1:], stage.target, tree, at.S, 1.0, wrenches, at.A)
    for k in range(nv):
        for l in range(nv):
            at.A[k, l] *= rate * rate
    add_rows(tree.space, tree.rotors, at.D, rate * rate, at.A)
