"""Integrators of the nonconvex maximal dissipation principle ([N] section IV)."""

import copy
import functools
import math
from typing import Annotated, Any, ClassVar, Literal, Protocol

import numba
import numpy as np
from pydantic import Field

from nmdp_pin._contact.wrench_space import WrenchSpace
from nmdp_pin._control.controller import Command, CommandSource
from nmdp_pin._dynamics.compiled_system import CompiledSystem
from nmdp_pin._dynamics.system import System
from nmdp_pin._integrators.integrator import Integrator, StepResult, time_after
from nmdp_pin._integrators.nmdp_response import DifferentiableForm
from nmdp_pin._integrators.outcome import failed_step
from nmdp_pin._integrators.scheme import BACKWARD_EULER, SCHEMES, Scheme
from nmdp_pin._integrators.stage_minimiser import MINIMISERS, StageMinimiser
from nmdp_pin._integrators.step_response import StepResponse, merged_response
from nmdp_pin._integrators.vi_newton import ViNewton
from nmdp_pin._kernels.compiler.callbacks import register
from nmdp_pin._kernels.geometry.contacts import REACH
from nmdp_pin._kernels.step.many_steps import make_steps
from nmdp_pin._kernels.step.step import make_step
from nmdp_pin._kernels.step.step_records import Memory, Options, Step
from nmdp_pin._kernels.tree.joints import Commands
from nmdp_pin._options import Count, checked
from nmdp_pin._state.state import State
from nmdp_pin._state.status import Status
from nmdp_pin.errors import IntegratorError

_STATUS = tuple(Status)  # by its code, which the kernels return
_COUNTS = ("iterations", "evaluations", "rejected", "work")  # the first of a kernel's
DISSIPATION = "dissipation"
_SHARE = 0.1  # of the energy that moves, which a step may gain
_LONG = 0.003  # [s] from which on stages have the full tolerances
_OF_ACCURACY = 0.01, 0.1  # tolerance of the weight [s/m], and slip, for an accuracy of 1 m/s
_NO_RECOVERY = (
    "{} has no recovery of contacts: give recovery=0 to the contact law, or use objective "
    "'dissipation'"
)
_NO_LOOPS = (
    "the {} needs forces as unknowns, of objective 'dissipation' with one FrictionCone of zeta = 0 "
    "for all contacts; got objective '{}' with {}"
)
_NO_SURFACES = (
    "surfaces that move need objective 'dissipation', and a contact law without moments about the "
    "contact points"
)
_NO_DERIVATIVE = (
    "method '{}' is of first order and needs the derivative of the contact model, which {} has "
    "not; use 'ne-zonmdp', 'pbd-zonmdp' or 'ne-mdp', or nmdp_pin.contact.FiniteDifferences"
)


class _MinimiserOf(Protocol):
    """Function that makes the solver of the stages of a form."""

    def __call__(self, form: CompiledSystem, memory: Memory, tight: bool) -> StageMinimiser: ...


def _minimiser_of(objective: str, vi_newton: ViNewton | None, options: Any) -> _MinimiserOf | None:
    """The solver of an objective; None: Newton's method."""
    unused = options if objective == DISSIPATION else vi_newton
    if objective != DISSIPATION and objective not in MINIMISERS:
        raise IntegratorError(
            f"objective '{objective}' is not known; choose from "
            f"{sorted([*MINIMISERS, DISSIPATION])}"
        )
    if unused is not None:
        raise IntegratorError(
            f"objective '{objective}' is not solved by {type(unused).__name__}: leave out its "
            "options"
        )
    if objective == DISSIPATION:
        return None
    return functools.partial(MINIMISERS[objective], options=options)


class Nmdp(Integrator):
    """Combination of a form of the dynamics, a time scheme and a solver.

    Each stage of the scheme is an implicit step: the weights of the dissipation principle, over
    (q, w) with G(q, w) = 0.

    Args:
        system: simulated system, whose contact law is a wrench space.
        objective: "dissipation" (the principle itself, as a variational inequality: no K), or an
            objective that the papers minimise, "kinetic" (their text) or "end_effector" (which the
            authors ran).
        order: order of the time scheme, 2 (SDIRK2) or 1 (backward Euler).
        warm_start: whether to begin with the last weights; False: with w = 0, as the papers.
        restarts: whether to try other guesses, and a shorter step, where the first guess fails.
        secants: whether zeroth order estimates the contact model's derivative from the points
            that were evaluated; False: it is left out, as in the papers.
        max_work: largest work of one step: evaluations of the dynamics, and iterations with many
            dofs or contacts, which count as several.
        vi_newton: options of the solver of "dissipation".
        projected_gradient: options of the solver of the other objectives.

    Raises:
        IntegratorError: an option is out of its range, or belongs to a solver that the objective
            lacks.
    """

    closes_loops: ClassVar[bool] = True
    follows_scripts: ClassVar[bool] = True
    moves_surfaces: ClassVar[bool] = True
    estimates_error: ClassVar[bool] = True
    material: ClassVar[bool]
    zeroth_order: ClassVar[bool] = False

    @checked(IntegratorError)
    def __init__(
        self,
        system: System[WrenchSpace],
        *,
        objective: str = DISSIPATION,
        order: Literal[1, 2] = 2,
        warm_start: bool = True,
        restarts: bool = True,
        secants: bool = True,
        max_work: Annotated[Count, Field(ge=1)] = 1000,
        vi_newton: ViNewton | None = None,
        projected_gradient: Any = None,
    ) -> None:
        law = system.law
        if not (self.zeroth_order or law.differentiable):
            raise IntegratorError(_NO_DERIVATIVE.format(self.name, type(law).__name__))
        of_objective = _minimiser_of(objective, vi_newton, projected_gradient)
        self.objective, self.scheme = objective, SCHEMES[order]
        self.form = CompiledSystem(
            system,
            material=self.material,
            zeroth_order=self.zeroth_order,
            secants=secants,
            weights=of_objective is not None,
            saturating=of_objective is None,
            reach=math.inf if of_objective else REACH,
        )
        if system.robot.loops and not self.form.forces:
            given = objective, type(law).__name__
            raise IntegratorError(_NO_LOOPS.format(system.robot.loops[0].name, *given))
        if of_objective is not None and self.form.record.recovery > 0.0:
            raise IntegratorError(_NO_RECOVERY.format(f"objective '{objective}'"))
        if system.robot.scripted and of_objective is not None:
            raise IntegratorError(f"scripted joints need objective '{DISSIPATION}'")
        if len(self.form.surfaces) and (of_objective is not None or self.form.record.rows > 3):
            raise IntegratorError(_NO_SURFACES)
        self.candidates, self.method = self.form.candidates, vi_newton or ViNewton()
        self._warm_start, self._restarts = warm_start, restarts
        self._budget = max_work
        self._memory, self._end = self.form.new_memory(), self.form.new_end()
        self._start = self.form.new_start(len(self.scheme.a))
        self._minimiser_of, self._minimiser, self._handle = of_objective, None, 0
        if of_objective is not None:
            self._minimiser = of_objective(self.form, self._memory, tight=False)
            self._handle = register(self._minimiser, self)
        self._steps: dict[float, Step] = {}  # by the accuracy

    def varied(self, system: System[Any]) -> "Nmdp | None":
        """See `Integrator.varied`."""
        form = None if self._minimiser_of else self.form.varied(system)
        if form is None:
            return None
        result = copy.copy(self)
        result.__dict__.pop("_differentiable", None)
        result.form, result.candidates = form, form.candidates
        result._steps = {}
        return result

    def _step(self, accuracy: float) -> Step:
        """The memory of a step, solved for an error of the configuration per second."""
        if accuracy not in self._steps:
            self._steps[accuracy] = Step(
                system=self.form.record,
                options=self._options(accuracy),
                scheme=self.scheme.record,
                first_order=BACKWARD_EULER.record,
                start=self._start,
                memory=self._memory,
                end=self._end,
            )
        return self._steps[accuracy]

    def _options(self, accuracy: float) -> Options:
        """Options of the kernel for an error of the configuration per second."""
        method = self.method
        of_weight, of_slip = _OF_ACCURACY
        return Options(
            tolerance=min(method.tolerance, of_weight * accuracy),
            slip=0.0 if self._handle else min(method.slip, of_slip * accuracy),
            long=_LONG if accuracy == math.inf else 0.0,
            max_iterations=method.max_iterations,
            warm_start=self._warm_start,
            restarts=self._restarts,
            budget=self._budget,
            share=_SHARE,
            minimiser=self._handle,
        )

    def is_kept(self) -> bool:
        """Whether the kernel of its steps is on disk."""
        kernel: Any = make_step
        kept: bool = kernel.is_kept((numba.typeof(self._step(np.inf)),))
        return kept

    def rough_step(self, state: State, command: CommandSource, h: float) -> StepResult | None:
        """See `Integrator.rough_step`: contacts that move along curved surfaces are held.

        They are where they are expected at the end of the step, on planes.
        """
        table = self.candidates
        if not (table.rolling and (table.shaped or table.swept)):
            return None
        return self._stepped(state, command, h, np.inf, rolling=False)

    @property
    def order(self) -> int:
        """Order of the time scheme on smooth motion."""
        return self.scheme.order

    def step(
        self, state: State, command: CommandSource, h: float, *, accuracy: float = np.inf
    ) -> StepResult:
        """See `Integrator.step`.

        A step of second order is repeated in first order where it does not converge, gains
        energy, or has an impact that rebounds or penetrates too deeply.
        """
        return self._stepped(state, command, h, accuracy, rolling=True)

    def advance(
        self, state: State, command: Command, plan: Commands, first: int, h: float, x: np.ndarray
    ) -> tuple[int, State]:
        """See `Integrator.advance`; solvers in Python have no such call."""
        if self._minimiser is not None:
            return first, state
        start, commands = self._start, [command] * len(self.scheme.c)
        self.form.write_start(start, state, commands, h, state.warm)
        reached = int(make_steps(self._step(np.inf), plan, first, x))
        if reached == first:
            return first, state
        return reached, self.form.read_start(start, time_after(state.t, h, reached - first))

    def _stepped(
        self, state: State, command: CommandSource, h: float, accuracy: float, *, rolling: bool
    ) -> StepResult:
        """A step in which contacts may move along curved surfaces, or are held."""
        end = self._end
        commands = [command.at(state.t + c * h) for c in self.scheme.c]
        self.form.write_start(self._start, state, commands, h, state.warm, rolling)
        if self._minimiser is not None:
            self._minimiser.begin(None if state.warm is None else state.warm.gamma)
        make_step(self._step(accuracy))
        *spent, outcome, order, touching = end.counts.tolist()
        residual, gap, kinetic, potential = end.numbers.tolist()
        counts = dict(zip(_COUNTS, spent, strict=True))
        if outcome != 0:
            return failed_step(
                state,
                _STATUS[outcome],
                n_contacts=len(end.depths),
                h=h,
                residual=residual,
                **counts,
            )
        gamma = 1.0
        if self._minimiser is not None:
            gamma, gap = self._minimiser.gamma, self._minimiser.value
        wrenches = end.wrenches.copy()
        warm = self.form.warm_of(end, touching, gamma)
        return StepResult(
            state=State(state.t + h, end.q.copy(), end.v.copy(), warm),
            status=Status.CONVERGED,
            tau=end.tau.copy(),
            contact_forces=wrenches[:, :3],
            wrenches=wrenches,
            contact_depths=end.depths.copy(),
            step_sizes=(h,),
            residual=residual,
            objective=gap,
            kinetic_energy=kinetic,
            potential_energy=potential,
            **counts,
            local_error=end.error.copy(),
            order=order,
            repeated=end.repeated.copy() if order == 1 and not end.repeated.all() else None,
            start=state,
            loop_forces=end.joints[self.form.joints.loops.first[0] :].copy(),
        )

    @functools.cached_property
    def _differentiable(self) -> DifferentiableForm:
        if self._minimiser_of is None:
            return DifferentiableForm(self.form)
        return DifferentiableForm(self.form, functools.partial(self._minimiser_of, tight=True))

    def response(
        self,
        state: State,
        command: CommandSource,
        h: float,
        result: StepResult,
        *,
        names: tuple[str, ...] = (),
        smoothing: float = 0.0,
    ) -> StepResponse:
        """See `Integrator.response`."""
        repeated = np.full(len(state.v), result.order < self.scheme.order)
        if result.repeated is not None:
            repeated = result.repeated
        parts = []
        for scheme, made in ((self.scheme, ~repeated), (BACKWARD_EULER, repeated)):
            if made.any():
                part = self._response_of(scheme, made, state, command, h, result, names, smoothing)
                parts.append((part, made))
        return merged_response(parts)

    def _response_of(
        self,
        scheme: Scheme,
        made: np.ndarray,
        state: State,
        command: CommandSource,
        h: float,
        result: StepResult,
        names: tuple[str, ...],
        smoothing: float,
    ) -> StepResponse:
        """Derivatives of the dofs whose step a scheme has made, (nv,)."""
        end = result.state
        commands = [command.at(state.t + c * h) for c in scheme.c]
        rows = commands * (len(self.scheme.c) // len(commands))  # one command is that of all
        self.form.write_start(self._start, state, rows, h, end.warm)
        return self._differentiable.response(
            self._step(np.inf).options,
            scheme.record,
            self._start,
            np.concatenate([end.q, end.v]),
            made,
            commands,
            names,
            smoothing,
            self.scheme.order > 1,
            scheme.order < self.scheme.order,
        )


class NeNmdp(Nmdp):
    """The Newton-Euler form ([N] eq. 6)."""

    name: ClassVar[str] = "ne-nmdp"
    material = False


class PbdNmdp(Nmdp):
    """The position-based form ([N] eq. 12)."""

    name: ClassVar[str] = "pbd-nmdp"
    material = True
