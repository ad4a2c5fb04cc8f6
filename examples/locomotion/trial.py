"""A policy tried in an environment of any method and length of step."""

from __future__ import annotations

from dataclasses import dataclass

import gymnasium
import numpy as np
from policy import Policy


@dataclass(frozen=True)
class Trial:
    """What came of some episodes.

    Args:
        seeds: of each episode.
        returns: of each episode: the sum of the rewards, one for each action.
        distances: gone along x [m].
        times: until the robot fell, or the episode was over [s].
        falls: whether it fell.
    """

    seeds: range
    returns: np.ndarray
    distances: np.ndarray
    times: np.ndarray
    falls: np.ndarray

    def rows(self) -> list[tuple[float, ...]]:
        """One for each episode: seed, return, distance, time, fall."""
        numbers = self.returns, self.distances, self.times, self.falls.astype(int)
        return list(zip(self.seeds, *(x.tolist() for x in numbers), strict=True))

    def __str__(self) -> str:
        def spread(x: np.ndarray, digits: int) -> str:
            return f"{x.mean():.{digits}f} ± {x.std():.{digits}f}"

        return (
            f"return {spread(self.returns, 0)}, distance {spread(self.distances, 2)} m, "
            f"{spread(self.times, 1)} s, fell {self.falls.sum()} of {len(self.falls)}"
        )


def tried(policy: Policy, env: gymnasium.Env, *, period: float, seeds: range) -> Trial:
    """Episodes with the mean actions.

    Args:
        policy: acts once in `period`.
        env: a `SimulatorEnv`; its step divides the period.
        period: for which an action is held [s].
        seeds: one for each episode.
    """
    held = round(period / env.unwrapped.dt)
    rows = [_episode(policy, env, held, seed) for seed in seeds]
    returns, distances, times, falls = np.array(rows).T
    return Trial(seeds, returns, distances, times, falls.astype(bool))


def _episode(policy: Policy, env: gymnasium.Env, held: int, seed: int) -> tuple[float, ...]:
    observation, _ = env.reset(seed=seed)
    start = env.unwrapped.state
    total, ended, terminated = 0.0, False, False
    while not ended:
        action = policy(observation)
        for _ in range(held):
            observation, reward, terminated, truncated, _ = env.step(action)
            # The reward is a speed and a bonus for being upright, so of parts of a step the mean.
            total += reward / held
            ended = terminated or truncated
            if ended:
                break
    end = env.unwrapped.state
    return total, end.q[0] - start.q[0], end.t - start.t, terminated
