"""Many of a registered environment at a time, stepped by threads."""

from __future__ import annotations

import os
import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from nmdp_pin import Halving, Simulator, State
from nmdp_pin.adapters.gymnasium import SimulatorEnv
from nmdp_pin.adapters.locomotion import Base
from nmdp_pin.adapters.motors import REACH, Motors
from nmdp_pin.control import Command

TOLERANCE = 1e-5  # of a step's residual over the weight; a learner explores by far more
Task = list[tuple[State, Command]]


class BatchEnv(gymnasium.vector.VectorEnv):
    """`n` copies of a `SimulatorEnv` of method pbfd, whose actions are targets.

    Steps, rewards and ends are those of the environment. An episode that ended begins anew with the
    next step, whose action and reward do not count.

    Args:
        env: one of them; it is not stepped.
        n: how many.
        duration: of an episode [s].

    Attributes:
        states: where the episodes are.
    """

    def __init__(self, env: SimulatorEnv, n: int, *, duration: float) -> None:
        self.num_envs, self.metadata = n, {"autoreset_mode": AutoresetMode.NEXT_STEP}
        self.single_observation_space = env.observation_space
        self.single_action_space = env.action_space
        self.observation_space = batch_space(env.observation_space, n)
        self.action_space = batch_space(env.action_space, n)
        robot, terrain = env.simulator.robot, env.simulator.terrain
        self._simulator, self._task, self._base = env.simulator, env.task, Base.of(robot)
        self._dt, self._duration = env.dt, duration
        # steps that fail are not halved: the episode is cut there
        stepper = Simulator(
            robot,
            terrain,
            env.simulator.contact,
            "pbfd",
            tolerance=TOLERANCE,
            control=Halving(min_step=env.dt),
        )
        content = pickle.dumps(stepper)  # threads that share a simulator wait for each other
        self._steppers = [pickle.loads(content) for _ in os.sched_getaffinity(0)]
        self._threads = ThreadPoolExecutor(len(self._steppers))
        joints = {joint.idx_v: joint for joint in robot.model.joints}
        self._driven = np.array([joints[v].idx_q for v in robot.driven])
        standing, motors = env.simulator.state(), Motors(robot)
        self._gains = motors.command(np.zeros(len(motors)))
        self.states = [standing] * n
        self._done = np.zeros(n, dtype=bool)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin all episodes."""
        super().reset(seed=seed)
        self.states = [self._start() for _ in self.states]
        self._done[:] = False
        return self._observed(), {}

    def step(
        self, actions: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """One step of each; actions, shape (n, n_motors), are cut at [-1, 1]."""
        actions = np.clip(np.asarray(actions, dtype=float), -1.0, 1.0)
        steps = [
            (state, replace(self._gains, q_target=target))
            for state, target in zip(self.states, self._targets(actions), strict=True)
        ]
        ends: list[State | None] = [None] * self.num_envs
        n = len(self._steppers)
        tasks = [steps[k::n] for k in range(n)]
        for k, share in enumerate(self._threads.map(self._ends, self._steppers, tasks)):
            ends[k::n] = share
        rewards = np.zeros(self.num_envs)
        terminated, truncated = np.zeros((2, self.num_envs), dtype=bool)
        for i, (before, after) in enumerate(zip(self.states, ends, strict=True)):
            if self._done[i]:
                self.states[i] = self._start()
            elif after is None:
                truncated[i] = True
            else:
                self.states[i] = after
                terms = self._task.rewards(self._base, before, after, actions[i])
                rewards[i] = sum(terms.values())
                terminated[i] = not self._task.healthy(self._base, after)
                truncated[i] = after.t > self._duration - 0.5 * self._dt
        self._done = terminated | truncated
        return self._observed(), rewards, terminated, truncated, {}

    def _ends(self, stepper: Simulator, task: Task) -> list[State | None]:
        """Where steps end; None where one cannot be solved."""
        results = [stepper.step(state, command, self._dt) for state, command in task]
        return [result.state if result.status.ok else None for result in results]

    def _start(self) -> State:
        return self._simulator.state(*self._task.start(self._simulator.robot, self.np_random))

    def _targets(self, actions: np.ndarray) -> np.ndarray:
        model, q = self._simulator.robot.model, self._driven
        targets = np.tile(self._simulator.robot.standing, (self.num_envs, 1))
        aims = targets[:, q] + REACH * actions
        targets[:, q] = np.clip(aims, model.lowerPositionLimit[q], model.upperPositionLimit[q])
        return targets

    def _observed(self) -> np.ndarray:
        return np.array([self._task.observation(self._base, state) for state in self.states])
