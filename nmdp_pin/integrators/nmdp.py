"""Integrators of the nonconvex maximal dissipation principle ([N] section IV)."""

from __future__ import annotations

import functools
from typing import ClassVar

import numpy as np

from nmdp_pin.contact.wrench_space import WrenchSpace
from nmdp_pin.control.controller import CommandSource
from nmdp_pin.dynamics.evaluation import Evaluation
from nmdp_pin.dynamics.form import Form
from nmdp_pin.dynamics.linearised_step import LinearisedStep
from nmdp_pin.dynamics.newton_euler import NewtonEuler
from nmdp_pin.dynamics.position_based import PositionBased
from nmdp_pin.dynamics.reference import Slopes
from nmdp_pin.dynamics.step_problem import StepProblem
from nmdp_pin.errors import IntegratorError
from nmdp_pin.integrators.energy_bound import EnergyBound
from nmdp_pin.integrators.integrator import Integrator, StepResult
from nmdp_pin.integrators.linearised import differentiable, linearised_step, stage_ends
from nmdp_pin.integrators.outcome import failed_step, finished_step
from nmdp_pin.integrators.plastic import confirms, impact
from nmdp_pin.integrators.scheme import BACKWARD_EULER, Scheme, scheme_of_order
from nmdp_pin.integrators.stage_solver import stage_solver
from nmdp_pin.integrators.stages import Stages, Work
from nmdp_pin.solvers.pgm import ProjectedGradient
from nmdp_pin.solvers.vi_newton import ViNewton
from nmdp_pin.state import State, WarmStart
from nmdp_pin.status import Status
from nmdp_pin.system import System

_FEW_GUESSES = 4  # in second order; steps that they do not solve are better made in first order
_NO_DERIVATIVE = (
    "method '{}' is of first order and needs the derivative of the contact model, which {} has "
    "not; use 'ne-zonmdp', 'pbd-zonmdp' or 'ne-mdp', or nmdp_pin.contact.FiniteDifferences"
)


class Nmdp(Integrator):
    """Combination of a form of the dynamics, a time scheme and a solver.

    Each stage of the scheme is an implicit step: the weights of the dissipation principle, or
    argmin K(q), over (q, w) with G(q, w) = 0.

    Args:
        system: simulated system, whose contact law is a wrench space.
        objective: "dissipation" (the principle itself, as a variational inequality: no K),
            "kinetic" (the papers' text) or "end_effector" (the objective that the authors ran).
        order: order of the time scheme, 2 (SDIRK2) or 1 (backward Euler).
        warm_start: whether to begin with the last weights; False: with w = 0, as the papers.
        restarts: whether to try other guesses, and a shorter step, where the first guess fails.
        secants: whether zeroth order estimates the contact model's derivative from the points
            that were evaluated; False: it is left out, as in the papers.
        max_evaluations: largest number of evaluations of the dynamics in one step.
        vi_newton: options of the solver of "dissipation".
        projected_gradient: options of the solver of the other objectives.

    Raises:
        IntegratorError: an option is out of its range, or belongs to a solver that the objective
            lacks.
    """

    form_type: ClassVar[type[Form]]
    zeroth_order: ClassVar[bool] = False

    def __init__(
        self,
        system: System[WrenchSpace],
        *,
        objective: str = "dissipation",
        order: int = 2,
        warm_start: bool = True,
        restarts: bool = True,
        secants: bool = True,
        max_evaluations: int = 1000,
        vi_newton: ViNewton | None = None,
        projected_gradient: ProjectedGradient | None = None,
    ) -> None:
        space = system.law
        if not (self.zeroth_order or space.differentiable):
            raise IntegratorError(_NO_DERIVATIVE.format(self.name, type(space).__name__))
        self.scheme = scheme_of_order(order)
        self.form = self.form_type(system, zeroth_order=self.zeroth_order, secants=secants)
        self.bound = EnergyBound()
        self.objective = objective
        self.solver = stage_solver(
            self.form,
            objective,
            vi_newton,
            projected_gradient,
            bound=self.bound,
            warm_start=warm_start,
            restarts=restarts,
            max_evaluations=max_evaluations,
        )

    @functools.cached_property
    def _exact(self) -> Form:
        """The form with the exact derivative of the contact model, in zeroth order as well."""
        return differentiable(self.form, self.form.system) if self.zeroth_order else self.form

    @property
    def order(self) -> int:
        """Order of the time scheme on smooth motion."""
        return self.scheme.order

    def step(
        self, state: State, command: CommandSource, h: float, scheme: Scheme | None = None
    ) -> StepResult:
        """See `Integrator.step`; by another scheme of first order, if given.

        A step of second order is repeated in first order where it does not converge, gains
        energy, or has an impact that rebounds or penetrates too deeply.
        """
        made = self.stages(state, command, h, scheme or self.scheme)
        if not made.status.ok or made.suspects is not None:
            made = self._repeated(state, command, made)
        if not made.status.ok:
            return failed_step(
                state,
                made.status,
                n_contacts=self.form.contacts.n,
                iterations=made.work.iterations,
                evaluations=made.work.evaluations,
                h=h,
                residual=made.end.residual,
                rejected=made.work.rejected,
            )
        return self._finished(state, made)

    def made(self, state: State, command: CommandSource, h: float, scheme: Scheme) -> Stages:
        """The stages of a step, in first order where those of the scheme are not accepted."""
        made = self.stages(state, command, h, scheme)
        return self._repeated(state, command, made)

    def _repeated(self, state: State, command: CommandSource, made: Stages) -> Stages:
        """The stages of a step in first order, where those that were made are not accepted."""
        suspects = made.suspects
        if made.scheme.order == 1 or (made.status.ok and suspects is None):
            return made
        again = self.stages(state, command, made.h, BACKWARD_EULER)
        work = again.work.plus(*made.work)
        if suspects is not None:
            agrees = again.status.ok and confirms(self.form, state, again, suspects)
            if agrees or not again.status.ok:
                return made._replace(work=work)
        return again._replace(work=work)

    def linearised(
        self,
        state: State,
        command: CommandSource,
        h: float,
        end: State,
        names: tuple[str, ...] = (),
        *,
        scheme: Scheme | None = None,
    ) -> LinearisedStep:
        """See `Integrator.linearised`; of a step by another scheme of first order, if given."""
        scheme = scheme or self.scheme
        ends = stage_ends(self.form, scheme, state, h, end)
        if ends is None:
            made = self.made(state, command, h, scheme)
            scheme, ends = made.scheme, [(at.q, at.w) for at in made.points]
        start = self._exact.start(state.q, state.v, scheme.a[0][0] * h, self.order)
        return linearised_step(
            self._exact, self.solver, scheme, start, state.t, command, h, ends, names
        )

    def stages(self, state: State, command: CommandSource, h: float, scheme: Scheme) -> Stages:
        """Solve the stages of a step one after another, and check its end."""
        form = self.form
        w, gamma = self.solver.begin(state.warm)
        before = form.energies_at(state.q, state.v)
        start = form.start(state.q, state.v, scheme.a[0][0] * h, self.scheme.order)
        problems: list[StepProblem] = []
        points: list[Evaluation] = []
        slopes: list[Slopes] = []
        work, value, status = Work(), 0.0, Status.CONVERGED
        few = _FEW_GUESSES if scheme.order > 1 else None
        for row, c in zip(scheme.a, scheme.c, strict=True):
            terms = [(a * h, slope) for a, slope in zip(row, slopes, strict=False)]
            reference = form.shifted(start, terms) if terms else start
            rate = 1.0 / (row[-1] * h)
            at_end = command.at(state.t + c * h)
            problem = form.problem(reference, at_end, rate, scheme.acceleration * rate)
            given = sum(a * h * float(at.tau @ at.v) for a, at in zip(row, points, strict=False))
            found, work, after = self.solver.solve(
                problem, w, gamma, work, (*before, given), guesses=few
            )
            problems.append(problem)
            points.append(found.point)
            status, gamma, value = found.status, found.gamma, found.value
            if not status.ok:
                break
            if len(problems) < len(scheme.a):
                slopes.append(form.slopes(problem, found.point))
                w = self.solver.carried(found.point)
        result = Stages(
            scheme,
            h,
            tuple(problems),
            tuple(points),
            tuple(slopes),
            status,
            gamma,
            value,
            after,
            work,
        )
        if not status.ok or scheme.order == 1:
            return result
        done = result.torque_work()
        gain, moving = sum(after) - sum(before) - done, before[0] + max(done, 0.0)
        if not self.bound.allows(gain, moving, form.weight):
            return result._replace(status=Status.ENERGY_GAINED)
        status, suspects = impact(form, state, result, gain, done, before[0])
        return (
            result
            if status.ok and suspects is None
            else result._replace(status=status, suspects=suspects)
        )

    def _finished(self, state: State, made: Stages) -> StepResult:
        """The result of stages that were accepted."""
        end = made.end
        warm = WarmStart(self.solver.carried(end), made.gamma)
        return finished_step(
            state,
            State(state.t + made.h, end.q, end.v, warm),
            wrenches=made.mean_wrenches(),
            tau=end.tau,
            contact_depths=np.maximum(end.depth, 0.0),
            iterations=made.work.iterations,
            evaluations=made.work.evaluations,
            step_sizes=(made.h,),
            residual=end.residual,
            objective=made.value,
            kinetic_energy=made.energies[0],
            potential_energy=made.energies[1],
            rejected=made.work.rejected,
            local_error=made.local_error(state.v),
        )


class NeNmdp(Nmdp):
    """The Newton-Euler form ([N] eq. 6)."""

    name: ClassVar[str] = "ne-nmdp"
    form_type = NewtonEuler


class NeZonmdp(Nmdp):
    """The Newton-Euler form without the derivative of the contact model ([N] eq. 10)."""

    name: ClassVar[str] = "ne-zonmdp"
    form_type = NewtonEuler
    zeroth_order = True


class PbdNmdp(Nmdp):
    """The position-based form ([N] eq. 12)."""

    name: ClassVar[str] = "pbd-nmdp"
    form_type = PositionBased


class PbdZonmdp(Nmdp):
    """The position-based form without the derivative of the contact model."""

    name: ClassVar[str] = "pbd-zonmdp"
    form_type = PositionBased
    zeroth_order = True
