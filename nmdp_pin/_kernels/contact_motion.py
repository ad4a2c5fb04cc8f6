"""Motions of contacts: placements and velocities of a body relative to another."""

from __future__ import annotations

import math

import numpy as np

from nmdp_pin._kernels.jit import jit
from nmdp_pin._kernels.vector3 import Vector3, cross_into, place, relative, rotate, rotate_back


@jit
def relative_placement(P: np.ndarray, a: int, b: int, out: np.ndarray) -> None:
    """The placement of body a relative to body b."""
    if b != 0:
        relative(P[b], P[a], out)
        return
    for r in range(4):
        for j in range(3):
            out[r, j] = P[a, r, j]


@jit
def spin(
    P: np.ndarray,
    twists: np.ndarray,
    a: int,
    b: int,
    h: float,
    point: np.ndarray,
    there: Vector3,
    M: np.ndarray,
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
    w, v, x = np.empty(3), np.empty(3), np.empty(3)
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
    P: np.ndarray,
    twists: np.ndarray,
    a: int,
    b: int,
    point: np.ndarray,
    out: np.ndarray,
    work: np.ndarray,
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
    placement: np.ndarray,
    reference: np.ndarray,
    centre: np.ndarray,
    arm: np.ndarray,
    motion: np.ndarray,
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
    x, local = np.empty(3), np.empty(3)
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
def turn_back(placement: np.ndarray, reference: np.ndarray, Q: np.ndarray) -> None:
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
    P: np.ndarray,
    twists: np.ndarray,
    a: int,
    b: int,
    point: np.ndarray,
    h: float,
    motion: np.ndarray,
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
    work, turn = np.empty(3), np.empty(3)
    relative_velocity(P, twists, a, b, point, motion[:3], work)
    for k in range(3):
        motion[k] *= h
    if motion.size == 6:
        for k in range(3):
            work[k] = h * (twists[a, 3 + k] - twists[b, 3 + k])
        rotate_back(P[b], work, turn)
        for k in range(3):
            motion[3 + k] = turn[k]
