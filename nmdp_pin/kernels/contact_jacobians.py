"""Jacobians of contacts and of their motions; conventions as in `contact_kinematics`."""

from __future__ import annotations

import numpy as np

from nmdp_pin.kernels.contact_kinematics import cross_into, relative_twist, to_world
from nmdp_pin.kernels.jit import jit


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
        b: joint of the touched body.
        support: row of the contact in `support` of `contact_forces`, shape (nv,).
        centre: centre of the sphere in the frame of b, shape (3,).
        point: point where the wrench acts, in the frame of b, shape (3,).
        J_centre: output, linear Jacobian at the centre, shape (3, nv).
        J_point: output, linear Jacobian at the point, shape (3, nv).
        J_angular: output, angular Jacobian, shape (3, nv).
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

    With Q = R_ref R' the rotation back to the reference and arm = r n,
    du = J_c + Q [arm]x J_w + (Q - 1) r (dn/dx) J_c; rotations have (tr(T) - T) / 2 J_w, T = Q'.

    Args:
        placement: placement of the carrier, shape (4, 3).
        reference: reference placement of the carrier, shape (4, 3).
        normal: normal of the surface, shape (3,).
        curvature: curvature of the surface, shape (3, 3).
        radius: radius of the sphere [m]; 0 where the wrench acts at the centre.
        J_centre: linear Jacobian at the centre, shape (3, nv).
        J_angular: angular Jacobian, shape (3, nv).
        J: output, shape (3 or 6, nv).
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

    The motions S_k rotate with the joints above them, dS_k/dq_l = S_l x S_k; the point and the axes
    of the touched body move as well.

    Args:
        P: as in `contact_jacobians`.
        S: as in `contact_jacobians`.
        b: as in `contact_jacobians`.
        support: as in `contact_jacobians`.
        J_centre: as in `contact_jacobians`.
        J_point: as in `contact_jacobians`.
        J_angular: as in `contact_jacobians`.
        moves: whether a dof moves the touched body, shape (nv,).
        above: as in `subtract_carried`.
        v: velocity, shape (nv,).
        D: dv/dq, shape (nv, nv), or (0, 0) where it is the identity times the rate.
        rate: 1 / h of the stage [1/s].
        point: point where the wrench acts, in the frame of b, shape (3,).
        arm: derivative of that point with respect to the centre, shape (3, 3).
        J: output, shape (3 or 6, nv).
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
    carried = np.empty(6)
    to_world(P, b, point, p)
    relative_twist(S, support, v, t)
    velocity = np.empty(3)
    cross_into(t[3:], p, velocity)
    for a in range(3):
        velocity[a] += t[a]
    for l in range(nv):
        if support[l] == 0.0 and not moves[l]:
            continue
        carried[:] = 0.0  # sum of S_k v_k over the dofs that l moves, on which S_l x acts
        for k in range(nv):
            s = support[k] * v[k]
            if above[k, l] and s != 0.0:
                for a in range(6):
                    carried[a] += s * S[k, a]
        cross_into(S[l, 3:], carried[:3], x)
        cross_into(S[l, :3], carried[3:], y)
        for a in range(3):
            turn[a] = x[a] + y[a]
        cross_into(S[l, 3:], carried[3:], turn[3:])
        cross_into(turn[3:], p, x)
        for a in range(3):
            turn[a] += x[a]
        # motion of the point: with the touched body, and relative to it
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
def point_jacobians(
    P: np.ndarray,
    S: np.ndarray,
    touched: np.ndarray,
    support: np.ndarray,
    centre: np.ndarray,
    point: np.ndarray,
    J: np.ndarray,
) -> None:
    """Jacobians of the touching points relative to the touched bodies, shape (n, 3, nv)."""
    nv = S.shape[0]
    J_centre, J_angular = np.empty((3, nv)), np.empty((3, nv))
    for i in range(touched.size):
        contact_jacobians(
            P, S, touched[i], support[i], centre[i], point[i], J_centre, J[i], J_angular
        )
