"""Position-based dynamics with friction as forces of the configuration ([P])."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
import pinocchio as pin

from nmdp_pin.contact.contact_law import ContactLaw
from nmdp_pin.contact.friction_cone import STANDARD_GRAVITY
from nmdp_pin.contact.penalty import Penalty
from nmdp_pin.control.controller import Command
from nmdp_pin.dynamics.penalty_scene import ground_of, new_memory, scene_of
from nmdp_pin.dynamics.position_minimisation import PositionMinimisation
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
from nmdp_pin.kernels.position_solver import Limits, advance, close_step, open_step, solve_step
from nmdp_pin.kernels.position_step import Start
from nmdp_pin.solvers.lbfgs import lbfgs
from nmdp_pin.state import State
from nmdp_pin.status import Status
from nmdp_pin.system import System

_EPS = float(np.finfo(float).eps)
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
        self._minimisation = PositionMinimisation(model, self.scene, self.memory, self.query)
        M = pin.crba(model, model.createData(), robot.standing)
        self._inertia = float(M.diagonal().max(initial=0.0))
        self._nothing = np.zeros(model.nv)

    def start(self, state: State, command: Command, h: float, *, dt: float | None = None) -> Start:
        """The step, as the kernels read it; arguments as those of `step`."""
        nothing = self._nothing
        kd = nothing if command.kd is None else command.kd
        tau = nothing if command.tau is None else command.tau
        if command.v_target is not None:
            tau = tau + kd * command.v_target
        return Start(
            q0=_plain(state.q),
            v0=_plain(state.v),
            tau=_plain(tau),
            kp=nothing if command.kp is None else _plain(command.kp),
            kd=kd + self.scene.tree.damping,
            q_target=_plain(state.q if command.q_target is None else command.q_target),
            h=float(h),
            rate=1.0 / float(h if dt is None else dt),
        )

    def limits(self, start: Start) -> Limits:
        """When the minimisation stops: `tolerance`, but not below the rounding of M q / h^2."""
        size = 1.0 + float(np.abs(start.q0).max(initial=0.0))
        rounding = _EPS * self._inertia * size * start.rate / start.h
        tolerance = max(self._tolerance * self.weight, _ROUNDINGS * rounding)
        return Limits(tolerance, self._max_iterations, self.weight)

    def step(
        self, state: State, command: Command, h: float, *, dt: float | None = None
    ) -> StepResult:
        """Make one step; see the contract. `objective` is E or |r|^2 / 2, `residual` |r|."""
        start = self.start(state, command, h, dt=dt)
        status = self.solve(start)
        memory, account = self.memory, self.memory.account
        point, error = memory.point, float(account[ERROR])
        ok = status.ok
        wrenches = point.forces.wrenches.copy() if ok else np.zeros_like(point.forces.wrenches)
        depths = self.scene.contacts.radii - point.surfaces.distance
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
            condition=float(memory.energies[3]) if ok and account[ITERATIONS] else math.nan,
        )

    def _objective(self) -> float:
        """What was minimised, at the end: E, or |r|^2 / 2 without the metric."""
        account = self.memory.account
        return float(account[VALUE] if self.kind == CONSERVATIVE else 0.5 * account[ERROR] ** 2)

    def solve(self, start: Start) -> Status:
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

    def _solve_by_gradients(self, start: Start, limits: Limits) -> Status:
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
        surface = self._surfaces.query(found.centre)
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


def _plain(array: np.ndarray) -> np.ndarray:
    """Contiguous and writable, as numba has compiled for."""
    return np.require(array, dtype=float, requirements=["C", "W"])
