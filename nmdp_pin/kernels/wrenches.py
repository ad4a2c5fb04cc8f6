"""Contact wrenches in the world."""

from __future__ import annotations

import numpy as np

from nmdp_pin.kernels.jit import jit


@jit
def world_wrenches(
    P: np.ndarray,
    touched: np.ndarray,
    radii: np.ndarray,
    normal: np.ndarray,
    wrench: np.ndarray,
    out: np.ndarray,
) -> None:
    """Wrenches about the centres of the contact spheres, in the world's axes.

    Args:
        P: placements of all joints, shape (n_joints, 4, 3).
        touched: joints of the touched bodies, shape (n,).
        radii: radii of the contact spheres [m], shape (n,).
        normal: normals of the surfaces in these frames, shape (n, 3).
        wrench: in these frames, forces where the spheres touch, shape (n, 3), or wrenches about
            their centres, shape (n, 6).
        out: output, shape (n, 6).
    """
    seen = np.empty(6)
    for i in range(touched.size):
        f, n, r = wrench[i], normal[i], radii[i]
        seen[:3] = f[:3]
        if f.size == 6:
            seen[3:] = f[3:]
        else:
            seen[3] = -r * (n[1] * f[2] - n[2] * f[1])
            seen[4] = -r * (n[2] * f[0] - n[0] * f[2])
            seen[5] = -r * (n[0] * f[1] - n[1] * f[0])
        b = touched[i]
        for a in range(3):
            if b == 0:
                out[i, a], out[i, 3 + a] = seen[a], seen[3 + a]
                continue
            force, moment = 0.0, 0.0
            for c in range(3):
                force += P[b, c, a] * seen[c]
                moment += P[b, c, a] * seen[3 + c]
            out[i, a], out[i, 3 + a] = force, moment
