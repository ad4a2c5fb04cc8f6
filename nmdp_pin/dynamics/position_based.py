"""The position-based form ([N] eq. 12)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pinocchio as pin

from nmdp_pin.control.controller import Command
from nmdp_pin.dynamics.evaluation import Evaluation
from nmdp_pin.dynamics.form import Form
from nmdp_pin.dynamics.kinematic_tree import bodies_of
from nmdp_pin.dynamics.material_step import MaterialPositionStep, MaterialVelocityStep, given
from nmdp_pin.dynamics.reference import VELOCITIES, Reference, ReferenceTangent, Slopes
from nmdp_pin.dynamics.spatial import support_of
from nmdp_pin.dynamics.step_problem import StepProblem
from nmdp_pin.kernels.inertial_potential import inertial_gradient, rates_derivative
from nmdp_pin.kernels.momentum import placement_rates, placements_derivative


class PositionBased(Form):
    """Dynamics in maximal coordinates X(q), the positions of all material points.

    In first order positions are compared with X_hat = 2 X0 - X_before + h^2 g, in second order
    velocities with those of the stages before.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        model = self.model
        self.bodies = bodies_of(model)
        self.armature, self.still = np.array(model.armature), np.zeros(model.nv)
        self.has_armature = bool(self.armature.any())
        self._gravity = np.array(model.gravity.linear)
        self._support = support_of(model, np.arange(1, model.njoints))[0]

    def start(self, q: np.ndarray, v: np.ndarray, h: float, order: int) -> Reference:
        """Start whose bodies move as in a previous step of length h, or with the rigid velocity."""
        if order > 1:
            work, rates = self.workspace, np.empty((self.model.njoints - 1, 4, 3))
            pin.computeJointJacobians(self.model, work.data, q)
            placement_rates(work.placements, work.J.T, self._support, v, rates)
            return Reference(q, v, VELOCITIES, rates)
        # v is a backward difference of positions; with the length of this step, nothing about the
        # previous step has to be known.
        back = q - h * v if self.flat else pin.integrate(self.model, q, -h * v)
        before, placements = self._placements(back), self._placements(q)
        rates = (placements - before) / h
        return Reference(q, v, self.carriers(q), rates, placements)

    def problem(
        self, reference: Reference, command: Command, rate: float, acceleration_rate: float
    ) -> MaterialPositionStep | MaterialVelocityStep:
        """See `Form.problem`."""
        torque = self.torques.law(command)
        start = (self, reference.q, reference.v, rate, acceleration_rate, torque)
        if reference.rates is None:
            raise RuntimeError("the position-based form needs the rates of the bodies")
        if reference.placements is None:
            expected = reference.rates.copy()
            expected[:, 3] += self._gravity / rate
            return MaterialVelocityStep(*start, reference.carriers, reference.rates, expected)
        target = reference.placements + reference.rates / rate
        target[:, 3] += self._gravity / (rate * acceleration_rate)
        return MaterialPositionStep(*start, reference.carriers, target, reference.placements)

    def slopes(self, problem: StepProblem, at: Evaluation) -> Slopes:
        """See `Form.slopes`; of steps of second order."""
        a = problem.acceleration_rate
        acceleration = a * (at.v - problem.v_ref)
        if not isinstance(problem, MaterialVelocityStep):
            return Slopes(at.v, acceleration)
        rates = np.empty_like(problem.rates)
        placement_rates(at.P, at.S, self._support, at.v, rates)
        return Slopes(at.v, acceleration, a * (rates - problem.rates))

    def kinetic(self, problem: StepProblem, at: Evaluation) -> float:
        """K [J] with the rotors; in first order the integral of rho |X(q) - X0|^2 / 2 h^2."""
        if isinstance(problem, MaterialPositionStep):
            return self._kinetic_terms(problem, at)[0]
        return super().kinetic(problem, at)

    def kinetic_derivatives(
        self, problem: StepProblem, at: Evaluation
    ) -> tuple[np.ndarray, np.ndarray]:
        """The exact gradient, and D' M D."""
        if not isinstance(problem, MaterialPositionStep):
            return super().kinetic_derivatives(problem, at)
        gradient = self._kinetic_terms(problem, at)[1]
        M = pin.crba(self.model, self.workspace.data, at.q)
        D = at.D
        hessian = M * problem.rate**2 if D.size == 0 else D.T @ M @ D
        if self.has_armature:
            rotors = self.armature * at.v
            gradient += problem.rate * rotors if D.size == 0 else D.T @ rotors
        return gradient, hessian

    def start_tangent(self, start: Reference, h: float, n: int) -> ReferenceTangent:
        """See `Form.start_tangent`; with the rates and the placements of the bodies."""
        q, v, _, _ = super().start_tangent(start, h, n)
        if start.placements is None:
            by_q, by_v = self._rates_derivatives(start.q, start.v)
            rates = np.tensordot(by_q, q, 1) + np.tensordot(by_v, v, 1)
            return ReferenceTangent(q, v, rates)
        back = -h * start.v
        here = self._by_dof(start.q)
        if self.flat:
            before = np.tensordot(self._by_dof(start.q + back), q - h * v, 1)
        else:
            by_q, by_v = (
                pin.dIntegrate(self.model, start.q, back, argument)
                for argument in (pin.ARG0, pin.ARG1)
            )
            moved = by_q @ q - h * by_v @ v
            before = np.tensordot(self._by_dof(pin.integrate(self.model, start.q, back)), moved, 1)
        placements = np.tensordot(here, q, 1)
        return ReferenceTangent(q, v, (placements - before) / h, placements)

    def slopes_tangent(
        self,
        problem: StepProblem,
        at: Evaluation,
        of_reference: ReferenceTangent,
        of_q: np.ndarray,
        of_v: np.ndarray,
    ) -> Slopes:
        """See `Form.slopes_tangent`."""
        v, a, _ = super().slopes_tangent(problem, at, of_reference, of_q, of_v)
        if of_reference.placements is not None:
            return Slopes(v, a)
        by_q, by_v = self._rates_derivatives(at.q, at.v)
        rates = (
            np.tensordot(by_q, of_q, 1) + np.tensordot(by_v, of_v, 1) - given(of_reference.rates)
        )
        return Slopes(v, a, problem.acceleration_rate * rates)

    def target_derivative(self, at: Evaluation, change: np.ndarray) -> np.ndarray:
        """Derivative of the inertial potential's gradient, which is affine in its target, (nv, K).

        Args:
            at: point of evaluation.
            change: change of the target, (n_bodies, 4, 3, K).
        """
        n = self.model.njoints - 1
        by_dof = self._derivative(at.P[1:], at.S)
        weighted = (self.bodies.moments @ change.reshape(n, 4, -1)).reshape(12 * n, -1)
        result: np.ndarray = -by_dof.reshape(len(by_dof), -1) @ weighted
        return result

    def _by_dof(self, q: np.ndarray) -> np.ndarray:
        """Derivative of the placements with respect to q, shape (n_bodies, 4, 3, nv)."""
        return np.moveaxis(self._derivative(*self._moving(q)), 0, -1)

    def _rates_derivatives(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Derivatives of the rates with respect to q and v, shape (n_bodies, 4, 3, nv) each."""
        placements, S = self._moving(q)
        by_q = np.empty((*placements.shape, self.nv))
        rates_derivative(placements, self.bodies, S, v, by_q)
        return by_q, np.moveaxis(self._derivative(placements, S), 0, -1)

    def _placements(self, q: np.ndarray) -> np.ndarray:
        """Placements of the bodies, shape (n_bodies, 4, 3)."""
        work = self.workspace
        pin.forwardKinematics(self.model, work.data, q)
        return work.placements[1:].copy()

    def _moving(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Placements of the bodies, and the motions of the dofs, shape (nv, 6)."""
        work = self.workspace
        pin.computeJointJacobians(self.model, work.data, q)
        return work.placements[1:].copy(), np.ascontiguousarray(work.J.T)

    def _derivative(self, placements: np.ndarray, S: np.ndarray) -> np.ndarray:
        """Derivative of the placements with respect to each dof, shape (nv, n_bodies, 4, 3)."""
        change = np.empty((len(S), *placements.shape))
        placements_derivative(placements, S, self._support, change)
        return change

    def _kinetic_terms(
        self, problem: MaterialPositionStep, at: Evaluation
    ) -> tuple[float, np.ndarray]:
        """K with the rotors' energy, and the gradient without it."""
        placements, S = self._moving(at.q)
        gradient, wrenches = np.empty(self.nv), np.empty((self.model.njoints - 1, 6))
        E = inertial_gradient(placements, problem.reference, self.bodies, S, wrenches, gradient)
        square = problem.rate**2
        return square * E + 0.5 * float(self.armature @ at.v**2), square * gradient
