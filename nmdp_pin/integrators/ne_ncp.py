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
from nmdp_pin.control.controller import Command
from nmdp_pin.dynamics.newton_euler import NewtonEuler
from nmdp_pin.dynamics.rigid_contact import RigidContact
from nmdp_pin.dynamics.semi_implicit import semi_implicit
from nmdp_pin.errors import IntegratorError
from nmdp_pin.integrators.integrator import Integrator, StepResult
from nmdp_pin.integrators.outcome import failed_step, finished_step
from nmdp_pin.solvers.friction_ncp import FrictionNCP, NcpResiduals, NcpSolution
from nmdp_pin.state import State, WarmStart
from nmdp_pin.status import Status
from nmdp_pin.system import System

_TOUCH = (
    1e-6  # [m]; of gaps of rounding size gap / h would be velocities that contradict each other
)
_HELD = 1e-9  # of the largest response to an impulse: a contact that answers less cannot move


class NeNcp(Integrator):
    """Rigid contacts: Signorini's condition and Coulomb's law on velocities, one NCP a step.

    M, c, the contact frames and gaps are those of the start; the PD is implicit and linear as in
    `NeMdp`; q1 = q0 + h v1. A contact may come as close as its gap lets it, v_n >= -gap / h. One
    that touches has v_n >= depth / push_out, but need not leave by more than its depth in a step.

    Args:
        system: what is simulated, under dry friction.
        solver: of Pinocchio, "admm" or "pgs"; where it does not converge, the other one.
        max_iterations: of each solver.
        tolerance: on the velocities of contacts, in units of what a fall of one step gains (g h).
            Where neither solver gets there, a thousandth of the velocities that come in will do:
            the residuals are in the result.
        push_out: time in which a penetration is taken back [s].

    Raises:
        IntegratorError: an option out of its range.
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
        self._contact: RigidContact
        robot, terrain = system.robot, system.terrain

        def contact(data: pin.Data) -> RigidContact:
            self._contact = RigidContact(robot, terrain, data)
            return self._contact

        self.residual = NewtonEuler(robot, terrain, None, contact=contact)
        self._ncp = FrictionNCP(solver, max_iterations=max_iterations)
        self._tolerance, self._push_out = tolerance, push_out
        self._no_weights = np.zeros((len(robot.contact_points), 0))

    def step(
        self, state: State, command: Command, h: float, *, dt: float | None = None
    ) -> StepResult:
        """See the contract; forces act where the step starts, depths are those at its end."""
        residual = self.residual
        residual.begin(state, command, h)
        M_hat, right = semi_implicit(residual)
        if not math.isfinite(M_hat.sum() + right.sum()):
            return failed_step(state, residual, Status.NOT_FINITE, 0, h)
        factor, singular = dpotrf(M_hat, lower=1)
        if singular:
            return failed_step(state, residual, Status.SINGULAR, 0, h)
        # in units where M_hat is the identity: y = L' v with M_hat = L L'
        free = dtrtrs(factor, right, lower=1)[0]
        self._contact.evaluate(self._no_weights)
        response = dtrtrs(factor, self._contact.rows().T, lower=1)[0]
        solution = self._solve(free, response, self._guess(state, h), h)
        y = free + response @ solution.impulses.ravel()
        v = dtrtrs(factor, y, lower=1, trans=1)[0]
        if not np.isfinite(v).all():
            result = failed_step(state, residual, Status.NOT_FINITE, solution.iterations, h)
        elif not solution.converged:
            result = failed_step(state, residual, Status.ITERATION_LIMIT, solution.iterations, h)
        else:
            result = self._finished(state, v, solution, h)
        return replace(result, **solution.residuals._asdict())

    def _guess(self, state: State, h: float) -> np.ndarray:
        """Impulses of the last step's forces, in the frames of the contacts [N s], (n, 3)."""
        if state.warm is None or state.warm.forces is None:
            return np.zeros((self._contact.n, 3))
        return h * self._contact.in_frames(state.warm.forces)

    def _solve(
        self, free: np.ndarray, response: np.ndarray, guess: np.ndarray, h: float
    ) -> NcpSolution:
        """Impulses of all contacts; only those that would come too close are solved for.

        A contact that the others' impulses bring too close joins them, and the problem is solved
        again. What is left out has no impulse and a velocity that is allowed, so the solution is
        one of all contacts.

        Args:
            free: velocity without impulses, L' v, shape (nv,).
            response: L^-1 J' of all contacts, shape (nv, 3 n).
            guess: impulses to start from, shape (n, 3); overwritten.
            h: length of the step [s].
        """
        contacts = self._contact.contacts
        tolerance = self._tolerance * STANDARD_GRAVITY * h
        depth = contacts.depth
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
                Y.T @ Y, g[rows], contacts.friction[active], guess[active], tolerance
            )
            iterations += found.iterations
            impulses[active] = guess[active] = found.impulses
            normal = g[2::3] + along.T @ (Y @ found.impulses.ravel())
        return replace(found, impulses=impulses, iterations=iterations)

    def _finished(self, state: State, v: np.ndarray, solution: NcpSolution, h: float) -> StepResult:
        """The step to velocity v."""
        residual, contact = self.residual, self._contact
        q = residual.retract(state.q, h * v)
        residual.torque.evaluate(q, v)
        forces = contact.give(solution.impulses / h)
        result = finished_step(
            state,
            State(state.t + h, q, v, WarmStart(self._no_weights, 1.0, forces)),
            residual,
            iterations=solution.iterations,
            residual_norm=0.0,
            objective=0.5 * float(v @ (residual.M @ v)),
            h=h,
        )
        if not result.status.ok:
            return result
        contact.evaluate(self._no_weights)  # finished_step left pinocchio at q
        if not np.isfinite(contact.depths).all():  # further out than the terrain can tell
            return failed_step(state, residual, Status.NOT_FINITE, solution.iterations, h)
        return replace(result, contact_depths=contact.depths)
