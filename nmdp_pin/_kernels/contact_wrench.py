"""Wrenches of contacts about the origin of the world, and their derivatives."""

from __future__ import annotations

import numpy as np

from nmdp_pin._kernels.jit import jit
from nmdp_pin._kernels.vector3 import cross_into, place


@jit
def wrench_at_origin(
    P: np.ndarray, b: int, point: np.ndarray, wrench: np.ndarray, out: np.ndarray
) -> None:
    """The wrench of a contact about the world's origin, in the world's axes, shape (6,).

    Args:
        P: placements, shape (n + 1, 4, 3).
        b: index of the touched body.
        point: point where the wrench acts, in the frame of b, shape (3,).
        wrench: wrench in the axes of b, shape (3,) or (6,).
        out: output, shape (6,).
    """
    p = np.empty(3)
    place(P[b], point, p)
    for a in range(3):
        out[a] = P[b, 0, a] * wrench[0] + P[b, 1, a] * wrench[1] + P[b, 2, a] * wrench[2]
    cross_into(p, out[:3], out[3:])
    if wrench.size == 6:
        for a in range(3):
            out[3 + a] += P[b, 0, a] * wrench[3] + P[b, 1, a] * wrench[4] + P[b, 2, a] * wrench[5]


@jit
def stiffness_at_origin(
    P: np.ndarray,
    b: int,
    centre: np.ndarray,
    wrench: np.ndarray,
    D: np.ndarray,
    carried: bool,
    out: np.ndarray,
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
    c, f = np.empty(3), np.empty(3)
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
def _turn(axes: np.ndarray, D: np.ndarray) -> None:
    """Rotate both sides of D to the axes of the world, in place; axes[j] is column j of R."""
    half = np.empty((6, 6))
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
