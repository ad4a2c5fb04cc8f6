"""What a step of PBD and of PBFD minimises over the configuration ([P] eq. 6 and 13)."""

from __future__ import annotations

import abc

import numpy as np
import pinocchio as pin

from nmdp_pin.dynamics.position_energy import PositionEnergy
from nmdp_pin.dynamics.step_residual import StepResidual


class Minimised(abc.ABC):
    """A function of q, as the optimisers of `solvers/` want it.

    Args:
        residual: the dynamics; all but `evaluate` speak of its last point.
    """

    def __init__(self, residual: StepResidual) -> None:
        self.residual = residual
        self._no_weights = np.zeros((residual.contact.n, 0))

    def evaluate(self, q: np.ndarray) -> tuple[float, float]:
        """The function, and the norm of the residual that is to vanish [N, N m]."""
        self.G = G = self.residual.evaluate(q, self._no_weights)
        return self._value(), float(np.sqrt(G @ G))

    def retract(self, q: np.ndarray, dq: np.ndarray) -> np.ndarray:
        """The configuration at tangent dq from q."""
        return self.residual.retract(q, dq)

    def pull_back(self, q: np.ndarray, dq: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """Gradient with respect to dq of the function of `retract(q, dq)`, given that there."""
        if self.residual.is_vector_space:
            return gradient
        D: np.ndarray = pin.dIntegrate(self.residual.model, q, dq, pin.ARG1)
        return D.T @ gradient

    @abc.abstractmethod
    def _value(self) -> float: ...

    @abc.abstractmethod
    def gradient(self) -> np.ndarray:
        """Shape (nv,), tangent."""

    @abc.abstractmethod
    def derivatives(self) -> tuple[np.ndarray, np.ndarray]:
        """Gradient, and Hessian or what stands for it, symmetric, shape (nv, nv)."""


class Energy(Minimised):
    """E(q) of PBD.

    Args:
        residual: its gradient.
        exact: give the exact Hessian; False: its positive semidefinite Gauss-Newton part.
    """

    residual: PositionEnergy

    def __init__(self, residual: PositionEnergy, *, exact: bool) -> None:
        super().__init__(residual)
        self._exact = exact

    def _value(self) -> float:
        return self.residual.energy()

    def gradient(self) -> np.ndarray:
        """dE/dq."""
        return self.G

    def derivatives(self) -> tuple[np.ndarray, np.ndarray]:
        """See the base; on a manifold the symmetric part of the exact one."""
        if not self._exact:
            return self.G, self.residual.gauss_newton()
        A = self.residual.linearise()
        return self.G, 0.5 * (A + A.T)


class GradientLevel(Minimised):
    """|r|^2 / 2 of PBFD, r being a residual that need not be a gradient."""

    def _value(self) -> float:
        return 0.5 * float(self.G @ self.G)

    def gradient(self) -> np.ndarray:
        """J'r with J = dr/dq."""
        return self.residual.linearise().T @ self.G

    def derivatives(self) -> tuple[np.ndarray, np.ndarray]:
        """J'r and J'J: the third derivatives of E are left out."""
        J = self.residual.linearise()
        return J.T @ self.G, J.T @ J
