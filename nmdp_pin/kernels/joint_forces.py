"""Forces of joint stops and dry friction, an interval with one weight for each joint."""

from __future__ import annotations

import numpy as np

from nmdp_pin.kernels.contact_forces import LEAST_SHARE
from nmdp_pin.kernels.jit import jit


@jit
def interval(
    x: float, lower: float, upper: float, stiffness: float, friction: float
) -> tuple[float, float, float, float]:
    """Least force of a joint at position x and width of the interval, with their derivatives.

    Dry friction applies any force in [-friction, friction], a stop one up to stiffness times the
    penetration, directed away from it.
    """
    below, above = lower - x, x - upper
    least, width, d_least, d_width = -friction, 2.0 * friction, 0.0, 0.0
    if below > 0.0:
        width += stiffness * below
        d_width -= stiffness
    if above > 0.0:
        least -= stiffness * above
        width += stiffness * above
        d_least -= stiffness
        d_width += stiffness
    return least, width, d_least, d_width


@jit
def stops(
    coordinates: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    q: np.ndarray,
    gap: np.ndarray,
    inward: np.ndarray,
) -> None:
    """Distances of the joints from the nearer stop, and the directions away from it.

    Args:
        coordinates: indices of the joints in q, shape (r,).
        lower: positions of the lower stops, shape (r,).
        upper: positions of the upper stops, shape (r,).
        q: configuration, shape (nq,).
        gap: output, negative beyond a stop, shape (r,).
        inward: output, 1 or -1, and 0 where there is no stop, shape (r,).
    """
    for j in range(coordinates.size):
        x = q[coordinates[j]]
        above, below = x - lower[j], upper[j] - x
        gap[j] = min(above, below)
        inward[j] = 0.0
        if gap[j] < np.inf:
            inward[j] = 1.0 if above < below else -1.0


@jit
def joint_forces(
    coordinates: np.ndarray,
    dofs: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    stiffness: np.ndarray,
    friction: np.ndarray,
    q: np.ndarray,
    v: np.ndarray,
    h: float,
    w: np.ndarray,
    V: np.ndarray,
    wrench: np.ndarray,
    motion: np.ndarray,
    work: np.ndarray,
    active: np.ndarray,
    k: int,
    G: np.ndarray,
) -> tuple[float, float, float, int]:
    """Append the joints to the contacts of a stage; their forces are subtracted from G.

    The rows of the joints are the last ones. The force is least + w width, with w the first weight
    of the row; the row's other weights have no effect.

    Args:
        coordinates: indices of the joints in q, shape (r,).
        dofs: indices of the joints in v, shape (r,).
        lower: positions of the lower stops, shape (r,).
        upper: positions of the upper stops, shape (r,).
        stiffness: stiffness of the stops [N m/rad or N/m], shape (r,).
        friction: dry friction [N m or N], shape (r,).
        q: configuration, shape (nq,).
        v: velocity, shape (nv,).
        h: length of the stage [s].
        w: weights, shape (n + r, m).
        V: output, shape (n + r, rows, m).
        wrench: output, shape (n + r, rows).
        motion: output, shape (n + r, rows).
        work: output, shape (n + r, m).
        active: output, shape (n + r,).
        k: number of active contacts.
        G: dynamics residual, shape (nv,).

    Returns:
        Norm of G; the gap [J] and the slip [rad or m] of the joints, as in `contact_forces`;
        number of active contacts and joints.
    """
    first = w.shape[0] - dofs.size
    V[first:], wrench[first:], motion[first:], work[first:] = 0.0, 0.0, 0.0, 0.0
    total_gap, slip = 0.0, 0.0
    for j in range(dofs.size):
        i, l = first + j, dofs[j]
        least, width, _, _ = interval(
            q[coordinates[j]], lower[j], upper[j], stiffness[j], friction[j]
        )
        motion[i, 0] = h * v[l]
        if width == 0.0:
            continue
        active[k] = i
        k += 1
        V[i, 0, 0] = width
        wrench[i, 0] = least + w[i, 0] * width
        work[i, 0] = width * motion[i, 0]
        G[l] -= wrench[i, 0]
        gap = work[i, 0] * w[i, 0] - min(work[i, 0], 0.0)
        total_gap += gap
        slip = max(slip, gap / max(abs(wrench[i, 0]), LEAST_SHARE * width))
    square = 0.0
    for l in range(G.size):
        square += G[l] * G[l]
    return np.sqrt(square), total_gap, slip, k


@jit
def linearise_joints(
    coordinates: np.ndarray,
    dofs: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    stiffness: np.ndarray,
    friction: np.ndarray,
    q: np.ndarray,
    w: np.ndarray,
    active: np.ndarray,
    A: np.ndarray,
    J_force: np.ndarray,
    J_motion: np.ndarray,
) -> None:
    """Derivatives of the joints' forces, added to A, and the Jacobians of the active ones.

    Args:
        coordinates: as in `joint_forces`.
        dofs: as in `joint_forces`.
        lower: as in `joint_forces`.
        upper: as in `joint_forces`.
        stiffness: as in `joint_forces`.
        friction: as in `joint_forces`.
        q: as in `joint_forces`.
        w: weights, shape (n + r, m).
        active: indices of the active contacts and joints, shape (k,).
        A: dG/dq, shape (nv, nv).
        J_force: output, of which the rows of the joints are written, shape (k, rows, nv).
        J_motion: Jacobian of their motions, shape (k, rows, nv).
    """
    first = w.shape[0] - dofs.size
    for x in range(active.size):
        j = active[x] - first
        if j < 0:
            continue
        l = dofs[j]
        _, _, d_least, d_width = interval(
            q[coordinates[j]], lower[j], upper[j], stiffness[j], friction[j]
        )
        A[l, l] -= d_least + w[first + j, 0] * d_width
        J_force[x], J_motion[x] = 0.0, 0.0
        J_force[x, 0, l], J_motion[x, 0, l] = 1.0, 1.0


@jit
def intervals(
    coordinates: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    stiffness: np.ndarray,
    friction: np.ndarray,
    q: np.ndarray,
    out: np.ndarray,
) -> None:
    """Results of `interval` for every joint, as columns of `out`.

    Args:
        coordinates: as in `joint_forces`.
        lower: as in `joint_forces`.
        upper: as in `joint_forces`.
        stiffness: as in `joint_forces`.
        friction: as in `joint_forces`.
        q: as in `joint_forces`.
        out: results of `interval`, shape (4, r); written.
    """
    for j in range(coordinates.size):
        least, width, d_least, d_width = interval(
            q[coordinates[j]], lower[j], upper[j], stiffness[j], friction[j]
        )
        out[0, j], out[1, j], out[2, j], out[3, j] = least, width, d_least, d_width
