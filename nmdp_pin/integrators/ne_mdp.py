"""The baseline: the convex maximal dissipation principle on linearised dynamics ([N] eq. 3)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from scipy.linalg.lapack import dposv

from nmdp_pin.contact.wrench_space import WrenchSpace
from nmdp_pin.control.controller import CommandSource
from nmdp_pin.dynamics.newton_euler import NewtonEuler
from nmdp_pin.dynamics.semi_implicit import semi_implicit, torque_at
from nmdp_pin.dynamics.torque_law import MOST_SATURATIONS, constant_torque
from nmdp_pin.errors import IntegratorError
from nmdp_pin.integrators.energy_bound import EXPLICIT, EnergyBound
from nmdp_pin.integrators.integrator import Integrator, StepResult
from nmdp_pin.integrators.outcome import failed_step, finished_step
from nmdp_pin.kernels.wrenches import world_wrenches
from nmdp_pin.solvers.pgm import vertex_forces
from nmdp_pin.solvers.simplex_qp import SimplexQP
from nmdp_pin.state import State, WarmStart
from nmdp_pin.status import Status
from nmdp_pin.system import System

_PROXIMAL = 1e-9  # relative: makes weights unique where several give the same motion


class NeMdp(Integrator):
    """One quadratic program a step: M, C, J and V at the start of the step, v = v(w) linear.

    First order and explicit in the contact: stable with steps of a few milliseconds.

    Args:
        system: simulated system, whose contact law is a wrench space.
        pd: "implicit" is linear in the end of the step, (M + h kd + h^2 kp) v1 = M v0 + h (...);
            "explicit" takes the torque at the start of the step, as the papers' authors do.
        qp_solver: "proxqp" of ProxSuite, or "daqp".

    Raises:
        IntegratorError: `pd` or `qp_solver` is not known.
    """

    name: ClassVar[str] = "ne-mdp"

    def __init__(
        self, system: System[WrenchSpace], *, pd: str = "implicit", qp_solver: str = "proxqp"
    ) -> None:
        if pd not in ("implicit", "explicit"):
            raise IntegratorError(f"pd must be 'implicit' or 'explicit', got {pd!r}")
        self.pd = pd
        self.form = NewtonEuler(system, zeroth_order=True, secants=False)
        self._qp = SimplexQP(*self.form.shape, solver=qp_solver)
        self._bound = EnergyBound(share=EXPLICIT)

    def step(self, state: State, command: CommandSource, h: float) -> StepResult:
        """See `Integrator.step`; contact forces and depths are those at the start of the step."""
        form, at_end = self.form, command.at(state.t + h)
        w = form.no_forces if state.warm is None else state.warm.w
        problem = form.problem(form.start(state.q, state.v, h, 1), at_end, 1.0 / h, 1.0 / h)
        at = problem.evaluate(state.q, w)
        B = vertex_forces(at, problem.linearise(at).J_force)
        least = np.zeros(form.nv)
        least[form.bounds.dofs] = form.bounds.least(state.q)
        free = problem.torque
        if self.pd == "explicit":
            free = constant_torque(torque_at(form.model, free, state.q, state.v))
        signs = form.torques.saturation(free, state.q, state.v)
        for _ in range(MOST_SATURATIONS):
            torque = form.torques.saturated(free, signs)
            M_hat, right, M = semi_implicit(
                form.model, form.workspace, torque, state.q, state.v, h, form.mimics
            )
            right += h * least
            v, w1, status = self._velocity(M_hat, M, right, h * B, w)
            if not status.ok:
                break
            q, before = problem.retract(state.q, h * v), signs
            signs = form.torques.saturation(free, q, v, before)
            if np.array_equal(signs, before):
                break
        else:
            status = Status.STALLED
        counts = {"iterations": 1, "evaluations": 1}
        if not status.ok:
            return failed_step(state, status, n_contacts=form.contacts.n, h=h, **counts)
        tau = torque_at(form.model, torque, q, v)
        at_start, energies = form.energies_at(state.q, state.v), form.energies_at(q, v)
        work = float(h * tau @ v)
        gain, moving = sum(energies) - sum(at_start) - work, at_start[0] + max(work, 0.0)
        # The authors' explicit PD gains without bound.
        if self.pd == "implicit" and not self._bound.allows(gain, moving, form.weight):
            status = Status.ENERGY_GAINED
            return failed_step(state, status, n_contacts=form.contacts.n, h=h, **counts)
        points, wrenches = form.contacts, np.empty((form.contacts.n, 6))
        wrench = (at.V @ w1[:, :, None])[:, :, 0]
        world_wrenches(at.P, points.touched, points.radii, at.normal, wrench, wrenches)
        return finished_step(
            state,
            State(state.t + h, q, v, WarmStart(w1, 1.0)),
            wrenches=wrenches,
            tau=tau,
            contact_depths=np.maximum(at.depth, 0.0),
            step_sizes=(h,),
            residual=0.0,
            objective=0.5 * float(v @ (M @ v)),
            kinetic_energy=energies[0],
            potential_energy=energies[1],
            **counts,
        )

    def _velocity(
        self,
        M_hat: np.ndarray,
        M: np.ndarray,
        right: np.ndarray,
        impulses: np.ndarray,
        w: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray, Status]:
        """Velocity and weights of the least kinetic energy.

        Args:
            M_hat: M with the terms of the velocity at the end, shape (nv, nv).
            M: mass matrix, shape (nv, nv).
            right: M_hat v without weights, shape (nv,).
            impulses: impulse of each vertex, shape (n m, nv).
            w: initial weights, shape (n, m).
        """
        solution, singular = dposv(M_hat, np.column_stack([right, impulses.T]))[1:]
        if singular:
            return right, w, Status.NOT_FINITE
        free, response = solution[:, 0], solution[:, 1:]
        w, status = self._least_energy(M, free, response, w)
        v = free + response @ w.ravel()
        if status.ok and not np.isfinite(v).all():
            status = Status.NOT_FINITE
        return v, w, status

    def _least_energy(
        self, M: np.ndarray, free: np.ndarray, response: np.ndarray, w: np.ndarray
    ) -> tuple[np.ndarray, Status]:
        """Weights that minimise v1' M v1 / 2, from the initial weights w."""
        H = response.T @ M @ response
        scale = H.diagonal().max(initial=0.0)
        if not np.isfinite(scale):
            return w, Status.NOT_FINITE
        if scale == 0.0:
            return w, Status.CONVERGED
        x = w.ravel()
        g = response.T @ (M @ (free + response @ x))
        found = self._qp.solve(H + _PROXIMAL * scale * np.eye(len(x)), g, x)
        if found is None:
            return w, Status.QP_FAILED
        return found.reshape(w.shape), Status.CONVERGED
