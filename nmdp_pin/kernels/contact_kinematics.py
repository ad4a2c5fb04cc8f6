"""Positions and motions of contacts.

Every contact is expressed in the frame of the body that it touches: positions, normals, vertices,
motions and their Jacobians; the terrain is the body of index 0, the world. A
placement is stored as (4, 3): the columns of the rotation, then the origin. Row S_l of S is the
motion (linear at the world's origin, angular) of dof l.
"""

from __future__ import annotations

import numpy as np

from nmdp_pin.kernels.jit import jit


@jit
def cross_into(a: np.ndarray, b: np.ndarray, out: np.ndarray) -> None:
    """Write the cross product a x b."""
    out[0] = a[1] * b[2] - a[2] * b[1]
    out[1] = a[2] * b[0] - a[0] * b[2]
    out[2] = a[0] * b[1] - a[1] * b[0]


@jit
def relative_placements(
    P: np.ndarray, joints: np.ndarray, touched: np.ndarray, placements: np.ndarray
) -> None:
    """Placements of the bodies that carry the contacts, relative to the touched bodies.

    Args:
        P: placements of all joints in the world, shape (n_joints, 4, 3).
        joints: joints that carry the contacts, shape (n,).
        touched: joints whose surfaces they touch, 0 for the terrain, shape (n,).
        placements: output, shape (n, 4, 3).
    """
    for i in range(joints.size):
        j, b = joints[i], touched[i]
        for r in range(4):
            if b == 0:
                for a in range(3):
                    placements[i, r, a] = P[j, r, a]
                continue
            x, y, z = P[j, r, 0], P[j, r, 1], P[j, r, 2]
            if r == 3:
                x, y, z = x - P[b, 3, 0], y - P[b, 3, 1], z - P[b, 3, 2]
            for a in range(3):
                placements[i, r, a] = P[b, a, 0] * x + P[b, a, 1] * y + P[b, a, 2] * z


@jit
def locate(
    P: np.ndarray,
    joints: np.ndarray,
    touched: np.ndarray,
    local: np.ndarray,
    placements: np.ndarray,
    centre: np.ndarray,
) -> None:
    """Placements of the carriers and centres of the spheres, relative to the touched bodies.

    Args:
        P: as in `relative_placements`.
        joints: as in `relative_placements`.
        touched: as in `relative_placements`.
        placements: as in `relative_placements`.
        local: centres of the spheres in the frames of their joints [m], shape (n, 3).
        centre: output [m], shape (n, 3).
    """
    relative_placements(P, joints, touched, placements)
    for i in range(joints.size):
        for a in range(3):
            centre[i, a] = (
                placements[i, 3, a]
                + placements[i, 0, a] * local[i, 0]
                + placements[i, 1, a] * local[i, 1]
                + placements[i, 2, a] * local[i, 2]
            )


@jit
def motion_of(
    placement: np.ndarray,
    reference: np.ndarray,
    local: np.ndarray,
    centre: np.ndarray,
    normal: np.ndarray,
    radius: float,
    motion: np.ndarray,
) -> None:
    """Motion since the reference on which a contact's wrench works [m, rad].

    Three entries are the displacement of the touching material point; six are that of the centre,
    and the rotation as its axis times the sine of its angle.

    Args:
        placement: placement of the carrier, shape (4, 3).
        reference: reference placement of the carrier, which need not be rigid, shape (4, 3).
        local: centre of the sphere in the carrier's frame, shape (3,).
        centre: centre of the sphere, shape (3,).
        normal: normal of the surface, shape (3,).
        radius: radius of the sphere [m].
        motion: output, shape (3,) or (6,).
    """
    for a in range(3):
        motion[a] = centre[a] - (
            reference[3, a]
            + reference[0, a] * local[0]
            + reference[1, a] * local[1]
            + reference[2, a] * local[2]
        )
    if motion.size == 6:
        for k in range(3):
            i, j = (k + 1) % 3, (k + 2) % 3
            turn_ji, turn_ij = 0.0, 0.0
            for c in range(3):
                turn_ji += placement[c, j] * reference[c, i]
                turn_ij += placement[c, i] * reference[c, j]
            motion[3 + k] = 0.5 * (turn_ji - turn_ij)
    elif radius > 0.0:
        for a in range(3):
            back = 0.0  # the normal rotated back with the body, R_ref R' n
            for c in range(3):
                along = (
                    placement[c, 0] * normal[0]
                    + placement[c, 1] * normal[1]
                    + placement[c, 2] * normal[2]
                )
                back += reference[c, a] * along
            motion[a] += radius * (back - normal[a])


@jit
def relative_twist(S: np.ndarray, support: np.ndarray, v: np.ndarray, twist: np.ndarray) -> None:
    """Motion of a carrier relative to the touched body, at the world's origin, shape (6,).

    Args:
        S: motions of the dofs, shape (nv, 6).
        support: row of the contact in `support` of `contact_forces`, shape (nv,).
        v: velocity, shape (nv,).
        twist: output, shape (6,).
    """
    twist[:] = 0.0
    for l in range(v.size):
        s = support[l] * v[l]
        if s != 0.0:
            for a in range(6):
                twist[a] += s * S[l, a]


@jit
def to_world(P: np.ndarray, b: int, point: np.ndarray, out: np.ndarray) -> None:
    """World coordinates of a point given in the frame of joint b, shape (3,)."""
    for a in range(3):
        out[a] = point[a]
        if b != 0:
            out[a] = P[b, 3, a]
            for c in range(3):
                out[a] += P[b, c, a] * point[c]


@jit
def motion_by_velocity(
    P: np.ndarray, b: int, twist: np.ndarray, point: np.ndarray, h: float, motion: np.ndarray
) -> None:
    """Motion on which a contact's wrench works in a time h at the velocity of its end [m, rad].

    Args:
        P: placements of all joints, shape (n_joints, 4, 3).
        b: joint of the touched body.
        twist: relative motion at the world's origin, shape (6,).
        point: point where the wrench acts, in the frame of b, shape (3,).
        h: length of the stage [s].
        motion: output, shape (3,) or (6,).
    """
    p, x = np.empty(3), np.empty(3)
    to_world(P, b, point, p)
    cross_into(twist[3:], p, x)
    for a in range(3):
        x[a] += twist[a]
    for a in range(3):
        motion[a] = h * x[a]
        if motion.size == 6:
            motion[3 + a] = h * twist[3 + a]
    if b != 0:
        for a in range(3):
            linear, angular = 0.0, 0.0
            for c in range(3):
                linear += P[b, a, c] * x[c]
                angular += P[b, a, c] * twist[3 + c]
            motion[a] = h * linear
            if motion.size == 6:
                motion[3 + a] = h * angular


@jit
def contact_velocities(
    P: np.ndarray,
    S: np.ndarray,
    touched: np.ndarray,
    support: np.ndarray,
    centre: np.ndarray,
    v: np.ndarray,
    out: np.ndarray,
) -> None:
    """Velocities of the centres relative to the touched bodies, in their axes, shape (n, 3).

    The arguments are those of `contact_forces`.
    """
    twist = np.empty(6)
    for i in range(touched.size):
        relative_twist(S, support[i], v, twist)
        motion_by_velocity(P, touched[i], twist, centre[i], 1.0, out[i])
