"""What a planner minimises, and what it returns."""

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pinocchio as pin

from nmdp_pin._control.controller import Command
from nmdp_pin._simulator.simulator import Simulator
from nmdp_pin._state.state import State
from nmdp_pin.errors import ControlError
from nmdp_pin.rollout import rollout


@dataclass(frozen=True, kw_only=True)
class Problem:
    """Least sum of the squares of `running` at the end of each knot, and of `final` at the last.

    A knot is `held` steps with one control, which lies within bounds in all that is tried.

    Args:
        simulator: simulator of the steps.
        h: length of the steps [s].
        running: residuals f(x, u) of ends [q; v] of knots, (..., nx), and controls, (..., nu), with
            shape (..., m).
        final: residuals f(x) of the end of the last knot, shape (..., m).
        command: command to which controls are added, as in `rollout`.
        targets: whether controls move its targets instead of adding torques [rad, m].
        held: steps of a knot.
        low: least controls, a number or shape (nu,); None: what effort limits leave of torques.
        high: largest controls, likewise.
        n_jobs: number of processes, as in `rollout`.
    """

    simulator: Simulator
    h: float
    running: Callable[[np.ndarray, np.ndarray], np.ndarray]
    final: Callable[[np.ndarray], np.ndarray]
    command: Command | None = None
    targets: bool = False
    held: int = 1
    low: np.ndarray | float | None = None
    high: np.ndarray | float | None = None
    n_jobs: int | None = None

    @functools.cached_property
    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Least and largest controls, shape (nu,) each."""
        driven = self.simulator.robot.driven
        effort, held = self.simulator.robot.limits.effort[driven], np.zeros(len(driven))
        if self.targets:
            effort = np.full(len(driven), np.inf)
        elif self.command is not None and self.command.tau is not None:
            held = self.command.tau[driven]
        given = zip((self.low, self.high), (-effort - held, effort - held), strict=True)
        low, high = (np.zeros_like(e) + (e if b is None else b) for b, e in given)
        if not (low <= high).all():
            raise ControlError(f"the least controls {low} are not below the largest {high}")
        return low, high

    def within(self, u: np.ndarray) -> np.ndarray:
        """The controls, cut at the bounds."""
        cut: np.ndarray = np.clip(u, *self.bounds)
        return cut

    def commanded(self, u: np.ndarray) -> Command:
        """The command of a control, to make the steps of a plan."""
        simulator, told = self.simulator, self.command or Command()
        full = np.zeros(simulator.vector.nv)
        full[simulator.robot.driven] = u
        if self.targets:
            return replace(told, q_target=pin.integrate(simulator.robot.model, told.q_target, full))
        return replace(told, tau=full if told.tau is None else told.tau + full)

    def costs(self, x: np.ndarray, u: np.ndarray) -> np.ndarray:
        """Costs of ends of knots (..., n, nx) under controls (..., n, nu)."""
        way, end = np.square(self.running(x, u)), np.square(self.final(x[..., -1, :]))
        total: np.ndarray = way.sum(axis=(-2, -1)) + end.sum(axis=-1)
        return total

    def rolled(self, state: State, u: np.ndarray) -> "tuple[np.ndarray, np.ndarray]":
        """Ends of knots (nb, n, nx) under controls (nb, n, nu), and costs, infinite of failures."""
        every = np.repeat(u, self.held, axis=1)
        made = rollout(
            self.simulator,
            state,
            every,
            h=self.h,
            command=self.command,
            targets=self.targets,
            n_jobs=self.n_jobs,
        )
        x = made.x[:, self.held - 1 :: self.held]
        return x, np.where(made.ok, self.costs(x, u), np.inf)


@dataclass(frozen=True, eq=False)
class Plan:
    """Result of a planner.

    Args:
        u: controls of the knots, shape (n, nu).
        x: [q; v] at their ends, shape (n, nx).
        cost: of the problem; infinite where no trial was made to its end.
        history: least cost after each round.
        one_sided: knots whose last derivatives, by `ilqr`, are those of one side of a kink.
    """

    u: np.ndarray
    x: np.ndarray
    cost: float
    history: tuple[float, ...] = ()
    one_sided: tuple[int, ...] = ()
