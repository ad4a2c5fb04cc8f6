"""Derivatives of the contacts' rows of a stage."""

from __future__ import annotations

import numpy as np

from nmdp_pin._kernels.algebra.linear import copy_vector
from nmdp_pin._kernels.algebra.manifold import add_multiplied_columns
from nmdp_pin._kernels.algebra.vector3 import cross_into, place
from nmdp_pin._kernels.compiler.callbacks import (
    call_vertex_derivative,
)
from nmdp_pin._kernels.compiler.jit import Array, jit
from nmdp_pin._kernels.compiler.record import matrix, vector, zero_matrix
from nmdp_pin._kernels.contact.contact_motion import motion_at, stiffness_at_origin, turn_back
from nmdp_pin._kernels.contact.friction_cone import add_frame_derivative, cone_derivative
from nmdp_pin._kernels.geometry.planes import bend_contacts
from nmdp_pin._kernels.step.contact_rows import share_of_load
from nmdp_pin._kernels.step.stage_records import (
    EXACT,
    SECANT,
    Stage,
    StageIterate,
    StageJacobians,
    System,
)
from nmdp_pin._kernels.step.surface_motion import add_surface_map
from nmdp_pin._kernels.tree.tree import (
    add_children,
    add_pairs,
    project_stiffness,
    subtract_from_bodies,
    write_moving_dofs,
)


@jit
def linearise_contacts(
    system: System, stage: Stage, at: StageIterate, linear: StageJacobians
) -> None:
    """Subtract the derivatives of the contacts' forces from A; write Jacobians of their rows."""
    tree, places, contacts = system.tree, at.places, stage.contacts
    bend_contacts(system.candidates, contacts, places)  # compiled before the first touch
    touching = at.n_active[1]
    if touching == 0:
        return
    own = np.zeros((contacts.n[0], system.rows, 6))
    if system.called and system.derivative == EXACT:
        call_vertex_derivative(
            system.called, contacts.index, places, at.w, at.wrench, at.active[:touching], own
        )
    stiffness, sums = np.empty((touching, 36)), np.zeros((len(tree.parents), 36))
    origin, bodies = np.empty((touching, 6)), np.empty((touching, 2), np.int64)
    of_depth, D = vector(6), matrix(6, 6)
    for x in range(touching):
        i = at.active[x]
        N, L = places.N[i], places.L[i]
        for a in range(3):
            of_depth[a] = -places.normal[i, a]
        cross_into(places.normal[i], places.arm[i], of_depth[3:])
        _vertex_rates(system, at, i, of_depth, N, own[i])
        _wrench_rates(places.arm[i], L, at.wrench[i], own[i], D)
        bodies[x, 0], bodies[x, 1] = contacts.bodies[i, 0], contacts.bodies[i, 1]
        copy_vector(at.origin[i], origin[x])
        stiffness_at_origin(
            at.P, bodies[x, 1], places.centre[i], at.wrench[i], D, True, stiffness[x]
        )
        _contact_rows(system, stage, at, i, of_depth, N, L, linear, x)
        rise = system.candidates.rise[contacts.index[i]] * max(places.depth[i], 0.0)
        if system.forces:
            share = share_of_load(system, at, i)
            rise *= share / at.w[i, 2] if 0.0 < share < 1.0 else 0.0
        for a in range(system.rows):
            linear.of_load[x, a] = rise / stage.rate * places.normal[i, a] if a < 3 else 0.0
    subtract_from_bodies(bodies, stiffness, touching, 1.0, sums)
    add_children(tree.parents, sums)
    project_stiffness(at.S, tree.parents, tree.first_dofs, sums, at.loads, linear.A)
    add_pairs(tree, at.S, bodies, stiffness, origin, touching, linear.A)


@jit
def _vertex_rates(
    system: System, at: StageIterate, i: int, of_depth: Array, N: Array, own: Array
) -> None:
    """Derivative of V w of contact i by a motion of its body, shape (rows, 6)."""
    if system.derivative == SECANT and not system.forces:
        for a in range(own.shape[0]):
            for c in range(3):
                for e in range(at.w.shape[1]):
                    own[a, c] += at.slopes[i, a, e, c] * at.w[i, e]
    elif system.forces and system.derivative == EXACT:
        w = at.w[i]
        add_frame_derivative(at.places.normal[i], w[0], w[1], w[2], N, own)
    elif system.derivative == EXACT and not system.called:
        places = at.places
        cone_derivative(
            system.cone,
            places.stiffness[i],
            places.depth[i],
            places.normal[i],
            places.friction[i],
            at.w[i],
            at.wrench[i],
            of_depth,
            N,
            own,
        )


@jit
def _wrench_rates(arm: Array, L: Array, wrench: Array, own: Array, D: Array) -> None:
    """Derivative of a wrench about the centre by a motion of the body, shape (6, 6).

    Args:
        arm: arm of the force, shape (3,).
        L: derivative of the arm, shape (3, 6).
        wrench: V w, shape (rows,).
        own: derivative of V w, shape (rows, 6).
        D: output.
    """
    for k in range(6):
        for a in range(own.shape[0]):
            D[a, k] = own[a, k]
        if own.shape[0] == 3:
            for a in range(3):
                b, c = (a + 1) % 3, (a + 2) % 3
                D[3 + a, k] = arm[b] * own[c, k] - arm[c] * own[b, k]
                D[3 + a, k] += L[b, k] * wrench[c] - L[c, k] * wrench[b]


@jit
def _contact_rows(
    system: System,
    stage: Stage,
    at: StageIterate,
    i: int,
    of_depth: Array,
    N: Array,
    L: Array,
    linear: StageJacobians,
    x: int,
) -> None:
    """Write active row x, the Jacobians of contact i relative to the touched body, in its axes.

    The columns are linear in the motions of the dofs: with F, what the wrench works on, and X, the
    motion of the touching point, as maps of (dx, dphi), the derivative of a displacement is
    X + Q (F - X), Q = R_ref R' being the rotation back to the reference; that of the displacement
    at a velocity is

        h ([t] X - [w] F + [0, -[v]]) + F dv/dq - h F (S_l x T),

    where t is the relative angular velocity, w and v are the velocities of the carrier and of its
    touching point, and T is the motion of the joint that precedes dof l.
    """
    tree, places, h, rows = system.tree, at.places, 1.0 / stage.rate, linear.J_force.shape[1]
    J_force, J_motion, dofs = linear.J_force[x], linear.J_motion[x], linear.dofs[x]
    a, b = stage.contacts.bodies[i, 0], stage.contacts.bodies[i, 1]
    F, U, X = zero_matrix(rows, 6), zero_matrix(rows, 6), zero_matrix(3, 6)
    for j in range(rows):
        F[j, j] = 1.0
    if rows == 3:
        _subtract_cross(places.arm[i], F, 3)
    for j in range(3):
        for k in range(6):
            X[j, k] = (1.0 if j == k else 0.0) + (L[j, k] if rows == 3 else 0.0)
    if stage.displaced:
        _displacement_map(places.placements[i], stage.contacts.reference[i], F, X, U)
    else:
        _velocity_map(at, a, b, i, h, F, X, U)
    add_surface_map(system.surfaces, stage.contacts, places, i, -h, N, L, U)
    rate = system.candidates.rise[stage.contacts.index[i]]
    if rate > 0.0 and places.depth[i] > 0.0:
        load = share_of_load(system, at, i)
        missing = h * rate * (1.0 - load)
        falls = system.forces and load < 1.0  # at the same force the load falls with the depth
        share = missing + (h * rate * system.cone.power * load if falls else 0.0)
        for j in range(3):
            for k in range(6):
                U[j, k] -= share * places.normal[i, j] * of_depth[k]
                U[j, k] -= missing * places.depth[i] * N[j, k]
    c, moved, y = vector(3), vector(6), vector(6)
    place(at.P[b], places.centre[i], c)
    n = write_moving_dofs(tree, a, b, dofs)
    linear.n_dofs[x] = n
    for s in range(n):
        l = dofs[s]
        sign = tree.moves[a, l] - tree.moves[b, l]
        motion_at(at.P[b], at.S[l], c, sign, moved)
        if not stage.displaced:
            motion_at(at.P[b], at.joint_axis_rates[l], c, h * sign, y)
        for j in range(rows):
            force, motion = 0.0, 0.0
            for k in range(6):
                force += F[j, k] * moved[k]
                motion += U[j, k] * moved[k]
            if not stage.displaced:
                for k in range(6):
                    motion -= F[j, k] * y[k]
            J_force[j, s], J_motion[j, s] = force, motion
    if not stage.displaced:
        add_multiplied_columns(tree.space, dofs, n, J_force, at.D, 1.0, J_motion)


@jit
def _subtract_cross(a: Array, X: Array, first: int) -> None:
    """Subtract the matrix of a x from three columns of X."""
    for j in range(3):
        k, l = (j + 1) % 3, (j + 2) % 3
        X[k, first + j] -= a[l]
        X[l, first + j] += a[k]


@jit
def _displacement_map(placement: Array, reference: Array, F: Array, X: Array, U: Array) -> None:
    """U = X + Q (F - X); of wrenches that of the centre, and (tr(T) - T) / 2 with T = Q'."""
    Q = matrix(3, 3)
    turn_back(placement, reference, Q)
    if F.shape[0] == 6:
        for j in range(3):
            U[j, j] = 1.0
            for k in range(3):
                U[3 + j, 3 + k] = -0.5 * Q[k, j]
        for j in range(3):
            for k in range(3):
                U[3 + j, 3 + j] += 0.5 * Q[k, k]
        return
    for j in range(3):
        for k in range(6):
            U[j, k] = X[j, k]
            for l in range(3):
                U[j, k] += Q[j, l] * (F[l, k] - X[l, k])


@jit
def _velocity_map(
    at: StageIterate, a: int, b: int, i: int, h: float, F: Array, X: Array, U: Array
) -> None:
    """U = h ([t] X - [w] F + [0, -[v]]); of wrenches also -h [w] of the rotation."""
    x, y, carried, t = vector(3), vector(3), vector(6), vector(6)
    for j in range(3):
        x[j] = at.places.centre[i, j] + (at.places.arm[i, j] if F.shape[0] == 3 else 0.0)
    place(at.P[b], x, y)
    motion_at(at.P[b], at.twists[a], y, h, carried)
    motion_at(at.P[b], at.twists[b], y, h, t)
    for j in range(3):
        t[3 + j] = carried[3 + j] - t[3 + j]
    for k in range(6):
        for j in range(3):
            l, m = (j + 1) % 3, (j + 2) % 3
            U[j, k] = t[3 + l] * X[m, k] - t[3 + m] * X[l, k]
            U[j, k] -= carried[3 + l] * F[m, k] - carried[3 + m] * F[l, k]
    _subtract_cross(carried, U, 3)
    if F.shape[0] == 6:
        _subtract_cross(carried[3:], U[3:], 3)
