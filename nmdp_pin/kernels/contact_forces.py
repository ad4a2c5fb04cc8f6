"""Contact forces and their generalised forces; conventions as in `contact_kinematics`."""

from __future__ import annotations

import numpy as np

from nmdp_pin.kernels.contact_kinematics import (
    cross_into,
    motion_by_velocity,
    motion_of,
    relative_twist,
    to_world,
)
from nmdp_pin.kernels.jit import jit

LEAST_SHARE = 1e-3  # share of the largest force below which a contact's own force is not its unit


@jit
def wrench_at_origin(
    P: np.ndarray, b: int, point: np.ndarray, wrench: np.ndarray, out: np.ndarray
) -> None:
    """The wrench of a contact about the world's origin, in the world's axes, shape (6,).

    Args:
        P: placements of all joints, shape (n_joints, 4, 3).
        b: joint of the touched body.
        point: point where the wrench acts, in that joint's frame, shape (3,).
        wrench: wrench in that joint's frame, shape (3,) or (6,).
        out: output, shape (6,).
    """
    p, f = np.empty(3), np.empty(3)
    to_world(P, b, point, p)
    for a in range(3):
        f[a] = wrench[a]
        if b != 0:
            f[a] = 0.0
            for c in range(3):
                f[a] += P[b, c, a] * wrench[c]
    out[:3] = f
    cross_into(p, f, out[3:])
    if wrench.size == 6:
        for a in range(3):
            if b == 0:
                out[3 + a] += wrench[3 + a]
            else:
                for c in range(3):
                    out[3 + a] += P[b, c, a] * wrench[3 + c]


@jit
def contact_forces(
    P: np.ndarray,
    S: np.ndarray,
    touched: np.ndarray,
    support: np.ndarray,
    local: np.ndarray,
    radii: np.ndarray,
    reference: np.ndarray,
    placements: np.ndarray,
    centre: np.ndarray,
    normal: np.ndarray,
    V: np.ndarray,
    w: np.ndarray,
    v: np.ndarray,
    h: float,
    wrench: np.ndarray,
    motion: np.ndarray,
    work: np.ndarray,
    subtree: np.ndarray,
    active: np.ndarray,
    G: np.ndarray,
) -> tuple[float, float, float, int]:
    """Wrenches V w, motions u and works V'u; the generalised force is subtracted from G.

    Args:
        P: placements of all joints, shape (n_joints, 4, 3).
        S: motions of the dofs, shape (nv, 6).
        touched: joints of the touched bodies, shape (n,).
        support: 1 for dofs that move the carrier, -1 for those that move the touched body, 0 for
            both and for neither, shape (n, nv).
        local: centres in the carriers' frames, shape (n, 3).
        radii: radii of the contact spheres, shape (n,).
        reference: placements from which motions count, shape (n, 4, 3), or (0, 4, 3) where motions
            are those of a time h at the velocity v.
        placements: placements of the carriers, shape (n, 4, 3).
        centre: centres of the contact spheres, shape (n, 3).
        normal: normals of the surfaces, shape (n, 3).
        V: vertices of the wrench spaces, shape (n, rows, m).
        w: weights, shape (n, m).
        v: velocity, shape (nv,).
        h: length of the stage [s].
        wrench: output, shape (n, rows).
        motion: output, shape (n, rows).
        work: output, shape (n, m).
        subtree: output, wrenches about the world's origin of the bodies that each dof moves, shape
            (nv, 6).
        active: output; the active contacts come first, shape (n,).
        G: dynamics residual, shape (nv,).

    Returns:
        Norm of G; the gap, the work that other weights could save, sum of w'g - min(g, 0) [J]; the
        slip, the largest of these works over the force of its contact [m]; number of
        active contacts.
    """
    n, rows, m = V.shape
    nv = G.size
    point, origin = np.empty(3), np.empty(6)
    subtree[:] = 0.0
    total_gap, slip, k = 0.0, 0.0, 0
    twist = np.empty(6)
    for i in range(n):
        radius = radii[i] if rows == 3 else 0.0
        for a in range(3):
            point[a] = centre[i, a] - radius * normal[i, a]
        if reference.shape[0]:
            motion_of(
                placements[i], reference[i], local[i], centre[i], normal[i], radii[i], motion[i]
            )
        else:
            relative_twist(S, support[i], v, twist)
            motion_by_velocity(P, touched[i], twist, point, h, motion[i])
        largest = 0.0
        for e in range(m):
            work[i, e] = 0.0
        for a in range(rows):
            total = 0.0
            for e in range(m):
                x = V[i, a, e]
                if x != 0.0:
                    largest = max(largest, abs(x))
                    total += x * w[i, e]
                    work[i, e] += x * motion[i, a]
            wrench[i, a] = total
        if largest == 0.0:
            continue
        active[k] = i
        k += 1
        gap, least, force = 0.0, 0.0, LEAST_SHARE * largest
        for e in range(m):
            gap += work[i, e] * w[i, e]
            least = min(least, work[i, e])
        for a in range(rows):
            force = max(force, abs(wrench[i, a]))
        gap -= least
        total_gap += gap
        slip = max(slip, gap / force)
        wrench_at_origin(P, touched[i], point, wrench[i], origin)
        for l in range(nv):
            s = support[i, l]
            if s != 0.0:
                for a in range(6):
                    subtree[l, a] += s * origin[a]
    square = 0.0
    for l in range(nv):
        for a in range(6):
            G[l] -= S[l, a] * subtree[l, a]
        square += G[l] * G[l]
    return np.sqrt(square), total_gap, slip, k
