"""Many of a registered environment at a time, stepped together by `nmdp_pin.batch`."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from nmdp_pin.adapters.gymnasium import SimulatorEnv
from nmdp_pin.adapters.locomotion import Base
from nmdp_pin.adapters.motors import REACH, Motors
from nmdp_pin.batch import Batch
from nmdp_pin.state import State

CHUNK = 32  # trajectories that advance together; fixed, so that no bit depends on the cores
TOLERANCE = 1e-5  # of a step's residual over the weight; a learner explores by far more


class BatchEnv(gymnasium.vector.VectorEnv):
    """`n` copies of a `SimulatorEnv` of method pbfd, whose actions are targets.

    Steps, rewards and ends are those of the environment, but for the stops at the ends of the
    joints' ranges: gains are the same for all trajectories of a batch. An episode that ended begins
    anew with the next step, whose action and reward do not count.

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
        self._batch = Batch(robot, terrain, "pbfd", chunk=CHUNK, tolerance=TOLERANCE)
        joints = {joint.idx_v: joint for joint in robot.model.joints}
        self._driven = np.array([joints[v].idx_q for v in robot.driven])
        standing, motors = env.simulator.state(), Motors(robot)
        self._gains = motors.command(standing, np.zeros(len(motors)), env.dt)
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
        made = self._batch.rollout(
            np.array([state.q for state in self.states]),
            np.array([state.v for state in self.states]),
            h=self._dt,
            steps=1,
            kp=self._gains.kp,
            kd=self._gains.kd,
            q_target=self._targets(actions)[:, None],
        )
        rewards = np.zeros(self.num_envs)
        terminated, truncated = np.zeros((2, self.num_envs), dtype=bool)
        for i, (before, ok) in enumerate(zip(self.states, made.ok.tolist(), strict=True)):
            if self._done[i]:
                self.states[i] = self._start()
            elif not ok:
                truncated[i] = True
            else:
                after = State(before.t + self._dt, made.q[i, 1], made.v[i, 1])
                self.states[i] = after
                terms = self._task.rewards(self._base, before, after, actions[i])
                rewards[i] = sum(terms.values())
                terminated[i] = not self._task.healthy(self._base, after)
                truncated[i] = after.t > self._duration - 0.5 * self._dt
        self._done = terminated | truncated
        return self._observed(), rewards, terminated, truncated, {}

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
