"""What a step of PBD and of PBFD minimises over the configuration ([P] eq. 6 and 13)."""

from __future__ import annotations

import abc

import numpy as np
import pinocchio as pin
from scipy.linalg.blas import dtrsm, dtrsv
from scipy.linalg.lapack import dpotrf

from nmdp_pin.control.controller import Command
from nmdp_pin.dynamics.position_energy import PositionEnergy
from nmdp_pin.dynamics.step_residual import StepResidual
from nmdp_pin.state import State


class Minimised(abc.ABC):
    """A function of q, as the optimisers of `solvers/` want it.

    Tangents are y = U dq with U'U = M / h^2 + kd / h + kp at the start of the step: coordinates in
    which the Hessian of what moves freely is the identity, whatever the robot's joints are.

    Args:
        residual: the dynamics; all but `begin` and `evaluate` speak of its last point.
    """

    def __init__(self, residual: StepResidual) -> None:
        self.residual = residual
        self._no_weights = np.zeros((residual.contact.n, 0))

    def begin(self, state: State, command: Command, h: float, dt: float | None) -> bool:
        """State the step, as `StepResidual.begin`; False: the mass matrix is singular."""
        residual, torque = self.residual, self.residual.torque
        residual.begin(state, command, h, dt=dt)
        M: np.ndarray = pin.crba(residual.model, residual.data, state.q)
        free = M * (residual.acceleration_rate * residual.rate)
        diagonal = free.reshape(-1, order="A")[:: residual.nv + 1]
        diagonal += residual.rate * torque.kd
        if torque.kp is not None:
            diagonal += torque.kp
        self._U, singular = dpotrf(free, lower=0)
        self._stored: float | None = None
        return not singular

    def evaluate(self, q: np.ndarray) -> tuple[float, float]:
        """The function, and the norm of the residual that is to vanish [N, N m]."""
        self.G = G = self.residual.evaluate(q, self._no_weights)
        if self._stored is None:
            self._stored = self.residual.contact.stored_energy()
        return self._value(), float(np.sqrt(G @ G))

    def energy_gain(self, q: np.ndarray) -> tuple[float, float]:
        """As `StepResidual.energy_gain`, with the energy of the contacts; q is the last point.

        That at the start is taken from the first point evaluated, which has to be q0.
        """
        gain, moving = self.residual.energy_gain(q)
        stored = self._stored or 0.0
        return gain + self.residual.contact.stored_energy() - stored, moving + stored

    def retract(self, q: np.ndarray, y: np.ndarray) -> np.ndarray:
        """The configuration at tangent y from q."""
        return self.residual.retract(q, dtrsv(self._U, y, lower=0))

    def pull_back(self, q: np.ndarray, y: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """Gradient with respect to y of the function of `retract(q, y)`, given that there."""
        if self.residual.is_vector_space:
            return gradient
        dq = dtrsv(self._U, y, lower=0)
        D: np.ndarray = pin.dIntegrate(self.residual.model, q, dq, pin.ARG1)
        return self._scaled(D.T @ (self._U.T @ gradient))

    @abc.abstractmethod
    def _value(self) -> float: ...

    @abc.abstractmethod
    def gradient(self) -> np.ndarray:
        """Shape (nv,), tangent."""

    @abc.abstractmethod
    def derivatives(self) -> tuple[np.ndarray, np.ndarray]:
        """Gradient, and Hessian or what stands for it, symmetric, shape (nv, nv)."""

    def _scaled(self, force: np.ndarray) -> np.ndarray:
        """U'^-1 force."""
        result: np.ndarray = dtrsv(self._U, force, lower=0, trans=1)
        return result

    def _scaled_matrix(self, A: np.ndarray) -> np.ndarray:
        """U'^-1 A U^-1."""
        left = dtrsm(1.0, self._U, A, lower=0, trans_a=1)
        result: np.ndarray = dtrsm(1.0, self._U, left, side=1, lower=0)
        return result


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
        """dE/dy."""
        return self._scaled(self.G)

    def derivatives(self) -> tuple[np.ndarray, np.ndarray]:
        """See the base; on a manifold the symmetric part of the exact one."""
        A = self.residual.linearise() if self._exact else self.residual.gauss_newton()
        A = self._scaled_matrix(A)
        return self.gradient(), 0.5 * (A + A.T)


class GradientLevel(Minimised):
    """GE = |s|^2 / 2 of PBFD [J] with s = U'^-1 r; r is a residual that need not be a gradient."""

    def _value(self) -> float:
        self._s = s = self._scaled(self.G)
        return 0.5 * float(s @ s)

    def gradient(self) -> np.ndarray:
        """dGE/dy."""
        return self._scaled_matrix(self.residual.linearise()).T @ self._s

    def derivatives(self) -> tuple[np.ndarray, np.ndarray]:
        """B's and B'B with B = ds/dy: the third derivatives of E are left out."""
        B = self._scaled_matrix(self.residual.linearise())
        return B.T @ self._s, B.T @ B
