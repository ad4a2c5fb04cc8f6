"""The Newton-Euler residual ([N] eq. 6)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pinocchio as pin

from nmdp_pin.dynamics.step_residual import StepResidual


class NewtonEuler(StepResidual):
    """G(q, w) = RNEA(q, v, a) - sum J' V(q) w - tau(q, v); one call of pinocchio's derivatives.

    In a step of first order v = (q - q0) / h and a = (v - v0) / h, differences being those of the
    configuration manifold. K = v' M(q) v / 2.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        # views that follow every algorithm of pinocchio
        data = self.data
        self._tau, self._dtau_dq, self._dtau_dv = data.tau, data.dtau_dq, data.dtau_dv
        self.M: np.ndarray = data.M
        self._free_model = pin.Model(self.model)
        self._free_model.gravity = pin.Motion.Zero()
        self._free_data = self._free_model.createData()

    def kinetic(self) -> float:
        """K = v' M v / 2 [J]."""
        return 0.5 * float(self.v @ (self.M @ self.v))

    def kinetic_derivatives(self) -> tuple[np.ndarray, np.ndarray]:
        """D' M v + (d(M a)/dq at a = v)' v / 2, and D' M D."""
        v, M, D = self.v, self.M, self.velocity_derivative()
        pin.computeRNEADerivatives(self._free_model, self._free_data, self.q, np.zeros(self.nv), v)
        if D is None:
            gradient, hessian = M @ (self.rate * v), M * self.rate**2
        else:
            MD = M @ D
            gradient, hessian = MD.T @ v, D.T @ MD
        return gradient + 0.5 * (self._free_data.dtau_dq.T @ v), hessian

    def mass_matrix(self) -> np.ndarray:
        """See the contract; a view."""
        return self.M

    def inertial_start_derivative(
        self, of_v: np.ndarray, moved: Callable[[np.ndarray], np.ndarray]
    ) -> np.ndarray:
        """See the contract: dRNEA/dv dv + M da with a = rate (v - v0 - carry (v0 - v_before))."""
        nv, impulse = self.nv, self.acceleration_rate * self.M
        result: np.ndarray = (self._dtau_dv + impulse) @ of_v
        result[:, nv : 2 * nv] -= (1.0 + self.carry) * impulse
        if self.history is not None:
            result[:, 3 * nv : 4 * nv] += self.carry * impulse
        return result

    def _begin_inertia(self, second_order: bool) -> None:
        pass

    def _inertial_force(self) -> np.ndarray:
        a = self.acceleration_rate * (self.v - self._v_hat)
        pin.computeRNEADerivatives(self.model, self.data, self.q, self.v, a)
        return self._tau

    def _inertial_stiffness(self, D: np.ndarray | None) -> np.ndarray:
        """dRNEA/dq + (dRNEA/dv + M dadv) D."""
        A: np.ndarray = self.M * self.acceleration_rate
        A += self._dtau_dv
        if D is None:
            A *= self.rate
        else:
            A = A @ D
        A += self._dtau_dq
        return A
