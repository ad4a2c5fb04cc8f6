"""Planners: MPPI and CEM by rollouts, iLQR by the derivatives of steps."""

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from types import NoneType
from typing import Any

import numpy as np
import pinocchio as pin

from nmdp_pin._control.controller import Command
from nmdp_pin._derivatives.ilqr import ilqr
from nmdp_pin._options import check_part, numbers
from nmdp_pin._simulator.argument_check import check_count, check_step, is_real
from nmdp_pin._simulator.control_input import ControlInput
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

    def __post_init__(self) -> None:
        check_part("simulator", self.simulator, Simulator, ControlError)
        check_step(self.h)
        check_count("held", self.held, 1)
        for name in ("running", "final"):
            check_part(name, getattr(self, name), Callable, ControlError)
        check_part("command", self.command, (Command, NoneType), ControlError)
        # what `rollout` would refuse
        told = ControlInput.of(self.simulator, self.command, targets=self.targets)
        object.__setattr__(self, "command", told.command)

    @functools.cached_property
    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Least and largest controls, shape (nu,) each."""
        robot, command = self.simulator.robot, self.command or Command()
        held = 0.0 if command.tau is None else command.tau[robot.driven]
        effort = np.where(self.targets, np.inf, robot.limits.effort[robot.driven])
        low, high = (
            _of_size(name, end if bound is None else bound, len(effort))
            for name, bound, end in (
                ("low", self.low, -effort - held),
                ("high", self.high, effort - held),
            )
        )
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
        way = _residuals("running", self.running(x, u), x.shape[:-1])
        end = _residuals("final", self.final(x[..., -1, :]), x.shape[:-2])
        return np.asarray(np.square(way).sum(axis=(-2, -1)) + np.square(end).sum(axis=-1))

    def rolled(self, state: State, u: np.ndarray) -> "tuple[np.ndarray, np.ndarray]":
        """Ends of knots (nb, n, nx) under controls (nb, n, nu), and costs, infinite of failures."""
        options: Any = {"command": self.command, "targets": self.targets}
        made = rollout(self.simulator, state, np.repeat(u, self.held, 1), h=self.h, **options)
        costs = self.costs(x := made.x[:, self.held - 1 :: self.held], u)
        return x, np.where(made.ok & ~np.isnan(costs), costs, np.inf)

    def plan(self, state: State, u: np.ndarray) -> "Plan":
        """Plan of the controls as they are, cut at the bounds."""
        given, nu = numbers("u", u, ControlError), len(self.simulator.robot.driven)
        if given.ndim != 2 or not len(given) or given.shape[1] != nu:
            raise ControlError(
                f"u has shape {given.shape}, expected (n, {nu}): controls of {nu} driven joints in "
                "n knots, at least one"
            )
        x, costs = self.rolled(state, (u := self.within(given))[None])
        return Plan(u, x[0], float(costs[0]))


def _residuals(name: str, made: Any, axes: tuple[int, ...]) -> np.ndarray:
    """What a function of residuals has made of states with these axes, with one axis more."""
    found = numbers(f"residuals of `{name}`", made, ControlError)
    if found.ndim != len(axes) + 1 or found.shape[:-1] != axes:
        raise ControlError(
            f"`{name}` returns an array of shape {found.shape} for states of shape (*{axes}, nx), "
            f"expected (*{axes}, m): m residuals for each, which are squared and summed"
        )
    return found


def _of_size(name: str, value: Any, size: int) -> np.ndarray:
    """A number for all of so many controls, or one for each."""
    found = numbers(name, value, ControlError)
    if found.shape not in ((), (1,), (size,)):
        raise ControlError(f"{name} has shape {found.shape}, expected () or ({size},)")
    return np.asarray(np.zeros(size) + found)


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
    if not (is_real(temperature) and 0.0 < temperature < np.inf):
        raise ControlError(f"temperature must be a finite number > 0, got {temperature!r}")

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
    check_count("elites", elites, 1)

    def update(tried: np.ndarray, costs: np.ndarray, _: np.ndarray) -> tuple[np.ndarray, ...]:
        best = tried[np.argsort(costs, kind="stable")[: min(elites, np.isfinite(costs).sum())]]
        return best.mean(axis=0), best.std(axis=0)

    return _sampled(problem, state, u, spread, (samples, rounds, seed), update)


def _sampled(
    problem: Problem,
    state: State,
    u: np.ndarray,
    spread: Any,
    counts: tuple[int, ...],
    update: Any,
) -> Plan:
    """The best of the controls given, all samples and their means, the last one included."""
    check_part("problem", problem, Problem, ControlError)
    for name, count, least in zip(("samples", "rounds", "seed"), counts, (2, 0, 0), strict=True):
        check_count(name, count, least)
    samples, rounds, seed = counts
    spread = numbers("spread", spread, ControlError)
    random, history = np.random.default_rng(seed), list[float]()
    best = problem.plan(state, u)  # which warns of overlaps, as no wild sample shall
    if spread.shape not in ((), (1,), best.u.shape[1:], best.u.shape):
        nu, shape = best.u.shape[1], best.u.shape
        raise ControlError(f"spread has shape {spread.shape}, expected (), ({nu},) or {shape}")
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
