"""The linear dynamics of a semi-implicit step: everything at its start but the velocity."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from nmdp_pin.dynamics.newton_euler import NewtonEuler


def semi_implicit(residual: NewtonEuler) -> tuple[np.ndarray, np.ndarray]:
    """M_hat (nv, nv) and r (nv,) of M_hat v1 = r + sum J' impulse; after `begin`.

    With the PD of the command implicit and linear, q1 = q0 + h v1:
    M_hat = M + h kd + h^2 kp and r = M v0 + h (tau + kd v_target - kp (q0 - q_target) - c - g).
    Leaves M, oMi and J of the start in the residual's `data`.
    """
    torque, data, M, h = residual.torque, residual.data, residual.M, residual.h
    pin.computeRNEADerivatives(
        residual.model, data, residual.q0, residual.v0, np.zeros(residual.nv)
    )
    residual.evaluations += 1
    M_hat = M + h * np.diag(torque.kd)
    right = M @ residual.v0 + h * (torque.constant - data.tau)
    if torque.kp is not None:
        M_hat += h**2 * np.diag(torque.kp)
        right -= h * torque.kp * torque.error(residual.q0)
    return M_hat, right
