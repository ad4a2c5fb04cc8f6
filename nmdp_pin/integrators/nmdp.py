"""Integrators of the nonconvex maximal dissipation principle ([N] section IV)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from nmdp_pin.contact.wrench_space import WrenchSpace
from nmdp_pin.control.controller import Command
from nmdp_pin.dynamics.newton_euler import NewtonEuler
from nmdp_pin.dynamics.objective import objective_named
from nmdp_pin.dynamics.position_based import PositionBased
from nmdp_pin.dynamics.step_residual import StepResidual
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
_SATURATED = 1.0 - 1e-9  # sum of the weights of a contact that gives all it can


class Nmdp(Integrator):
    """argmin K(q) over (q, w) subject to G(q, w) = 0, by PGM from the weights of the last step.

    Args:
        robot: the robot.
        terrain: the ground.
        wrench_space: the contact model.
        objective: "kinetic" (the papers' text) or "end_effector" (what their authors ran).
        order: of the time step: 1 (backward Euler) or 2 (BDF2, restarted at impacts).
        gamma: step-size parameter of the first step.
        qp_solver: "daqp", or "proxqp" of ProxSuite.
        options: of the projected gradient method, by keyword; `tolerance` is relative to the
            weight, and `epsilon` holds for long steps: short ones stop at 1e-3 m/s^2 h^2.
    """

    form: ClassVar[type[StepResidual]]
    zeroth_order: ClassVar[bool] = False
    solver_options: ClassVar[type] = PGMOptions  # what **options may hold; scenarios read it

    def __init__(
        self,
        robot: Robot,
        terrain: Terrain,
        wrench_space: WrenchSpace,
        *,
        objective: str = "kinetic",
        order: int = 1,
        gamma: float = 1.0,
        qp_solver: str = "daqp",
        **options: Any,
    ) -> None:
        self.residual = self.form(robot, terrain, wrench_space, zeroth_order=self.zeroth_order)
        self.objective = objective_named(objective, self.residual)
        if order not in (1, 2):
            raise IntegratorError(f"order must be 1 or 2, got {order!r}")
        if not 0.0 < gamma < np.inf:
            raise IntegratorError(f"gamma must be a finite number > 0, got {gamma}")
        self._second_order = order == 2
        self._gamma = gamma
        self.options = PGMOptions(**options)
        self._shape = (len(robot.contact_points), wrench_space.n_vertices)
        self._qp = SimplexQP(*self._shape, solver=qp_solver)
        # A contact that comes in starts from its full normal force: an impact ends close to it.
        self._touching = np.full(self._shape, 1.0 / max(wrench_space.n_vertices, 1))

    def step(
        self, state: State, command: Command, h: float, *, dt: float | None = None
    ) -> StepResult:
        """See the contract."""
        residual, warm = self.residual, state.warm
        w0 = self._touching if warm is None else warm.w
        gamma = self._gamma if warm is None else warm.gamma
        residual.begin(state, command, h, second_order=self._second_order, dt=dt)
        options = replace(
            self.options,
            tolerance=residual.tolerance(self.options.tolerance),
            epsilon=min(self.options.epsilon, _ACCELERATION * h**2),
        )
        # The last weights first, then the papers' w = 0, from which there is always a way down.
        iterations = 0
        for start in (w0, np.zeros_like(w0)):
            found = pgm(residual, self.objective, self._qp, state.q, start.ravel(), gamma, options)
            iterations += found.iterations
            if found.status.ok:
                break
        if not found.status.ok:
            return failed_step(state, residual, found.status, iterations, h)
        w = found.w.reshape(self._shape)
        if residual.q is not found.q:  # the last trial was rejected
            residual.evaluate(found.q, w)
        history = None
        if self._second_order:
            history = replace(residual.made_step(), smooth=not self._has_arrest(w0, w))
        apart = ~residual.contact.touching
        w = np.where(apart[:, None], self._touching, w)
        warm1 = WarmStart(w, found.gamma)
        state1 = State(state.t + h, found.q, residual.v, warm1, history)
        return finished_step(
            state,
            state1,
            residual,
            iterations=iterations,
            residual_norm=found.residual,
            objective=found.values[-1],
            h=h,
        )

    def _has_arrest(self, w0: np.ndarray, w1: np.ndarray) -> bool:
        """Whether a contact that gave all it could holds now: its velocity may have jumped.

        Contacts apart have full weights, so that a touch-down counts.
        """
        gave_all = w0.sum(axis=1) >= _SATURATED
        holds = self.residual.contact.touching & (w1.sum(axis=1) < _SATURATED)
        return bool((gave_all & holds).any())


class NeNmdp(Nmdp):
    """The Newton-Euler form ([N] eq. 6), first-order PGM."""

    name: ClassVar[str] = "ne-nmdp"
    form = NewtonEuler


class NeZonmdp(Nmdp):
    """The Newton-Euler form, zeroth-order PGM: no derivative of the contact model ([N] eq. 10)."""

    name: ClassVar[str] = "ne-zonmdp"
    form = NewtonEuler
    zeroth_order = True


class PbdNmdp(Nmdp):
    """The position-based form ([N] eq. 12), first-order PGM."""

    name: ClassVar[str] = "pbd-nmdp"
    form = PositionBased


class PbdZonmdp(Nmdp):
    """The position-based form, zeroth-order PGM: no derivative of the contact model."""

    name: ClassVar[str] = "pbd-zonmdp"
    form = PositionBased
    zeroth_order = True
