"""Steps of the position-based form, whose differences are those of material points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pinocchio as pin

from nmdp_pin.dynamics.evaluation import Evaluation
from nmdp_pin.dynamics.reference import ReferenceTangent
from nmdp_pin.dynamics.step_problem import StepProblem
from nmdp_pin.kernels.stage_inertia import momentum_inertia, position_inertia

if TYPE_CHECKING:
    from nmdp_pin.dynamics.position_based import PositionBased


@dataclass(frozen=True, eq=False)
class MaterialPositionStep(StepProblem):
    """G(q, w) = dI/dq - sum J' V(q) w - tau(q, v), with differences of material points.

    I is the integral of rho |X(q) - X_hat|^2 rate^2 / 2, and X_hat the positions that the points
    would reach without forces.

    Args:
        target: placements of the bodies that give X_hat, shape (n_bodies, 4, 3).
        reference: placements at the start of the motion whose energy is K.
    """

    target: np.ndarray
    reference: np.ndarray

    def evaluate(
        self, q: np.ndarray, w: np.ndarray, before: Evaluation | None = None
    ) -> Evaluation:
        """See `StepProblem.evaluate`."""
        form: PositionBased = self.form  # type: ignore[assignment]
        work = form.workspace
        v = self.rate * form.difference(self.q_ref, q)
        D = self.velocity_derivative(q)
        pin.computeJointJacobians(form.model, work.data, q)
        values = np.empty(form.layout.size)
        position_inertia(
            work.placements,
            work.J,
            self.target,
            *form.bodies,
            form.armature,
            v,
            self.v_ref,
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
        """The part through the target, and that of the rotors."""
        form: PositionBased = self.form  # type: ignore[assignment]
        change = given(of_reference.placements) + given(of_reference.rates) / self.rate
        rotors = self.acceleration_rate * form.armature[:, None]
        grown = self.rate * self.acceleration_rate * form.target_derivative(at, change)
        return grown + rotors * (of_v - of_reference.v)


@dataclass(frozen=True, eq=False)
class MaterialVelocityStep(StepProblem):
    """G(q, w) = rate * integral of rho (dX/dq)' (V(q, v) - Z) - sum J' V(q) w - tau(q, v).

    V is the velocity of the material points and Z the one they would have without forces. Positions
    of points are constraints of index 3, of which a stage of second order makes velocities of first
    order; velocities make them index 2.

    Args:
        rates: reference rates of the placements of the bodies, for their accelerations, shape
            (n_bodies, 4, 3).
        expected: velocities Z as rates of the placements.
    """

    rates: np.ndarray
    expected: np.ndarray

    def evaluate(
        self, q: np.ndarray, w: np.ndarray, before: Evaluation | None = None
    ) -> Evaluation:
        """See `StepProblem.evaluate`."""
        form: PositionBased = self.form  # type: ignore[assignment]
        work = form.workspace
        v = self.rate * form.difference(self.q_ref, q)
        D = self.velocity_derivative(q)
        pin.computeRNEADerivatives(form.weightless, work.data, q, form.still, v)
        values = np.empty(form.layout.size)
        momentum_inertia(
            work.placements,
            work.J,
            self.expected,
            *form.bodies,
            work.tau,
            work.M,
            work.dtau_dq,
            form.armature,
            self.v_ref,
            self.rate,
            D,
            form.layout.table,
            values,
        )
        return self._completed(q, w, v, D, values, before)

    def inertial_derivative(
        self, at: Evaluation, of_reference: ReferenceTangent, of_v: np.ndarray
    ) -> np.ndarray:
        """The part through the expected velocities and those of the end, with q held."""
        form: PositionBased = self.form  # type: ignore[assignment]
        M = _mass_matrix(form, at.q)
        rotors = form.armature[:, None] * of_reference.v
        change = form.target_derivative(at, given(of_reference.rates))
        return self.rate * (M @ of_v - rotors + change)


def given(part: np.ndarray | None) -> np.ndarray:
    """A part of a reference that the position-based form always has."""
    if part is None:
        raise RuntimeError("the position-based form needs the rates of the bodies")
    return part


def _mass_matrix(form: PositionBased, q: np.ndarray) -> np.ndarray:
    """Mass matrix M(q), symmetric, shape (nv, nv)."""
    M: np.ndarray = pin.crba(form.model, form.workspace.data, q)
    return np.triu(M) + np.triu(M, 1).T
