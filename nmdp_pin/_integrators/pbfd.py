"""Position-based dynamics with friction that depends on the configuration ([P])."""

import copy
import functools
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

import numpy as np
import pinocchio as pin
from pydantic import Field

from nmdp_pin._contact.contact_law import ContactLaw
from nmdp_pin._contact.friction_cone import STANDARD_GRAVITY
from nmdp_pin._contact.penalty import Penalty
from nmdp_pin._control.controller import Command, CommandSource
from nmdp_pin._dynamics.commands import values_of
from nmdp_pin._dynamics.joint_bounds import largest_push
from nmdp_pin._dynamics.loops import forces_of_gaps, held_loops
from nmdp_pin._dynamics.penalty_scene import new_step, scene_of
from nmdp_pin._dynamics.position_partials import PositionPartials, StepLineariser
from nmdp_pin._dynamics.system import System
from nmdp_pin._integrators.integrator import Integrator, StepResult, time_after
from nmdp_pin._integrators.outcome import failed_step
from nmdp_pin._integrators.step_response import StepResponse, Switch, split_response
from nmdp_pin._kernels.algebra.linear import solve_in_place
from nmdp_pin._kernels.contact.penalty import CONSERVATIVE, FRICTIONAL
from nmdp_pin._kernels.geometry.planes import report_depths, report_wrenches
from nmdp_pin._kernels.step.levenberg_marquardt import (
    ERROR,
    VALUE,
    evaluate_end,
    minimise_step,
    roll,
)
from nmdp_pin._kernels.step.outcomes import EVALUATIONS, ITERATIONS, OUTCOME, REJECTED, RUNNING
from nmdp_pin._kernels.step.position_records import PositionStep, Scene
from nmdp_pin._kernels.tree.joints import Commands
from nmdp_pin._kernels.tree.loops import write_gaps
from nmdp_pin._options import Count, Number, checked
from nmdp_pin._registry import Registry
from nmdp_pin._state.state import State
from nmdp_pin._state.status import Status
from nmdp_pin.errors import IntegratorError

_COUNTS = {
    "iterations": ITERATIONS,
    "evaluations": EVALUATIONS,
    "rejected": REJECTED,
    "work": EVALUATIONS,
}
_STATUS = tuple(Status)  # by its code, which the kernels return


@dataclass(frozen=True)
class Optimiser:
    """Optimiser in Python, which writes the end of a step into its record.

    Args:
        minimise: function of the model and the step.
        max_iterations: default of the largest number of iterations.
    """

    minimise: Callable[[pin.Model, PositionStep], Status]
    max_iterations: int


OPTIMISERS: Registry[Optimiser] = Registry("nmdp_pin.optimisers")
"""Optimisers by name, other than those that are compiled."""


class PositionBasedStep(Integrator):
    """One minimisation a step, over the configuration at its end.

    Contact forces are those of a `Penalty`, and the order is one. Everything is compiled.

    Args:
        system: simulated system, whose contact law is a penalty.
        optimiser: "lm" (default of pbd, which alone has it), "jtj-lm" (default of pbfd) or "lbfgs".
        tolerance: bound on the residual, relative to the robot's weight.
        max_iterations: largest number of iterations of the optimiser; None: 40 (pbfd), 100 ("lm"),
            200 ("jtj-lm" of pbd) or 10 000 ("lbfgs"). Beyond it the step fails.

    Raises:
        IntegratorError: an option is out of its range, or a joint of a kind that the kernels lack.
    """

    law_type: ClassVar[type[ContactLaw]] = Penalty
    closes_loops: ClassVar[bool] = True
    kind: ClassVar[int]
    optimisers: ClassVar[dict[str, int]]
    """Compiled ones, and default numbers of iterations; the first one is the default."""

    @checked(IntegratorError)
    def __init__(
        self,
        system: System[Penalty],
        *,
        optimiser: str | None = None,
        tolerance: Annotated[Number, Field(gt=0, lt=1)] = 1e-8,
        max_iterations: Annotated[Count, Field(ge=1)] | None = None,
    ) -> None:
        self.optimiser = optimiser or next(iter(self.optimisers))
        known = sorted({*self.optimisers, *OPTIMISERS})
        if self.optimiser not in known:
            raise IntegratorError(
                f"optimiser of '{self.name}' must be one of {known}, got {optimiser!r}"
            )
        if self.optimiser in self.optimisers:
            chosen = Optimiser(_compiled, self.optimisers[self.optimiser])
        else:
            chosen = OPTIMISERS[self.optimiser]
        self._minimise = chosen.minimise
        limit = chosen.max_iterations if max_iterations is None else max_iterations
        robot = system.robot
        self._n_points, self._nothing = len(robot.contact_points), np.zeros(robot.model.nv)
        self.memory = new_step(self._own(system, None), float(tolerance), int(limit))

    def _own(self, system: System[Penalty], known: Scene | None) -> Scene:
        """What all steps of a system share."""
        robot, self._system = system.robot, system
        self.model = robot.model
        self.weight = float(pin.computeTotalMass(robot.model)) * STANDARD_GRAVITY
        self.law = system.law.for_load(max(self.weight, largest_push(robot)))
        semidefinite = self.kind == CONSERVATIVE and self.optimiser == "jtj-lm"
        own = system.varied(robot, self.law)
        scene = scene_of(own, kind=self.kind, semidefinite=semidefinite, known=known)
        self.candidates = scene.candidates
        return scene

    def varied(self, system: System[Any]) -> "PositionBasedStep | None":
        """See `Integrator.varied`."""
        if not self._system.fits(system):
            return None
        result = copy.copy(self)
        result.__dict__.pop("_lineariser", None)
        result.memory = replace(self.memory, scene=result._own(system, self.memory.scene))
        return result

    def state_step(self, state: State, command: Command, h: float) -> None:
        """Write the start of the step in `memory`; arguments as those of `step`."""
        start = self.memory.start
        values = (state.q, state.v, *values_of([command], state.q, self._nothing))
        np.concatenate(values, out=start.values)
        start.h = h
        if len(start.held):
            start.held[:] = held_loops(self._system.robot, command)

    @np.errstate(all="ignore")  # a trial point may overflow: that is a status, not a warning
    def step(
        self, state: State, command: CommandSource, h: float, *, accuracy: float = math.inf
    ) -> StepResult:
        """See `Integrator.step`; `objective` is E or |r|^2 / 2, `residual` |r|."""
        self.state_step(state, command.at(state.t + h), h)
        memory = self.memory
        status = self._minimise(self.model, memory)
        account, trial = memory.account, memory.trial
        counts: dict[str, Any] = {name: int(account[place]) for name, place in _COUNTS.items()}
        if not status.ok:
            residual = math.inf if status is Status.SINGULAR else float(account[ERROR])
            return failed_step(
                state, status, n_contacts=self._n_points, h=h, residual=residual, **counts
            )
        wrenches, depths = np.zeros((self._n_points, 6)), np.zeros(self._n_points)
        where = memory.scene.candidates, memory.ref.contacts, trial.places
        report_depths(*where, np.ones(memory.ref.contacts.n[0], np.bool_), depths)
        report_wrenches(*where, trial.forces.wrenches, wrenches)
        factorised = counts["iterations"] > 0 and self._minimise is _compiled
        return StepResult(
            state=State(state.t + h, memory.q.copy(), trial.v.copy()),
            status=status,
            tau=trial.tau - memory.start.torque.external,
            contact_forces=wrenches[:, :3],
            wrenches=wrenches,
            contact_depths=depths,
            step_sizes=(h,),
            residual=float(account[ERROR]),
            objective=self._objective(account),
            kinetic_energy=memory.kinetic,
            potential_energy=memory.potential,
            loop_forces=self._loop_forces(),
            condition=memory.pivots if factorised else math.nan,
            start=state,
            **counts,
        )

    def _loop_forces(self) -> np.ndarray:
        """Forces of the rows of the loops at the end of a step, shape (rows,)."""
        memory, loops = self.memory, self.memory.scene.joints.loops
        gaps = np.zeros(len(loops.compliance))
        write_gaps(loops, memory.ref.frames, memory.trial.P, memory.trial.q, gaps)
        return forces_of_gaps(loops, memory.start.held, gaps)

    def advance(
        self, state: State, command: Command, plan: Commands, first: int, h: float, x: np.ndarray
    ) -> tuple[int, State]:
        """See `Integrator.advance`; optimisers in Python have no such call."""
        if self._minimise is not _compiled:
            return first, state
        self.state_step(state, command, h)
        reached, start = int(roll(self.memory, plan, first, x)), self.memory.start
        if reached == first:
            return first, state
        t = time_after(state.t, h, reached - first)
        return reached, State(t, start.q0.copy(), start.v0.copy())

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
        """See `Integrator.response`; without weights there is nothing to smooth."""
        parts = self.partials(state, command.at(state.t + h), h, result.state.q, names=names)
        X, A = np.hstack([parts.of_start, *parts.of_parameters.values()]), parts.of_q
        if not solve_in_place(A, X):
            raise np.linalg.LinAlgError("dr/dq is singular")
        nv = len(A)
        whole = np.empty((2 * nv, X.shape[1]))
        np.negative(X, out=whole[:nv])
        np.matmul(parts.velocity_of_q, whole[:nv], out=whole[nv:])
        whole[nv:, : 2 * nv] += parts.velocity_of_start
        return split_response(
            whole,
            {name: D.shape[1] for name, D in parts.of_parameters.items()},
            tuple(Switch(int(point), "touch") for point in parts.touching),
        )

    def partials(
        self, state: State, command: Command, h: float, q1: np.ndarray, *, names: Iterable[str] = ()
    ) -> PositionPartials:
        """The partial derivatives of a step that ends at q1.

        Args:
            state: state at its start.
            command: command at its end.
            h: length of the step [s].
            q1: configuration at the end of the step, shape (nq,).
            names: names of the parameters to differentiate with respect to.
        """
        self.state_step(state, command, h)
        evaluate_end(self.memory, q1)
        return self._lineariser.partials(command, names)

    @functools.cached_property
    def _lineariser(self) -> StepLineariser:
        return StepLineariser(self.memory, self._system)

    def _objective(self, account: np.ndarray) -> float:
        """Minimised value at the end: E, or |r|^2 / 2 without the metric."""
        return float(account[VALUE] if self.kind == CONSERVATIVE else 0.5 * account[ERROR] ** 2)


class Pbfd(PositionBasedStep):
    """argmin |r(q)|^2 / 2, with friction that is no gradient ([P] eq. 13)."""

    name: ClassVar[str] = "pbfd"
    kind: ClassVar[int] = FRICTIONAL
    moves_surfaces: ClassVar[bool] = True
    optimisers: ClassVar[dict[str, int]] = {"jtj-lm": 40}


def _compiled(model: pin.Model, step: PositionStep) -> Status:
    """Make a step by Levenberg-Marquardt, starting at q0."""
    minimise_step(step)
    outcome = int(step.account[OUTCOME])
    return Status.ITERATION_LIMIT if outcome == RUNNING else _STATUS[outcome]
