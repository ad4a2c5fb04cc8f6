"""The energy whose minimum is a step of position-based dynamics ([P] eq. 5, 6 and 11)."""

from __future__ import annotations

from functools import partial

import numpy as np
import pinocchio as pin

from nmdp_pin.contact.penalty import Penalty
from nmdp_pin.control.controller import Command
from nmdp_pin.dynamics.conservative_penalty import ConservativePenalty
from nmdp_pin.dynamics.difference_potential import DifferencePotential
from nmdp_pin.dynamics.position_residual import PositionBased
from nmdp_pin.robot import Robot
from nmdp_pin.state import State
from nmdp_pin.terrain import Terrain


class PositionEnergy(PositionBased):
    """E(q) = I + P_perp + P_par + the command's potential; its gradient is the residual G.

    Args:
        robot: what moves.
        terrain: the static world.
        law: sizes of the contact forces.
    """

    contact: ConservativePenalty
    torque: DifferencePotential

    def __init__(self, robot: Robot, terrain: Terrain, law: Penalty) -> None:
        contact = partial(ConservativePenalty, robot, terrain, law)
        super().__init__(robot, terrain, None, contact=contact)
        self.torque = DifferencePotential(self.model)
        self._has_armature = False  # rotors are in the potential

    def begin(
        self,
        start: State,
        command: Command,
        h: float,
        *,
        second_order: bool = False,
        dt: float | None = None,
    ) -> None:
        """See the base; of first order only."""
        super().begin(start, command, h, dt=dt)
        self.torque.start(command, self.q0, self.v0, self.rate, self.acceleration_rate)

    def energy(self) -> float:
        """E at the last point [J], apart from a constant."""
        inertia = self._stiffness * self._inertia_term.value()
        return inertia + self.contact.energy() + self.torque.value()

    def linearise(self) -> np.ndarray:
        """d2E/dq2 as derivative of the gradient in the tangent, shape (nv, nv).

        Symmetric on vector spaces; elsewhere its symmetric part is the Hessian along `retract`.
        """
        A = self._inertial_stiffness(None)
        A -= self.contact.linearise()
        self.torque.add_curvature(A)
        self.torque.add_turning(A)
        return A

    def gauss_newton(self) -> np.ndarray:
        """Its positive semidefinite part, E being a sum of squares: symmetric, shape (nv, nv)."""
        upper = np.triu(pin.crba(self.model, self.data, self.q))
        A = upper + np.triu(upper, 1).T - np.diag(self._armature)  # rotors are in the potential
        A *= self._stiffness
        A += self.contact.gauss_newton()
        self.torque.add_curvature(A)
        return A
