"""Rollouts of a simulator on a device of JAX."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from nmdp_pin._control.controller import Command
from nmdp_pin._jax.compiled_scene import scene_of
from nmdp_pin._jax.joints import Commands
from nmdp_pin._jax.scene import DeviceScene
from nmdp_pin._jax.schedule import roll
from nmdp_pin._parallel.jax_backend import Jax
from nmdp_pin._simulator.simulator import Simulator
from nmdp_pin._simulator.step_control import Fixed
from nmdp_pin._state.state import State
from nmdp_pin.errors import ControlError, IntegratorError

DTYPES = ("float64", "float32")


class DeviceRoller:
    """Function that makes steps of many trajectories on a device.

    Args:
        simulator: simulator of `pbfd` with steps of fixed length.
        command: a `Command` of all steps, or None.
        backend: the device and the type of numbers.

    Raises:
        IntegratorError: the simulator, the device or the type cannot be used.
        ControlError: the command is a function, or has wrenches.
    """

    def __init__(self, simulator: Simulator, command: Any, backend: Jax) -> None:
        if not isinstance(simulator.control, Fixed):
            raise IntegratorError(
                "a Jax backend makes steps of fixed length: give the simulator control=Fixed(), "
                f"got {type(simulator.control).__name__}"
            )
        check_type(backend.dtype)
        if callable(command):
            raise ControlError(
                "a Jax backend takes a Command that holds for all steps and torques u, no function "
                "of the state; leave the backend out"
            )
        if command is not None and command.wrenches:
            raise ControlError(
                "a Jax backend takes no wrenches on links, whose Jacobians change with each step; "
                "leave the backend out, or use Command(force=...)"
            )
        self._device, self._dtype = device_named(backend.device), backend.dtype
        self._scene = scene_of(simulator)
        self._command, self._robot = command or Command(), simulator.robot

    def __call__(
        self, starts: Sequence[State], u: np.ndarray, steps: int, h: float
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """[q; v] at the ends of the steps, codes of the statuses, and numbers of steps made.

        Args:
            starts: starts of the trajectories.
            u: torques, shape (nb or 1, nt or 1, nu or nv).
            steps: number of steps.
            h: length of a step [s].
        """
        if not (steps and len(starts)):
            none = np.zeros(len(starts), int)
            nx = self._robot.model.nq + self._robot.model.nv
            return np.zeros((len(starts), steps, nx)), none, none
        with jax.enable_x64(self._dtype == "float64"):
            made = jax.device_get(roll(*self.arguments(starts, u, h), steps=steps))
        return np.moveaxis(made.x, 2, 0), made.status, made.steps

    def arguments(
        self, starts: Sequence[State], u: np.ndarray, h: float
    ) -> tuple[DeviceScene, jax.Array, jax.Array, Commands, jax.Array]:
        """Arguments of `roll` on the device, in the type."""
        q = np.array([state.q for state in starts], self._dtype).T
        v = np.array([state.v for state in starts], self._dtype).T
        scene, data = self._scene.on(self._device, self._dtype), (q, v, self._commands(u))
        placed = jax.device_put((*data, np.asarray(h, self._dtype)), self._device)
        return scene, *placed

    def _commands(self, u: np.ndarray) -> Commands:
        """The command and torques of all steps as arrays."""
        nv, driven, command = self._robot.model.nv, self._robot.driven, self._command
        tau = np.zeros((u.shape[1], nv, u.shape[0]))
        tau[:, slice(None) if u.shape[2] == nv else driven] = u.transpose(1, 2, 0)
        standing, rest = self._robot.standing, np.zeros(nv)
        aims = command.kp is not None and command.q_target is not None
        if command.tau is not None:
            tau += command.tau[:, None]
        gains = command.kp if aims else rest
        target = command.q_target if aims else standing
        fixed = [gains, command.kd, target, command.v_target, command.force]
        rows = [np.zeros(nv) if value is None else value for value in fixed]
        return Commands(
            *(np.asarray(x, self._dtype) for x in (tau, *(row[None, :, None] for row in rows)))
        )


def check_type(dtype: str) -> None:
    """Refuse types that are not known."""
    if dtype not in DTYPES:
        raise IntegratorError(f"dtype must be one of {list(DTYPES)}, got {dtype!r}")


def device_named(device: Any) -> jax.Device:
    """A device, by its name or itself; None: the first one of JAX's default platform."""
    if isinstance(device, jax.Device):
        return device
    platform, _, number = ("" if device is None else str(device)).partition(":")
    try:
        found = jax.devices(platform or None)
        return found[int(number or 0)]
    except (RuntimeError, ValueError, IndexError) as error:
        there = ", ".join(f"{one.platform}:{one.id}" for one in jax.devices())
        raise IntegratorError(
            f"device {device!r} is none that JAX has; it has {there}: give one of them, or None"
        ) from error
