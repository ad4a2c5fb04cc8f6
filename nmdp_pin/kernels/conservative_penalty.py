"""Second derivatives of the energy of one penalty contact ([P] eq. 9 and 11); see `penalty`."""

from __future__ import annotations

import numpy as np

from nmdp_pin.kernels.contact_kinematics import cross_into
from nmdp_pin.kernels.jit import jit
from nmdp_pin.kernels.penalty import (
    Law,
    Touch,
    carried_slip,
    slip_derivative,
    stretch_along_slip,
)
from nmdp_pin.kernels.vector3 import dot


@jit
def _skew(a: np.ndarray, out: np.ndarray) -> None:
    """The matrix of a x."""
    out[0, 0] = out[1, 1] = out[2, 2] = 0.0
    out[0, 1], out[0, 2], out[1, 2] = -a[2], a[1], -a[0]
    out[1, 0], out[2, 0], out[2, 1] = a[2], -a[1], a[0]


@jit
def gauss_newton(law: Law, t: Touch, D: np.ndarray) -> None:
    """The positive semidefinite part of the Hessian of the energy by (dx, dphi).

    The energy is a convex function of d, linearised, plus the square of the vector
    |u_t|^((beta - 1) / 2) u_t d^((gamma + 1) / 2), linearised.

    Args:
        law: parameters of the penalty law.
        t: contact at the configuration.
        D: output, shape (6, 6).
    """
    d, q, slope = t.sizes[0], t.sizes[4], t.sizes[5]
    change = np.empty((3, 6))
    slip_derivative(t, change)
    stretch_along_slip(t, 0.5 * (law.beta - 1.0), change)
    for i in range(3):
        for j in range(3):
            change[i, j] -= 0.5 * (law.gamma + 1.0) / d * t.slip[i] * t.n[j]
    factor = 2.0 * q / (law.beta + 1.0)
    for i in range(6):
        for j in range(6):
            D[i, j] = 0.0
            for k in range(3):
                D[i, j] += factor * change[k, i] * change[k, j]
            if i < 3 and j < 3:
                D[i, j] += slope * t.n[i] * t.n[j]


@jit
def conservative_derivative(law: Law, t: Touch, D: np.ndarray) -> None:
    """Derivative of `wrench_of` by (dx, dphi), of conservative forces: minus the Hessian.

    Args:
        law: parameters of the penalty law.
        t: contact at the configuration.
        D: output, shape (6, 6).
    """
    d, r, p, q, slope = t.sizes[0], t.sizes[1], t.sizes[3], t.sizes[4], t.sizes[5]
    n, bent = t.n, t.sizes[7] > 0.0
    carried, z, pull, lever = np.empty(3), np.empty(3), np.empty(3), np.empty(3)
    carried_slip(t, carried, z, pull)
    change, dq, along = np.empty((3, 6)), np.zeros(6), np.empty(6)
    slip_derivative(t, change)
    square = dot(t.slip, t.slip)
    for j in range(6):  # dq / q, and u_t . du_t
        along[j] = t.slip[0] * change[0, j] + t.slip[1] * change[1, j] + t.slip[2] * change[2, j]
        if j < 3:
            dq[j] = -(law.gamma + 1.0) / d * n[j]
        if law.beta != 1.0 and square > 0.0:
            dq[j] += (law.beta - 1.0) * along[j] / square
    c = (law.gamma + 1.0) / (law.beta + 1.0) * q * square / d
    pushed = slope + law.gamma * c / d
    D[:] = 0.0
    for i in range(3):
        for j in range(6):
            D[i, j] = n[i] * q * (law.gamma + 1.0) / d * along[j]
            D[i, j] -= q * (pull[i] * dq[j] + change[i, j])
        for j in range(3):
            D[i, j] -= pushed * n[i] * n[j]
            if bent:
                D[i, j] += (p + c) * t.K[i, j]
    if bent:
        turning = np.empty((3, 6))
        _turning_normal(t, change, carried, z, turning)
        for i in range(3):
            for j in range(6):
                D[i, j] -= q * turning[i, j]
    if r <= 0.0:
        return
    cross_into(t.arm, carried, lever)
    turned, o, C = np.empty((3, 6)), np.empty((3, 3)), np.empty((3, 3))
    _skew(t.arm, o)
    _skew(carried, C)
    for i in range(3):
        for j in range(6):
            turned[i, j] = t.turn[0, i] * change[0, j] + t.turn[1, i] * change[1, j]
            turned[i, j] += t.turn[2, i] * change[2, j]
            if j >= 3:
                turned[i, j] -= C[i, j - 3]
    for i in range(3):
        for j in range(6):
            moved = lever[i] * dq[j]
            for k in range(3):
                moved += o[i, k] * turned[k, j]
                if bent and j < 3:
                    moved -= r * C[i, k] * t.K[k, j]
            D[3 + i, j] = q * moved


@jit
def _turning_normal(
    t: Touch, change: np.ndarray, carried: np.ndarray, z: np.ndarray, result: np.ndarray
) -> None:
    """d(K z), shape (3, 6).

    The curvature of a distance changes by dK z = -K^2 z (n . dx) - (n . z) K^2 dx -
    n (K^2 z . dx), apart from changes of its principal curvatures along the surface, which are
    zero on every shape here but the rim of a cylinder.
    """
    K, n, r, b = t.K, t.n, t.sizes[1], t.sizes[2]
    dz, db = np.empty((3, 6)), np.zeros(6)
    back, o, C = np.zeros(3), np.empty((3, 3)), np.empty((3, 3))
    _skew(t.arm, o)
    _skew(carried, C)
    if r > 0.0:
        for j in range(3):
            back[j] = n[0] * t.turn[0, j] + n[1] * t.turn[1, j] + n[2] * t.turn[2, j]
    for j in range(3):
        db[j] = n[j] + dot(K[j], t.slip)
        for k in range(3):
            db[j] += r * back[k] * K[k, j]
            db[3 + j] += back[k] * o[k, j]
    for i in range(3):
        for j in range(6):
            dz[i, j] = -b * change[i, j] - t.slip[i] * db[j]
            if r > 0.0:
                turned = t.turn[0, i] * change[0, j] + t.turn[1, i] * change[1, j]
                turned += t.turn[2, i] * change[2, j]
                dz[i, j] += r * (turned - change[i, j])
                if j >= 3:
                    dz[i, j] -= r * C[i, j - 3]
    K2, bent = np.empty((3, 3)), np.empty(3)
    for i in range(3):
        for j in range(3):
            K2[i, j] = K[i, 0] * K[0, j] + K[i, 1] * K[1, j] + K[i, 2] * K[2, j]
    for i in range(3):
        bent[i] = dot(K2[i], z)
    deep = dot(n, z)
    for i in range(3):
        for j in range(6):
            result[i, j] = K[i, 0] * dz[0, j] + K[i, 1] * dz[1, j] + K[i, 2] * dz[2, j]
            if j < 3:
                result[i, j] -= bent[i] * n[j] + n[i] * bent[j] + deep * K2[i, j]
