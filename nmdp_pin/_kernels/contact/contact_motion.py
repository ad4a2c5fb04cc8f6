"""Motions and wrenches of contacts of two bodies."""

from __future__ import annotations

import math

from nmdp_pin._kernels.algebra.linear import copy_matrix
from nmdp_pin._kernels.algebra.vector3 import (
    Vector3,
    cross_into,
    place,
    relative,
    rotate,
    rotate_back,
)
from nmdp_pin._kernels.compiler.jit import Array, jit
from nmdp_pin._kernels.compiler.record import matrix, vector


@jit
def relative_placement(P: Array, a: int, b: int, out: Array) -> None:
    """The placement of body a relative to body b."""
    if b != 0:
        relative(P[b], P[a], out)
        return
    copy_matrix(P[a], out)


@jit
def spin(
    P: Array, twists: Array, a: int, b: int, h: float, point: Array, there: Vector3, M: Array
) -> None:
    """Placement of body a relative to body b after a time h at constant velocity.

    Args:
        P: placements at the start, shape (n + 1, 4, 3).
        twists: motions of the bodies there, shape (n + 1, 6).
        a: index of the first body.
        b: index of the second body.
        h: time [s].
        point: point of body a in its frame, shape (3,).
        there: where the point is after that time [m].
        M: relative placement at the start, which is overwritten, shape (4, 3).
    """
    w, v, x = vector(3), vector(3), vector(3)
    for j in range(3):
        x[j] = h * (twists[a, 3 + j] - twists[b, 3 + j])
    rotate_back(P[b], x, w)
    angle = math.sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2])
    if angle > 0.0:
        for j in range(3):
            w[j] /= angle
        sine, cosine = math.sin(angle), math.cos(angle)
        for column in range(3):
            cross_into(w, M[column], v)
            along = (1.0 - cosine) * (
                w[0] * M[column, 0] + w[1] * M[column, 1] + w[2] * M[column, 2]
            )
            for j in range(3):
                M[column, j] = cosine * M[column, j] + sine * v[j] + along * w[j]
    rotate(M, point, v)
    for j in range(3):
        M[3, j] = there[j] - v[j]


@jit
def relative_velocity(
    P: Array, twists: Array, a: int, b: int, point: Array, out: Array, work: Array
) -> None:
    """Velocity of a point of body a relative to body b, in the axes of b.

    Args:
        P: placements, shape (n + 1, 4, 3).
        twists: motions of the bodies at the world's origin, shape (n + 1, 6).
        a: index of the first body.
        b: index of the second body.
        point: the point in the frame of b, shape (3,).
        out: output, shape (3,).
        work: workspace, shape (3,).
    """
    place(P[b], point, work)
    w0 = twists[a, 3] - twists[b, 3]
    w1 = twists[a, 4] - twists[b, 4]
    w2 = twists[a, 5] - twists[b, 5]
    x = twists[a, 0] - twists[b, 0] + w1 * work[2] - w2 * work[1]
    y = twists[a, 1] - twists[b, 1] + w2 * work[0] - w0 * work[2]
    z = twists[a, 2] - twists[b, 2] + w0 * work[1] - w1 * work[0]
    if b == 0:
        out[0], out[1], out[2] = x, y, z
        return
    work[0], work[1], work[2] = x, y, z
    rotate_back(P[b], work, out)


@jit
def displacement(
    placement: Array, reference: Array, centre: Array, arm: Array, motion: Array
) -> None:
    """Motion since the reference on which a contact's wrench works [m, rad].

    Three entries are the displacement of the touching material point; six are that of the centre,
    and the rotation as its axis times the sine of its angle.

    Args:
        placement: placement of the carrier, shape (4, 3).
        reference: reference placement of the carrier, which need not be rigid, shape (4, 3).
        centre: centre of the contact, shape (3,).
        arm: arm from the centre to the touching point, shape (3,).
        motion: output, shape (3,) or (6,).
    """
    force = motion.size == 3
    x, local = vector(3), vector(3)
    for a in range(3):
        x[a] = centre[a] + (arm[a] if force else 0.0)
        local[a] = x[a] - placement[3, a]
    for a in range(3):
        motion[a] = x[a] - reference[3, a]
        for c in range(3):
            along = (
                placement[c, 0] * local[0] + placement[c, 1] * local[1] + placement[c, 2] * local[2]
            )
            motion[a] -= reference[c, a] * along
    if force:
        return
    for k in range(3):
        i, j = (k + 1) % 3, (k + 2) % 3
        turn_ji, turn_ij = 0.0, 0.0
        for c in range(3):
            turn_ji += placement[c, j] * reference[c, i]
            turn_ij += placement[c, i] * reference[c, j]
        motion[3 + k] = 0.5 * (turn_ji - turn_ij)


@jit
def turn_back(placement: Array, reference: Array, Q: Array) -> None:
    """Q = R_ref R', the rotation of a carrier back to the reference, shape (3, 3)."""
    for a in range(3):
        for b in range(3):
            Q[a, b] = (
                reference[0, a] * placement[0, b]
                + reference[1, a] * placement[1, b]
                + reference[2, a] * placement[2, b]
            )


@jit
def velocity_motion(
    P: Array, twists: Array, a: int, b: int, point: Array, h: float, motion: Array
) -> None:
    """Motion on which a contact's wrench works in a time h at the velocity of its end [m, rad].

    Args:
        P: placements, shape (n + 1, 4, 3).
        twists: motions of the bodies at the world's origin, shape (n + 1, 6).
        a: index of the body that carries the contact.
        b: index of the body that it touches.
        point: point where the wrench acts, in the frame of b, shape (3,).
        h: length of the stage [s].
        motion: output, shape (3,) or (6,).
    """
    work, turn = vector(3), vector(3)
    relative_velocity(P, twists, a, b, point, motion[:3], work)
    for k in range(3):
        motion[k] *= h
    if motion.size == 6:
        for k in range(3):
            work[k] = h * (twists[a, 3 + k] - twists[b, 3 + k])
        rotate_back(P[b], work, turn)
        for k in range(3):
            motion[3 + k] = turn[k]


@jit
def motion_at(M: Array, S: Array, c: Array, s: float, out: Array) -> None:
    """The motion s S at a point c, in the axes of a placement: linear, then angular, shape (6,)."""
    x, y = vector(3), vector(3)
    cross_into(S[3:], c, x)
    for j in range(3):
        x[j] = s * (x[j] + S[j])
        y[j] = s * S[3 + j]
    rotate_back(M, x, out[:3])
    rotate_back(M, y, out[3:])


@jit
def wrench_at_origin(P: Array, b: int, point: Array, wrench: Array, out: Array) -> None:
    """The wrench of a contact about the world's origin, in the world's axes, shape (6,).

    Args:
        P: placements, shape (n + 1, 4, 3).
        b: index of the touched body.
        point: point where the wrench acts, in the frame of b, shape (3,).
        wrench: wrench in the axes of b, shape (3,) or (6,).
        out: output, shape (6,).
    """
    p = vector(3)
    place(P[b], point, p)
    for a in range(3):
        out[a] = P[b, 0, a] * wrench[0] + P[b, 1, a] * wrench[1] + P[b, 2, a] * wrench[2]
    cross_into(p, out[:3], out[3:])
    if wrench.size == 6:
        for a in range(3):
            out[3 + a] += P[b, 0, a] * wrench[3] + P[b, 1, a] * wrench[4] + P[b, 2, a] * wrench[5]


@jit
def stiffness_at_origin(
    P: Array, b: int, centre: Array, wrench: Array, D: Array, carried: bool, out: Array
) -> None:
    """Derivative of a wrench at the world's origin by motions relative to the touched body.

    Args:
        P: placements, shape (n + 1, 4, 3).
        b: index of the touched body.
        centre: centre of the contact in the frame of b, shape (3,).
        wrench: force of the contact in the axes of b, shape (>= 3,).
        D: derivative of its wrench about the centre by (dx, dphi), in the axes of b, shape (6, 6);
            overwritten.
        carried: whether the centre's motion carries the force along.
        out: output, row-major, shape (36,).
    """
    c, f = vector(3), vector(3)
    place(P[b], centre, c)
    for a in range(3):
        f[a] = P[b, 0, a] * wrench[0] + P[b, 1, a] * wrench[1] + P[b, 2, a] * wrench[2]
    if b != 0:
        _turn(P[b], D)
    for j in range(6):  # D times the motion of the centre that one of the origin causes
        x, y, z = D[j, 0], D[j, 1], D[j, 2]
        D[j, 3] += c[1] * z - c[2] * y
        D[j, 4] += c[2] * x - c[0] * z
        D[j, 5] += c[0] * y - c[1] * x
    if carried:  # -[f] of the motion of the centre
        D[3, 1] += f[2]
        D[3, 2] -= f[1]
        D[4, 0] -= f[2]
        D[4, 2] += f[0]
        D[5, 0] += f[1]
        D[5, 1] -= f[0]
        along = f[0] * c[0] + f[1] * c[1] + f[2] * c[2]
        for i in range(3):  # [f][c] = c f' - (f . c) 1
            for j in range(3):
                D[3 + i, 3 + j] += c[i] * f[j]
            D[3 + i, 3 + i] -= along
    for k in range(6):
        x, y, z = D[0, k], D[1, k], D[2, k]
        out[k], out[6 + k], out[12 + k] = x, y, z
        out[18 + k] = D[3, k] + c[1] * z - c[2] * y
        out[24 + k] = D[4, k] + c[2] * x - c[0] * z
        out[30 + k] = D[5, k] + c[0] * y - c[1] * x


@jit
def _turn(axes: Array, D: Array) -> None:
    """Rotate both sides of D to the axes of the world, in place; axes[j] is column j of R."""
    half = matrix(6, 6)
    for p in range(0, 6, 3):
        for i in range(3):
            for q in range(6):
                half[p + i, q] = (
                    axes[0, i] * D[p, q] + axes[1, i] * D[p + 1, q] + axes[2, i] * D[p + 2, q]
                )
    for q in range(0, 6, 3):
        for p in range(6):
            for j in range(3):
                D[p, q + j] = (
                    half[p, q] * axes[0, j]
                    + half[p, q + 1] * axes[1, j]
                    + half[p, q + 2] * axes[2, j]
                )
