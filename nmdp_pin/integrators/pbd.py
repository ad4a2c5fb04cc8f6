"""Position-based dynamics with friction as forces of the configuration ([P])."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pinocchio as pin

from nmdp_pin.contact.contact_law import ContactLaw
from nmdp_pin.contact.friction_cone import STANDARD_GRAVITY
from nmdp_pin.contact.penalty import Penalty
from nmdp_pin.control.controller import Command, CommandSource
from nmdp_pin.dynamics.linearised_step import LinearisedStage, LinearisedStep
from nmdp_pin.dynamics.penalty_scene import ground_of, new_memory, scene_of, start_of
from nmdp_pin.dynamics.position_minimisation import PositionMinimisation
from nmdp_pin.dynamics.position_partials import PositionPartials, partials_of
from nmdp_pin.dynamics.touched_surfaces import TouchedSurfaces
from nmdp_pin.errors import IntegratorError
from nmdp_pin.integrators.integrator import Integrator, StepResult
from nmdp_pin.kernels.levenberg_marquardt import (
    ERROR,
    EVALUATIONS,
    ITERATIONS,
    OUTCOME,
    REJECTED,
    VALUE,
)
from nmdp_pin.kernels.penalty import CONSERVATIVE, FRICTIONAL
from nmdp_pin.kernels.position_scene import StepStart
from nmdp_pin.kernels.position_solver import Limits, advance, close_step, open_step, solve_step
from nmdp_pin.kernels.position_step import begin, evaluate, place
from nmdp_pin.kernels.position_trajectory import roll
from nmdp_pin.solvers.lbfgs import lbfgs
from nmdp_pin.state import State
from nmdp_pin.status import Status
from nmdp_pin.system import System

_EPS = float(np.finfo(float).eps)
_TOUCHING = 1e-11  # [m]; a contact as near as that is at the surface
_ROUNDINGS = 8.0  # rounding errors of M q / h^2 that add up in r: measured 1 to 3
_OUTCOMES = (  # in the order of the kernels
    Status.ITERATION_LIMIT,
    Status.CONVERGED,
    Status.NOT_FINITE,
    Status.STALLED,
    Status.ITERATION_LIMIT,
    Status.SINGULAR,
    Status.ENERGY_GAINED,
)


class PositionBasedStep(Integrator):
    """One minimisation a step, over the configuration at its end.

    Contact forces are those of a `Penalty`. Of first order. Everything is compiled, the terrain's
    meshes excepted.

    Args:
        system: what is simulated, under a penalty law.
        optimiser: one of the class's `optimisers`.
        tolerance: on the residual, relative to the robot's weight.
        max_iterations: of the optimiser; None: 30 (pbfd), 100 ("lm"), 200 ("jtj-lm" of pbd) or
            10 000 ("lbfgs"), after which the step is halved.

    Raises:
        IntegratorError: an option out of its range, or a joint of a kind that the kernels lack.
    """

    law_type: ClassVar[type[ContactLaw]] = Penalty
    kind: ClassVar[int]
    optimisers: ClassVar[dict[str, int]]
    """Names, and how many iterations each may take by default; the first is the default."""

    def __init__(
        self,
        system: System[Penalty],
        *,
        optimiser: str | None = None,
        tolerance: float = 1e-8,
        max_iterations: int | None = None,
    ) -> None:
        self.optimiser = optimiser or next(iter(self.optimisers))
        if self.optimiser not in self.optimisers:
            raise IntegratorError(
                f"optimiser of '{self.name}' must be one of {sorted(self.optimisers)}, "
                f"got {optimiser!r}"
            )
        if not 0.0 < tolerance < 1.0:
            raise IntegratorError(f"tolerance must be in (0, 1), got {tolerance!r}")
        limit = self.optimisers[self.optimiser] if max_iterations is None else max_iterations
        if limit < 1:
            raise IntegratorError(f"max_iterations must be >= 1, got {max_iterations!r}")
        robot, terrain = system.robot, system.terrain
        model = robot.model
        self._tolerance, self._max_iterations = tolerance, int(limit)
        self.weight = float(pin.computeTotalMass(model)) * STANDARD_GRAVITY
        self.law = system.law.for_weight(self.weight)
        self.scene = scene_of(
            robot,
            self.law,
            kind=self.kind,
            semidefinite=self.kind == CONSERVATIVE and self.optimiser == "jtj-lm",
        )
        self.ground = ground_of(robot, terrain)
        self.memory = new_memory(self.scene)
        self._surfaces = TouchedSurfaces(robot, terrain)
        of_bodies = sum(len(surface.shapes) for surface in robot.surfaces.values())
        self._n_shapes = len(terrain.shapes) + of_bodies
        self._minimisation = PositionMinimisation(model, self.scene, self.memory, self.query)
        M = pin.crba(model, model.createData(), robot.standing)
        self._inertia = float(M.diagonal().max(initial=0.0))

    def start(self, state: State, command: Command, h: float) -> StepStart:
        """The step, as the kernels read it; arguments as those of `step`."""
        return start_of(self.scene, state, command, h, h)

    def limits(self, start: StepStart) -> Limits:
        """When the minimisation stops: `tolerance`, but not below the rounding of M q / h^2."""
        tolerance = max(self._tolerance * self.weight, self.floor(start))
        return Limits(tolerance, self._max_iterations, self.weight)

    def floor(self, start: StepStart) -> float:
        """What rounding leaves of |r| [N, N m]."""
        size = 1.0 + float(np.abs(start.q0).max(initial=0.0))
        return self._floor(start) * size

    def _floor(self, start: StepStart) -> float:
        """The same over 1 + |q0|_max."""
        return _ROUNDINGS * _EPS * self._inertia * start.rate / start.h

    def step(self, state: State, command: CommandSource, h: float) -> StepResult:
        """See `Integrator.step`; `objective` is E or |r|^2 / 2, `residual` |r|."""
        start = self.start(state, command.at(state.t + h), h)
        status = self.solve(start)
        memory, account = self.memory, self.memory.account
        point, error = memory.point, float(account[ERROR])
        ok = status.ok
        wrenches = point.forces.wrenches.copy() if ok else np.zeros_like(point.forces.wrenches)
        depths = self.scene.contacts.radii - point.surfaces.distance
        factorised = account[ITERATIONS] > 0 and self.optimiser != "lbfgs"
        return StepResult(
            state=State(state.t + h, memory.q.copy(), point.v.copy()) if ok else state,
            status=status,
            tau=point.tau.copy() if ok else np.zeros(len(state.v)),
            contact_forces=wrenches[:, :3],
            wrenches=wrenches,
            contact_depths=np.maximum(depths, 0.0) if ok else np.zeros(len(depths)),
            iterations=int(account[ITERATIONS]),
            evaluations=int(account[EVALUATIONS]),
            step_sizes=(h,),
            residual=error if status is not Status.SINGULAR else math.nan,
            objective=self._objective() if ok else 0.0,
            kinetic_energy=float(memory.energies[0]) if ok else 0.0,
            potential_energy=float(memory.energies[1]) if ok else 0.0,
            rejected=int(account[REJECTED]),
            condition=float(memory.energies[3]) if ok and factorised else math.nan,
        )

    def trajectory(
        self, state: State, command: Command, torques: np.ndarray, h: float, x: np.ndarray
    ) -> int:
        """Make steps until one fails, without a lock; the number of those made.

        Bit for bit these are the steps that `step` makes. There are none where the terrain has
        meshes, or by "lbfgs".

        Args:
            state: start of the first step.
            command: holds for all steps, but for its torque.
            torques: feed-forward torque of each step, shape (nt, nv).
            h: length of a step [s].
            x: [q; v] at the ends of the steps, shape (nt, nq + nv); written.
        """
        if self.ground is None or self.optimiser == "lbfgs":
            return 0
        start = self.start(state, replace(command, tau=None), h)
        torques = np.ascontiguousarray(torques + start.tau)
        start = start._replace(q0=start.q0.copy(), v0=start.v0.copy(), tau=torques[0].copy())
        if command.q_target is None:
            start = start._replace(q_target=start.q0)  # follows the state, as in `start`
        made = roll(
            self.scene,
            self.ground,
            start,
            torques,
            self._tolerance * self.weight,
            self._floor(start),
            self._max_iterations,
            self.weight,
            self.memory,
            x,
        )
        return int(made)

    def linearised(
        self,
        state: State,
        command: CommandSource,
        h: float,
        end: State,
        names: tuple[str, ...] = (),
    ) -> LinearisedStep:
        """See `Integrator.linearised`."""
        parts = self.partials(state, command.at(state.t + h), h, end.q, names=names)
        of_p = np.hstack([parts.of_torque, *parts.of_parameters.values()])
        sizes = {"u": len(end.v)} | {name: D.shape[1] for name, D in parts.of_parameters.items()}
        touching = np.flatnonzero(np.abs(parts.depths) <= _TOUCHING)
        stage = LinearisedStage(
            parts.of_q,
            parts.of_start,
            of_p,
            parts.velocity_of_q,
            parts.velocity_of_start,
            None,
            tuple(map(int, touching)),
            _TOUCHING,
        )
        return LinearisedStep((stage,), sizes, settled=True)

    def partials(
        self,
        state: State,
        command: Command,
        h: float,
        q1: np.ndarray,
        *,
        names: Iterable[str] = (),
    ) -> PositionPartials:
        """The partial derivatives of a step that ends at q1.

        Args:
            state: its start.
            command: for its end.
            h: its length [s].
            q1: configuration at its end, shape (nq,).
            names: of the parameters to differentiate with respect to.

        Raises:
            DerivativeError: the target of a command that has none.
        """
        start, memory = self.start(state, command, h), self.memory
        begin(self.scene, start, memory.ref, memory.point)
        memory.point.q[:] = q1
        place(self.scene, memory.point)
        self.query()
        evaluate(self.scene, start, memory.ref, memory.point)
        return partials_of(self.scene, start, memory, command, names=names, n_shapes=self._n_shapes)

    def _objective(self) -> float:
        """What was minimised, at the end: E, or |r|^2 / 2 without the metric."""
        account = self.memory.account
        return float(account[VALUE] if self.kind == CONSERVATIVE else 0.5 * account[ERROR] ** 2)

    def solve(self, start: StepStart) -> Status:
        """Make the step in `memory`; how it ended. It starts at q0."""
        scene, memory, limits = self.scene, self.memory, self.limits(start)
        if self.optimiser == "lbfgs":
            return self._solve_by_gradients(start, limits)
        if self.ground is not None:
            solve_step(scene, self.ground, start, limits, memory)
        elif open_step(scene, start, memory):
            self.query()
            while advance(scene, start, limits, memory):
                self.query()
        return _OUTCOMES[int(memory.account[OUTCOME])]

    def _solve_by_gradients(self, start: StepStart, limits: Limits) -> Status:
        """The same by L-BFGS."""
        memory, problem = self.memory, self._minimisation
        memory.account[:], memory.energies[:] = 0.0, np.nan
        if not problem.begin(start):
            return Status.SINGULAR
        found = lbfgs(
            problem,
            start.q0,
            len(start.v0),
            tolerance=limits.tolerance,
            max_iterations=self._max_iterations,
        )
        account = memory.account
        account[ITERATIONS], account[EVALUATIONS] = found.iterations, found.evaluations
        account[VALUE], account[ERROR] = found.value, found.error
        if not found.status.ok:
            return found.status
        problem.evaluate(found.x)  # the last trial need not be the best
        memory.q[:] = found.x
        close_step(self.scene, start, limits, memory)
        gained = int(account[OUTCOME]) == _OUTCOMES.index(Status.ENERGY_GAINED)
        return Status.ENERGY_GAINED if gained else found.status

    def query(self) -> None:
        """Describe the surfaces at the contacts of the memory."""
        found = self.memory.point.surfaces
        surface, _ = self._surfaces.query(found.centre)
        found.distance[:], found.normal[:] = surface.distance, surface.normal
        found.friction[:], found.shape[:] = surface.friction, surface.shape
        curved = surface.curvature is not None
        found.curved[0] = float(curved)
        if curved:
            found.curvature[:] = surface.curvature


class Pbd(PositionBasedStep):
    """argmin E(q), whose friction is the gradient of an energy ([P] eq. 6 and 11)."""

    name: ClassVar[str] = "pbd"
    kind: ClassVar[int] = CONSERVATIVE
    optimisers: ClassVar[dict[str, int]] = {"lm": 100, "jtj-lm": 200, "lbfgs": 10_000}


class Pbfd(PositionBasedStep):
    """argmin |r(q)|^2 / 2, with friction that is no gradient ([P] eq. 13)."""

    name: ClassVar[str] = "pbfd"
    kind: ClassVar[int] = FRICTIONAL
    optimisers: ClassVar[dict[str, int]] = {"jtj-lm": 30, "lbfgs": 10_000}
