"""Many environments of Gymnasium at a time on a device of JAX (extras `gym` and `jax`)."""

from typing import Any

import numpy as np

from nmdp_pin._jax.roller import check_type, device_named
from nmdp_pin._jax.schedule import Commands, roll
from nmdp_pin._state.status import Status
from nmdp_pin.adapters.gymnasium import SimulatorEnv
from nmdp_pin.adapters.locomotion import States
from nmdp_pin.device import device_scene
from nmdp_pin.errors import StateError

import jax  # isort: skip  # after the modules that say which extras are missing
from gymnasium.vector import AutoresetMode, VectorEnv  # isort: skip
from gymnasium.vector.utils import batch_space  # isort: skip


class DeviceEnv(VectorEnv[np.ndarray, np.ndarray, np.ndarray]):
    """`n` copies of a `SimulatorEnv` of the method pbfd, stepped by one call of a device.

    Observations, rewards and ends are those of the environment. An episode that ended begins anew
    with the next step, whose action and reward do not count. A step that fails is not halved: it
    ends its episode.

    Args:
        env: one of them, which is not stepped.
        n: how many.
        device: a `jax.Device` or its name, such as "cuda:1"; None: that of JAX.
        dtype: "float64" or "float32".

    Raises:
        IntegratorError: the simulator, the device or the type cannot be used.
        StateError: the environment has sensors.
    """

    def __init__(
        self, env: SimulatorEnv, n: int, *, device: Any = None, dtype: str = "float64"
    ) -> None:
        check_type(dtype)
        if env.sensors is not None:
            raise StateError("environments on devices have no sensors: leave them out")
        self.num_envs, self.metadata = n, {"autoreset_mode": AutoresetMode.NEXT_STEP}
        self.single_observation_space = env.observation_space
        self.single_action_space = env.action_space
        self.observation_space = batch_space(env.observation_space, n)
        self.action_space = batch_space(env.action_space, n)
        self._env, self._device, self._dtype = env, device_named(device), dtype
        self._scene = device_scene(env.simulator).on(self._device, dtype)
        self._gains = env.motors.command(np.zeros(len(env.motors)))
        start = env.simulator.state()
        self._state = States(np.zeros(n), np.tile(start.q, (n, 1)), np.tile(start.v, (n, 1)))
        self._done = np.ones(n, bool)

    @property
    def state(self) -> States:
        """States of the episodes: t, q and v have the shapes (n,), (n, nq) and (n, nv)."""
        return self._state

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin all episodes near the standing pose.

        Args:
            seed: seed of the starts; None: continue the random numbers.
            options: none are known.
        """
        if options:
            raise StateError(f"environments on devices take no options, got {options}")
        super().reset(seed=seed)
        self._begin(np.arange(self.num_envs))
        self._done[:] = False
        return self._observed(), {}

    def step(
        self, actions: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Make one step of each; actions, shape (n, n_motors), are clipped to [-1, 1]."""
        env, before, fresh = self._env, self._state, self._done
        actions = np.clip(np.asarray(actions, dtype=float), -1.0, 1.0)
        x, status = self._stepped(actions)
        moved = (status == Status.CONVERGED.code) & ~fresh
        q, v = np.split(x, [before.q.shape[1]], axis=1)
        self._state = after = States(
            before.t + env.dt * moved,
            np.where(moved[:, None], q, before.q),
            np.where(moved[:, None], v, before.v),
        )
        ends = States(before.t + env.dt, after.q, after.v)
        rewards = sum(env.task.rewards(env.base, before, ends, actions).values())
        terminated = moved & env.terminates & ~env.task.healthy(env.base, after)
        truncated = ~fresh & (~moved | (after.t > env.duration - 0.5 * env.dt))
        self._begin(np.flatnonzero(fresh))
        self._done = terminated | truncated
        told = {"status": np.where(fresh, Status.CONVERGED.code, status)}
        return self._observed(), np.where(moved, rewards, 0.0), terminated, truncated, told

    def _begin(self, some: np.ndarray) -> None:
        """Begin episodes."""
        t, q, v = (np.array(x) for x in (self._state.t, self._state.q, self._state.v))
        t[some] = 0.0
        for i in some:
            q[i], v[i] = self._env.task.start(self._env.simulator.robot, self.np_random)
        self._state = States(t, q, v)

    def _stepped(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """[q; v] at the ends, shape (n, nx), and codes of the statuses, shape (n,)."""
        tau, target = self._env.motors.asked(actions)
        gains = np.array([self._gains.kp, self._gains.kd, np.zeros(tau.shape[1])])
        kp, kd, rest = gains[:, None, :, None]
        commands = Commands(tau.T[None], kp, kd, target.T[None], rest, rest)
        data = self._state.q.T, self._state.v.T, commands, np.asarray(self._env.dt)
        data = jax.tree.map(lambda x: np.asarray(x, self._dtype), data)
        with jax.enable_x64(self._dtype == "float64"), jax.default_device(self._device):
            placed = jax.device_put(data, self._device)
            made = jax.device_get(roll(self._scene, *placed, steps=1))
        return np.array(made.x[0].T, float), made.status

    def _observed(self) -> np.ndarray:
        return self._env.task.observation(self._env.base, self._state)
