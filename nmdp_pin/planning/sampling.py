"""Planners that make rollouts of samples: MPPI and CEM."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from nmdp_pin._simulator.argument_check import check_count
from nmdp_pin._state.state import State
from nmdp_pin.planning.problem import Plan, Problem


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
        usual = np.median(excess[np.isfinite(costs)])
        weights = np.exp(-excess / (temperature * usual or 1.0))
        return np.tensordot(weights / weights.sum(), tried, 1), spread

    return _sampled(problem, state, u, spread, samples, rounds, seed, update)


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
    check_count("elites", elites, 2)

    def update(tried: np.ndarray, costs: np.ndarray, _: np.ndarray) -> tuple[np.ndarray, ...]:
        best = tried[np.argsort(costs, kind="stable")[: min(elites, np.isfinite(costs).sum())]]
        return best.mean(axis=0), best.std(axis=0)

    return _sampled(problem, state, u, spread, samples, rounds, seed, update)


def _sampled(
    problem: Problem,
    state: State,
    u: np.ndarray,
    spread: np.ndarray | float,
    samples: int,
    rounds: int,
    seed: int,
    update: Callable[..., tuple[np.ndarray, ...]],
) -> Plan:
    """The best of the controls given, all samples and their means, the last one included."""
    check_count("samples", samples, 2)
    random, mean = np.random.default_rng(seed), problem.within(np.asarray(u, dtype=float))
    spread, history = spread + np.zeros_like(mean), list[float]()
    x, costs = problem.rolled(state, mean[None])  # which warns of overlaps, as no wild sample shall
    best = Plan(mean, x[0], float(costs[0]))
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
