"""What a step of the nonconvex maximal dissipation principle minimises over the contact weights."""

from __future__ import annotations

import abc
from typing import ClassVar

import numpy as np

from nmdp_pin.dynamics.dissipation import Dissipation
from nmdp_pin.dynamics.step_residual import StepResidual
from nmdp_pin.errors import IntegratorError


class Objective(abc.ABC):
    """K(q) of the step, read at the residual's last point.

    Args:
        residual: the dynamics; `value` needs `evaluate`, `derivatives` also `linearise`.
    """

    name: ClassVar[str]

    def __init__(self, residual: StepResidual) -> None:
        self.residual = residual

    @abc.abstractmethod
    def value(self) -> float:
        """K."""

    @abc.abstractmethod
    def derivatives(self) -> tuple[np.ndarray, np.ndarray]:
        """Gradient (nv,) and a positive semidefinite Hessian (nv, nv) of K, tangent."""


class Kinetic(Objective):
    """K(q), the kinetic energy of the residual's form [J]: the papers' ([N] eq. 6 and 12)."""

    name = "kinetic"

    def value(self) -> float:
        """See the class."""
        return self.residual.kinetic()

    def derivatives(self) -> tuple[np.ndarray, np.ndarray]:
        """The exact gradient, and D' M D (Gauss-Newton)."""
        return self.residual.kinetic_derivatives()


class EndEffector(Objective):
    """K(q) = sum_i |V_i(q)|^2 / 2, contact points with unit mass: what the authors ran.

    V_i is the velocity of the material point, (X_i(q) - X_i(q0)) / h in a step of first order. Of
    contacts with bodies it is that relative to the body, and counts only where they touch.
    """

    name = "end_effector"

    def value(self) -> float:
        """See the class."""
        contact = self.residual.contact
        u = contact.displacements()[contact.counted].ravel()
        return 0.5 * float(u @ u) * self.residual.rate**2

    def derivatives(self) -> tuple[np.ndarray, np.ndarray]:
        """Gauss-Newton on the displacements."""
        r = self.residual
        counted = r.contact.counted
        r.contact.kinematics()
        u = r.contact.displacements()[counted].ravel()
        J = r.contact.displacement_jacobian()[counted].reshape(-1, r.nv)
        return r.rate**2 * (J.T @ u), r.rate**2 * (J.T @ J)


OBJECTIVES: dict[str, type[Objective]] = {c.name: c for c in (Kinetic, EndEffector)}
OBJECTIVE_NAMES = (*OBJECTIVES, Dissipation.name)
"""What a method may be told to follow: an objective, or the principle itself."""


def objective_named(name: str, residual: StepResidual) -> Objective:
    """The objective of that name for that residual.

    Raises:
        IntegratorError: the name is not known.
    """
    if name not in OBJECTIVES:
        raise IntegratorError(
            f"objective '{name}' is not known; choose from {sorted(OBJECTIVE_NAMES)}"
        )
    return OBJECTIVES[name](residual)
