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

from nmdp_pin._kernels.algebra.lie import cross_motions
from nmdp_pin._kernels.algebra.linear import clear_matrix
from nmdp_pin._kernels.algebra.manifold import add_multiplied_groups, add_rows
from nmdp_pin._kernels.algebra.vector3 import cross_into
from nmdp_pin._kernels.compiler.jit import Array, deferred, jit
from nmdp_pin._kernels.compiler.record import matrix, vector, zero_matrix
from nmdp_pin._kernels.step.stage_records import VELOCITIES, Stage, StageIterate, System
from nmdp_pin._kernels.tree.tree import (
    Tree,
    add_children,
    add_products,
    placement_rate,
    project_stiffness,
    project_wrenches,
    turn_dofs,
)


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
def add_placement_forces(
    P: Array, S: Array, tree: Tree, other: Array, T: Array, share: float, A: Array
) -> None:
    """Add the derivative of `inertial_gradient` as dofs carry the reference along.

    The gradient is affine in the reference, which changes as placements do at another
    configuration.

    Args:
        P: placements of the bodies, shape (n, 4, 3).
        S: motions of the dofs, shape (nv, 6).
        tree: bodies of the tree.
        other: placements at the other configuration, shape (n, 4, 3).
        T: motions of the dofs there, shape (nv, 6).
        share: factor.
        A: matrix to which the derivative is added, with a column for each dof, shape (nv, nv).
    """
    K = np.empty((len(P), 36))
    inertial_stiffness(other, P, tree.moments, 1.0, K)
    add_children(tree.parents, K)
    add_products(S, T, tree.parents, tree.first_dofs, K, -share, A)


@jit
def add_rate_forces(
    P: Array,
    S: Array,
    tree: Tree,
    other: Array,
    T: Array,
    twists: Array,
    share: float,
    by_q: Array,
    by_v: Array,
) -> None:
    """Add the derivatives of `inertial_gradient` where the reference is that of rates.

    The rates are those of the placements at another configuration; a velocity changes them as a
    configuration changes placements. A dof l, whose motion is T_l, changes the rate w_b x X of a
    point X of a body by w_b x (T_l x X) - (t_b x T_l + T_l x t_a) x X, with the motions t_b of the
    body and t_a of what precedes the joint of the dof.

    Args:
        P: placements of the bodies, shape (n, 4, 3).
        S: motions of the dofs, shape (nv, 6).
        tree: bodies of the tree.
        other: placements at the other configuration, shape (n, 4, 3).
        T: motions of the dofs there, shape (nv, 6).
        twists: motions of the bodies there, that of the world first, shape (n + 1, 6).
        share: factor.
        by_q: matrix to which the derivative by that configuration is added, shape (nv, nv).
        by_v: likewise, by the velocity.
    """
    K, R, joint_axis_rates = np.empty((len(P), 36)), np.empty((len(P), 36)), np.empty(T.shape)
    inertial_stiffness(other, P, tree.moments, 1.0, K)
    for b in range(len(P)):
        _rate_stiffness(K[b], twists[b + 1], R[b])
    turn_dofs(tree, T, twists, joint_axis_rates)
    add_children(tree.parents, K)
    add_children(tree.parents, R)
    add_products(S, T, tree.parents, tree.first_dofs, R, -share, by_q)
    add_products(S, joint_axis_rates, tree.parents, tree.first_dofs, K, share, by_q)
    add_products(S, T, tree.parents, tree.first_dofs, K, -share, by_v)


@jit
def _rate_stiffness(K: Array, twist: Array, R: Array) -> None:
    """Wrench of the changes w x (v + o x X) - t x (v, o) of rates by a motion (v, o) of a body.

    Args:
        K: wrench of the changes v + o x X as `inertial_stiffness` writes it, shape (36,).
        twist: motion t of the body, w being its angular part, shape (6,).
        R: output, shape (36,).
    """
    w, unit, turned, moment, x = twist[3:], vector(6), vector(6), vector(3), vector(3)
    trace = 0.5 * (K[21] + K[28] + K[35])
    for i in range(3):  # integral of rho X (w . X'), X' being the point at the other configuration
        moment[i] = trace * w[i]
        for j in range(3):
            moment[i] -= K[21 + 6 * j + i] * w[j]
    for c in range(6):
        for i in range(6):
            unit[i] = 1.0 if i == c else 0.0
        cross_motions(twist, unit, turned)
        for i in range(6):
            total = 0.0
            for j in range(6):
                total -= K[6 * i + j] * turned[j]
            R[6 * i + c] = total
        # the force turns with w
        for i in range(3):
            j, k = (i + 1) % 3, (i + 2) % 3
            R[6 * i + c] += w[j] * K[6 * k + c] - w[k] * K[6 * j + c]
        if c < 3:  # the moment of w x v
            cross_into(w, unit[:3], x)
            for i in range(3):
                for j in range(3):
                    R[18 + 6 * i + c] += K[18 + 6 * i + j] * x[j]
        else:  # and of w x (o x X') = o (w . X') - X' (w . o)
            cross_into(moment, unit[3:], x)
            for i in range(3):
                j, k = (i + 1) % 3, (i + 2) % 3
                apart = K[21 + 6 * j + k] - K[21 + 6 * k + j]  # integral of rho X x X'
                R[18 + 6 * i + c] += x[i] - w[c - 3] * apart


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


@deferred
def material_inertia(system: System, stage: Stage, derived: bool, at: StageIterate) -> None:
    """Write the inertia of material points in G, with its derivative in A.

    In first order G is the gradient of rate^2 E with the inertial potential E and
    the target X_hat, in second order the change rate (M v - integral of rho (dX/dq)' Z) of the
    momentum, Z being the velocities that the points would have without forces. Pinocchio has
    written the momentum of the bodies and rotors then.
    """
    dynamics, tree, rate, nv = system.dynamics, system.tree, stage.rate, at.v.size
    wrenches = np.empty((len(tree.parents), 6))
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
def _material_stiffness(system: System, stage: Stage, wrenches: Array, at: StageIterate) -> None:
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
        for g in range(tree.groups.size - 1):  # beside which all entries are 0
            for k in range(tree.groups[g], tree.groups[g + 1]):
                for l in range(tree.groups[g], tree.groups[g + 1]):
                    at.A[k, l] = rate * (at.A[k, l] + dynamics.of_q[k, l])
        add_multiplied_groups(tree.space, tree.groups, dynamics.M, at.D, rate * rate, at.A)
        return
    inertial_hessian(at.P[1:], stage.target, tree, at.S, 1.0, wrenches, at.A)
    for k in range(nv):
        for l in range(nv):
            at.A[k, l] *= rate * rate
    add_rows(tree.space, tree.rotors, at.D, rate * rate, at.A)
