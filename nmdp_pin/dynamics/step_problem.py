"""Equations 0 = G(q, w) of one implicit step, their values and their derivatives."""

from __future__ import annotations

import abc
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pinocchio as pin

from nmdp_pin.dynamics.evaluation import Evaluation, Linearisation
from nmdp_pin.dynamics.reference import ReferenceTangent
from nmdp_pin.dynamics.torque_law import TorqueLaw
from nmdp_pin.dynamics.vertex_secant import VertexSecant
from nmdp_pin.kernels.stage_forces import subtract_cone_forces, subtract_forces
from nmdp_pin.kernels.stage_linearisation import linearise_cones, linearise_stage

if TYPE_CHECKING:
    from nmdp_pin.dynamics.form import Form

IDENTITY = np.zeros((0, 0))  # stands for a derivative that is the identity
_FEW = 8  # contacts up to which derivatives are evaluated for all, not for the active ones only
_EPS = float(np.finfo(float).eps)
_ROUNDINGS = 8.0  # rounding errors of M q / h^2 that add up in G: measured 1 to 3


@dataclass(frozen=True, eq=False)
class StepProblem(abc.ABC):
    """Statement of an implicit step: its reference, torques and coefficients.

    Args:
        form: form of the dynamics; its `workspace` is scratch memory.
        q_ref: configuration from which the velocity counts, shape (nq,).
        v_ref: velocity from which the acceleration counts, shape (nv,).
        rate: factor in v = rate * difference(q_ref, q) [1/s].
        acceleration_rate: factor in a = acceleration_rate * (v - v_ref) [1/s].
        torque: torque law.
        carriers: reference placements of the contacts' motions, shape (n, 4, 3), or (0, 4, 3)
            where motions are the velocity at the end times the length of the stage.
    """

    form: Form
    q_ref: np.ndarray
    v_ref: np.ndarray
    rate: float
    acceleration_rate: float
    torque: TorqueLaw
    carriers: np.ndarray

    @abc.abstractmethod
    def evaluate(
        self, q: np.ndarray, w: np.ndarray, before: Evaluation | None = None
    ) -> Evaluation:
        """The equations at (q, w).

        Args:
            q: configuration, shape (nq,).
            w: weights, shape (n, m).
            before: earlier point of the same step, used by the secants of zeroth order.
        """

    @abc.abstractmethod
    def inertial_derivative(
        self, at: Evaluation, of_reference: ReferenceTangent, of_v: np.ndarray
    ) -> np.ndarray:
        """Derivative of the inertia in G with respect to the reference, q held, shape (nv, K).

        Args:
            at: point of evaluation.
            of_reference: derivative of the reference with respect to K numbers.
            of_v: derivative of the velocity with q held, shape (nv, K).
        """

    @property
    def unit(self) -> float:
        """A typical force, the weight [N]."""
        return self.form.weight

    def retract(self, q: np.ndarray, dq: np.ndarray) -> np.ndarray:
        """The configuration at tangent dq from q."""
        return q + dq if self.form.flat else pin.integrate(self.form.model, q, dq)

    def velocity_derivative(self, q: np.ndarray) -> np.ndarray:
        """dv/dq [1/s], shape (nv, nv), or IDENTITY where it is the identity times the rate."""
        if self.form.flat:
            return IDENTITY
        D = pin.dDifference(self.form.model, self.q_ref, q, pin.ARG1)
        result: np.ndarray = np.multiply(D, self.rate, order="C")  # pinocchio's is in columns
        return result

    def velocity_by_reference(self, q: np.ndarray) -> np.ndarray:
        """dv/dq_ref [1/s], shape (nv, nv)."""
        if self.form.flat:
            return -self.rate * np.eye(self.form.nv)
        result: np.ndarray = pin.dDifference(self.form.model, self.q_ref, q, pin.ARG0)
        return self.rate * result

    def tolerance(self, relative: float) -> float:
        """Attainable bound on the norm of G [N, N m].

        It is `relative` times the weight, but not below the rounding of M q / h^2 in G.
        """
        size = 1.0 + math.sqrt(self.q_ref @ self.q_ref)
        rounding = _EPS * self.form.largest_inertia * size * self.rate * self.acceleration_rate
        return max(relative * self.form.weight, _ROUNDINGS * rounding)

    def linearise(self, at: Evaluation) -> Linearisation:
        """Derivatives at a point; in zeroth order those of V are left out or estimated."""
        form, nv = self.form, len(at.v)
        A, J = np.empty((nv, nv)), np.empty((2, len(at.active), form.rows, nv))
        J_force, J_motion = J[0], J[1]
        places: tuple[Any, ...] = (
            *form.derivative_arrays,
            self.carriers,
            at.q,
            at.v,
            at.w,
            self.rate,
            at.D,
            at.active,
        )
        arrays: tuple[Any, ...] = (at.curved, form.layout.table, at.values, A, J_force, J_motion)
        if form.cones is not None and not form.zeroth_order:
            linearise_cones(*form.cones, *places, *arrays)
        else:
            linearise_stage(*(*places, self._wrench_derivative(at), *arrays))
        return Linearisation(A, J_force, J_motion)

    def _wrench_derivative(self, at: Evaluation) -> np.ndarray:
        """Derivative of V w with respect to the contacts, shape (n, rows, 3 or 6)."""
        form, law, n = self.form, self.form.wrench_space, self.form.contacts.n
        touching = at.active[: at.active.searchsorted(n)]
        if not len(touching) or (form.zeroth_order and at.secant is None):
            return np.zeros((n, form.rows, 3))
        if at.secant is not None:
            return at.secant.derivative(at.w[:n])
        if n <= _FEW or len(touching) == n:
            return np.ascontiguousarray(law.derivative(at.contacts, at.w[:n], at.wrench[:n]))
        part = law.derivative(at.contacts.take(touching), at.w[touching], at.wrench[touching])
        whole = np.zeros((n, *part.shape[1:]))
        whole[touching] = part
        return whole

    def _completed(
        self,
        q: np.ndarray,
        w: np.ndarray,
        v: np.ndarray,
        D: np.ndarray,
        values: np.ndarray,
        before: Evaluation | None,
    ) -> Evaluation:
        """An evaluation from its inertial part: torques and contacts are subtracted from G."""
        form, points, torque, layout = self.form, self.form.contacts, self.torque, self.form.layout
        error, E = v, IDENTITY
        if torque.q_target is not None:
            if form.flat:
                error = q - torque.q_target
            else:
                error = pin.difference(form.model, torque.q_target, q)
                if not torque.straight:
                    E = pin.dDifference(form.model, torque.q_target, q, pin.ARG1).copy("C")
        indices, secant = np.empty(form.n_indices, np.int64), None
        surfaces, active = indices[: points.n], indices[points.n :]
        forces: tuple[Any, ...] = (
            torque.constant,
            torque.kp,
            torque.kd,
            error,
            E,
            D,
            *form.force_arrays,
            self.carriers,
            q,
            v,
            w,
            self.rate,
            layout.table,
            values,
            active,
        )
        if form.cone_scene is not None:
            residual, gap, slip, k, curved = subtract_cone_forces(
                *form.cone_scene, surfaces, *forces
            )
        else:
            curved, secant = self._locate(surfaces, values, before)
            residual, gap, slip, k = subtract_forces(*forces)
        return Evaluation(
            q, w, v, D, residual, gap, slip, active[:k], surfaces, curved, secant, values, layout,
            points,
        )  # fmt: skip

    def _locate(
        self, surfaces: np.ndarray, values: np.ndarray, before: Evaluation | None
    ) -> tuple[bool, VertexSecant | None]:
        """Write the contacts and the vertices of a contact model in Python.

        Returns:
            Whether some surface is curved, and the estimate of dV/dx.
        """
        form, n = self.form, self.form.contacts.n
        at = form.layout.arrays(values)
        contacts, at.placements[:], near = form.contacts.locate(at.P, form.surfaces)
        at.centre[:], at.depth[:], at.normal[:] = contacts.position, contacts.depth, contacts.normal
        at.friction[:], surfaces[:] = contacts.friction, contacts.surface
        if contacts.curvature is not None:
            at.curvature[:] = contacts.curvature
        V = at.V[:n] = form.vertices(contacts, near)
        secant = None
        if form.secants:
            last = None if before is None else before.secant
            secant = VertexSecant.learnt(last, contacts.position, V)
        return contacts.curvature is not None, secant
