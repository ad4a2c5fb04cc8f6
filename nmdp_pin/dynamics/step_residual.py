"""The dynamics of one implicit step: 0 = G(q, w), and what all forms of it share."""

from __future__ import annotations

import abc
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pinocchio as pin

from nmdp_pin.contact.friction_cone import STANDARD_GRAVITY
from nmdp_pin.contact.wrench_space import WrenchSpace
from nmdp_pin.control.controller import Command
from nmdp_pin.dynamics.backward_difference import LARGEST_GROWTH, BackwardDifference
from nmdp_pin.dynamics.contact_terms import ContactTerms
from nmdp_pin.dynamics.joint_torque import JointTorque
from nmdp_pin.dynamics.spatial import placements_of
from nmdp_pin.robot import Robot
from nmdp_pin.state import State
from nmdp_pin.terrain import Terrain

_EPS = float(np.finfo(float).eps)
_LARGEST_TURN = 0.5  # [rad] in a step; after more the history foretells nothing (a chain's whip)
_ROUNDINGS = 8.0  # rounding errors of M q / h^2 that add up in G: measured 1 to 3


@dataclass(frozen=True, eq=False)
class MadeStep:
    """The step that led to a state: the history of methods of second order.

    Args:
        h: its length [s].
        q0: configuration at its start, shape (nq,).
        v0: velocity at its start, shape (nv,).
        q1: configuration at its end, shape (nq,).
        v1: velocity at its end, shape (nv,).
        rates: material velocities of the bodies at its start and at its end, of methods that
            difference positions; each body's is affine, shape (2, n_bodies, 4, 3): the rates of
            the rotation's columns and of the origin.
        smooth: False after an impact: what came before it says nothing of what follows.
    """

    h: float
    q0: np.ndarray
    v0: np.ndarray
    q1: np.ndarray
    v1: np.ndarray
    rates: np.ndarray | None = None
    smooth: bool = True

    def led_to(self, state: State) -> bool:
        """Whether the state is the one that this step ended with, not a changed one."""
        return np.array_equal(self.q1, state.q) and np.array_equal(self.v1, state.v)


class StepResidual(abc.ABC):
    """G(q, w) = inertia and gravity - sum J' V(q) w - tau(q, v) of a step that ends at q.

    A residual is scratch memory: `begin` states the step, `evaluate` moves to a trial point (q, w),
    and everything else speaks of that point until the next `evaluate`. Velocities and
    accelerations are backward differences of first or second order. The acceleration uses the
    length h of this very step also when the step is halved (docs/choices.md, 2), which keeps
    free fall exact; the papers' eq. 2 divides by the whole step instead, as `dt` allows.

    Args:
        robot: what moves.
        terrain: the static world.
        wrench_space: the contact model; None where `contact` is given.
        contact: makes the contact's terms, given pinocchio's data.
    """

    needs_rates: ClassVar[bool] = False  # of a step's history

    def __init__(
        self,
        robot: Robot,
        terrain: Terrain,
        wrench_space: WrenchSpace | None,
        *,
        contact: Callable[[pin.Data], ContactTerms],
    ) -> None:
        self.model = model = robot.model
        self.data = data = model.createData()
        self.nv = model.nv
        self.is_vector_space = is_vector_space(model)
        self.contact: ContactTerms = contact(data)
        self.torque = JointTorque(model)
        self.evaluations = 0
        self.placements = placements_of(data, model.njoints)
        self.weight = float(pin.computeTotalMass(model)) * STANDARD_GRAVITY
        self._inertia = float(pin.crba(model, data, robot.standing).diagonal().max())
        J = np.reshape(pin.computeJointJacobians(model, data, robot.standing), (6, model.nv))
        self._turning = np.flatnonzero(J[3:].any(axis=0))  # dofs whose v is in rad/s

    def begin(
        self,
        start: State,
        command: Command,
        h: float,
        *,
        second_order: bool = False,
        dt: float | None = None,
    ) -> None:
        """State the step; resets `evaluations`.

        Args:
            start: where it starts; its history serves a step of second order.
            command: for the end of the step.
            h: length [s].
            second_order: use the history, if there is one that fits.
            dt: what differences of velocities are divided by [s]; None is h.
        """
        self.start, self.q0, self.v0, self.h = start, start.q, start.v, h
        self.second_order = second_order
        self.torque.begin(command)
        self.history = history = self._usable_history(h) if second_order else None
        if history is None:
            self.rate, self.carry = BackwardDifference.first(h)
            before = None
        else:
            self.rate, self.carry = BackwardDifference.second(h, history.h)
            pin.forwardKinematics(self.model, self.data, history.q0)
            before = self.placements.copy()
        self.acceleration_rate = self.rate if dt is None else self.rate * h / dt
        pin.forwardKinematics(self.model, self.data, self.q0)
        # Where a body would be had it stood still: of second order, still after coasting on.
        self.reference = self.placements.copy()
        carriers = self.contact.carriers(self.reference)
        self._coast, self._v_hat = None, self.v0
        if before is not None and history is not None:
            self.reference += self.carry * (self.reference - before)
            carriers += self.carry * (carriers - self.contact.carriers(before))
            self._coast = self.carry * self.difference(history.q0, self.q0)
            self._v_hat = self.v0 + self.carry * (self.v0 - history.v0)
        self.carriers = carriers  # the places from which contacts count their displacements
        self.contact.begin(carriers, h)
        self._begin_inertia(second_order)
        self.evaluations = 0

    def evaluate(self, q: np.ndarray, w: np.ndarray) -> np.ndarray:
        """Residual G at (q, w) [N, N m], shape (nv,).

        Args:
            q: configuration at the end of the step, shape (nq,).
            w: weights of the vertices, shape (n_contacts, n_vertices).
        """
        self.evaluations += 1
        self.q = q
        self.v = v = self.velocity(q)
        G = self._inertial_force() - self.contact.evaluate(w)
        G -= self.torque.evaluate(q, v)
        return G

    def velocity(self, q: np.ndarray) -> np.ndarray:
        """Velocity at the end of the step, the backward difference, shape (nv,)."""
        moved = self.difference(self.q0, q)
        if self._coast is not None:
            moved -= self._coast
        return self.rate * moved

    def energy_gain(self, q: np.ndarray) -> tuple[float, float]:
        """Energy that the step to q gains beyond the work of its torque, and that at its start [J].

        An implicit step of first order loses energy: v' M (v - v0) is more than the change of
        v' M v / 2, and contact forces only take. What large turns and differences of second order
        may add is a share of the energy that moves, which is the second figure.
        """
        model, data, v = self.model, self.data, self.velocity(q)
        kinetic = pin.computeKineticEnergy(model, data, self.q0, self.v0)
        before = kinetic + pin.computePotentialEnergy(model, data, self.q0)
        after = pin.computeKineticEnergy(model, data, q, v)
        after += pin.computePotentialEnergy(model, data, q)
        work = self.h * float(self.torque.evaluate(q, v) @ v)
        return after - before - work, kinetic + max(work, 0.0)

    def linearise(self) -> np.ndarray:
        """dG/dq at the point of the last `evaluate`, shape (nv, nv), tangent."""
        D = self.velocity_derivative()
        A = self._inertial_stiffness(D)
        if self.contact.n:
            A -= self.contact.linearise()
        self.torque.subtract_derivative(A, D, self.rate)
        return A

    def vertex_jacobian(self) -> np.ndarray:
        """-dG/dw' = V' J, shape (n_contacts * n_vertices, nv); after `linearise`."""
        return self.contact.vertex_forces()

    @abc.abstractmethod
    def kinetic(self) -> float:
        """The form's kinetic energy K at the end of the step [J]."""

    @abc.abstractmethod
    def kinetic_derivatives(self) -> tuple[np.ndarray, np.ndarray]:
        """Gradient (nv,) of K and its Gauss-Newton Hessian D' M D (nv, nv), tangent."""

    @abc.abstractmethod
    def mass_matrix(self) -> np.ndarray:
        """M at the point of the last `evaluate`, shape (nv, nv)."""

    def made_step(self) -> MadeStep:
        """The step as the history of the next one, when its end is the last point."""
        return MadeStep(self.h, self.q0, self.v0, self.q, self.v)

    def tolerance(self, relative: float) -> float:
        """What the norm of G can and should reach in this step [N, N m].

        `relative` times the weight, but not below the rounding of M q / h^2 in G.
        """
        size = 1.0 + float(np.abs(self.q0).max())
        rounding = _EPS * self._inertia * size * self.rate * self.acceleration_rate
        return max(relative * self.weight, _ROUNDINGS * rounding)

    def velocity_derivative(self) -> np.ndarray | None:
        """D = dv/dq [1/s], shape (nv, nv); None stands for identity * rate."""
        if self.is_vector_space:
            return None
        D: np.ndarray = pin.dDifference(self.model, self.q0, self.q, pin.ARG1)
        D *= self.rate
        return D

    def retract(self, q: np.ndarray, dq: np.ndarray) -> np.ndarray:
        """The configuration at tangent dq from q."""
        return q + dq if self.is_vector_space else pin.integrate(self.model, q, dq)

    def _usable_history(self, h: float) -> MadeStep | None:
        """The step before, if it fits: smooth, not changed since, not far shorter, of this form."""
        made = None
        if made is None or not made.smooth or (self.needs_rates and made.rates is None):
            return None
        turn = h * float(np.abs(self.v0[self._turning]).max(initial=0.0))
        fits = h <= LARGEST_GROWTH * made.h and turn <= _LARGEST_TURN
        return made if fits and made.led_to(self.start) else None

    def difference(self, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
        """The tangent that leads from q0 to q1."""
        return q1 - q0 if self.is_vector_space else pin.difference(self.model, q0, q1)

    @abc.abstractmethod
    def inertial_start_derivative(
        self, of_v: np.ndarray, moved: Callable[[np.ndarray], np.ndarray]
    ) -> np.ndarray:
        """Derivative of inertia and gravity with respect to the start, q held, (nv, nz).

        At the last point. The start is q0, v0 and, in second order, those of the step before,
        and behind them its rates for the forms that need them.

        Args:
            of_v: derivative of v with respect to the start, shape (nv, nz).
            moved: gives the derivative of all placements at a configuration, (nv, n_joints, 4, 3).
        """

    @abc.abstractmethod
    def _begin_inertia(self, second_order: bool) -> None:
        """What the form needs at the start; pinocchio's placements are those of q0."""

    @abc.abstractmethod
    def _inertial_force(self) -> np.ndarray:
        """Inertia and gravity at (self.q, self.v); leaves oMi and J in `data`."""

    @abc.abstractmethod
    def _inertial_stiffness(self, D: np.ndarray | None) -> np.ndarray:
        """Derivative of `_inertial_force` with respect to q, a new array (nv, nv)."""


def is_vector_space(model: pin.Model) -> bool:
    """True when configurations add like vectors: only revolute and prismatic joints."""
    return model.nq == model.nv
