"""Steps of many environments on a device of JAX."""

import numpy as np

from nmdp_pin._jax.joints import Commands
from nmdp_pin._jax.roller import check_type, device_named
from nmdp_pin._jax.schedule import roll
from nmdp_pin._parallel.jax_backend import Jax
from nmdp_pin._state.state import State
from nmdp_pin._state.status import Status
from nmdp_pin.adapters.gymnasium import SimulatorEnv
from nmdp_pin.device import device_scene

import jax  # isort: skip  # after the modules that say which extras are missing


class DeviceSteps:
    """Steps of environments at once by `pbfd`.

    Args:
        env: environment whose steps they are.
        backend: the device and the type of numbers.

    Raises:
        IntegratorError: the simulator, the device or the type cannot be used.
    """

    def __init__(self, env: SimulatorEnv, backend: Jax) -> None:
        check_type(backend.dtype)
        self._env, self._device, self._dtype = env, device_named(backend.device), backend.dtype
        self._scene = device_scene(env.simulator).on(self._device, self._dtype)
        self._gains = env.motors.command(np.zeros(len(env.motors)))

    def __call__(
        self, states: list[State], actions: np.ndarray, which: np.ndarray
    ) -> tuple[list[State], np.ndarray]:
        """Ends of steps, of those that are asked for, and codes of their statuses."""
        tau, target = self._env.motors.asked(actions)
        gains = np.array([self._gains.kp, self._gains.kd, np.zeros(tau.shape[1])])
        kp, kd, rest = gains[:, None, :, None]
        commands = Commands(tau.T[None], kp, kd, target.T[None], rest, rest)
        q, v = (np.array([getattr(state, name) for state in states]).T for name in "qv")
        data = jax.tree.map(
            lambda x: np.asarray(x, self._dtype), (q, v, commands, np.asarray(self._env.dt))
        )
        with jax.enable_x64(self._dtype == "float64"):
            placed = jax.device_put(data, self._device)
            made = jax.device_get(roll(self._scene, *placed, steps=1))
        x, status = np.array(made.x[0].T, float), np.asarray(made.status)
        moved = (status == Status.CONVERGED.code) & which
        ends = [
            State(state.t + self._env.dt, end[: len(q)], end[len(q) :]) if good else state
            for state, end, good in zip(states, x, moved, strict=True)
        ]
        return ends, status

    def close(self) -> None:
        """Nothing is open."""
