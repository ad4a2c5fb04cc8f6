"""Springs between mimic joints and their primary joints."""

from __future__ import annotations

import numpy as np

from nmdp_pin.kernels.jit import jit


@jit
def joint_springs(
    coordinates: np.ndarray,
    dofs: np.ndarray,
    multiplier: np.ndarray,
    offset: np.ndarray,
    stiffness: np.ndarray,
    q: np.ndarray,
    G: np.ndarray,
    A: np.ndarray,
) -> float:
    """Add the springs' gradient to G and their Hessian to A, and return their energy [J].

    The energy of a spring is k e^2 / 2 with e = q_mimic - multiplier q_primary - offset.

    Args:
        coordinates: indices of the mimic and the primary joint in q, shape (c, 2).
        dofs: indices of the mimic and the primary joint in v, shape (c, 2).
        multiplier: multipliers of the primary positions, shape (c,).
        offset: offsets of the mimic positions [rad or m], shape (c,).
        stiffness: k [N m/rad or N/m], shape (c,).
        q: configuration, shape (nq,).
        G: dynamics residual, shape (nv,).
        A: matrix to which the Hessian is added, shape (nv, nv), or (0, 0) where it is not wanted.
    """
    energy = 0.0
    for s in range(stiffness.size):
        copy, primary, a, k = dofs[s, 0], dofs[s, 1], multiplier[s], stiffness[s]
        error = q[coordinates[s, 0]] - a * q[coordinates[s, 1]] - offset[s]
        energy += 0.5 * k * error * error
        G[copy] += k * error
        G[primary] -= a * k * error
        if A.size:
            A[copy, copy] += k
            A[copy, primary] -= a * k
            A[primary, copy] -= a * k
            A[primary, primary] += a * a * k
    return energy
