"""What a step of the nonconvex maximal dissipation principle minimises over the contact weights."""

from __future__ import annotations

import abc
from typing import ClassVar

import numpy as np
import pinocchio as pin

from nmdp_pin.dynamics.newton_euler import NewtonEuler
from nmdp_pin.errors import IntegratorError


class Objective(abc.ABC):
    """K(q) of the step, read at the residual's last point.

    Args:
        residual: the dynamics; `value` needs `evaluate`, `derivatives` also `linearise`.
    """

    name: ClassVar[str]

    def __init__(self, residual: NewtonEuler) -> None:
        self.residual = residual

    @abc.abstractmethod
    def value(self) -> float:
        """K."""

    @abc.abstractmethod
    def derivatives(self) -> tuple[np.ndarray, np.ndarray]:
        """Gradient (nv,) and a positive semidefinite Hessian (nv, nv) of K, tangent."""


class Kinetic(Objective):
    """K(q) = v' M(q) v / 2 [J], the papers' objective ([N] eq. 6)."""

    name = "kinetic"

    def __init__(self, residual: NewtonEuler) -> None:
        super().__init__(residual)
        self._model = pin.Model(residual.model)
        self._model.gravity = pin.Motion.Zero()
        self._data = self._model.createData()

    def value(self) -> float:
        """See the class."""
        r = self.residual
        return 0.5 * float(r.v @ (r.M @ r.v))

    def derivatives(self) -> tuple[np.ndarray, np.ndarray]:
        """D' M v + (d(M a)/dq at a = v)' v / 2, and D' M D (Gauss-Newton)."""
        r, D = self.residual, self.residual.velocity_derivative()
        pin.computeRNEADerivatives(self._model, self._data, r.q, np.zeros(r.nv), r.v)
        if D is None:
            gradient, hessian = r.M @ (r.v / r.h), r.M / r.h**2
        else:
            MD = r.M @ D
            gradient, hessian = MD.T @ r.v, D.T @ MD
        return gradient + 0.5 * (self._data.dtau_dq.T @ r.v), hessian


class EndEffector(Objective):
    """K(q) = sum_i |X_i(q) - X_i(q0)|^2 / (2 h^2), contact points with unit mass (method.md 7)."""

    name = "end_effector"

    def value(self) -> float:
        """See the class."""
        u = self.residual.contact.displacements().ravel()
        return 0.5 * float(u @ u) / self.residual.h**2

    def derivatives(self) -> tuple[np.ndarray, np.ndarray]:
        """Gauss-Newton on the displacements."""
        r = self.residual
        u = r.contact.displacements().ravel()
        J = r.contact.displacement_jacobian().reshape(-1, r.nv)
        return J.T @ u / r.h**2, J.T @ J / r.h**2


OBJECTIVES: dict[str, type[Objective]] = {c.name: c for c in (Kinetic, EndEffector)}


def objective_named(name: str, residual: NewtonEuler) -> Objective:
    """The objective of that name for that residual.

    Raises:
        IntegratorError: the name is not known.
    """
    if name not in OBJECTIVES:
        raise IntegratorError(f"objective '{name}' is not known; choose from {sorted(OBJECTIVES)}")
    return OBJECTIVES[name](residual)
