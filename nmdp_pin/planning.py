"""Planners: MPPI and CEM by rollouts, iLQR by the derivatives of steps."""

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pinocchio as pin

from nmdp_pin._control.controller import Command
from nmdp_pin._derivatives.ilqr import ilqr
from nmdp_pin._simulator.argument_check import check_count
from nmdp_pin._simulator.simulator import Simulator
from nmdp_pin._state.state import State
from nmdp_pin.errors import ControlError
from nmdp_pin.rollout import rollout

__all__ = ["Plan", "Problem", "cem", "ilqr", "mppi"]


@dataclass(frozen=True, kw_only=True)
class Problem:
    """Least sum of the squares of `running` at the end of each knot, and of `final` at the last.

    Args:
        simulator: simulator of the steps.
        h: length of the steps [s].
        running: residuals f(x, u) of ends [q; v] of knots, (..., nx), and controls, (..., nu), with
            shape (..., m).
        final: residuals f(x) of the end of the last knot, shape (..., m).
        command: command to which controls are added, as in `rollout`.
        targets: whether controls move its targets instead of adding torques [rad, m].
        held: steps of a knot, which has one control.
        low: least controls, a number or shape (nu,); None: what effort limits leave of torques.
        high: largest controls, likewise.
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

    @functools.cached_property
    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Least and largest controls, shape (nu,) each."""
        robot, command = self.simulator.robot, self.command or Command()
        held = 0.0 if command.tau is None else command.tau[robot.driven]
        effort = np.where(self.targets, np.inf, robot.limits.effort[robot.driven])
        given = zip((self.low, self.high), (-effort - held, effort - held), strict=True)
        low, high = (np.zeros_like(e) + (e if b is None else b) for b, e in given)
        if not (low <= high).all():
            raise ControlError(f"the least controls {low} are not below the largest {high}")
        return low, high

    def within(self, u: np.ndarray) -> np.ndarray:
        """The controls, cut at the bounds."""
        return np.asarray(np.clip(u, *self.bounds))

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
        return np.asarray(way.sum(axis=(-2, -1)) + end.sum(axis=-1))

    def rolled(self, state: State, u: np.ndarray) -> "tuple[np.ndarray, np.ndarray]":
        """Ends of knots (nb, n, nx) under controls (nb, n, nu), and costs, infinite of failures."""
        options: Any = {"command": self.command, "targets": self.targets}
        made = rollout(self.simulator, state, np.repeat(u, self.held, 1), h=self.h, **options)
        costs = self.costs(x := made.x[:, self.held - 1 :: self.held], u)
        return x, np.where(made.ok, costs, np.inf)

    def plan(self, state: State, u: np.ndarray) -> "Plan":
        """Plan of the controls as they are, cut at the bounds."""
        x, costs = self.rolled(state, (u := self.within(np.asarray(u, dtype=float)))[None])
        return Plan(u, x[0], float(costs[0]))


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


def mppi(
    problem: Problem,
    state: State,
    u: np.ndarray,
    *,
    spread: np.ndarray | float,
    samples: int = 64,
    rounds: int = 1,
    temperature: float = 0.1,
    seed: int = 0,
) -> Plan:
    """Model predictive path integral control: samples count by exp(-cost / temperature).

    Args:
        problem: what to minimise.
        state: start.
        u: controls to begin with, shape (n, nu).
        spread: standard deviation of the samples, a number or shape (nu,) or (n, nu).
        samples: of a round.
        rounds: number of rounds.
        temperature: as a share of the distance of the median cost from the least one.
        seed: of the samples.
    """

    def update(tried: np.ndarray, costs: np.ndarray, spread: np.ndarray) -> tuple[np.ndarray, ...]:
        excess = costs - costs.min()
        weights = np.exp(-excess / (temperature * np.median(excess[np.isfinite(costs)]) or 1.0))
        return np.tensordot(weights / weights.sum(), tried, 1), spread

    return _sampled(problem, state, u, spread, (samples, rounds, seed), update)


def cem(
    problem: Problem,
    state: State,
    u: np.ndarray,
    *,
    spread: np.ndarray | float,
    samples: int = 64,
    elites: int = 8,
    rounds: int = 10,
    seed: int = 0,
) -> Plan:
    """Cross-entropy method: the next samples are spread as the elites are.

    Args:
        problem: what to minimise.
        state: start.
        u: controls to begin with, shape (n, nu).
        spread: standard deviation of the first samples, a number or shape (nu,) or (n, nu).
        samples: of a round.
        elites: best samples of a round, of which the next one has mean and deviation.
        rounds: number of rounds.
        seed: of the samples.
    """

    def update(tried: np.ndarray, costs: np.ndarray, _: np.ndarray) -> tuple[np.ndarray, ...]:
        best = tried[np.argsort(costs, kind="stable")[: min(elites, np.isfinite(costs).sum())]]
        return best.mean(axis=0), best.std(axis=0)

    return _sampled(problem, state, u, spread, (samples, rounds, seed), update)


def _sampled(
    problem: Problem,
    state: State,
    u: np.ndarray,
    spread: Any,
    numbers: tuple[int, ...],
    update: Any,
) -> Plan:
    """The best of the controls given, all samples and their means, the last one included."""
    samples, rounds, seed = numbers
    check_count("samples", samples, 2)
    random, history = np.random.default_rng(seed), list[float]()
    best = problem.plan(state, u)  # which warns of overlaps, as no wild sample shall
    mean, spread = best.u, spread + np.zeros_like(best.u)
    for k in range(rounds + 1):
        noise = random.standard_normal((samples if k < rounds else 1, *mean.shape))
        noise[0] = 0.0
        tried = problem.within(mean + spread * noise)
        x, costs = problem.rolled(state, tried)
        i = int(costs.argmin())
        if costs[i] < best.cost:
            best = Plan(tried[i], x[i], float(costs[i]))
        history.append(best.cost)
        if k < rounds and np.isfinite(costs[i]):
            mean, spread = update(tried, costs, spread)
    return replace(best, history=tuple(history))
