"""Smooth part of an implicit step: differences, inertia and joint torques."""

from __future__ import annotations

import numpy as np

from nmdp_pin.kernels.jit import jit


@jit
def backward_differences(
    q_ref: np.ndarray,
    v_ref: np.ndarray,
    q: np.ndarray,
    rate: float,
    acceleration_rate: float,
    v: np.ndarray,
    a: np.ndarray,
) -> None:
    """V = rate (q - q_ref) and a = acceleration_rate (v - v_ref) of vector configurations."""
    for l in range(v.size):
        v[l] = rate * (q[l] - q_ref[l])
        a[l] = acceleration_rate * (v[l] - v_ref[l])


@jit
def smooth_newton_euler(
    tau: np.ndarray,
    M: np.ndarray,
    dtau_dq: np.ndarray,
    dtau_dv: np.ndarray,
    rate: float,
    acceleration_rate: float,
    D: np.ndarray,
    G: np.ndarray,
    A: np.ndarray,
) -> None:
    """Inverse dynamics and its derivative along the differences of a step.

    A = dRNEA/dq + (dRNEA/dv + acceleration_rate M) dv/dq.

    Args:
        tau: RNEA(q, v, a), shape (nv,).
        M: mass matrix, shape (nv, nv).
        dtau_dq: derivative dRNEA/dq, shape (nv, nv).
        dtau_dv: derivative dRNEA/dv, shape (nv, nv).
        rate: rate of the velocity [1/s].
        acceleration_rate: rate of the acceleration [1/s].
        D: dv/dq, shape (nv, nv), or (0, 0) where it is the identity times the rate.
        G: output, shape (nv,).
        A: output, shape (nv, nv).
    """
    nv = G.size
    for l in range(nv):
        G[l] = tau[l]
    if D.size == 0:
        for k in range(nv):
            for l in range(nv):
                A[k, l] = dtau_dq[k, l] + rate * (dtau_dv[k, l] + acceleration_rate * M[k, l])
        return
    row = np.empty(nv)
    for k in range(nv):
        for l in range(nv):
            A[k, l] = dtau_dq[k, l]
            row[l] = dtau_dv[k, l] + acceleration_rate * M[k, l]
        for l in range(nv):
            if row[l] != 0.0:
                for c in range(nv):
                    A[k, c] += row[l] * D[l, c]


@jit
def saturation(
    constant: np.ndarray,
    kp: np.ndarray,
    kd: np.ndarray,
    damping: np.ndarray,
    error: np.ndarray,
    v: np.ndarray,
    effort: np.ndarray,
    before: np.ndarray,
    signs: np.ndarray,
) -> bool:
    """Signs of the motors whose efforts exceed their limits, and whether there are any.

    Args:
        constant: feed-forward torque with kd v_target, shape (nv,).
        kp: position gains, shape (nv,).
        kd: velocity gains and damping, shape (nv,).
        damping: damping of the joints, which is not the motors', shape (nv,).
        error: difference(q_target, q), shape (nv,).
        v: velocity, shape (nv,).
        effort: effort limits, shape (nv,).
        before: signs with which q and v were found; one that would reverse is 0, shape (nv,).
        signs: output, shape (nv,).
    """
    found = False
    for l in range(v.size):
        motor = constant[l] - (kd[l] - damping[l]) * v[l] - kp[l] * error[l]
        sign = 0.0
        if abs(motor) > effort[l] and motor * before[l] >= 0.0:
            sign = 1.0 if motor > 0.0 else -1.0
            found = True
        signs[l] = sign
    return found


@jit
def subtract_torque(
    constant: np.ndarray,
    kp: np.ndarray,
    kd: np.ndarray,
    error: np.ndarray,
    v: np.ndarray,
    rate: float,
    D: np.ndarray,
    E: np.ndarray,
    tau: np.ndarray,
    G: np.ndarray,
    A: np.ndarray,
) -> None:
    """Tau = constant - kp e - kd v; G -= tau and A -= dtau/dq.

    Args:
        constant: feed-forward torque with kd v_target, shape (nv,).
        kp: position gains, shape (nv,).
        kd: velocity gains and damping, shape (nv,).
        error: e = difference(q_target, q), shape (nv,).
        v: velocity, shape (nv,).
        rate: rate of v [1/s].
        D: dv/dq, shape (nv, nv), or (0, 0) where it is the identity times the rate.
        E: de/dq, shape (nv, nv), or (0, 0) where it is the identity.
        tau: output, shape (nv,).
        G: dynamics residual, shape (nv,).
        A: shape (nv, nv).
    """
    nv = v.size
    for l in range(nv):
        tau[l] = constant[l] - kp[l] * error[l] - kd[l] * v[l]
        G[l] -= tau[l]
        if D.size == 0:
            A[l, l] += kd[l] * rate
        elif kd[l] != 0.0:
            for c in range(nv):
                A[l, c] += kd[l] * D[l, c]
        if E.size == 0:
            A[l, l] += kp[l]
        elif kp[l] != 0.0:
            for c in range(nv):
                A[l, c] += kp[l] * E[l, c]
