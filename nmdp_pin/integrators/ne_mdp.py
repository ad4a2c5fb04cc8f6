"""The baseline: the convex maximal dissipation principle on linearised dynamics ([N] eq. 3)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from scipy.linalg.lapack import dposv

from nmdp_pin.contact.wrench_space import WrenchSpace
from nmdp_pin.control.controller import Command
from nmdp_pin.dynamics.newton_euler import NewtonEuler
from nmdp_pin.dynamics.semi_implicit import semi_implicit
from nmdp_pin.integrators.integrator import Integrator, StepResult
from nmdp_pin.integrators.outcome import failed_step, finished_step
from nmdp_pin.solvers.simplex_qp import SimplexQP
from nmdp_pin.state import State, WarmStart
from nmdp_pin.status import Status
from nmdp_pin.system import System

_PROXIMAL = 1e-9  # relative: makes weights unique where several give the same motion


class NeMdp(Integrator):
    """One quadratic program a step: M, C, J and V at the start of the step, v = v(w) linear.

    The stable PD is implicit and linear: (M + h kd + h^2 kp) v1 = M v0 + h (...). First order and
    explicit in the contact: stable at a few milliseconds.
    """

    name: ClassVar[str] = "ne-mdp"

    def __init__(self, system: System[WrenchSpace]) -> None:
        self.residual = NewtonEuler(system.robot, system.terrain, system.law)
        self._shape = (len(system.robot.contact_points), system.law.n_vertices)
        self._qp = SimplexQP(*self._shape)

    def step(
        self, state: State, command: Command, h: float, *, dt: float | None = None
    ) -> StepResult:
        """See the contract; contact forces and depths are those at the start of the step."""
        residual, contact = self.residual, self.residual.contact
        w = np.zeros(self._shape) if state.warm is None else state.warm.w
        residual.begin(state, command, h)
        free, response = self._linear_dynamics(w, h)
        M = residual.M
        w, status = self._least_energy(M, free, response, w)
        v = free + response @ w.ravel()
        if status.ok and not np.isfinite(v).all():
            status = Status.NOT_FINITE
        if not status.ok:
            return failed_step(state, residual, status, 1, h)
        K = 0.5 * float(v @ (M @ v))
        contact.evaluate(w)
        q = residual.retract(state.q, h * v)
        residual.torque.evaluate(q, v)
        state1 = State(state.t + h, q, v, WarmStart(w, 1.0))
        return finished_step(
            state, state1, residual, iterations=1, residual_norm=0.0, objective=K, h=h
        )

    def _linear_dynamics(self, w: np.ndarray, h: float) -> tuple[np.ndarray, np.ndarray]:
        """v1 = free + response w, shapes (nv,) and (nv, n w)."""
        residual = self.residual
        M_hat, right = semi_implicit(residual)
        residual.contact.evaluate(w)
        residual.contact.kinematics()
        columns = np.column_stack([right, h * residual.vertex_jacobian().T])
        solution, singular = dposv(M_hat, columns)[1:]
        if singular:
            solution = np.full_like(columns, np.nan)
        return solution[:, 0], solution[:, 1:]

    def _least_energy(
        self, M: np.ndarray, free: np.ndarray, response: np.ndarray, w: np.ndarray
    ) -> tuple[np.ndarray, Status]:
        """Weights that minimise v1' M v1 / 2 from the start w."""
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
        return found.reshape(self._shape), Status.CONVERGED
