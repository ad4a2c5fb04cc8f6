"""The Newton-Euler residual of a backward-Euler step ([N] eq. 6)."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from nmdp_pin.contact.friction_cone import STANDARD_GRAVITY
from nmdp_pin.contact.wrench_space import WrenchSpace
from nmdp_pin.control.controller import Command
from nmdp_pin.dynamics.contact_terms import ContactTerms
from nmdp_pin.dynamics.joint_torque import JointTorque
from nmdp_pin.dynamics.step_residual import StepResidual
from nmdp_pin.robot import Robot
from nmdp_pin.terrain import Terrain

_EPS = float(np.finfo(float).eps)
_ROUNDINGS = 8.0  # rounding errors of M q / h^2 that add up in G: measured 1 to 3


class NewtonEuler(StepResidual):
    """G(q, w) = RNEA(q, v, a) - sum J' V(q) w - tau(q, v), v = (q - q0) / h, a = (v - v0) / h.

    Differences are those of the configuration manifold. The acceleration uses the length h of this
    very step also when the step is halved (method.md section 1), which keeps free fall exact.
    """

    def __init__(self, robot: Robot, terrain: Terrain, wrench_space: WrenchSpace) -> None:
        self.model = robot.model
        self.data = data = robot.model.createData()
        self.nv = robot.model.nv
        self.is_vector_space = is_vector_space(robot.model)
        self.contact = ContactTerms(robot, terrain, wrench_space, self.data)
        self.torque = JointTorque(robot.model)
        self.evaluations = 0
        # views that follow every algorithm of pinocchio
        self._tau, self._dtau_dq, self._dtau_dv = data.tau, data.dtau_dq, data.dtau_dv
        self.M: np.ndarray = data.M
        self._weight = float(pin.computeTotalMass(robot.model)) * STANDARD_GRAVITY
        self._inertia = float(pin.crba(robot.model, self.data, robot.standing).diagonal().max())

    def begin(self, q0: np.ndarray, v0: np.ndarray, command: Command, h: float) -> None:
        """See the contract."""
        self.q0, self.v0, self.h = q0, v0, h
        self.torque.begin(command)
        pin.forwardKinematics(self.model, self.data, q0)
        self.contact.begin()
        self.evaluations = 0

    def tolerance(self, relative: float) -> float:
        """What the norm of G can and should reach in this step [N, N m].

        `relative` times the weight, but not below the rounding of M q / h^2 in G.
        """
        rounding = _EPS * self._inertia * (1.0 + float(np.abs(self.q0).max())) / self.h**2
        return max(relative * self._weight, _ROUNDINGS * rounding)

    def evaluate(self, q: np.ndarray, w: np.ndarray) -> np.ndarray:
        """See the contract; one call of pinocchio's RNEA derivatives."""
        self.evaluations += 1
        self.q = q
        difference = q - self.q0 if self.is_vector_space else pin.difference(self.model, self.q0, q)
        self.v = v = difference / self.h
        self.a = (v - self.v0) / self.h
        pin.computeRNEADerivatives(self.model, self.data, q, v, self.a)
        G: np.ndarray = self._tau - self.contact.evaluate(w)
        G -= self.torque.evaluate(q, v)
        return G

    def linearise(self) -> np.ndarray:
        """dG/dq = dRNEA/dq + (dRNEA/dv + M / h) D - d(J' V w)/dq - dtau/dq."""
        D = self.velocity_derivative()
        A: np.ndarray = self.M / self.h
        A += self._dtau_dv
        if D is None:
            A /= self.h
        else:
            A = A @ D
        A += self._dtau_dq
        if self.contact.n:
            A -= self.contact.linearise()
        self.torque.subtract_derivative(A, D, self.h)
        return A

    def vertex_jacobian(self) -> np.ndarray:
        """See the contract."""
        return self.contact.vertex_forces()

    def velocity_derivative(self) -> np.ndarray | None:
        """D = dv/dq of v = difference(q0, q) / h [1/s], (nv, nv); None stands for identity / h."""
        if self.is_vector_space:
            return None
        D: np.ndarray = pin.dDifference(self.model, self.q0, self.q, pin.ARG1)
        D /= self.h
        return D

    def retract(self, q: np.ndarray, dq: np.ndarray) -> np.ndarray:
        """See the contract."""
        return q + dq if self.is_vector_space else pin.integrate(self.model, q, dq)


def is_vector_space(model: pin.Model) -> bool:
    """True when configurations add like vectors: only revolute and prismatic joints."""
    return model.nq == model.nv
