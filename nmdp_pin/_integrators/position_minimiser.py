"""Minimisation of position-based steps by one of the optimisers."""

import numpy as np

from nmdp_pin._contact.penalty import Penalty
from nmdp_pin._dynamics.penalty_scene import new_memory, scene_of
from nmdp_pin._dynamics.position_minimisation import PositionMinimisation
from nmdp_pin._dynamics.system import System
from nmdp_pin._kernels.levenberg_marquardt import (
    ENERGY_GAINED,
    ERROR,
    EVALUATIONS,
    ITERATIONS,
    OUTCOME,
    RUNNING,
    VALUE,
    Limits,
    close_step,
    evaluate_end,
    minimise_step,
    roll,
)
from nmdp_pin._kernels.penalty import CONSERVATIVE
from nmdp_pin._kernels.position_step import StepStart
from nmdp_pin._kernels.step import ROUNDING
from nmdp_pin._solvers.lbfgs import lbfgs
from nmdp_pin._state.status import Status

_STATUS = tuple(Status)  # by its code, which the kernels return


class PositionMinimiser:
    """Minimiser of the steps of a system, one at a time, with its own memory.

    Args:
        system: simulated system; the normal stiffness of its contact law is known.
        kind: kind of the friction, FRICTIONAL or CONSERVATIVE.
        optimiser: name of the optimiser, "lm", "jtj-lm" or "lbfgs".
        tolerance: bound on the residual, relative to the weight.
        max_iterations: largest number of iterations of the optimiser.

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
    ) -> None:
        self._by_gradients = optimiser == "lbfgs"
        self._tolerance, self._max_iterations = tolerance, max_iterations
        semidefinite = kind == CONSERVATIVE and optimiser == "jtj-lm"
        self.scene = scene_of(system, kind=kind, semidefinite=semidefinite)
        self.memory = new_memory(self.scene)
        self._minimisation = PositionMinimisation(system.robot.model, self.scene, self.memory)

    def limits(self, start: StepStart) -> Limits:
        """Residual at which the minimisation stops: `tolerance`, but not below rounding."""
        size = 1.0 + float(np.abs(start.q0).max(initial=0.0))
        tolerance = max(self._tolerance * self.scene.tree.weight, self._floor(start) * size)
        return Limits(tolerance, self._max_iterations)

    def _floor(self, start: StepStart) -> float:
        """Rounding error of |r|, over 1 + |q0|_max [N, N m]."""
        return float(ROUNDING * self.scene.tree.inertia / start.h**2)

    def solve(self, start: StepStart) -> Status:
        """Make the step in `memory`, starting at q0, and return its status."""
        scene, memory, limits = self.scene, self.memory, self.limits(start)
        if self._by_gradients:
            return self._solve_by_gradients(start, limits)
        minimise_step(scene, start, limits, memory)
        outcome = int(memory.account[OUTCOME])
        return Status.ITERATION_LIMIT if outcome == RUNNING else _STATUS[outcome]

    def roll(self, start: StepStart, torques: np.ndarray, x: np.ndarray) -> int:
        """Make steps until one fails, without holding a lock, and return their number.

        No step is made by "lbfgs".

        Args:
            start: data of the first step; its arrays are overwritten.
            torques: feed-forward torque of each step, shape (nt, nv).
            x: output, [q; v] at the ends of the steps, shape (nt, nq + nv).
        """
        if self._by_gradients:
            return 0
        made = roll(
            self.scene,
            start,
            torques,
            self._tolerance * self.scene.tree.weight,
            self._floor(start),
            self._max_iterations,
            self.memory,
            x,
        )
        return int(made)

    def evaluate_at(self, start: StepStart, q: np.ndarray) -> None:
        """Evaluate the step at configuration q, shape (nq,), in `memory`."""
        evaluate_end(self.scene, start, q, self.memory)

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
        close_step(self.scene, start, memory)
        gained = int(account[OUTCOME]) == ENERGY_GAINED
        return Status.ENERGY_GAINED if gained else found.status
