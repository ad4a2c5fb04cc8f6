"""Integrators of the nonconvex maximal dissipation principle ([N] section IV)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from nmdp_pin.contact.wrench_space import WrenchSpace
from nmdp_pin.control.controller import Command
from nmdp_pin.dynamics.newton_euler import NewtonEuler
from nmdp_pin.dynamics.objective import objective_named
from nmdp_pin.errors import IntegratorError
from nmdp_pin.integrators.integrator import Integrator, StepResult
from nmdp_pin.integrators.outcome import failed_step, finished_step
from nmdp_pin.robot import Robot
from nmdp_pin.solvers.pgm import PGMOptions, pgm
from nmdp_pin.solvers.simplex_qp import SimplexQP
from nmdp_pin.state import State, WarmStart
from nmdp_pin.terrain import Terrain

# [m/s^2, rad/s^2]; what each step leaves undone adds up, as an acceleration of epsilon / h^2 would
_ACCELERATION = 1e-3


class NeNmdp(Integrator):
    """argmin K(q) over (q, w) subject to the Newton-Euler residual G(q, w) = 0 ([N] eq. 6).

    First order, backward Euler. Solved by PGM from the weights of the last step.

    Args:
        robot: the robot.
        terrain: the ground.
        wrench_space: the contact model.
        objective: "kinetic" (the papers' text) or "end_effector" (what their authors ran).
        gamma: step-size parameter of the first step.
        qp_solver: "daqp", or "proxqp" of ProxSuite.
        options: of the projected gradient method, by keyword; `tolerance` is relative to the
            weight, and `epsilon` holds for long steps: short ones stop at 1e-3 m/s^2 h^2.
    """

    name: ClassVar[str] = "ne-nmdp"
    solver_options: ClassVar[type] = PGMOptions  # what **options may hold; scenarios read it

    def __init__(
        self,
        robot: Robot,
        terrain: Terrain,
        wrench_space: WrenchSpace,
        *,
        objective: str = "kinetic",
        gamma: float = 1.0,
        qp_solver: str = "daqp",
        **options: Any,
    ) -> None:
        self.residual = NewtonEuler(robot, terrain, wrench_space)
        self.objective = objective_named(objective, self.residual)
        if not 0.0 < gamma < np.inf:
            raise IntegratorError(f"gamma must be a finite number > 0, got {gamma}")
        self._gamma = gamma
        self.options = PGMOptions(**options)
        self._shape = (len(robot.contact_points), wrench_space.n_vertices)
        self._qp = SimplexQP(*self._shape, solver=qp_solver)
        # A contact that comes in starts from its full normal force: an impact ends close to it.
        self._touching = np.full(self._shape, 1.0 / max(wrench_space.n_vertices, 1))

    def step(self, state: State, command: Command, h: float) -> StepResult:
        """See the contract."""
        residual, warm = self.residual, state.warm
        w = self._touching if warm is None else warm.w
        gamma = self._gamma if warm is None else warm.gamma
        residual.begin(state.q, state.v, command, h)
        options = replace(
            self.options,
            tolerance=residual.tolerance(self.options.tolerance),
            epsilon=min(self.options.epsilon, _ACCELERATION * h**2),
        )
        # The last weights first, then the papers' w = 0, from which there is always a way down.
        iterations = 0
        for start in (w, np.zeros_like(w)):
            found = pgm(residual, self.objective, self._qp, state.q, start.ravel(), gamma, options)
            iterations += found.iterations
            if found.status.ok:
                break
        if not found.status.ok:
            return failed_step(state, residual, found.status, iterations, h)
        w = found.w.reshape(self._shape)
        if residual.q is not found.q:  # the last trial was rejected
            residual.evaluate(found.q, w)
        apart = ~residual.contact.touching
        w = np.where(apart[:, None], self._touching, w)
        state1 = State(state.t + h, found.q, residual.v, WarmStart(w, found.gamma))
        return finished_step(
            state,
            state1,
            residual,
            iterations=iterations,
            residual_norm=found.residual,
            objective=found.values[-1],
            h=h,
        )
