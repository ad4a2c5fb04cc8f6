"""Equations 0 = G(q, w) of one implicit step, their values and their derivatives."""

from __future__ import annotations

import abc
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pinocchio as pin

from nmdp_pin.contact.wrench_space import ContactState
from nmdp_pin.dynamics.evaluation import Evaluation, Linearisation
from nmdp_pin.dynamics.reference import ReferenceTangent
from nmdp_pin.dynamics.torque_law import TorqueLaw
from nmdp_pin.dynamics.vertex_secant import VertexSecant
from nmdp_pin.kernels.cone_contact import cone_contacts
from nmdp_pin.kernels.contact_derivatives import linearise_contacts
from nmdp_pin.kernels.contact_forces import contact_forces
from nmdp_pin.kernels.joint_forces import joint_forces, linearise_joints
from nmdp_pin.kernels.joint_springs import joint_springs
from nmdp_pin.kernels.step import subtract_torque

if TYPE_CHECKING:
    from nmdp_pin.dynamics.form import Form

IDENTITY = np.zeros((0, 0))  # stands for a derivative that is the identity
_FLAT = np.zeros((0, 3, 3))  # curvature of flat surfaces, for kernels that see none
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
        D: np.ndarray = pin.dDifference(self.form.model, self.q_ref, q, pin.ARG1)
        D *= self.rate
        return D

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
        points, contacts = self.form.contacts, at.contacts
        k, rows, nv, A = len(at.active), at.V.shape[1], len(at.v), at.stiffness.copy()
        J_force, J_motion = np.empty((k, rows, nv)), np.empty((k, rows, nv))
        touching = at.active
        if k and touching[-1] >= points.n:
            touching = touching[: touching.searchsorted(points.n)]
            linearise_joints(*self.form.bounds, at.q, at.w, at.active, A, J_force, J_motion)
        if not len(touching):
            return Linearisation(A, J_force, J_motion)
        curvature = contacts.curvature
        linearise_contacts(
            at.P,
            at.S,
            points.touched,
            points.support,
            points.moves,
            points.above,
            points.radii,
            self.carriers,
            at.placements,
            contacts.position,
            contacts.normal,
            _FLAT if curvature is None else curvature,
            at.wrench,
            at.subtree,
            touching,
            self._wrench_derivative(at, touching),
            at.v,
            self.velocity_derivative(at.q),
            self.rate,
            A,
            J_force[: len(touching)],
            J_motion[: len(touching)],
        )
        return Linearisation(A, J_force, J_motion)

    def _wrench_derivative(self, at: Evaluation, touching: np.ndarray) -> np.ndarray:
        """Derivative of V w with respect to the contacts, shape (n, rows, 3 or 6)."""
        law, n = self.form.wrench_space, self.form.contacts.n
        if at.secant is not None:
            return at.secant.derivative(at.w[:n])
        if self.form.zeroth_order:
            return np.zeros((n, at.V.shape[1], 3))
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
        G: np.ndarray,
        A: np.ndarray,
        S: np.ndarray,
        before: Evaluation | None,
    ) -> Evaluation:
        """An evaluation from its inertial part: torques and contacts are subtracted from G."""
        form, torque = self.form, self.torque
        points, P = form.contacts, form.workspace.placements.copy()
        error, E = v, IDENTITY
        if torque.q_target is not None:
            if form.flat:
                error = q - torque.q_target
            else:
                error = pin.difference(form.model, torque.q_target, q)
                if not torque.straight:
                    E = pin.dDifference(form.model, torque.q_target, q, pin.ARG1)
        tau = np.empty(len(v))
        subtract_torque(torque.constant, torque.kp, torque.kd, error, v, self.rate, D, E, tau, G, A)
        if len(form.mimics.dofs):
            joint_springs(*form.mimics, q, G, A)
        n_rows, m = form.shape
        wrench, motion = np.empty((n_rows, form.rows)), np.empty((n_rows, form.rows))
        work, subtree = np.empty((n_rows, m)), np.empty((len(v), 6))
        active, h = np.empty(n_rows, np.int64), 1.0 / self.rate
        written = (wrench, motion, work, subtree, active, G)
        if form.cone_scene is not None:
            act, contacts, placements, V = self._cones(form.cone_scene, P, S, w, v, written)
        else:
            act, contacts, placements, V = self._contacts(P, S, w, v, written)
        residual, gap, slip, k = act
        secant = None
        if form.secants:
            last = None if before is None else before.secant
            secant = VertexSecant.learnt(last, contacts.position, V[: points.n])
        if len(form.bounds.dofs):
            residual, more, most, k = joint_forces(
                *form.bounds, q, v, h, w, V, wrench, motion, work, active, k, G
            )
            gap, slip = gap + more, max(slip, most)
        return Evaluation(
            q, w, v, tau, G, residual, gap, slip, work, A, S, P, contacts, placements, V,
            active[:k], wrench, motion, subtree, secant,
        )  # fmt: skip

    def _contacts(
        self,
        P: np.ndarray,
        S: np.ndarray,
        w: np.ndarray,
        v: np.ndarray,
        written: tuple[np.ndarray, ...],
    ) -> tuple[tuple[float, float, float, int], ContactState, np.ndarray, np.ndarray]:
        """Result of `contact_forces`, the contacts, their placements and V."""
        form = self.form
        points, (n_rows, m) = form.contacts, form.shape
        contacts, placements, near = points.locate(P, form.surfaces)
        V = form.vertices(contacts, near)
        act = contact_forces(
            P,
            S,
            points.touched,
            points.support,
            points.local,
            points.radii,
            self.carriers,
            placements,
            contacts.position,
            contacts.normal,
            V,
            w,
            v,
            1.0 / self.rate,
            *written,
        )
        if n_rows > points.n:
            V = np.concatenate([V, np.empty((n_rows - points.n, form.rows, m))])
        return act, contacts, placements, V

    def _cones(
        self,
        scene: tuple[Any, ...],
        P: np.ndarray,
        S: np.ndarray,
        w: np.ndarray,
        v: np.ndarray,
        written: tuple[np.ndarray, ...],
    ) -> tuple[tuple[float, float, float, int], ContactState, np.ndarray, np.ndarray]:
        """The same for friction cones on a terrain of closed forms, in one call of a kernel."""
        points, (n_rows, m) = self.form.contacts, self.form.shape
        n, empty = points.n, np.empty
        placements, centre, normal = empty((n, 4, 3)), empty((n, 3)), empty((n, 3))
        depth, friction, shape = empty(n), empty(n), empty(n, np.int64)
        curvature, V = empty((n, 3, 3)), empty((n_rows, 3, m))
        *act, curved = cone_contacts(  # type: ignore[call-arg]
            P,
            S,
            points.joints,
            points.touched,
            points.support,
            points.local,
            points.radii,
            *scene,
            self.carriers,
            w,
            v,
            1.0 / self.rate,
            placements,
            centre,
            depth,
            normal,
            curvature,
            friction,
            shape,
            V[:n],
            *written,
        )
        contacts = ContactState(
            centre,
            placements[:, :3].transpose(0, 2, 1),
            depth,
            normal,
            curvature if curved else None,
            friction,
            points.radii,
            shape,
            points.index,
        )
        return tuple(act), contacts, placements, V  # type: ignore[return-value]
