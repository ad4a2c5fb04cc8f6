"""Position-based dynamics with friction as forces of the configuration ([P])."""

from __future__ import annotations

import abc
import copy
import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import ClassVar

import pinocchio as pin

from nmdp_pin.contact.contact_law import ContactLaw
from nmdp_pin.contact.friction_cone import STANDARD_GRAVITY
from nmdp_pin.contact.penalty import Penalty
from nmdp_pin.control.command_source import CommandSource
from nmdp_pin.control.controller import Command
from nmdp_pin.dynamics.minimised import Energy, GradientLevel, Minimised
from nmdp_pin.dynamics.penalty_contact import FrictionalPenalty
from nmdp_pin.dynamics.position_energy import PositionEnergy
from nmdp_pin.dynamics.position_residual import PositionBased
from nmdp_pin.dynamics.step_residual import StepResidual
from nmdp_pin.errors import IntegratorError
from nmdp_pin.integrators.energy_bound import allowed_gain
from nmdp_pin.integrators.integrator import Integrator, StepResult
from nmdp_pin.integrators.outcome import failed_step, finished_step
from nmdp_pin.robot import Robot
from nmdp_pin.solvers.lbfgs import lbfgs
from nmdp_pin.solvers.levenberg_marquardt import levenberg_marquardt
from nmdp_pin.solvers.minimum import Minimum
from nmdp_pin.state import State
from nmdp_pin.status import Status
from nmdp_pin.system import System
from nmdp_pin.terrain import Terrain

_LARGEST_GAIN = 0.5  # of the energy that moves; measured: below 0.2


class PositionBasedStep(Integrator):
    """One minimisation a step, over the configuration at its end.

    Contact forces are those of a `Penalty`. Of first order.

    Args:
        system: what is simulated, under a penalty law.
        optimiser: one of the class's `optimisers`.
        tolerance: on the residual, relative to the robot's weight.
        max_iterations: of the optimiser; None: 30 (pbfd), 100 ("lm"), 200 ("jtj-lm" of pbd) or
            10 000 ("lbfgs"), after which the step is halved.
    """

    law_type: ClassVar[type[ContactLaw]] = Penalty
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
        robot = system.robot
        weight = float(pin.computeTotalMass(robot.model)) * STANDARD_GRAVITY
        self.law = system.law.for_weight(weight)
        self._tolerance = tolerance
        self.problem = self._problem(robot, system.terrain)
        self.residual = self.problem.residual
        self._minimise: Callable[..., Minimum] = partial(levenberg_marquardt, max_iterations=limit)
        if self.optimiser == "lbfgs":
            self._minimise = partial(lbfgs, n=robot.model.nv, max_iterations=limit)

    def residual_with(self, robot: Robot, terrain: Terrain, law: Penalty) -> StepResidual:
        """A residual like the method's own, of another robot, ground or law."""
        other = copy.copy(self)
        other.law = law
        return other._problem(robot, terrain).residual

    @abc.abstractmethod
    def _problem(self, robot: Robot, terrain: Terrain) -> Minimised:
        """What a step minimises."""

    @staticmethod
    @abc.abstractmethod
    def _objective(found: Minimum) -> float:
        """What StepResult says of its end."""

    def step(self, state: State, command: CommandSource, h: float) -> StepResult:
        """See `Integrator.step`; `objective` is E or |r|^2 / 2, `residual` |dE/dq| or |r|."""
        residual, n = self.residual, len(self.problem.residual.contact._radius)
        found = self.solve(state, command.at(state.t + h), h)
        counts = {
            "iterations": found.iterations,
            "evaluations": residual.evaluations,
            "residual": found.error,
            "rejected": found.rejected,
        }
        if not found.status.ok:
            return failed_step(state, found.status, n_contacts=n, h=h, **counts)
        data, model = residual.data, residual.model
        wrenches, tau, depths = (
            residual.contact.wrenches,
            residual.torque.last,
            residual.contact.depths,
        )
        return finished_step(
            state,
            State(state.t + h, found.x, residual.v),
            wrenches=wrenches,
            tau=tau,
            contact_depths=depths,
            step_sizes=(h,),
            objective=self._objective(found),
            kinetic_energy=pin.computeKineticEnergy(model, data, found.x, residual.v),
            potential_energy=pin.computePotentialEnergy(model, data, found.x),
            condition=found.condition,
            **counts,
        )

    def solve(
        self, state: State, command: Command, h: float, *, dt: float | None = None
    ) -> Minimum:
        """The minimisation of a step, with its counters; arguments as those of `step`.

        It starts at q0. An end that gains energy is a root that no motion leads to, so not one.
        """
        residual = self.residual
        if not self.problem.begin(state, command, h, dt):
            return Minimum(state.q, Status.SINGULAR, math.nan, math.nan, 0, 0, 0, 0.0)
        tolerance = residual.tolerance(self._tolerance)
        found = self._minimise(self.problem, state.q, tolerance=tolerance)
        if not found.status.ok:
            return found
        if residual.q is not found.x:  # the last trial was rejected
            self.problem.evaluate(found.x)
        gain, moving = self.problem.energy_gain(found.x)
        if not gain <= allowed_gain(moving, residual.weight, _LARGEST_GAIN):
            return replace(found, status=Status.ENERGY_GAINED)
        return found


class Pbd(PositionBasedStep):
    """argmin E(q), whose friction is the gradient of an energy ([P] eq. 6 and 11)."""

    name: ClassVar[str] = "pbd"
    optimisers: ClassVar[dict[str, int]] = {"lm": 100, "jtj-lm": 200, "lbfgs": 10_000}

    def _problem(self, robot: Robot, terrain: Terrain) -> Minimised:
        energy = PositionEnergy(robot, terrain, self.law)
        return Energy(energy, exact=self.optimiser == "lm")

    @staticmethod
    def _objective(found: Minimum) -> float:
        return found.value


class Pbfd(PositionBasedStep):
    """argmin |r(q)|^2 / 2, with friction that is no gradient ([P] eq. 13)."""

    name: ClassVar[str] = "pbfd"
    optimisers: ClassVar[dict[str, int]] = {"jtj-lm": 30, "lbfgs": 10_000}

    def _problem(self, robot: Robot, terrain: Terrain) -> Minimised:
        def contact(data: pin.Data) -> FrictionalPenalty:
            return FrictionalPenalty(robot, terrain, self.law, data)

        return GradientLevel(PositionBased(robot, terrain, None, contact=contact))

    @staticmethod
    def _objective(found: Minimum) -> float:
        return 0.5 * found.error**2
