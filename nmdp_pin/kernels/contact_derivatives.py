"""Derivatives of contact forces and motions with respect to the configuration."""

from __future__ import annotations

import numpy as np

from nmdp_pin.kernels.contact import cross_into, relative_twist, to_world, wrench_at_origin
from nmdp_pin.kernels.jit import jit


@jit
def crossed(S: np.ndarray, l: int, k: int, F: np.ndarray) -> float:
    """(S_l x S_k) . F of motions and a wrench about the same origin."""
    vl0, vl1, vl2, wl0, wl1, wl2 = S[l, 0], S[l, 1], S[l, 2], S[l, 3], S[l, 4], S[l, 5]
    vk0, vk1, vk2, wk0, wk1, wk2 = S[k, 0], S[k, 1], S[k, 2], S[k, 3], S[k, 4], S[k, 5]
    linear = (
        (wl1 * vk2 - wl2 * vk1 + vl1 * wk2 - vl2 * wk1) * F[0]
        + (wl2 * vk0 - wl0 * vk2 + vl2 * wk0 - vl0 * wk2) * F[1]
        + (wl0 * vk1 - wl1 * vk0 + vl0 * wk1 - vl1 * wk0) * F[2]
    )
    angular = (
        (wl1 * wk2 - wl2 * wk1) * F[3]
        + (wl2 * wk0 - wl0 * wk2) * F[4]
        + (wl0 * wk1 - wl1 * wk0) * F[5]
    )
    return linear + angular


@jit
def subtract_carried(S: np.ndarray, above: np.ndarray, subtree: np.ndarray, A: np.ndarray) -> None:
    """A_kl -= (S_l x S_k) . F_k where l moves S_k: the joints above carry S_k along.

    Args:
        S: motions of the dofs, shape (nv, 6).
        above: whether dof l belongs to the joint of dof k or to one above it, shape (nv, nv).
        subtree: wrenches F of all that each dof moves, shape (nv, 6).
        A: shape (nv, nv).
    """
    nv = S.shape[0]
    for k in range(nv):
        F = subtree[k]
        if F[0] == 0.0 and F[1] == 0.0 and F[2] == 0.0 and F[3] == 0.0:
            if F[4] == 0.0 and F[5] == 0.0:
                continue
        for l in range(nv):
            if above[k, l]:
                A[k, l] -= crossed(S, l, k, F)


@jit
def add_taken(
    S: np.ndarray,
    support: np.ndarray,
    moves: np.ndarray,
    origin: np.ndarray,
    A: np.ndarray,
) -> None:
    """A_kl += s_k (S_l x S_k) . F where l moves the body that is touched and takes F along.

    Args:
        S: motions of the dofs, shape (nv, 6).
        support: s of the contact, shape (nv,).
        moves: whether a dof moves what is touched, shape (nv,).
        origin: the contact's wrench about the world's origin, shape (6,).
        A: shape (nv, nv).
    """
    nv = S.shape[0]
    for l in range(nv):
        if moves[l]:
            for k in range(nv):
                if support[k] != 0.0:
                    A[k, l] += support[k] * crossed(S, l, k, origin)


@jit
def contact_jacobians(
    P: np.ndarray,
    S: np.ndarray,
    b: int,
    support: np.ndarray,
    centre: np.ndarray,
    point: np.ndarray,
    J_centre: np.ndarray,
    J_point: np.ndarray,
    J_angular: np.ndarray,
) -> None:
    """Jacobians of a contact relative to the body it touches, in that body's axes.

    Args:
        P: placements of all joints, shape (n_joints, 4, 3).
        S: motions of the dofs, shape (nv, 6).
        b: joint of the body that is touched.
        support: see `contact_forces`; shape (nv,).
        centre: of the sphere, seen from b, shape (3,).
        point: where the wrench acts, seen from b, shape (3,).
        J_centre: linear at the centre, an output, shape (3, nv).
        J_point: linear at the point, an output, shape (3, nv).
        J_angular: an output, shape (3, nv).
    """
    c, p = np.empty(3), np.empty(3)
    to_world(P, b, centre, c)
    to_world(P, b, point, p)
    x = np.empty((3, 3))  # motions at the centre, at the point, and the angular one
    for l in range(S.shape[0]):
        s = support[l]
        if s == 0.0:
            J_centre[:, l] = 0.0
            J_point[:, l] = 0.0
            J_angular[:, l] = 0.0
            continue
        v0, v1, v2, w0, w1, w2 = S[l, 0], S[l, 1], S[l, 2], S[l, 3], S[l, 4], S[l, 5]
        x[0, 0] = s * (v0 + w1 * c[2] - w2 * c[1])
        x[0, 1] = s * (v1 + w2 * c[0] - w0 * c[2])
        x[0, 2] = s * (v2 + w0 * c[1] - w1 * c[0])
        x[1, 0] = s * (v0 + w1 * p[2] - w2 * p[1])
        x[1, 1] = s * (v1 + w2 * p[0] - w0 * p[2])
        x[1, 2] = s * (v2 + w0 * p[1] - w1 * p[0])
        x[2, 0], x[2, 1], x[2, 2] = s * w0, s * w1, s * w2
        for a in range(3):
            if b == 0:
                J_centre[a, l], J_point[a, l], J_angular[a, l] = x[0, a], x[1, a], x[2, a]
            else:
                r0, r1, r2 = P[b, a, 0], P[b, a, 1], P[b, a, 2]
                J_centre[a, l] = r0 * x[0, 0] + r1 * x[0, 1] + r2 * x[0, 2]
                J_point[a, l] = r0 * x[1, 0] + r1 * x[1, 1] + r2 * x[1, 2]
                J_angular[a, l] = r0 * x[2, 0] + r1 * x[2, 1] + r2 * x[2, 2]


@jit
def motion_jacobian(
    placement: np.ndarray,
    reference: np.ndarray,
    normal: np.ndarray,
    curvature: np.ndarray,
    radius: float,
    J_centre: np.ndarray,
    J_angular: np.ndarray,
    J: np.ndarray,
) -> None:
    """Derivative of `motion_of` with respect to the configuration, shape (3 or 6, nv).

    With Q = R_ref R' the turn back to the reference and arm = r n,
    du = J_c + Q [arm]x J_w + (Q - 1) r (dn/dx) J_c; turns have (tr(T) - T) / 2 J_w, T = Q'.

    Args:
        placement: of the carrier, shape (4, 3).
        reference: of the carrier, shape (4, 3).
        normal: shape (3,).
        curvature: of the surface, shape (3, 3).
        radius: of the sphere [m]; 0 where the wrench acts at the centre.
        J_centre: shape (3, nv).
        J_angular: shape (3, nv).
        J: an output, shape (3 or 6, nv).
    """
    rows, nv = J.shape
    for a in range(3):
        for l in range(nv):
            J[a, l] = J_centre[a, l]
    if rows == 3 and radius == 0.0:
        return
    Q = np.empty((3, 3))
    for a in range(3):
        for b in range(3):
            Q[a, b] = (
                reference[0, a] * placement[0, b]
                + reference[1, a] * placement[1, b]
                + reference[2, a] * placement[2, b]
            )
    of_turn, of_centre = np.empty((3, 3)), np.zeros((3, 3))
    if rows == 6:
        trace = Q[0, 0] + Q[1, 1] + Q[2, 2]
        for a in range(3):
            for b in range(3):
                of_turn[a, b] = 0.5 * ((trace if a == b else 0.0) - Q[b, a])
    else:
        n0, n1, n2 = radius * normal[0], radius * normal[1], radius * normal[2]
        for a in range(3):
            of_turn[a, 0] = Q[a, 1] * n2 - Q[a, 2] * n1
            of_turn[a, 1] = Q[a, 2] * n0 - Q[a, 0] * n2
            of_turn[a, 2] = Q[a, 0] * n1 - Q[a, 1] * n0
            for b in range(3):
                for c in range(3):
                    turned = Q[a, c] - (1.0 if a == c else 0.0)
                    of_centre[a, b] += radius * turned * curvature[c, b]
    first = rows - 3
    for l in range(nv):
        for a in range(3):
            total = J_centre[a, l] if rows == 3 else 0.0
            for b in range(3):
                total += of_turn[a, b] * J_angular[b, l] + of_centre[a, b] * J_centre[b, l]
            J[first + a, l] = total


@jit
def velocity_motion_jacobian(
    P: np.ndarray,
    S: np.ndarray,
    b: int,
    support: np.ndarray,
    moves: np.ndarray,
    above: np.ndarray,
    v: np.ndarray,
    D: np.ndarray,
    rate: float,
    point: np.ndarray,
    arm: np.ndarray,
    J_centre: np.ndarray,
    J_point: np.ndarray,
    J_angular: np.ndarray,
    J: np.ndarray,
) -> None:
    """Derivative of `motion_by_velocity` with respect to the configuration, times the rate.

    The motions S_k turn with the joints above them, dS_k/dq_l = S_l x S_k; the point moves, and
    the axes from which the motion is seen.

    Args:
        P: see `contact_jacobians`, likewise S, b, support, J_centre, J_point and J_angular.
        moves: whether a dof moves what is touched, shape (nv,).
        above: see `subtract_carried`.
        v: velocity, shape (nv,).
        D: dv/dq, shape (nv, nv), or (0, 0) where it is the identity times the rate.
        rate: 1 / h of the stage [1/s].
        point: where the wrench acts, seen from b, shape (3,).
        arm: derivative of that point with respect to the centre, shape (3, 3).
        J: an output, shape (3 or 6, nv).
    """
    rows, nv = J.shape
    J[:] = 0.0
    for l in range(nv):
        for a in range(3):
            if D.size == 0:
                J[a, l] = rate * J_point[a, l]
                if rows == 6:
                    J[3 + a, l] = rate * J_angular[a, l]
            else:
                for k in range(nv):
                    if support[k] != 0.0:
                        J[a, l] += J_point[a, k] * D[k, l]
                        if rows == 6:
                            J[3 + a, l] += J_angular[a, k] * D[k, l]
    p, x, y, t, turn = np.empty(3), np.empty(3), np.empty(3), np.empty(6), np.empty(6)
    to_world(P, b, point, p)
    relative_twist(S, support, v, t)
    velocity = np.empty(3)
    cross_into(t[3:], p, velocity)
    for a in range(3):
        velocity[a] += t[a]
    for l in range(nv):
        if support[l] == 0.0 and not moves[l]:
            continue
        turn[:] = 0.0  # sum of S_l x S_k v_k over what l moves
        for k in range(nv):
            if above[k, l] and support[k] != 0.0 and v[k] != 0.0:
                s = support[k] * v[k]
                cross_into(S[l, 3:], S[k, :3], x)
                cross_into(S[l, :3], S[k, 3:], y)
                for a in range(3):
                    turn[a] += s * (x[a] + y[a])
                cross_into(S[l, 3:], S[k, 3:], x)
                for a in range(3):
                    turn[3 + a] += s * x[a]
        cross_into(turn[3:], p, x)
        for a in range(3):
            turn[a] += x[a]
        # how the point moves: with what is touched, and relative to it
        for a in range(3):
            y[a] = arm[a, 0] * J_centre[0, l] + arm[a, 1] * J_centre[1, l]
            y[a] += arm[a, 2] * J_centre[2, l]
        for a in range(3):
            x[a] = y[a]
            if b != 0:
                x[a] = P[b, 0, a] * y[0] + P[b, 1, a] * y[1] + P[b, 2, a] * y[2]
        if moves[l]:
            cross_into(S[l, 3:], p, y)
            for a in range(3):
                x[a] += S[l, a] + y[a]
        cross_into(t[3:], x, y)
        for a in range(3):
            turn[a] += y[a]
        if moves[l]:
            cross_into(S[l, 3:], velocity, y)
            cross_into(S[l, 3:], t[3:], x)
            for a in range(3):
                turn[a] -= y[a]
                turn[3 + a] -= x[a]
        for a in range(3):
            linear, angular = turn[a], turn[3 + a]
            if b != 0:
                linear, angular = 0.0, 0.0
                for c in range(3):
                    linear += P[b, a, c] * turn[c]
                    angular += P[b, a, c] * turn[3 + c]
            J[a, l] += linear
            if rows == 6:
                J[3 + a, l] += angular
    for a in range(rows):
        for l in range(nv):
            J[a, l] /= rate


@jit
def linearise_contacts(
    P: np.ndarray,
    S: np.ndarray,
    touched: np.ndarray,
    support: np.ndarray,
    moves: np.ndarray,
    above: np.ndarray,
    radii: np.ndarray,
    reference: np.ndarray,
    placements: np.ndarray,
    centre: np.ndarray,
    normal: np.ndarray,
    curvature: np.ndarray,
    wrench: np.ndarray,
    subtree: np.ndarray,
    active: np.ndarray,
    own: np.ndarray,
    v: np.ndarray,
    D: np.ndarray,
    rate: float,
    A: np.ndarray,
    J_force: np.ndarray,
    J_motion: np.ndarray,
) -> None:
    """Subtract the derivative of the contacts' generalised force from A = dG/dq.

    The wrenches are carried along by the joints above, they change with V(q), and their moments
    change as the points where they act move with the spheres.

    Args:
        P: see `contact_forces`, likewise S, touched, support, radii, reference, placements, centre,
            normal, wrench and subtree.
        moves: whether a dof moves what is touched, shape (n, nv).
        above: see `subtract_carried`.
        curvature: derivative of the normal [1/m], shape (n, 3, 3), or (0, 3, 3) where it is 0.
        active: contacts that act, shape (k,).
        own: derivative of V w with respect to the translation of the contact, or translation and
            rotation, with w held, shape (n, rows, 3 or 6).
        v: velocity, shape (nv,).
        D: dv/dq, shape (nv, nv), or (0, 0) where it is the identity times the rate.
        rate: 1 / h of the stage [1/s].
        A: shape (nv, nv).
        J_force: Jacobian on which wrenches work, an output, shape (k, rows, nv).
        J_motion: derivative of the motions, an output, shape (k, rows, nv).
    """
    nv, rows = A.shape[0], wrench.shape[1]
    subtract_carried(S, above, subtree, A)
    J_c, J_p, J_w = np.empty((3, nv)), np.empty((3, nv)), np.empty((3, nv))
    dF = np.empty((6, nv))
    point, origin = np.empty(3), np.empty(6)
    arm, flat = np.zeros((3, 3)), np.zeros((3, 3))
    turns = own.shape[2] == 6
    for x in range(active.size):
        i = active[x]
        b, f = touched[i], wrench[i]
        radius = radii[i] if rows == 3 else 0.0
        bend = curvature[i] if curvature.shape[0] else flat
        for a in range(3):
            point[a] = centre[i, a] - radius * normal[i, a]
            for e in range(3):  # the point moves by (1 - r dn/dx) of the centre's motion
                arm[a, e] = (1.0 if a == e else 0.0) - radius * bend[a, e]
        contact_jacobians(P, S, b, support[i], centre[i], point, J_c, J_p, J_w)
        if b != 0:
            wrench_at_origin(P, b, point, f, origin)
            add_taken(S, support[i], moves[i], origin, A)
        for l in range(nv):
            if support[i, l] == 0.0:
                continue
            for a in range(rows):
                total = 0.0
                for e in range(3):
                    total += own[i, a, e] * J_c[e, l]
                    if turns:
                        total += own[i, a, 3 + e] * J_w[e, l]
                dF[a, l] = total
            if rows == 3:
                dF[3, l] = dF[4, l] = dF[5, l] = 0.0
            d0 = arm[0, 0] * J_c[0, l] + arm[0, 1] * J_c[1, l] + arm[0, 2] * J_c[2, l]
            d1 = arm[1, 0] * J_c[0, l] + arm[1, 1] * J_c[1, l] + arm[1, 2] * J_c[2, l]
            d2 = arm[2, 0] * J_c[0, l] + arm[2, 1] * J_c[1, l] + arm[2, 2] * J_c[2, l]
            dF[3, l] -= f[1] * d2 - f[2] * d1
            dF[4, l] -= f[2] * d0 - f[0] * d2
            dF[5, l] -= f[0] * d1 - f[1] * d0
        for k in range(nv):
            if support[i, k] == 0.0:
                continue
            for l in range(nv):
                if support[i, l] != 0.0:
                    A[k, l] -= (
                        J_p[0, k] * dF[0, l]
                        + J_p[1, k] * dF[1, l]
                        + J_p[2, k] * dF[2, l]
                        + J_w[0, k] * dF[3, l]
                        + J_w[1, k] * dF[4, l]
                        + J_w[2, k] * dF[5, l]
                    )
        J_force[x, :3] = J_p
        if rows == 6:
            J_force[x, 3:] = J_w
        if reference.shape[0] == 0:
            velocity_motion_jacobian(
                P,
                S,
                b,
                support[i],
                moves[i],
                above,
                v,
                D,
                rate,
                point,
                arm,
                J_c,
                J_p,
                J_w,
                J_motion[x],
            )
            continue
        motion_jacobian(
            placements[i],
            reference[i],
            normal[i],
            bend,
            radius,
            J_c,
            J_w,
            J_motion[x],
        )
