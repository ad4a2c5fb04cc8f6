"""The two tasks: robot, lengths of steps, how long to learn."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import gymnasium

from nmdp_pin import Halving, Simulator
from nmdp_pin.adapters.gymnasium import SimulatorEnv

DURATION = 8.0  # [s] of an episode
TOLERANCE = 1e-5  # of a step's residual over the weight; a learner explores by far more


@dataclass(frozen=True, kw_only=True)
class Task:
    """A registered environment and how its policy is trained.

    Args:
        name: of the environment.
        period: of the policy, and length of the steps that it is trained with [s].
        steps: to train for, of all environments together.
        copies: of the environment, stepped together.
        options: of `learn`.
    """

    name: str
    period: float
    steps: int
    copies: int = 64
    options: dict[str, Any] = field(default_factory=dict)

    def short(self) -> Task:
        """The same with a training that just about teaches the hopper to stand."""
        options = {**self.options, "rollouts": 16, "mini_batches": 8}
        return replace(self, steps=8192, copies=32, options=options)

    def env(self, *, method: str = "pbfd", h: float | None = None) -> gymnasium.Env:
        """One environment; its steps have the policy's period unless said otherwise."""
        return gymnasium.make(
            self.name,
            method=method,
            dt=h or self.period,
            duration=DURATION,
            # Steps are counted by the environment itself.
            max_episode_steps=None,
        )

    def coarse_env(self) -> SimulatorEnv:
        """One to train with: steps that fail are not halved, the episode is cut there."""
        env = self.env().unwrapped
        fine = env.simulator
        coarse = Simulator(
            fine.robot,
            fine.terrain,
            fine.contact,
            "pbfd",
            tolerance=TOLERANCE,
            control=Halving(min_step=env.dt),
        )
        return SimulatorEnv(coarse, env.task, dt=env.dt, duration=DURATION)


TASKS = {
    "hopper": Task(name="nmdp-pin/Hopper-v0", period=0.02, steps=300_000),
    "walker": Task(
        name="nmdp-pin/Walker3D-v0", period=0.02, steps=409_600, options={"spread": 0.3}
    ),
}
