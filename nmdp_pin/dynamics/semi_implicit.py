"""Linear dynamics of a semi-implicit step, with all but the velocity at its start."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from nmdp_pin.dynamics.form import Workspace
from nmdp_pin.dynamics.mimic_springs import MimicSprings
from nmdp_pin.dynamics.torque_law import TorqueLaw
from nmdp_pin.kernels.joint_springs import joint_springs


def semi_implicit(
    model: pin.Model,
    work: Workspace,
    torque: TorqueLaw,
    q0: np.ndarray,
    v0: np.ndarray,
    h: float,
    mimics: MimicSprings,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """M_hat (nv, nv) and r (nv,) of M_hat v1 = r + sum J' impulse, and M (nv, nv).

    With the PD of the command implicit and linear, q1 = q0 + h v1:
    M_hat = M + h kd + h^2 kp and r = M v0 + h (tau + kd v_target - kp (q0 - q_target) - c - g);
    the springs of mimic joints likewise.
    The placements and the Jacobian of the start remain in the workspace.

    Args:
        model: model of the robot.
        work: scratch memory.
        torque: torque law.
        q0: configuration at the start, shape (nq,).
        v0: velocity there, shape (nv,).
        h: length of the step [s].
        mimics: springs of the mimic joints.
    """
    pin.computeRNEADerivatives(model, work.data, q0, v0, np.zeros(model.nv))
    M = work.M.copy()
    M_hat = M + h * np.diag(torque.kd)
    right = M @ v0 + h * (torque.constant - work.tau)
    if torque.q_target is not None:
        M_hat += h**2 * np.diag(torque.kp)
        right -= h * torque.kp * pin.difference(model, torque.q_target, q0)
    if len(mimics.dofs):
        pull, stiffness = np.zeros(model.nv), np.zeros((model.nv, model.nv))
        joint_springs(*mimics, q0, pull, stiffness)
        M_hat += h**2 * stiffness
        right -= h * pull
    return M_hat, right, M


def torque_at(model: pin.Model, torque: TorqueLaw, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """The joint torque at a state [N m or N], shape (nv,)."""
    tau = torque.constant - torque.kd * v
    if torque.q_target is not None:
        tau = tau - torque.kp * pin.difference(model, torque.q_target, q)
    return tau
