"""Solution of a stage by a solver, with initial guesses and an acceptance check."""

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

_FEW_SATURATED = 4  # guesses with saturated motors; beyond them a step is better halved


class StageSolver:
    """Solver of the stages of a step.

    Args:
        form: form of the dynamics.
        method: options of the solver of the principle, or of an objective.
        objective: minimised objective; None for the principle.
        bound: bound on the energy that a stage gains.
        warm_start: whether to begin with the last weights; False: with w = 0.
        restarts: whether to try other guesses where the first one fails.
        max_evaluations: largest number of evaluations of the dynamics in one step.
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
        # An approaching contact starts from its full normal force, close to the end of an impact.
        self._full = form.no_forces.copy()
        self._full[: form.contacts.n] = 1.0 / max(form.shape[1], 1)
        if isinstance(method, ProjectedGradient):
            self._qp = SimplexQP(*form.shape, solver=method.qp_solver)
            self._tight_qp = SimplexQP(*form.shape, solver=method.tight().qp_solver)

    def begin(self, warm: WarmStart | None) -> tuple[np.ndarray, float]:
        """Initial weights (n, m) and step-size parameter of a step."""
        w = self._full if warm is None else warm.w
        if not isinstance(self.method, ProjectedGradient):
            return w, 1.0
        carried = warm is not None and self.method.carry_gamma
        return w, warm.gamma if carried and warm else self.method.gamma

    def carried(self, at: Evaluation) -> np.ndarray:
        """Initial weights of the next stage, full forces for contacts that are apart."""
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
        """Solve a stage from one guess after another; the result includes the energies at its end.

        G = 0 has distant roots, to which no motion leads: they gain energy and are refused.

        Args:
            problem: equations of the stage.
            w: weights of the stage or the step before.
            gamma: initial step-size parameter.
            work: iterations and evaluations of the stages before.
            before: kinetic and potential energy at the start of the step, and the work of the
                torques in the earlier stages [J].
            guesses: largest number of guesses that are tried; None: all.
        """
        form, torques, (kinetic, potential, given) = self._form, self._form.torques, before
        after = kinetic, potential
        for tried, guess in enumerate(islice(self._guesses(problem, w), guesses), 1):
            # The saturated motors are an active set: it begins with those of the guess, and the
            # stage is solved again, from its end, until the set agrees with the exceeded limits.
            v = problem.rate * form.difference(problem.q_ref, guess.q)
            signs, step_size = torques.saturation(problem.torque, guess.q, v), gamma
            for _ in range(MOST_SATURATIONS):
                torque = torques.saturated(problem.torque, signs)
                limited = problem if torque is problem.torque else replace(problem, torque=torque)
                left = self._budget - work.evaluations
                if isinstance(self.method, ViNewton):
                    found = self.method.solve(
                        limited,
                        guess.q,
                        guess.w,
                        loose=guess.loose,
                        max_iterations=guess.max_iterations,
                        stubborn=guess.stubborn,
                        budget=left,
                    )
                else:
                    found = self._minimise(limited, guess, step_size, left)
                work = work.plus(found.iterations, found.evaluations, found.rejected)
                at, last = found.point, signs
                if not found.status.ok:
                    break
                signs = torques.saturation(problem.torque, at.q, at.v, last)
                if signs is last or np.array_equal(signs, last):
                    break
                guess, step_size = guess._replace(q=at.q, w=at.w), found.gamma
            else:
                found = found._replace(status=Status.STALLED)
            if found.status.ok:
                after = form.energies(at.P, at.S, at.v)
                done = given + float(at.tau @ at.v) / problem.rate
                gain, moving = sum(after) - kinetic - potential - done, kinetic + max(done, 0.0)
                printed = problem.acceleration_rate != problem.rate  # which is not consistent
                if printed or self._bound.allows(gain, moving, form.weight):
                    break
                found = found._replace(status=Status.ENERGY_GAINED)
            if tried >= _FEW_SATURATED and torques.saturation(problem.torque, at.q, at.v).any():
                break
            if work.evaluations >= self._budget:
                break
        return found, work, after

    def _minimise(
        self, problem: StepProblem, guess: InitialGuess, gamma: float, budget: int
    ) -> SolverResult:
        """Minimise the objective from a guess."""
        if self.K is None or not isinstance(self.method, ProjectedGradient):
            raise RuntimeError("the projected gradient method needs an objective")
        options = self.method.of_step(problem)
        return pgm(problem, self.K, self._qp, guess.q, guess.w, gamma, options, budget=budget)

    def tight(self, problem: StepProblem, q: np.ndarray, w: np.ndarray) -> SolverResult:
        """Solve a stage to rounding, from a point near its end."""
        if isinstance(self.method, ViNewton):
            return self.method.tight(problem).solve(problem, q, w, loose=np.inf, stubborn=True)
        if self.K is None:
            raise RuntimeError("the projected gradient method needs an objective")
        options = self.method.tight().of_step(problem)
        return pgm(problem, self.K, self._tight_qp, q, w, options.gamma_max, options)

    def solved(self, problem: StepProblem, at: Evaluation) -> bool:
        """Whether a point satisfies the tolerances of the end of a stage."""
        return isinstance(self.method, ViNewton) and self.method.solved(problem, at)

    def _guesses(self, problem: StepProblem, w: np.ndarray) -> Iterator[InitialGuess]:
        """Initial guesses in order."""
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
