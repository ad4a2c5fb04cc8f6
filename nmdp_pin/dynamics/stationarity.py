"""Residual that vanishes at the end of a stage along its free weights, with its derivatives.

For the principle it is r = V'u, the work of each vertex; for an objective K it is the reduced
gradient -(dG/dw)' y with (dG/dq)' y = dK/dq.
"""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pinocchio as pin

from nmdp_pin.dynamics.evaluation import Evaluation, Linearisation
from nmdp_pin.dynamics.form import Form
from nmdp_pin.dynamics.objective import Objective
from nmdp_pin.dynamics.reference import Reference, ReferenceTangent
from nmdp_pin.dynamics.step_problem import StepProblem
from nmdp_pin.kernels.stage_derivatives import reference_motion_jacobians, work_jacobian

_STEP = 1e-6  # [rad, m] of central differences of gradients; their error is about 1e-8


class StageReference(NamedTuple):
    """A stage whose reference can be changed.

    Args:
        form: form of the dynamics.
        reference: reference of the stage.
        of_reference: derivative of the reference with respect to K numbers.
        stated: function that states the stage from another reference.
    """

    form: Form
    reference: Reference
    of_reference: ReferenceTangent
    stated: Callable[[Reference], StepProblem]

    def moved(self, column: int, step: float) -> StepProblem:
        """The stage with the reference moved along one of the K numbers."""
        along = self.of_reference.along(column)
        return self.stated(self.form.moved(self.reference, along, step))


class Stationarity(abc.ABC):
    """Residual r of the active contacts at the end of a stage.

    Args:
        problem: equations of the stage.
        at: end of the stage.
        linear: linearised equations at the end.
    """

    def __init__(self, problem: StepProblem, at: Evaluation, linear: Linearisation) -> None:
        self.problem, self.at, self.linear = problem, at, linear
        V = at.V[at.active].transpose(0, 2, 1)
        self.forces: np.ndarray = (V @ linear.J_force).reshape(-1, len(at.v))
        self._V = V

    @abc.abstractmethod
    def value(self, problem: StepProblem, at: Evaluation) -> np.ndarray:
        """R of another stage with the same or nearby q and w; the derivatives are exact."""

    @abc.abstractmethod
    def of_motion(self) -> np.ndarray:
        """dr/dq, shape (k m, nv)."""

    @abc.abstractmethod
    def of_weights(self) -> np.ndarray:
        """dr/dw, q held, shape (k m, k m)."""

    @abc.abstractmethod
    def of_reference(self, stage: StageReference, of_v: np.ndarray) -> np.ndarray:
        """Derivative of r with respect to the reference, q and w held, shape (k m, K).

        Args:
            stage: stage whose reference changes.
            of_v: derivative of the velocity at its end, q held, shape (nv, K).
        """

    @abc.abstractmethod
    def curved(self) -> np.ndarray:
        """Rows whose products with dq/dw estimate dr_j/dw_j, shape (k m, nv)."""


class WorkStationarity(Stationarity):
    """Stationarity of the principle, with exact derivatives."""

    def value(self, problem: StepProblem, at: Evaluation) -> np.ndarray:
        """See the base."""
        return at.work[self.at.active].ravel()

    def of_motion(self) -> np.ndarray:
        """V' du/dq + (dV/dq)' u; Newton's method leaves out the second term."""
        at, form = self.at, self.problem.form
        points, (_, m, rows) = form.contacts, self._V.shape
        result = self.curved()
        k = int(np.searchsorted(at.active, points.n))
        touching, rows_of_joints = at.active[:k], at.active[k:]
        joints = rows_of_joints - points.n
        widening = form.bounds.widening(at.q)[joints] * at.motion[rows_of_joints, 0]
        result[m * np.arange(k, len(at.active)), form.bounds.dofs[joints]] += widening
        if not k:
            return result
        each = at.contacts.take(np.repeat(touching, m))
        own = form.wrench_space.derivative(
            each, np.tile(np.eye(m), (k, 1)), self._V[:k].reshape(k * m, rows)
        )
        work_jacobian(
            at.P,
            at.S,
            points.touched,
            points.support,
            at.centre,
            at.V,
            at.motion,
            touching,
            np.ascontiguousarray(own).reshape(k, m, rows, -1),
            self.linear.J_motion[:k],
            result[: k * m],
        )
        return result

    def of_weights(self) -> np.ndarray:
        """See the base: zero."""
        return np.zeros((len(self.forces), len(self.forces)))

    def of_reference(self, stage: StageReference, of_v: np.ndarray) -> np.ndarray:
        """V' du for motions u = h J v at a velocity, J being that on which wrenches work."""
        problem, at, form = self.problem, self.at, self.problem.form
        result: np.ndarray = self.forces @ (of_v / problem.rate)
        touching = at.active[: np.searchsorted(at.active, form.contacts.n)]
        if not (len(problem.carriers) and len(touching)):
            return result
        pin.computeJointJacobians(form.model, form.workspace.data, problem.q_ref)
        S = np.ascontiguousarray(form.workspace.J.T)
        points, k = form.contacts, len(touching)
        J = np.empty_like(self.linear.J_motion[:k])
        reference_motion_jacobians(
            form.workspace.placements,
            S,
            points.touched,
            points.support,
            points.local,
            points.radii,
            problem.carriers,
            at.placements,
            at.normal,
            touching,
            J,
        )
        of_contacts = (self._V[:k] @ J).reshape(-1, len(at.v)) @ stage.of_reference.q
        result[: len(of_contacts)] = of_contacts
        return result

    def curved(self) -> np.ndarray:
        """See the base."""
        result: np.ndarray = (self._V @ self.linear.J_motion).reshape(self.forces.shape)
        return result


class GradientStationarity(Stationarity):
    """Stationarity of an objective K, by differences of exact first derivatives.

    With y held, phi = P' (dK/dq - (dG/dq)' y) - (dG/dw)' y has the value and the derivatives of
    the reduced gradient; all second derivatives of G and K are in it.
    """

    def __init__(
        self, problem: StepProblem, at: Evaluation, linear: Linearisation, objective: Objective
    ) -> None:
        super().__init__(problem, at, linear)
        self._objective = objective
        gradient, self._hessian = objective.derivatives(problem, at, linear)
        self._P = np.linalg.solve(linear.A, self.forces.T)
        self._y = np.linalg.solve(linear.A.T, gradient)

    def value(self, problem: StepProblem, at: Evaluation) -> np.ndarray:
        """See the base."""
        at = at._replace(active=self.at.active)
        linear = problem.linearise(at)
        gradient = self._objective.derivatives(problem, at, linear)[0]
        forces = at.V[at.active].transpose(0, 2, 1) @ linear.J_force
        result: np.ndarray = self._P.T @ (gradient - linear.A.T @ self._y)
        return result + forces.reshape(self.forces.shape) @ self._y

    def of_motion(self) -> np.ndarray:
        """See the base."""
        problem, q, w = self.problem, self.at.q, self.at.w
        columns = []
        for dq in _STEP * np.eye(len(self.at.v)):
            ahead, behind = (
                self.value(problem, problem.evaluate(problem.retract(q, s * dq), w))
                for s in (1.0, -1.0)
            )
            columns.append((ahead - behind) / (2.0 * _STEP))
        return np.stack(columns, axis=-1)

    def of_weights(self) -> np.ndarray:
        """See the base; r is affine in w."""
        here, columns = self.value(self.problem, self.at), []
        m = self.at.w.shape[1]
        for c in self.at.active:
            for e in range(m):
                w = self.at.w.copy()
                w[c, e] += 1.0
                columns.append(self.value(self.problem, self.problem.evaluate(self.at.q, w)) - here)
        return np.stack(columns, axis=-1)

    def of_reference(self, stage: StageReference, of_v: np.ndarray) -> np.ndarray:
        """See the base."""
        result = np.zeros((len(self.forces), of_v.shape[1]))
        for k in range(of_v.shape[1]):
            velocities = np.abs([stage.of_reference.v[:, k], of_v[:, k]]).max()
            moved = max(np.abs(stage.of_reference.q[:, k]).max(), velocities / self.problem.rate)
            if moved == 0.0:
                continue
            step = _STEP / float(moved)
            ahead, behind = (
                self.value(problem, problem.evaluate(self.at.q, self.at.w))
                for problem in (stage.moved(k, step), stage.moved(k, -step))
            )
            result[:, k] = (ahead - behind) / (2.0 * step)
        return result

    def curved(self) -> np.ndarray:
        """See the base; from the objective's own semidefinite Hessian."""
        result: np.ndarray = (self._hessian @ self._P).T
        return result
