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
    still: float,
    unloaded: np.ndarray,
    thrown: np.ndarray,
    sliding: np.ndarray,
    slip: np.ndarray,
) -> tuple[bool, bool]:
    """Loads and velocities of n contacts, and of r joints with a stop or dry friction after them.

    Under the principle a sliding contact may rise by mu |u_t| under load.

    Args:
        V: vertices of the wrench spaces, shape (n + r, rows, m).
        wrench: wrenches V w, shape (n + r, rows).
        motion: motions over the stage, of joints in the first column, shape (n + r, rows).
        normal: normals of the touched surfaces, shape (n, 3).
        inward: directions of the joints away from their stops, shape (r,).
        friction: dry friction of the joints [N m or N], shape (r,).
        rate: one over the length of the stage [1/s].
        still: speed up to which a contact is at rest [m/s].
        unloaded: output, whether a contact bears no load or a joint presses no stop, (n + r,).
        thrown: output, whether it leaves without load, shape (n + r,).
        sliding: output, whether a contact slides under load or a joint moves, shape (n + r,).
        slip: output, velocities along which friction acts, shape (n + r, 3).

    Returns:
        Whether any is thrown, and whether any slides.
    """
    some_thrown = some_sliding = False
    n = normal.shape[0]
    for i in range(motion.shape[0]):
        largest, load = 0.0, 0.0
        for a in range(V.shape[1]):
            load = max(load, abs(wrench[i, a]))
            for e in range(V.shape[2]):
                largest = max(largest, abs(V[i, a, e]))
        slip[i] = 0.0
        if i < n:
            u, leaving = motion[i], 0.0
            for a in range(3):
                leaving += rate * normal[i, a] * u[a]
            for a in range(3):
                slip[i, a] = rate * u[a] - leaving * normal[i, a]
        else:
            u, j = motion[i], i - n
            load -= friction[j]
            leaving = rate * inward[j] * u[0]
            if friction[j] != 0.0:
                slip[i, 0] = rate * u[0]
        square = slip[i, 0] ** 2 + slip[i, 1] ** 2 + slip[i, 2] ** 2
        unloaded[i] = load <= UNLOADED * largest
        thrown[i] = unloaded[i] and leaving > still
        sliding[i] = square > still * still and (i >= n or not unloaded[i])
        some_thrown |= thrown[i]
        some_sliding |= sliding[i]
    return some_thrown, some_sliding
