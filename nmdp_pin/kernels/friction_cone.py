"""Vertices of polyhedral friction cones whose size grows with the penetration."""

from __future__ import annotations

import numpy as np

from nmdp_pin.kernels.jit import jit

_TOUCH = 1e-300  # [m^p]; below it d^p underflows
_CEILING = -0.5  # z of the normal below which the tangents are built from the other pole


@jit
def tangent_frame(n0: float, n1: float, n2: float, R: np.ndarray) -> None:
    """Write the least rotation R from the nearer pole with R e_z = n, shape (3, 3)."""
    sign = -1.0 if n2 < _CEILING else 1.0
    a = 1.0 / (1.0 + sign * n2)
    bisector = n2 + sign
    R[0, 0], R[0, 1], R[0, 2] = 1.0 - a * n0 * n0, -sign * a * n1 * n0, n0
    R[1, 0], R[1, 1], R[1, 2] = -a * n0 * n1, sign * (1.0 - a * n1 * n1), n1
    R[2, 0], R[2, 1], R[2, 2] = -a * n0 * bisector, -sign * a * n1 * bisector, n2


@jit
def cone_vertices(
    depth: np.ndarray,
    normal: np.ndarray,
    friction: np.ndarray,
    tangents: np.ndarray,
    stiffness: float,
    power: int,
    zeta: float,
    V: np.ndarray,
) -> None:
    """v_j = k (d^p + zeta) R (mu t_j + e_z), with d the penetration and R e_z the normal.

    Args:
        depth: penetration, negative when apart [m], shape (n,).
        normal: normals of the surfaces, shape (n, 3).
        friction: mu, shape (n,).
        tangents: t_j in the plane, shape (2, m).
        stiffness: k [N/m^p].
        power: p.
        zeta: force without contact [m^p].
        V: output [N], shape (n, 3, m).
    """
    R = np.empty((3, 3))
    for i in range(depth.size):
        size = stiffness * (max(depth[i], 0.0) ** power + zeta)
        if size == 0.0:
            V[i] = 0.0
            continue
        tangent_frame(normal[i, 0], normal[i, 1], normal[i, 2], R)
        for j in range(tangents.shape[1]):
            x, y = friction[i] * tangents[0, j], friction[i] * tangents[1, j]
            for a in range(3):
                V[i, a, j] = size * (R[a, 0] * x + R[a, 1] * y + R[a, 2])


@jit
def cone_derivative(
    depth: np.ndarray,
    normal: np.ndarray,
    curvature: np.ndarray,
    friction: np.ndarray,
    tangents: np.ndarray,
    stiffness: float,
    power: int,
    zeta: float,
    w: np.ndarray,
    force: np.ndarray,
    D: np.ndarray,
) -> None:
    """d(V w)/dx of f = k (d^p + zeta) R s, with dd/dx = -n'.

    The depth gives -p d^(p-1) / (d^p + zeta) f n', the frame k (d^p + zeta) d(R s)/dn dn/dx, where
    R s = s_z n + s_t - a (n . s_t) b, b = n + sign e_z and a = 1 / (1 + sign n_z).

    Args:
        depth: as in `cone_vertices`.
        normal: as in `cone_vertices`.
        friction: as in `cone_vertices`.
        tangents: as in `cone_vertices`.
        stiffness: as in `cone_vertices`.
        power: as in `cone_vertices`.
        zeta: as in `cone_vertices`.
        curvature: dn/dx [1/m], shape (n, 3, 3), or (0, 3, 3) where the surfaces are flat.
        w: weights, shape (n, m).
        force: V w, shape (n, 3).
        D: output [N/m], shape (n, 3, 3).
    """
    least = _TOUCH ** (1.0 / power)
    turn = np.empty((3, 3))
    for i in range(depth.size):
        d = max(depth[i], least)
        size = d**power
        slope = -power * (size / (size + zeta)) / d if depth[i] > least else 0.0
        for a in range(3):
            for b in range(3):
                D[i, a, b] = slope * force[i, a] * normal[i, b]
        if curvature.shape[0] == 0 or not (depth[i] > 0.0 or zeta > 0.0):
            continue
        sign = -1.0 if normal[i, 2] < _CEILING else 1.0
        a_ = 1.0 / (1.0 + sign * normal[i, 2])
        s0, s1, s2 = 0.0, 0.0, 0.0
        for j in range(tangents.shape[1]):
            s0 += friction[i] * tangents[0, j] * w[i, j]
            s1 += sign * friction[i] * tangents[1, j] * w[i, j]
            s2 += w[i, j]
        n0, n1 = normal[i, 0], normal[i, 1]
        along = n0 * s0 + n1 * s1
        bisector = (n0, n1, normal[i, 2] + sign)
        for a in range(3):
            turn[a, 0] = -a_ * bisector[a] * s0
            turn[a, 1] = -a_ * bisector[a] * s1
            turn[a, 2] = sign * a_**2 * along * bisector[a]
            turn[a, a] += s2 - a_ * along
        magnitude = stiffness * (max(depth[i], 0.0) ** power + zeta)
        for a in range(3):
            for b in range(3):
                total = 0.0
                for c in range(3):
                    total += turn[a, c] * curvature[i, c, b]
                D[i, a, b] += magnitude * total
