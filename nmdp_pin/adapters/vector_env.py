"""Many environments of Gymnasium stepped by one call, by threads or on a device (extra `gym`)."""

import os
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np

from nmdp_pin._options import numbers
from nmdp_pin._parallel.jax_backend import Jax, check_backend
from nmdp_pin._simulator.argument_check import check_count
from nmdp_pin._simulator.simulator import Simulator
from nmdp_pin._state.state import State
from nmdp_pin._state.status import Status
from nmdp_pin.adapters.gymnasium import SimulatorEnv, bounded
from nmdp_pin.adapters.task import States
from nmdp_pin.errors import ControlError, IntegratorError, StateError

import gymnasium  # isort: skip  # after the module that says which extra is missing
from gymnasium.vector import AutoresetMode, VectorEnv  # isort: skip
from gymnasium.vector.utils import batch_space  # isort: skip

Draw = Callable[[np.random.Generator], Mapping[str, Any]]


class SimulatorVectorEnv(VectorEnv[np.ndarray, np.ndarray, np.ndarray]):
    """`n` copies of a `SimulatorEnv`, stepped by one call.

    Observations, rewards and ends are those of the environment, to the bit where they are compiled.
    An episode that ended begins anew with the next step, whose action and reward do not count.

    Args:
        env: one of them, which is not stepped.
        n: how many.
        parameters: function of a random generator that draws parameters of
            `Simulator.with_parameters` for each episode; None: those of the simulator.
        backend: None: compiled steps, by threads; or a `Jax`, where a step that fails is not
            halved.
        threads: number of threads; None: one a core.

    Raises:
        IntegratorError: the backend is unknown or lacks what is asked for.
        StateError: the environment has sensors, or n is no number of environments.
    """

    def __init__(
        self,
        env: SimulatorEnv,
        n: int,
        *,
        parameters: Draw | None = None,
        backend: Jax | None = None,
        threads: int | None = None,
    ) -> None:
        check_count("n", n, 1)
        env = env.unwrapped if isinstance(env, gymnasium.Wrapper) else env
        if env.sensors is not None:
            raise StateError("many environments have no sensors: leave them out")
        check_backend(backend)
        self.num_envs, self.metadata = n, {"autoreset_mode": AutoresetMode.NEXT_STEP}
        self.single_observation_space = env.observation_space
        self.single_action_space = env.action_space
        self.observation_space = batch_space(env.observation_space, n)
        self.action_space = batch_space(env.action_space, n)
        self._env, self._parameters = env, parameters
        self._states = [env.simulator.state()] * n
        self._goals, self._done = np.zeros((n, len(env.goal))), np.ones(n, bool)
        if backend is not None:
            if parameters is not None:
                raise IntegratorError("a Jax backend has one set of parameters for all")
            from nmdp_pin.adapters.device_steps import DeviceSteps

            self._steps: Any = DeviceSteps(env, backend)
        else:
            self._steps = _ThreadSteps(env, n, threads)

    @property
    def state(self) -> States:
        """States of the episodes: shapes (n,), (n, nq), (n, nv) and (n, k)."""
        return self._seen(self._states)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin all episodes as the task does.

        Args:
            seed: seed of the starts; None: continue the random numbers.
            options: none are known.
        """
        if options:
            raise StateError(f"many environments take no options, got {options}")
        super().reset(seed=seed)
        self._begin(range(self.num_envs))
        self._done[:] = False
        return self._observed(), {}

    def step(
        self, actions: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Make one step of each; actions, shape (n, n_motors), are clipped to [-1, 1]."""
        env, before, fresh = self._env, self.state, self._done
        actions = np.clip(numbers("actions", actions, ControlError), -1.0, 1.0)
        if actions.shape != self.action_space.shape:
            what = f"actions have shape {actions.shape}, expected {self.action_space.shape}"
            raise ControlError(what)
        ends, status = self._steps(self._states, actions, ~fresh)
        moved = (status == Status.CONVERGED.code) & ~fresh
        self._states = ends
        after = self.state
        later = replace(after, t=before.t + env.dt)  # of what did not move no reward counts
        rewards = env.task.reward(before, later, actions)
        if isinstance(rewards, dict):
            rewards = sum(rewards.values())
        terminated = moved & env.terminates & env.task.terminated(after)
        truncated = ~fresh & (~moved | (after.t > env.duration - 0.5 * env.dt))
        self._begin(np.flatnonzero(fresh))
        self._done = terminated | truncated
        told = {"status": np.where(fresh, Status.CONVERGED.code, status)}
        return self._observed(), np.where(moved, rewards, 0.0), terminated, truncated, told

    def close_extras(self, **kwargs: Any) -> None:
        """End the threads."""
        self._steps.close()

    def _begin(self, some: Any) -> None:
        for i in some:
            if self._parameters is not None:
                self._steps.change(i, self._parameters(self.np_random))
            self._states[i], self._goals[i] = self._env.begin(self.np_random)

    def _seen(self, states: list[State]) -> States:
        t, q, v = (np.array([getattr(state, name) for state in states]) for name in "tqv")
        return States(t, q, v, self._goals)

    def _observed(self) -> np.ndarray:
        return bounded(np.asarray(self._env.task.observation(self.state), float))


class _ThreadSteps:
    """Steps of n simulators by threads; none is shared, for those that share one wait.

    Args:
        env: environment whose steps they are.
        n: number of simulators.
        threads: number of threads; None: one a core.
    """

    def __init__(self, env: SimulatorEnv, n: int, threads: int | None) -> None:
        self._env = env
        self._simulators = [env.simulator.with_parameters() for _ in range(n)]
        self._count = threads or len(os.sched_getaffinity(0))
        self._pool = ThreadPoolExecutor(self._count)

    def change(self, i: int, parameters: Mapping[str, Any]) -> None:
        """Give a simulator other parameters."""
        self._simulators[i] = self._env.simulator.with_parameters(**parameters)

    def __call__(
        self, states: list[State], actions: np.ndarray, which: np.ndarray
    ) -> tuple[list[State], np.ndarray]:
        """Ends of steps, of those that are asked for, and codes of their statuses."""
        ends, codes = list(states), np.zeros(len(states), int)

        def share(k: int) -> None:
            for i in range(k, len(states), self._count):
                if which[i]:
                    made = _step(self._simulators[i], self._env, states[i], actions[i])
                    ends[i], codes[i] = made

        list(self._pool.map(share, range(self._count)))
        return ends, codes

    def close(self) -> None:
        """End the threads."""
        self._pool.shutdown()


def _step(
    simulator: Simulator, env: SimulatorEnv, state: State, action: np.ndarray
) -> tuple[State, int]:
    result = simulator.step(state, env.motors.command(action), env.dt)
    return result.state, result.status.code
