"""The Newton-Euler form ([N] eq. 6)."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from nmdp_pin.control.controller import Command
from nmdp_pin.dynamics.evaluation import Evaluation
from nmdp_pin.dynamics.form import Form
from nmdp_pin.dynamics.reference import VELOCITIES, Reference, ReferenceTangent, Slopes
from nmdp_pin.dynamics.step_problem import IDENTITY, StepProblem
from nmdp_pin.kernels.stage_inertia import newton_euler_inertia
from nmdp_pin.kernels.step import backward_differences


class NewtonEulerStep(StepProblem):
    """G(q, w) = RNEA(q, v, a) - sum J' V(q) w - tau(q, v), by one call of pinocchio."""

    def evaluate(
        self, q: np.ndarray, w: np.ndarray, before: Evaluation | None = None
    ) -> Evaluation:
        """See `StepProblem.evaluate`."""
        form, work, nv = self.form, self.form.workspace, self.form.nv
        v, a, D = np.empty(nv), np.empty(nv), IDENTITY
        if form.flat:
            backward_differences(self.q_ref, self.v_ref, q, self.rate, self.acceleration_rate, v, a)
        else:
            v = self.rate * pin.difference(form.model, self.q_ref, q)
            a = self.acceleration_rate * (v - self.v_ref)
            D = self.velocity_derivative(q)
        pin.computeRNEADerivatives(form.model, work.data, q, v, a)
        values = np.empty(form.layout.size)
        newton_euler_inertia(
            work.placements,
            work.J,
            work.tau,
            work.M,
            work.dtau_dq,
            work.dtau_dv,
            self.rate,
            self.acceleration_rate,
            D,
            form.layout.table,
            values,
        )
        return self._completed(q, w, v, D, values, before)

    def inertial_derivative(
        self, at: Evaluation, of_reference: ReferenceTangent, of_v: np.ndarray
    ) -> np.ndarray:
        """dRNEA/dv dv + M da with a = acceleration_rate (v - v_ref)."""
        form, work = self.form, self.form.workspace
        a = self.acceleration_rate * (at.v - self.v_ref)
        pin.computeRNEADerivatives(form.model, work.data, at.q, at.v, a)
        of_a = self.acceleration_rate * (of_v - of_reference.v)
        result: np.ndarray = work.dtau_dv @ of_v + work.M @ of_a
        return result


class NewtonEuler(Form):
    """Joint coordinates: v = rate * difference(q_ref, q) and a = rate * (v - v_ref).

    K = v' M(q) v / 2.
    """

    def start(self, q: np.ndarray, v: np.ndarray, h: float, order: int) -> Reference:
        """See `Form.start`."""
        return Reference(q, v, self.carriers(q) if order == 1 else VELOCITIES)

    def problem(
        self, reference: Reference, command: Command, rate: float, acceleration_rate: float
    ) -> NewtonEulerStep:
        """See `Form.problem`."""
        return NewtonEulerStep(
            self,
            reference.q,
            reference.v,
            rate,
            acceleration_rate,
            self.torques.law(command),
            reference.carriers,
        )

    def slopes(self, problem: StepProblem, at: Evaluation) -> Slopes:
        """See `Form.slopes`."""
        return Slopes(at.v, problem.acceleration_rate * (at.v - problem.v_ref))
