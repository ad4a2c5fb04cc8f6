"""Torque of a command and of the joints' own damping, at the end of a step."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from nmdp_pin.control.controller import Command


class JointTorque:
    """tau(q, v) = tau_ff - kp * difference(q_target, q) - kd * (v - v_target) - damping * v.

    Args:
        model: its `damping` is the joints' viscous damping [N m s/rad], shape (nv,).
    """

    def __init__(self, model: pin.Model) -> None:
        self._model = model
        self._vector_space = model.nq == model.nv
        self._damping = np.array(model.damping)
        # dofs on which difference() is a subtraction, so that its derivative is the identity
        self._simple = np.concatenate(
            [np.full(j.nv, j.nv == 1) for j in list(model.joints)[1:]]
        ).astype(bool)

    def begin(self, command: Command) -> None:
        """State the command that holds until the next `begin`."""
        nv = self._model.nv
        zero = np.zeros(nv)
        kd = zero if command.kd is None else command.kd
        self.constant = zero.copy() if command.tau is None else command.tau + zero
        if command.v_target is not None:
            self.constant += kd * command.v_target
        self.kd = kd + self._damping
        self.kp = command.kp if command.kp is not None and command.kp.any() else None
        self.q_target = command.q_target
        self._diagonal_gains = self.kp is None or not self.kp[~self._simple].any()

    def evaluate(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Torque at (q, v) [N m or N], shape (nv,)."""
        tau: np.ndarray = self.constant - self.kd * v
        if self.kp is not None:
            tau -= self.kp * self.error(q)
        self.last = tau
        return tau

    def error(self, q: np.ndarray) -> np.ndarray:
        """difference(q_target, q), shape (nv,)."""
        self._q = q
        if self._vector_space:
            return q - self.q_target
        return pin.difference(self._model, self.q_target, q)

    def subtract_derivative(self, A: np.ndarray, D: np.ndarray | None, rate: float) -> None:
        """A -= dtau/dq, in place.

        Args:
            A: shape (nv, nv).
            D: derivative of v with respect to q; None stands for identity * rate.
            rate: [1/s].
        """
        diagonal = A.reshape(-1, order="A")[:: len(A) + 1]  # a view, whatever the memory order
        if D is None:
            diagonal += self.kd * rate
        else:
            A += self.kd[:, None] * D
        if self.kp is not None:
            if self._diagonal_gains:
                diagonal += self.kp
            else:
                A += self.kp[:, None] * self._error_derivative()

    def feed_forward(self) -> np.ndarray:
        """Derivative of the torque with respect to `Command.tau`, shape (nv, nv)."""
        return np.eye(len(self.kd))

    def start_derivative(self, of_v: np.ndarray) -> np.ndarray:
        """Derivative of the torque with respect to the start of the step, q held, (nv, nz).

        Args:
            of_v: that of v, shape (nv, nz); q0 and v0 come first.
        """
        return -self.kd[:, None] * of_v

    def _error_derivative(self) -> np.ndarray:
        """Derivative of `error` at the last q, shape (nv, nv)."""
        return pin.dDifference(self._model, self.q_target, self._q, pin.ARG1)
