"""The conventional simulator: semi-implicit Newton-Euler with hard contacts and dry friction."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pinocchio as pin
from scipy.linalg.lapack import dpotrf, dtrtrs

from nmdp_pin.contact.contact_law import ContactLaw
from nmdp_pin.contact.dry_friction import DryFriction
from nmdp_pin.contact.friction_cone import STANDARD_GRAVITY
from nmdp_pin.control.controller import CommandSource
from nmdp_pin.dynamics.contact_arrays import ContactArrays
from nmdp_pin.dynamics.form import Workspace
from nmdp_pin.dynamics.joint_bounds import JointBounds
from nmdp_pin.dynamics.kinetic_energy import kinetic_energy
from nmdp_pin.dynamics.mimic_springs import MimicSprings
from nmdp_pin.dynamics.rigid_contact import RigidContact, rigid_contact
from nmdp_pin.dynamics.semi_implicit import semi_implicit, torque_at
from nmdp_pin.dynamics.torque_law import MOST_SATURATIONS, JointTorques, TorqueLaw
from nmdp_pin.dynamics.touched_surfaces import TouchedSurfaces
from nmdp_pin.errors import IntegratorError
from nmdp_pin.integrators.energy_bound import EXPLICIT, EnergyBound
from nmdp_pin.integrators.integrator import Integrator, StepResult
from nmdp_pin.integrators.outcome import failed_step, finished_step
from nmdp_pin.solvers.friction_ncp import FrictionNCP, NcpResiduals, NcpSolution
from nmdp_pin.state import State, WarmStart
from nmdp_pin.status import Status
from nmdp_pin.system import System

_TOUCH = 1e-6  # [m]; gap / h of gaps of rounding size would be contradictory velocities
_CREEP = 1e-6  # [rad/s or m/s] at which dry friction holds a joint
_HELD = 1e-9  # share of the largest response to an impulse; below it a contact cannot move


class NeNcp(Integrator):
    """Rigid contacts: Signorini's condition and Coulomb's law on velocities, one NCP a step.

    M, c, the contact frames and gaps are those of the start; the PD is implicit and linear as in
    `NeMdp`; q1 = q0 + h v1. An open contact satisfies v_n >= -gap / h. A closed one satisfies
    v_n >= depth / push_out, but need not leave by more than its depth in a step.

    Args:
        system: simulated system, whose contact law is dry friction.
        solver: solver of Pinocchio, "admm" or "pgs"; the other one is tried where it does not
            converge.
        max_iterations: largest number of iterations of each solver.
        tolerance: bound on the residual contact velocities, in units of g h, the velocity gained
            by falling for one step. Where neither solver reaches it, a thousandth of the incoming
            velocities is accepted; the residuals are in the result.
        push_out: time constant of the correction of penetrations [s].

    Raises:
        IntegratorError: an option is out of its range.
    """

    name: ClassVar[str] = "ne-ncp"
    law_type: ClassVar[type[ContactLaw]] = DryFriction

    def __init__(
        self,
        system: System[DryFriction],
        *,
        solver: str = "admm",
        max_iterations: int = 1000,
        tolerance: float = 1e-5,
        push_out: float = 0.1,
    ) -> None:
        if not 0.0 < tolerance < np.inf:
            raise IntegratorError(f"tolerance must be a finite number > 0, got {tolerance}")
        if not 0.0 < push_out < np.inf:
            raise IntegratorError(f"push_out must be a time [s] > 0, got {push_out}")
        robot = system.robot
        self._model, self._work = robot.model, Workspace(robot.model)
        self._inertia = robot.model.createData()  # M at the end of a step
        self._torques = JointTorques(robot.model, robot.limits.effort)
        self._contacts, self._bounds = ContactArrays.of(robot), JointBounds.of(robot)
        self._mimics, self._friction = MimicSprings.of(robot), robot.limits.friction
        self._surfaces = TouchedSurfaces(robot, system.terrain)
        self._ncp = FrictionNCP(solver, max_iterations=max_iterations)
        self._tolerance, self._push_out = tolerance, push_out
        self._bound = EnergyBound(share=EXPLICIT)
        self._weight = float(pin.computeTotalMass(robot.model)) * STANDARD_GRAVITY
        self._no_weights = np.zeros(system.weights_shape)

    def step(self, state: State, command: CommandSource, h: float) -> StepResult:
        """See `Integrator.step`; forces act at the start of the step, depths are at its end."""
        free, v = self._torques.law(command.at(state.t + h)), state.v
        q, iterations = state.q, 0
        signs, slides = self._torques.saturation(free, q, v), self._slides(v)
        for _ in range(MOST_SATURATIONS):
            torque = self._torques.saturated(free, signs)
            found = self._solved(state, torque, slides, h)
            if isinstance(found, Status):
                return self._failed(state, found, iterations, h)
            M, v, contact, solution = found
            iterations += solution.iterations
            if not np.isfinite(v).all():
                result = self._failed(state, Status.NOT_FINITE, iterations, h)
                break
            if not solution.converged:
                result = self._failed(state, Status.ITERATION_LIMIT, iterations, h)
                break
            before, slid = signs, slides
            q = pin.integrate(self._model, state.q, h * v)
            signs, slides = self._torques.saturation(free, q, v, before), self._slides(v, slid)
            if np.array_equal(signs, before) and np.array_equal(slides, slid):
                solution = replace(solution, iterations=iterations)
                result = self._finished(state, contact, torque, M, q, v, solution, h)
                break
        else:
            result = self._failed(state, Status.STALLED, iterations, h)
        return replace(result, **solution.residuals._asdict())

    def _slides(self, v: np.ndarray, before: np.ndarray | None = None) -> np.ndarray:
        """Directions in which joints slide against their dry friction, 0 where it holds, (nv,).

        Args:
            v: velocity, shape (nv,).
            before: directions with which v was found; a joint that would reverse is held.
        """
        result: np.ndarray = np.sign(v) * ((np.abs(v) > _CREEP) & (self._friction > 0.0))
        if before is not None:
            result[result * before < 0.0] = 0.0
        return result

    def _solved(
        self, state: State, torque: TorqueLaw, slides: np.ndarray, h: float
    ) -> tuple[np.ndarray, np.ndarray, RigidContact, NcpSolution] | Status:
        """Mass matrix, velocity at the end, contacts and impulses of a step, or its failure.

        Args:
            state: state at the start of the step.
            torque: torque law of the motors.
            slides: as returned by `_slides`; a stiff damper holds the joints that do not slide.
            h: length of the step [s].
        """
        held = np.where(slides == 0.0, self._friction / _CREEP, 0.0)
        torque = torque._replace(
            constant=torque.constant - slides * self._friction, kd=torque.kd + held
        )
        M_hat, right, M = semi_implicit(
            self._model, self._work, torque, state.q, state.v, h, self._mimics
        )
        if not math.isfinite(M_hat.sum() + right.sum()):
            return Status.NOT_FINITE
        factor, singular = dpotrf(M_hat, lower=1)
        if singular:
            return Status.SINGULAR
        # in units where M_hat is the identity: y = L' v with M_hat = L L'
        free = dtrtrs(factor, right, lower=1)[0]
        contact = rigid_contact(self._contacts, self._surfaces, self._work)
        contact = contact.with_stops(self._bounds, state.q)
        response = dtrtrs(factor, contact.rows.T, lower=1)[0]
        solution = self._solve(contact, free, response, self._guess(state, contact, h), h)
        y = free + response @ solution.impulses.ravel()
        return M, dtrtrs(factor, y, lower=1, trans=1)[0], contact, solution

    def _guess(self, state: State, contact: RigidContact, h: float) -> np.ndarray:
        """Impulses of the last step's forces, in the frames of the contacts [N s], (n, 3)."""
        result = np.zeros((len(contact.depth), 3))
        if state.warm is not None and state.warm.forces is not None:
            result[: self._contacts.n] = h * contact.in_frames(state.warm.forces)
        return result

    def _solve(
        self,
        contact: RigidContact,
        free: np.ndarray,
        response: np.ndarray,
        guess: np.ndarray,
        h: float,
    ) -> NcpSolution:
        """Impulses of all contacts; the problem contains only those that would come too close.

        A contact that the others' impulses bring too close is added, and the problem is solved
        again. The contacts left out have no impulse and an admissible velocity, so the solution
        holds for all contacts.

        Args:
            contact: contacts at the start of the step.
            free: velocity L' v without impulses, shape (nv,).
            response: matrix L^-1 J' of all contacts, shape (nv, 3 n).
            guess: initial impulses, shape (n, 3); overwritten.
            h: length of the step [s].
        """
        tolerance, depth = self._tolerance * STANDARD_GRAVITY * h, contact.depth
        g = response.T @ free
        g[2::3] -= depth / np.where(depth < -_TOUCH, h, max(h, self._push_out))
        along = response[:, 2::3]
        own = np.square(along).sum(axis=0)
        movable = own > _HELD * own.max(initial=0.0)
        active = np.zeros(len(depth), dtype=bool)
        impulses, normal, iterations = np.zeros_like(guess), g[2::3], 0
        found = NcpSolution(impulses, NcpResiduals(0.0, 0.0, 0.0), 0, True)
        while found.converged:
            missed = movable & ~active & (normal < -tolerance)
            if not missed.any():
                break
            active |= missed
            rows = np.repeat(active, 3)
            Y = response[:, rows]
            found = self._ncp.solve(
                Y.T @ Y, g[rows], contact.friction[active], guess[active], tolerance
            )
            iterations += found.iterations
            impulses[active] = guess[active] = found.impulses
            normal = g[2::3] + along.T @ (Y @ found.impulses.ravel())
        return replace(found, impulses=impulses, iterations=iterations)

    def _finished(
        self,
        state: State,
        contact: RigidContact,
        torque: TorqueLaw,
        M: np.ndarray,
        q: np.ndarray,
        v: np.ndarray,
        solution: NcpSolution,
        h: float,
    ) -> StepResult:
        """The step to configuration q and velocity v."""
        model, data = self._model, self._work.data
        forces = contact.seen(solution.impulses[: self._contacts.n] / h)
        wrenches = contact.wrenches(self._contacts, self._work, forces)
        tau = torque_at(model, torque, q, v)
        kinetic = 0.5 * float(state.v @ (M @ state.v))
        before = kinetic + pin.computePotentialEnergy(model, data, state.q)
        work = max(h * float(tau @ v), 0.0) + self._lift(contact)
        kinetic_end = kinetic_energy(model, self._inertia, q, v)
        potential_end = pin.computePotentialEnergy(model, data, q)
        gain = kinetic_end + potential_end - before - work
        if not self._bound.allows(gain, kinetic + work, self._weight):
            return self._failed(state, Status.ENERGY_GAINED, solution.iterations, h)
        pin.forwardKinematics(model, data, q)
        contacts = self._contacts.locate(self._work.placements, self._surfaces)[0]
        if not np.isfinite(contacts.depth).all():  # beyond the range of the terrain
            return self._failed(state, Status.NOT_FINITE, solution.iterations, h)
        return finished_step(
            state,
            State(state.t + h, q, v, WarmStart(self._no_weights, 1.0, forces)),
            wrenches=wrenches,
            tau=tau,
            contact_depths=np.maximum(contacts.depth, 0.0),
            iterations=solution.iterations,
            evaluations=1,
            step_sizes=(h,),
            residual=0.0,
            objective=0.5 * float(v @ (M @ v)),
            kinetic_energy=kinetic_end,
            potential_energy=potential_end,
        )

    def _lift(self, contact: RigidContact) -> float:
        """Upper bound on the energy that the correction of penetrations adds [J]."""
        speed = float(contact.depth.max(initial=0.0)) / self._push_out
        return 0.5 * self._weight / STANDARD_GRAVITY * speed**2

    def _failed(self, state: State, status: Status, iterations: int, h: float) -> StepResult:
        """A step that failed."""
        n = self._contacts.n
        return failed_step(state, status, n_contacts=n, iterations=iterations, evaluations=1, h=h)
