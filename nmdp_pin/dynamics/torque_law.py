"""Joint torques of a command and of the joints' own damping, inside the step."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pinocchio as pin

from nmdp_pin.control.controller import Command


class TorqueLaw(NamedTuple):
    """tau(q, v) = constant - kp * difference(q_target, q) - kd * v.

    Args:
        constant: feed-forward torque with kd v_target [N m or N], shape (nv,).
        kp: position gains [N m/rad], shape (nv,).
        kd: velocity gains and damping [N m s/rad], shape (nv,).
        q_target: shape (nq,); None where there are no position gains.
        straight: whether the position error is a subtraction wherever kp is not zero.
    """

    constant: np.ndarray
    kp: np.ndarray
    kd: np.ndarray
    q_target: np.ndarray | None
    straight: bool


def constant_torque(tau: np.ndarray) -> TorqueLaw:
    """The torque law of a torque that is held over the step [N m or N], shape (nv,)."""
    zero = np.zeros(len(tau))
    return TorqueLaw(tau, zero, zero, None, True)


class JointTorques:
    """Makes the torque law of a command for a robot.

    Args:
        model: its `damping` is the joints' viscous damping [N m s/rad].
    """

    def __init__(self, model: pin.Model) -> None:
        self._zero = np.zeros(model.nv)
        self._damping = np.array(model.damping)
        # dofs on which difference() is a subtraction, so that its derivative is the identity
        self._straight = np.concatenate(
            [np.full(joint.nv, joint.nv == 1) for joint in list(model.joints)[1:]]
        ).astype(bool)
        self._all_straight = bool(self._straight.all())

    def law(self, command: Command) -> TorqueLaw:
        """The torque law of a command."""
        zero = self._zero
        kd = self._damping if command.kd is None else command.kd + self._damping
        constant = zero if command.tau is None else command.tau + zero
        if command.v_target is not None and command.kd is not None:
            constant = constant + command.kd * command.v_target
        kp = command.kp
        if kp is None or not kp.any():
            return TorqueLaw(constant, zero, kd, None, True)
        straight = self._all_straight or not kp[~self._straight].any()
        return TorqueLaw(constant, kp, kd, command.q_target, straight)
