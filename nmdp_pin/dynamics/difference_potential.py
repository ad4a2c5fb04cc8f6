"""The energy whose gradient is a command's torque, the joints' damping and the rotors' inertia."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from nmdp_pin.control.controller import Command
from nmdp_pin.dynamics.joint_torque import JointTorque

_TURN = 1e-5  # [rad] of central differences; their error is below 1e-9 of the torque


class DifferencePotential(JointTorque):
    """A quadratic function of y = difference(q0, q) and e = difference(q_target, q).

    With D = dy/dq and D_t = de/dq its torque is D' (tau + kd v_target - kd v) - D_t' kp e. D and
    D_t are identities on joints of one dof and on translations. On a spherical joint they turn a
    torque by half the angle of y or e, so that it has an energy at all; equal gains feel nothing
    of it.

    Args:
        model: its `armature` and `damping` count.
    """

    def __init__(self, model: pin.Model) -> None:
        super().__init__(model)
        self._armature = np.array(model.armature)
        joints = list(model.joints)[1:]
        # dofs on whose position the derivative of difference() depends
        turning = [np.full(j.nv, j.nv > 1 and j.nq > j.nv) for j in joints]
        self._turns = np.flatnonzero(np.concatenate(turning))

    def start(
        self, command: Command, q0: np.ndarray, v0: np.ndarray, rate: float, acceleration: float
    ) -> None:
        """State the step.

        Args:
            command: for its end.
            q0: configuration at its start, shape (nq,).
            v0: velocity there, shape (nv,).
            rate: of the difference that is the velocity [1/s].
            acceleration: of the difference of velocities [1/s].
        """
        self.begin(command)
        self._q0, self._v0, self._rate = q0, v0, rate
        self._rotors = self._armature * acceleration

    def evaluate(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Minus the gradient [N m or N], shape (nv,); the rotors are left out of `last`."""
        self._q, self._v = q, v
        command = self.constant - self.kd * v
        self._pull = command - self._rotors * (v - self._v0)
        self._D = self._D_t = None
        if not self._vector_space:
            self._D = pin.dDifference(self._model, self._q0, q, pin.ARG1)
            command = self._D.T @ command
        result = self._pull if self._D is None else self._D.T @ self._pull
        if self.kp is not None:
            self._e = self.error(q)
            spring = self.kp * self._e
            if not self._vector_space:
                self._D_t = pin.dDifference(self._model, self.q_target, q, pin.ARG1)
                spring = self._D_t.T @ spring
            command, result = command - spring, result - spring
        self.last = command
        return result

    def feed_forward(self) -> np.ndarray:
        """See the base."""
        return super().feed_forward() if self._D is None else self._D.T

    def start_derivative(self, of_v: np.ndarray) -> np.ndarray:
        """See the base; D's change is a difference, as in `add_turning`."""
        nv = len(of_v)
        result: np.ndarray = -(self._rotors + self.kd)[:, None] * of_v
        result[:, nv : 2 * nv] += np.diag(self._rotors)
        if self._D is None:
            return result
        result = self._D.T @ result
        if self._pull[self._turns].any():
            for k in map(int, self._turns):
                ahead, behind = (self._from_elsewhere(k, step) for step in (_TURN, -_TURN))
                result[:, k] += (ahead - behind) / (2.0 * _TURN)
        return result

    def _from_elsewhere(self, k: int, step: float) -> np.ndarray:
        """D' times the pull, had the step started a bit along dof k."""
        dq = np.zeros(len(self._pull))
        dq[k] = step
        q0 = pin.integrate(self._model, self._q0, dq)
        D: np.ndarray = pin.dDifference(self._model, q0, self._q, pin.ARG1)
        return D.T @ self._pull

    def value(self) -> float:
        """The energy at the last point [J]."""
        v, rate = self._v, self._rate
        change = v - self._v0
        energy = 0.5 * float(self._rotors @ change**2 + self.kd @ v**2) - float(self.constant @ v)
        energy /= rate
        if self.kp is not None:
            energy += 0.5 * float(self.kp @ self._e**2)
        return energy

    def add_curvature(self, A: np.ndarray) -> None:
        """A += the positive semidefinite part of the second derivative, in place, (nv, nv)."""
        stiffness = self._rate * (self._rotors + self.kd)
        for k, D in ((stiffness, self._D), (self.kp, self._D_t)):
            if k is None:
                continue
            if D is None:
                A.reshape(-1, order="A")[:: len(A) + 1] += k
            else:
                A += D.T @ (k[:, None] * D)

    def add_turning(self, A: np.ndarray) -> None:
        """A += the rest of it, which only spherical and free joints have, in place.

        Pinocchio has no second derivative of differences, so these are differences of the first.
        """
        parts = [(self._q0, -self._pull)]
        if self.kp is not None and self.q_target is not None:
            parts.append((self.q_target, self.kp * self._e))
        for reference, force in parts:
            if not force[self._turns].any():
                continue
            for k in map(int, self._turns):
                ahead, behind = (self._transported(reference, force, k, s) for s in (_TURN, -_TURN))
                A[:, k] += (ahead - behind) / (2.0 * _TURN)

    def _transported(
        self, reference: np.ndarray, force: np.ndarray, k: int, step: float
    ) -> np.ndarray:
        """D' force at a step along dof k."""
        dq = np.zeros(len(force))
        dq[k] = step
        q = pin.integrate(self._model, self._q, dq)
        D: np.ndarray = pin.dDifference(self._model, reference, q, pin.ARG1)
        return D.T @ force
