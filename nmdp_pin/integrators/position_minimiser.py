"""Minimisation of position-based steps by one of the optimisers."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from nmdp_pin.contact.penalty import Penalty
from nmdp_pin.dynamics.penalty_scene import ground_of, new_memory, scene_of
from nmdp_pin.dynamics.position_minimisation import PositionMinimisation
from nmdp_pin.dynamics.touched_surfaces import TouchedSurfaces
from nmdp_pin.kernels.levenberg_marquardt import ERROR, EVALUATIONS, ITERATIONS, OUTCOME, VALUE
from nmdp_pin.kernels.penalty import CONSERVATIVE
from nmdp_pin.kernels.position_scene import StepStart
from nmdp_pin.kernels.position_solver import (
    Limits,
    advance,
    close_step,
    evaluate_at,
    open_step,
    solve_step,
)
from nmdp_pin.kernels.position_trajectory import roll
from nmdp_pin.solvers.lbfgs import lbfgs
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


class PositionMinimiser:
    """Minimiser of the steps of a system, one at a time, with its own memory.

    Args:
        system: simulated system; the normal stiffness of its contact law is known.
        kind: kind of the friction, FRICTIONAL or CONSERVATIVE.
        optimiser: name of the optimiser, "lm", "jtj-lm" or "lbfgs".
        tolerance: bound on the residual, relative to the weight.
        max_iterations: largest number of iterations of the optimiser.
        weight: weight of the robot [N].

    Attributes:
        scene: data that all steps share.
        memory: memory of the last step.

    Raises:
        IntegratorError: a joint is of a kind that the kernels lack.
    """

    def __init__(
        self,
        system: System[Penalty],
        *,
        kind: int,
        optimiser: str,
        tolerance: float,
        max_iterations: int,
        weight: float,
    ) -> None:
        robot, terrain = system.robot, system.terrain
        model = robot.model
        self._by_gradients = optimiser == "lbfgs"
        self._tolerance, self._max_iterations, self._weight = tolerance, max_iterations, weight
        semidefinite = kind == CONSERVATIVE and optimiser == "jtj-lm"
        self.scene = scene_of(robot, system.law, kind=kind, semidefinite=semidefinite)
        self.memory = new_memory(self.scene)
        self._ground = ground_of(robot, terrain)
        self._surfaces = TouchedSurfaces(robot, terrain)
        self._minimisation = PositionMinimisation(model, self.scene, self.memory, self.query)
        M = pin.crba(model, model.createData(), robot.standing)
        self._inertia = float(M.diagonal().max(initial=0.0))

    def limits(self, start: StepStart) -> Limits:
        """Residual at which the minimisation stops: `tolerance`, but not below rounding."""
        size = 1.0 + float(np.abs(start.q0).max(initial=0.0))
        tolerance = max(self._tolerance * self._weight, self._floor(start) * size)
        return Limits(tolerance, self._max_iterations, self._weight)

    def _floor(self, start: StepStart) -> float:
        """Rounding error of |r|, over 1 + |q0|_max [N, N m]."""
        return _ROUNDINGS * _EPS * self._inertia * start.rate / start.h

    def solve(self, start: StepStart) -> Status:
        """Make the step in `memory`, starting at q0, and return its status."""
        scene, memory, limits = self.scene, self.memory, self.limits(start)
        if self._by_gradients:
            return self._solve_by_gradients(start, limits)
        if self._ground is not None:
            solve_step(scene, self._ground, start, limits, memory)
        elif open_step(scene, start, memory):
            self.query()
            while advance(scene, start, limits, memory):
                self.query()
        return _OUTCOMES[int(memory.account[OUTCOME])]

    def roll(self, start: StepStart, torques: np.ndarray, x: np.ndarray) -> int:
        """Make steps until one fails, without holding a lock, and return their number.

        No step is made where the terrain has meshes, or by "lbfgs".

        Args:
            start: data of the first step; its arrays are overwritten.
            torques: feed-forward torque of each step, shape (nt, nv).
            x: output, [q; v] at the ends of the steps, shape (nt, nq + nv).
        """
        if self._ground is None or self._by_gradients:
            return 0
        made = roll(
            self.scene,
            self._ground,
            start,
            torques,
            self._tolerance * self._weight,
            self._floor(start),
            self._max_iterations,
            self._weight,
            self.memory,
            x,
        )
        return int(made)

    def evaluate_at(self, start: StepStart, q: np.ndarray) -> None:
        """Evaluate the step at configuration q, shape (nq,), in `memory`."""
        if self._ground is not None:
            evaluate_at(self.scene, self._ground, start, q, self.memory)
        else:
            self._minimisation.begin(start)
            self._minimisation.evaluate(q)

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
