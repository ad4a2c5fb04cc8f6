"""Integrators of the nonconvex maximal dissipation principle ([N] section IV)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from nmdp_pin.contact.wrench_space import WrenchSpace
from nmdp_pin.control.controller import Command
from nmdp_pin.dynamics.dissipation import Dissipation
from nmdp_pin.dynamics.newton_euler import NewtonEuler
from nmdp_pin.dynamics.objective import objective_named
from nmdp_pin.dynamics.position_based import PositionBased
from nmdp_pin.dynamics.step_residual import StepResidual
from nmdp_pin.errors import IntegratorError
from nmdp_pin.integrators.energy_bound import allowed_gain
from nmdp_pin.integrators.integrator import Integrator, StepResult
from nmdp_pin.integrators.last_digits import FREE, finest
from nmdp_pin.integrators.local_solver import LocalSolver, MinimumSolver, PrincipleSolver
from nmdp_pin.integrators.outcome import failed_step, finished_step
from nmdp_pin.integrators.start import Origin, Start
from nmdp_pin.solvers.pgm import PGMOptions
from nmdp_pin.solvers.simplex_qp import SimplexQP
from nmdp_pin.solvers.simplex_vi import SimplexVI
from nmdp_pin.solvers.solver_result import SolverResult
from nmdp_pin.state import State, WarmStart
from nmdp_pin.status import Status
from nmdp_pin.system import System

# [m/s^2, rad/s^2]; what each step leaves undone adds up, as an acceleration of epsilon / h^2 would
_ACCELERATION = 1e-3
_CONTINUATIONS = 3  # halvings of the step whose solution may serve as a start
# Shares of the energy that moves.
_LARGEST_GAIN = 0.1  # in steps of backward Euler, measured: below 0.05
_LARGEST_GAIN_OTHERWISE = 2.0  # in order 2, measured: below 1.2; and in the papers' halves
_IMPACT_GAIN = 1e-3  # where a contact comes to hold; below it is the error of the step
_SATURATED = 1.0 - 1e-9  # sum of the weights of a contact that gives all it can
_NO_DERIVATIVE = (
    "method '{}' is of first order and needs the derivative of the contact model, which {} has "
    "not; use 'ne-zonmdp', 'pbd-zonmdp' or 'ne-mdp', or nmdp_pin.contact.FiniteDifferences"
)


class Nmdp(Integrator):
    """Weights of the dissipation principle, or argmin K(q), over (q, w) with G(q, w) = 0.

    The principle is solved by Newton's method for variational inequalities, the minima by PGM,
    both from the weights of the last step.

    Args:
        system: what is simulated, under a wrench space.
        objective: "dissipation" (the principle itself, as a variational inequality: no K),
            "kinetic" (the papers' text) or "end_effector" (what their authors ran).
        order: of the time step: 1 (backward Euler) or 2 (BDF2, restarted at impacts).
        warm_start: begin with the last weights; False: with w = 0, as the papers.
        carry_gamma: begin with the last step-size parameter; False: with `gamma`.
        restarts: where the first start fails, begin again from others, and from a shorter step.
        secants: in zeroth order, estimate the contact model's derivative from the points that
            were evaluated; False: leave it out, as the papers.
        gamma: step-size parameter of the first step.
        qp_solver: "daqp", or "proxqp" of ProxSuite.
        options: of the solvers, by keyword (`PGMOptions`); `tolerance` is relative to the
            weight, and `epsilon` holds for long steps: short ones stop at 1e-3 m/s^2 h^2.
    """

    form: ClassVar[type[StepResidual]]
    zeroth_order: ClassVar[bool] = False
    solver_options: ClassVar[type] = PGMOptions  # what **options may hold; scenarios read it

    def __init__(
        self,
        system: System[WrenchSpace],
        *,
        objective: str = "dissipation",
        order: int = 1,
        warm_start: bool = True,
        carry_gamma: bool = True,
        restarts: bool = True,
        secants: bool = True,
        gamma: float = 1.0,
        qp_solver: str = "daqp",
        **options: Any,
    ) -> None:
        robot, terrain, wrench_space = system.robot, system.terrain, system.law
        if not (self.zeroth_order or wrench_space.differentiable):
            raise IntegratorError(_NO_DERIVATIVE.format(self.name, type(wrench_space).__name__))
        self.residual = self.form(
            robot, terrain, wrench_space, zeroth_order=self.zeroth_order, secants=secants
        )
        if order not in (1, 2):
            raise IntegratorError(f"order must be 1 or 2, got {order!r}")
        if not 0.0 < gamma < np.inf:
            raise IntegratorError(f"gamma must be a finite number > 0, got {gamma}")
        self._order = order
        self._warm_start, self._carry_gamma, self._restarts = warm_start, carry_gamma, restarts
        self._gamma = gamma
        self.options = PGMOptions(**options)
        self._shape = (len(robot.contact_points), wrench_space.n_vertices)
        qp = SimplexQP(*self._shape, solver=qp_solver)
        self.objective = objective
        self.solver: LocalSolver
        if objective == Dissipation.name:
            self.solver = PrincipleSolver(self.residual, SimplexVI(*self._shape))
        else:
            K = objective_named(objective, self.residual)
            self.solver = MinimumSolver(self.residual, K, qp)
        # A contact that comes in starts from its full normal force: an impact ends close to it.
        self._touching = np.full(self._shape, 1.0 / max(wrench_space.n_vertices, 1))

    def step(
        self, state: State, command: Command, h: float, *, dt: float | None = None
    ) -> StepResult:
        """See the contract."""
        residual = self.residual
        w0 = self._touching if state.warm is None else state.warm.w
        found = self._solve_step(state, command, h, dt)
        if found.status.ok and self._gains_at_an_impact(w0, found):
            found = self._solve_in_first_order(state, command, h, dt, found)
        if not found.status.ok:
            return failed_step(
                state,
                residual,
                found.status,
                found.iterations,
                h,
                residual_norm=found.residual,
                rejected=found.rejected,
                condition=found.condition,
            )
        w = found.w.reshape(self._shape)
        if residual.q is not found.q:  # the last trial was rejected
            residual.evaluate(found.q, w)
        history = None
        if self._order == 2:
            history = replace(residual.made_step(), smooth=not self._has_arrest(w0, w))
        apart = ~residual.contact.touching
        w = np.where(apart[:, None], self._touching, w)
        state1 = State(state.t + h, found.q, residual.v, WarmStart(w, found.gamma), history)
        return finished_step(
            state,
            state1,
            residual,
            iterations=found.iterations,
            residual_norm=found.residual,
            objective=found.values[-1],
            h=h,
            rejected=found.rejected,
            condition=found.condition,
        )

    @property
    def order(self) -> int:
        """See the contract."""
        return self._order

    def _solve_step(
        self, state: State, command: Command, h: float, dt: float | None
    ) -> SolverResult:
        """Solve from one start after another; the residual is left at a step of length h."""
        options = self._begin(state, command, h, dt)
        gamma = self._gamma
        if state.warm is not None and self._carry_gamma:
            gamma = state.warm.gamma
        attempts = []
        for start in self._starts(state, h):
            attempts.append(self._attempt(start, gamma, options))
            if attempts[-1].status.ok:
                break
        else:
            if self._restarts:
                attempts.extend(self._continue(state, command, h, dt, gamma, _CONTINUATIONS))
        return _with_the_work_of(attempts)

    def _gains_at_an_impact(self, w0: np.ndarray, found: SolverResult) -> bool:
        """Whether a difference across an impact, which means nothing, has made energy."""
        w1 = found.w.reshape(self._shape)
        if self.residual.history is None or not self._has_arrest(w0, w1):
            return False
        gain, moving = self.residual.energy_gain(found.q)
        return gain > _IMPACT_GAIN * moving

    def _solve_in_first_order(
        self, state: State, command: Command, h: float, dt: float | None, second: SolverResult
    ) -> SolverResult:
        """Make a step of second order anew in first order, which only loses energy."""
        spent, made = self.residual.evaluations, self.residual.history
        warm = WarmStart(second.w.reshape(self._shape), second.gamma)
        history = None if made is None else replace(made, smooth=False)
        first = self._solve_step(replace(state, warm=warm, history=history), command, h, dt)
        self.residual.evaluations += spent
        return _with_the_work_of([second, first])

    def _continue(
        self,
        state: State,
        command: Command,
        h: float,
        dt: float | None,
        gamma: float,
        halvings: int,
    ) -> list[SolverResult]:
        """Solve a shorter step from the same state, and draw its end out to h as a start."""
        residual, spent = self.residual, self.residual.evaluations
        w = self._touching if state.warm is None else state.warm.w
        half, half_dt = 0.5 * h, None if dt is None else 0.5 * dt
        options = self._begin(state, command, half, half_dt)
        attempts = [self._attempt(Start(state.q, w), gamma, options)]
        if not attempts[0].status.ok and halvings > 1:
            attempts += self._continue(state, command, half, half_dt, gamma, halvings - 1)
        spent += residual.evaluations
        options = self._begin(state, command, h, dt)
        shorter = attempts[-1]
        if shorter.status.ok:
            ahead = residual.retract(state.q, 2.0 * residual.difference(state.q, shorter.q))
            start = Start(ahead, shorter.w.reshape(self._shape))
            attempts.append(self._attempt(start, shorter.gamma, options))
        residual.evaluations += spent
        return attempts

    def _attempt(self, start: Start, gamma: float, options: PGMOptions) -> SolverResult:
        """Solve from one start; G = 0 has roots far away that no motion leads to: not those."""
        found = self.solver.solve(start, gamma, options)
        if found.status.ok and self._refuses(*self.residual.energy_gain(found.q)):
            return replace(found, status=Status.ENERGY_GAINED)
        return found

    def _refuses(self, gain: float, moving: float) -> bool:
        """Whether a root of the present step gains more energy than its differences may add [J]."""
        residual = self.residual
        euler = residual.history is None and residual.acceleration_rate == residual.rate
        share = _LARGEST_GAIN if euler else _LARGEST_GAIN_OTHERWISE
        return not gain <= allowed_gain(moving, residual.weight, share)

    def _begin(self, state: State, command: Command, h: float, dt: float | None) -> PGMOptions:
        """State the step to the residual; the solver's options for it."""
        self.residual.begin(state, command, h, second_order=self._order == 2, dt=dt)
        return replace(
            self.options,
            tolerance=self.residual.tolerance(self.options.tolerance),
            epsilon=self.epsilon(h),
        )

    def epsilon(self, h: float) -> float:
        """Where the solver stops in a step of length h: the papers' epsilon, or less [rad, m]."""
        epsilon = self.options.epsilon
        return min(epsilon, _ACCELERATION * h**2) if self.options.early_stop else epsilon

    def refined(
        self,
        state: State,
        command: Command,
        h: float,
        q: np.ndarray,
        w: np.ndarray,
        *,
        dt: float | None = None,
    ) -> SolverResult:
        """Solve on from the end of a step, to the last digits that numbers have.

        Args:
            state: start of the step.
            command: for its end.
            h: length [s].
            q: configuration at its end.
            w: weights there, shape (n_contacts, n_vertices).
            dt: as that of `step`.
        """
        options = self._begin(state, command, h, dt)
        self.residual.evaluate(q, w)
        options = finest(options, self.residual)
        return self.solver.solve(
            Start(q, w, obstinate=True, least_proximal=FREE), options.gamma_max, options
        )

    def _starts(self, state: State, h: float) -> Iterator[Start]:
        """Where to begin, one after another."""
        last = self._touching if state.warm is None else state.warm.w
        if not self._warm_start:
            yield Start(state.q, np.zeros(self._shape))
        elif not self._restarts:
            yield Start(state.q, last)
        else:

            def coast(share: float) -> np.ndarray:
                return self.residual.retract(state.q, share * h * state.v)

            yield from self.solver.starts(Origin(state.q, last, self._touching, coast))

    def _has_arrest(self, w0: np.ndarray, w1: np.ndarray) -> bool:
        """Whether a contact that gave all it could holds now: its velocity may have jumped.

        Contacts apart have full weights, so that a touch-down counts.
        """
        gave_all = w0.sum(axis=1) >= _SATURATED
        holds = self.residual.contact.touching & (w1.sum(axis=1) < _SATURATED)
        return bool((gave_all & holds).any())


def _with_the_work_of(attempts: list[SolverResult]) -> SolverResult:
    """The last attempt, with the counts of all."""
    return replace(
        attempts[-1],
        iterations=sum(attempt.iterations for attempt in attempts),
        rejected=sum(attempt.rejected for attempt in attempts),
    )


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
