"""The solution of a stage: a solver, its initial guesses and its acceptance check."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

import numpy as np

from nmdp_pin.dynamics.evaluation import Evaluation
from nmdp_pin.dynamics.form import Form
from nmdp_pin.dynamics.objective import Objective, objective_named
from nmdp_pin.dynamics.step_problem import StepProblem
from nmdp_pin.dynamics.torque_law import MOST_SATURATIONS
from nmdp_pin.errors import IntegratorError
from nmdp_pin.integrators.energy_bound import EnergyBound
from nmdp_pin.integrators.initial_guess import (
    InitialGuess,
    guesses_of_minimum,
    guesses_of_principle,
)
from nmdp_pin.integrators.stages import Work
from nmdp_pin.solvers.pgm import ProjectedGradient, pgm
from nmdp_pin.solvers.simplex_qp import SimplexQP
from nmdp_pin.solvers.solver_result import SolverResult
from nmdp_pin.solvers.vi_newton import ViNewton
from nmdp_pin.state import WarmStart
from nmdp_pin.status import Status

_FEW_SATURATED = 4  # guesses: what they do not solve with saturated motors is better halved


class StageSolver:
    """Solves the stages of a step.

    Args:
        form: of the dynamics.
        method: the solver's options: those of the principle, or of an objective.
        objective: what is minimised; None for the principle.
        bound: how much energy a stage may gain.
        warm_start: begin with the last weights; False: with w = 0.
        restarts: where the first guess fails, begin again from others.
        max_evaluations: of the dynamics in one step, after which it fails.
    """

    def __init__(
        self,
        form: Form,
        method: ViNewton | ProjectedGradient,
        objective: Objective | None,
        *,
        bound: EnergyBound,
        warm_start: bool,
        restarts: bool,
        max_evaluations: int,
    ) -> None:
        self._form, self.method, self.K, self._bound = form, method, objective, bound
        self._warm_start, self._restarts, self._budget = warm_start, restarts, max_evaluations
        self._shape = form.shape
        # A contact that comes in starts from its full normal force: an impact ends close to it.
        self._full = form.no_forces.copy()
        self._full[: form.contacts.n] = 1.0 / max(self._shape[1], 1)
        if isinstance(method, ProjectedGradient):
            self._qp = SimplexQP(*self._shape, solver=method.qp_solver)
            self._tight_qp = SimplexQP(*self._shape, solver=method.tight().qp_solver)

    def begin(self, warm: WarmStart | None) -> tuple[np.ndarray, float]:
        """Weights (n, m) and the step-size parameter that a step begins with."""
        w = self._full if warm is None else warm.w
        if not isinstance(self.method, ProjectedGradient):
            return w, 1.0
        carried = warm is not None and self.method.carry_gamma
        return w, warm.gamma if carried and warm else self.method.gamma

    def carried(self, at: Evaluation) -> np.ndarray:
        """Weights to begin the next stage with: contacts that are apart begin with full forces."""
        w = self._full.copy()
        w[at.active] = at.w[at.active]
        return w

    def solve(
        self,
        problem: StepProblem,
        w: np.ndarray,
        gamma: float,
        work: Work,
        before: tuple[float, float, float],
        *,
        guesses: int | None = None,
    ) -> tuple[SolverResult, Work, tuple[float, float]]:
        """Solve a stage from one guess after another; with the energies at its end.

        G = 0 has roots far away, to which no motion leads: they gain energy, and are refused.

        Args:
            problem: the equations of the stage.
            w: weights of the stage or the step before.
            gamma: step-size parameter to begin with.
            work: what the stages before took.
            before: kinetic energy and that of gravity at the start of the step, and the work of
                the torques in the stages before [J].
            guesses: how many are tried at most; None: all.
        """
        form, (kinetic, potential, given) = self._form, before
        after = kinetic, potential
        for tried, guess in enumerate(islice(self._guesses(problem, w), guesses), 1):
            found = self._limited(problem, guess, gamma, self._budget - work.evaluations)
            work = work.plus(found.iterations, found.evaluations, found.rejected)
            if found.status.ok:
                at = found.point
                after = form.energies(at.P, at.S, at.v)
                done = given + float(at.tau @ at.v) / problem.rate
                gain, moving = sum(after) - kinetic - potential - done, kinetic + max(done, 0.0)
                printed = problem.acceleration_rate != problem.rate  # which is not consistent
                if printed or self._bound.allows(gain, moving, form.weight):
                    break
                found = replace(found, status=Status.ENERGY_GAINED)
            at = found.point
            if (
                tried >= _FEW_SATURATED
                and form.torques.saturation(problem.torque, at.q, at.v).any()
            ):
                break
            if work.evaluations >= self._budget:
                break
        return found, work, after

    def _limited(
        self, problem: StepProblem, guess: InitialGuess, gamma: float, budget: int
    ) -> SolverResult:
        """Solve a stage from one guess, with the motors saturated whose efforts are too large.

        The saturated motors are an active set: it begins with those of the guess, and the stage is
        solved again, from its end, until they are those that would exceed their limits there.
        """
        torques = problem.form.torques
        if not torques.limited:
            return self._from(problem, guess, gamma, budget)
        v = problem.rate * problem.form.difference(problem.q_ref, guess.q)
        signs, work = torques.saturation(problem.torque, guess.q, v), Work()
        for _ in range(MOST_SATURATIONS):
            torque = torques.saturated(problem.torque, signs)
            limited = problem if torque is problem.torque else replace(problem, torque=torque)
            found = self._from(limited, guess, gamma, budget - work.evaluations)
            work = work.plus(found.iterations, found.evaluations, found.rejected)
            if not found.status.ok:
                break
            at, before = found.point, signs
            signs = torques.saturation(problem.torque, at.q, at.v, before)
            if np.array_equal(signs, before):
                break
            guess, gamma = guess._replace(q=at.q, w=at.w), found.gamma
        else:
            found = replace(found, status=Status.STALLED)
        return replace(found, **work._asdict())

    def _from(
        self, problem: StepProblem, guess: InitialGuess, gamma: float, budget: int
    ) -> SolverResult:
        """Solve a stage from one guess."""
        if isinstance(self.method, ViNewton):
            return self.method.solve(
                problem,
                guess.q,
                guess.w,
                loose=guess.loose,
                max_iterations=guess.max_iterations,
                stubborn=guess.stubborn,
                budget=budget,
            )
        if self.K is None:
            raise RuntimeError("the projected gradient method needs an objective")
        options = self.method.of_step(problem)
        return pgm(problem, self.K, self._qp, guess.q, guess.w, gamma, options, budget=budget)

    def tight(self, problem: StepProblem, q: np.ndarray, w: np.ndarray) -> SolverResult:
        """Solve a stage on from near its end, to rounding."""
        if isinstance(self.method, ViNewton):
            return self.method.tight(problem).solve(problem, q, w, loose=np.inf, stubborn=True)
        if self.K is None:
            raise RuntimeError("the projected gradient method needs an objective")
        options = self.method.tight().of_step(problem)
        return pgm(problem, self.K, self._tight_qp, q, w, options.gamma_max, options)

    def solved(self, problem: StepProblem, at: Evaluation) -> bool:
        """Whether a point is known to be the end of a stage."""
        return isinstance(self.method, ViNewton) and self.method.solved(problem, at)

    def _guesses(self, problem: StepProblem, w: np.ndarray) -> Iterator[InitialGuess]:
        """Where to begin, one after another."""
        if not self._warm_start:
            yield InitialGuess(problem.q_ref, self._form.no_forces)
        elif not self._restarts:
            yield InitialGuess(problem.q_ref, w)
        elif isinstance(self.method, ViNewton):
            yield from guesses_of_principle(problem, w, self._form.no_forces, self._full)
        else:
            yield from guesses_of_minimum(problem, w, self._form.no_forces)


def stage_solver(
    form: Form,
    objective: str,
    vi_newton: ViNewton | None,
    projected_gradient: ProjectedGradient | None,
    *,
    bound: EnergyBound,
    warm_start: bool,
    restarts: bool,
    max_evaluations: int,
) -> StageSolver:
    """The solver of an objective: "dissipation", the principle itself, or one of `OBJECTIVES`.

    Raises:
        IntegratorError: an unknown objective, an option out of its range, or options of the solver
            that the objective does not use.
    """
    principle = objective == ViNewton.objective
    K = None if principle else objective_named(objective)
    absent = projected_gradient if principle else vi_newton
    if absent is not None:
        raise IntegratorError(
            f"objective '{objective}' is not solved by {type(absent).__name__}: leave out its "
            "options"
        )
    if max_evaluations < 1:
        raise IntegratorError(f"max_evaluations must be >= 1, got {max_evaluations!r}")
    method: ViNewton | ProjectedGradient
    method = vi_newton or ViNewton() if principle else projected_gradient or ProjectedGradient()
    return StageSolver(
        form,
        method,
        K,
        bound=bound,
        warm_start=warm_start,
        restarts=restarts,
        max_evaluations=max_evaluations,
    )
