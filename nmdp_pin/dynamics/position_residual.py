"""The position-based residual ([N] eq. 12)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import pinocchio as pin

from nmdp_pin.dynamics.attraction import Attraction
from nmdp_pin.dynamics.spatial import support_of
from nmdp_pin.dynamics.step_residual import MadeStep, StepResidual

_TURN = 1e-6  # [rad, m] of central differences


class PositionBased(StepResidual):
    """G(q, w) = dI/dq - sum J' V(q) w - tau(q, v), differences being those of material points.

    I is the integral of rho |X(q) - X_hat|^2 / 2h^2 with X_hat where the points would come to
    without forces: X_hat = 2 X0 - X_before + h^2 g in a step of first order. K is the integral of
    rho |X(q) - X0|^2 / 2h^2.
    """

    needs_rates: ClassVar[bool] = True
    follows_rates: bool
    """Whether the velocities at the start are those that the step before left."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        model, data = self.model, self.data
        self._gravity = model.gravity.linear
        self._armature = np.array(model.armature)
        self._has_armature = bool(self._armature.any())
        self._inertia_term = Attraction(model, data)
        self._kinetic_term = Attraction(model, data)
        self._support = support_of(model, np.arange(1, model.njoints))[0]
        self._J = np.reshape(data.J, (6, model.nv), order="F")

    def kinetic(self) -> float:
        """K [J]; with the rotors' energy."""
        self._kinetic_gradient = self._kinetic_term.gradient(self.reference[1:])
        K = self.rate**2 * self._kinetic_term.value()
        return K + 0.5 * float(self._armature @ self.v**2) if self._has_armature else K

    def kinetic_derivatives(self) -> tuple[np.ndarray, np.ndarray]:
        """The exact gradient, and D' M D."""
        self.kinetic()
        M, D = self.mass_matrix(), self.velocity_derivative()
        gradient = self.rate**2 * self._kinetic_gradient
        hessian = M * self.rate**2 if D is None else D.T @ M @ D
        if self._has_armature:
            rotors = self._armature * self.v
            gradient += self.rate * rotors if D is None else D.T @ rotors
        return gradient, hessian

    def mass_matrix(self) -> np.ndarray:
        """See the contract; a view that one call of pinocchio's CRBA fills."""
        return pin.crba(self.model, self.data, self.q)

    def made_step(self) -> MadeStep:
        """See the contract; with the material velocities."""
        rates = np.stack([self._velocity, self.rate * (self.placements - self.reference)[1:]])
        return MadeStep(self.h, self.q0, self.v0, self.q, self.v, rates)

    def inertial_start_derivative(
        self, of_v: np.ndarray, moved: Callable[[np.ndarray], np.ndarray]
    ) -> np.ndarray:
        """See the contract; through the targets, what is drawn to X0 and on by the velocity."""
        nv, carry = self.nv, self.carry
        grown = np.zeros((of_v.shape[1], *self._target.shape))
        expected = (1.0 + carry) * self.rates_start_derivative(moved, of_v.shape[1])
        grown[:nv] = (1.0 + carry) * moved(self.q0)[:, 1:]
        if self.history is not None:
            grown[2 * nv : 3 * nv] = -carry * moved(self.history.q0)[:, 1:]
            n = self._target.size
            expected[4 * nv : 4 * nv + n] -= carry * np.eye(n).reshape(n, *self._target.shape)
        grown += expected / self.rate
        result: np.ndarray = self._stiffness * self._inertia_term.reference_derivative(grown)
        if self._has_armature:
            rotors = self.acceleration_rate * self._armature
            result += rotors[:, None] * of_v
            result[:, nv : 2 * nv] -= (1.0 + carry) * np.diag(rotors)
            if self.history is not None:
                result[:, 3 * nv : 4 * nv] += carry * np.diag(rotors)
        return result

    def rates_start_derivative(
        self, moved: Callable[[np.ndarray], np.ndarray], nz: int
    ) -> np.ndarray:
        """Derivative of the bodies' rates at the start of the step, shape (nz, n_bodies, 4, 3).

        Args:
            moved: see `inertial_start_derivative`.
            nz: entries of the start.
        """
        nv, h, result = self.nv, self.h, np.zeros((nz, *self._velocity.shape))
        if not self.second_order:  # (X(q0) - X(q0 - h v0)) / h
            back = -h * self.v0
            start, before = moved(self.q0), moved(self.retract(self.q0, back))
            for wrt, factor in ((pin.ARG0, 1.0), (pin.ARG1, -h)):
                carried = factor * pin.dIntegrate(self.model, self.q0, back, wrt)
                change = -np.tensordot(carried.T, before, axes=1)
                part = change + start if wrt == pin.ARG0 else change
                first = 0 if wrt == pin.ARG0 else nv
                result[first : first + nv] = part[:, 1:] / h
        elif self.follows_rates:
            n = self._velocity.size
            result[4 * nv + n :] = np.eye(n).reshape(n, *self._velocity.shape)
        else:  # the sum of v0_k dX/dq_k, whose change with q0 is a difference
            result[nv : 2 * nv] = moved(self.q0)[:, 1:]
            for k, dq in enumerate(_TURN * np.eye(nv)):
                ahead, behind = moved(self.retract(self.q0, dq)), moved(self.retract(self.q0, -dq))
                result[k] = np.tensordot(self.v0, (ahead - behind)[:, 1:], axes=1) / (2.0 * _TURN)
        return result

    def _begin_inertia(self, second_order: bool) -> None:
        start, h = self.placements[1:].copy(), self.h
        made = None
        self.follows_rates = False
        if not second_order:
            # v0 was a backward difference of positions; with this step's own length h nothing of
            # the step before has to be known.
            pin.forwardKinematics(self.model, self.data, self.retract(self.q0, -h * self.v0))
            self._velocity = (start - self.placements[1:]) / h
        elif made is not None and made.rates is not None and made.led_to(self.start):
            self._velocity, self.follows_rates = made.rates[1], True
        else:
            self._velocity = self._rigid_velocity(start)
        expected = self._velocity
        if self.history is not None and self.history.rates is not None:
            expected = expected + self.carry * (expected - self.history.rates[0])
        self._stiffness = self.acceleration_rate * self.rate
        self._target = self.reference[1:] + expected / self.rate
        self._target[:, 3] += self._gravity / self._stiffness

    def _inertial_force(self) -> np.ndarray:
        pin.computeJointJacobians(self.model, self.data, self.q)
        force = self._stiffness * self._inertia_term.gradient(self._target)
        if self._has_armature:
            force += self._armature * (self.acceleration_rate * (self.v - self._v_hat))
        return force

    def _inertial_stiffness(self, D: np.ndarray | None) -> np.ndarray:
        A = self._inertia_term.hessian()
        A *= self._stiffness
        if self._has_armature:
            rotors = self.acceleration_rate * self._armature
            if D is None:
                A.reshape(-1)[:: self.nv + 1] += self.rate * rotors
            else:
                A += rotors[:, None] * D
        return A

    def _rigid_velocity(self, placements: np.ndarray) -> np.ndarray:
        """Rates of the placements at (q0, v0), shape (n, 4, 3)."""
        pin.computeJointJacobians(self.model, self.data, self.q0)
        twists = (self._support * self.v0) @ self._J.T
        rates = np.cross(twists[:, None, 3:], placements)
        rates[:, 3] += twists[:, :3]
        return rates
