"""Loads and velocities of contacts and joints at the end of a stage."""

from __future__ import annotations

import numpy as np

from nmdp_pin.kernels.jit import jit

UNLOADED = 1e-6  # share of the largest force, up to which a contact bears no load


@jit
def contact_ends(
    V: np.ndarray,
    wrench: np.ndarray,
    motion: np.ndarray,
    normal: np.ndarray,
    inward: np.ndarray,
    friction: np.ndarray,
    rate: float,
    unloaded: np.ndarray,
    leaving: np.ndarray,
    slip: np.ndarray,
) -> None:
    """Loads and velocities of n contacts, and of r joints with a stop or dry friction after them.

    Args:
        V: vertices of the wrench spaces, shape (n + r, rows, m).
        wrench: wrenches V w, shape (n + r, rows).
        motion: motions over the stage, of joints in the first column, shape (n + r, rows).
        normal: normals of the touched surfaces, shape (n, 3).
        inward: directions of the joints away from their stops, shape (r,).
        friction: dry friction of the joints [N m or N], shape (r,).
        rate: one over the length of the stage [1/s].
        unloaded: output, whether a contact bears no load or a joint presses no stop, (n + r,).
        leaving: output, velocities away from the surface or the stop, shape (n + r,).
        slip: output, velocities along which friction acts, shape (n + r, 3).
    """
    n = normal.shape[0]
    for i in range(motion.shape[0]):
        largest, load = 0.0, 0.0
        for a in range(V.shape[1]):
            load = max(load, abs(wrench[i, a]))
            for e in range(V.shape[2]):
                largest = max(largest, abs(V[i, a, e]))
        slip[i] = 0.0
        if i < n:
            u, leaving[i] = motion[i], 0.0
            for a in range(3):
                leaving[i] += rate * normal[i, a] * u[a]
            for a in range(3):
                slip[i, a] = rate * u[a] - leaving[i] * normal[i, a]
        else:
            u, j = motion[i], i - n
            load -= friction[j]
            leaving[i] = rate * inward[j] * u[0]
            if friction[j] != 0.0:
                slip[i, 0] = rate * u[0]
        unloaded[i] = load <= UNLOADED * largest
