"""Derivatives of contact motions by their reference, and of the works of the vertices."""

from __future__ import annotations

import numpy as np

from nmdp_pin.kernels.contact_jacobians import contact_jacobians
from nmdp_pin.kernels.jit import jit


@jit
def reference_motion_jacobians(
    P: np.ndarray,
    S: np.ndarray,
    touched: np.ndarray,
    support: np.ndarray,
    local: np.ndarray,
    radii: np.ndarray,
    reference: np.ndarray,
    placements: np.ndarray,
    normal: np.ndarray,
    active: np.ndarray,
    J: np.ndarray,
) -> None:
    """Derivatives of `motion_of` with respect to the configuration at the reference.

    The material point that touches at the end is fixed to the carrier, so its motion at the
    reference is subtracted. With Q = R_ref R' rotations have -(tr(Q) - Q) / 2 J_w.

    Args:
        P: placements of all joints at the reference, shape (n_joints, 4, 3).
        S: motions of the dofs there, shape (nv, 6).
        touched: as in `contact_forces`.
        support: as in `contact_forces`.
        local: as in `contact_forces`.
        radii: as in `contact_forces`.
        reference: reference placements of the carriers, shape (n, 4, 3).
        placements: placements of the carriers at the end, shape (n, 4, 3).
        normal: normals of the surfaces, shape (n, 3).
        active: indices of the active contacts, shape (k,).
        J: output, shape (k, rows, nv).
    """
    rows, nv = J.shape[1], J.shape[2]
    J_c, J_p, J_w = np.empty((3, nv)), np.empty((3, nv)), np.empty((3, nv))
    centre, point, turn = np.empty(3), np.empty(3), np.empty((3, 3))
    for x in range(active.size):
        i = active[x]
        R, Q = placements[i], reference[i]
        for a in range(3):
            centre[a] = Q[3, a]
            for c in range(3):
                centre[a] += Q[c, a] * local[i, c]
        for a in range(3):
            point[a] = centre[a]
            for c in range(3):
                along = R[c, 0] * normal[i, 0] + R[c, 1] * normal[i, 1] + R[c, 2] * normal[i, 2]
                point[a] -= radii[i] * along * Q[c, a]
        contact_jacobians(P, S, touched[i], support[i], centre, point, J_c, J_p, J_w)
        if rows == 3:
            J[x] = -J_p
            continue
        trace = 0.0
        for a in range(3):
            for b in range(3):
                turn[a, b] = Q[0, a] * R[0, b] + Q[1, a] * R[1, b] + Q[2, a] * R[2, b]
            trace += turn[a, a]
        for l in range(nv):
            for a in range(3):
                J[x, a, l] = -J_c[a, l]
                total = trace * J_w[a, l]
                for b in range(3):
                    total -= turn[a, b] * J_w[b, l]
                J[x, 3 + a, l] = -0.5 * total


@jit
def work_jacobian(
    P: np.ndarray,
    S: np.ndarray,
    touched: np.ndarray,
    support: np.ndarray,
    centre: np.ndarray,
    V: np.ndarray,
    motion: np.ndarray,
    active: np.ndarray,
    own: np.ndarray,
    J_motion: np.ndarray,
    r_q: np.ndarray,
) -> None:
    """Derivative of the works V'u with respect to the configuration: V' du/dq + (dV/dq)' u.

    Args:
        P: as in `contact_forces`.
        S: as in `contact_forces`.
        touched: as in `contact_forces`.
        support: as in `contact_forces`.
        centre: as in `contact_forces`.
        V: as in `contact_forces`.
        motion: as in `contact_forces`.
        active: indices of the active contacts, shape (k,).
        own: derivative of each vertex with respect to the translation of the contact, or to
            translation and rotation, shape (k, m, rows, 3 or 6).
        J_motion: derivative of the motions, shape (k, rows, nv).
        r_q: output, shape (k m, nv).
    """
    rows, nv, m = J_motion.shape[1], J_motion.shape[2], V.shape[2]
    J_c, J_p, J_w = np.empty((3, nv)), np.empty((3, nv)), np.empty((3, nv))
    for x in range(active.size):
        i = active[x]
        contact_jacobians(P, S, touched[i], support[i], centre[i], centre[i], J_c, J_p, J_w)
        for e in range(m):
            row = r_q[x * m + e]
            row[:] = 0.0
            for a in range(rows):
                force, u = V[i, a, e], motion[i, a]
                for l in range(nv):
                    row[l] += force * J_motion[x, a, l]
                for c in range(own.shape[3]):
                    change = u * own[x, e, a, c]
                    for l in range(nv):
                        row[l] += change * (J_c[c, l] if c < 3 else J_w[c - 3, l])
