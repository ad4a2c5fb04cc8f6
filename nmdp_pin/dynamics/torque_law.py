"""Joint torques of a command and of the joints' own damping, inside the step.

A motor whose command exceeds its effort limit is saturated: its torque is the limit, whatever the
motion of the joint. The set of motors that are saturated at the end of a step is part of its
solution (`JointTorques.saturation`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pinocchio as pin

from nmdp_pin.control.controller import Command
from nmdp_pin.kernels.step import saturation

MOST_SATURATIONS = 12
"""Number of sets of saturated motors that a step tries; one or two are usual."""


class TorqueLaw(NamedTuple):
    """tau(q, v) = constant - kp * difference(q_target, q) - kd * v.

    Args:
        constant: feed-forward torque with kd v_target [N m or N], shape (nv,).
        kp: position gains [N m/rad], shape (nv,).
        kd: velocity gains and damping [N m s/rad], shape (nv,).
        q_target: target configuration, shape (nq,); None without position gains.
        straight: whether the position error is a difference of coordinates wherever kp is not zero.
        following: whether the torque of a dof follows the command, False where its motor is
            saturated, shape (nv,); None: all do.
    """

    constant: np.ndarray
    kp: np.ndarray
    kd: np.ndarray
    q_target: np.ndarray | None
    straight: bool
    following: np.ndarray | None = None


def constant_torque(tau: np.ndarray) -> TorqueLaw:
    """The torque law of a constant torque [N m or N], shape (nv,)."""
    zero = np.zeros(len(tau))
    return TorqueLaw(tau, zero, zero, None, True)


class JointTorques:
    """Torque laws of the commands of a robot.

    Args:
        model: model whose `damping` is the joints' viscous damping [N m s/rad].
        effort: effort limits of the motors [N m or N], shape (nv,).
    """

    def __init__(self, model: pin.Model, effort: np.ndarray) -> None:
        self._model, self._effort = model, effort
        self.limited = bool(np.isfinite(effort).any())
        self._zero = np.zeros(model.nv)
        self._damping = np.array(model.damping)
        # dofs on which difference() is no subtraction, and its derivative not the identity
        curved = [np.full(joint.nv, joint.nv != 1) for joint in list(model.joints)[1:]]
        self._curved = np.flatnonzero(np.concatenate(curved))

    def law(self, command: Command) -> TorqueLaw:
        """The torque law of a command."""
        zero = self._zero
        kd = self._damping if command.kd is None else command.kd + self._damping
        constant = zero if command.tau is None else command.tau + zero
        if command.v_target is not None and command.kd is not None:
            constant = constant + command.kd * command.v_target
        kp = command.kp
        if kp is None or command.q_target is None:
            return TorqueLaw(constant, zero, kd, None, True)
        straight = np.count_nonzero(kp[self._curved]) == 0
        return TorqueLaw(constant, kp, kd, command.q_target, straight)

    def saturation(
        self,
        torque: TorqueLaw,
        q: np.ndarray,
        v: np.ndarray,
        before: np.ndarray | None = None,
    ) -> np.ndarray:
        """Signs of the motors that are saturated at a state, 0 for the others, shape (nv,).

        Args:
            torque: torque law of the command, without limits.
            q: configuration, shape (nq,).
            v: velocity, shape (nv,).
            before: signs with which the state was found; a motor whose sign would turn is not
                saturated, since a torque between its limits leads to neither.
        """
        if not self.limited:
            return self._zero
        error, signs = self._zero, np.empty(len(v))
        if torque.q_target is not None:
            error = pin.difference(self._model, torque.q_target, q)
        found = saturation(
            torque.constant,
            torque.kp,
            torque.kd,
            self._damping,
            error,
            v,
            self._effort,
            self._zero if before is None else before,
            signs,
        )
        return signs if found else self._zero

    def saturated(self, torque: TorqueLaw, signs: np.ndarray) -> TorqueLaw:
        """The law with some motors at their limits.

        Args:
            torque: torque law of the command, without limits.
            signs: signs of the saturated motors; see `saturation`.
        """
        if signs is self._zero:
            return torque
        following = signs == 0.0
        at_limit = signs * np.where(following, 0.0, self._effort)
        return torque._replace(
            constant=np.where(following, torque.constant, at_limit),
            kp=np.where(following, torque.kp, 0.0),
            kd=np.where(following, torque.kd, self._damping),
            following=following,
        )
