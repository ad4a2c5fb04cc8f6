"""Checks of the arguments of a simulator."""

from __future__ import annotations

from numbers import Real

import numpy as np
import pinocchio as pin

from nmdp_pin.control.controller import Command
from nmdp_pin.errors import ControlError, NmdpError, StateError
from nmdp_pin.number_array import numbers
from nmdp_pin.robot import Robot
from nmdp_pin.state import State, WarmStart

MAX_STEP = 1.0  # [s]; a longer step is taken for milliseconds by mistake
_NORM_TOLERANCE = 1e-6  # on the norm of quaternions and (cos, sin) pairs
_SUM_TOLERANCE = 1e-9  # on sum(w) <= 1 of a contact


class ArgumentCheck:
    """Checks states and commands against a robot.

    Args:
        robot: whose states and commands they should be.
        weights: shape of the weights, `System.weights_shape`.
    """

    def __init__(self, robot: Robot, weights: tuple[int, int]) -> None:
        self._model, self._driven = robot.model, robot.driven
        self._n_contacts, self._weights = len(robot.contact_points), weights

    def state(self, state: State) -> None:
        """Check a state.

        Raises:
            StateError: wrong shape, not finite, off its manifold, or of another robot.
        """
        model = self._model
        if not isinstance(state, State):
            raise StateError(
                f"expected a State, got {type(state).__name__}; make one with simulator.state(q, v)"
            )
        for name, value, size in (("q", state.q, model.nq), ("v", state.v, model.nv)):
            if not (isinstance(value, np.ndarray) and value.dtype == float):
                raise StateError(f"{name} must be an array of floats; use simulator.state(q, v)")
            if value.shape != (size,):
                raise StateError(f"{name} has shape {value.shape}, expected ({size},)")
            if not np.isfinite(value).all():
                raise StateError(f"{name} must hold finite numbers, got {value}")
        if not (is_real(state.t) and np.isfinite(state.t)):
            raise StateError(f"t must be a finite time [s], got {state.t!r}")
        self._check_manifold("q", state.q, StateError)
        if state.warm is not None:
            self._check_warm(state.warm)
        if state.h_next is not None and not _is_length(state.h_next):
            raise StateError(f"h_next must be a length [s] > 0 or None, got {state.h_next!r}")

    def command(self, command: Command | np.ndarray | None) -> Command:
        """Convert a torque or None to a checked command.

        Raises:
            ControlError: a number is not finite, a shape is wrong, or lacks a target.
        """
        if command is None:
            return Command()
        if not isinstance(command, Command):
            command = Command(tau=self._full_torque(numbers("tau", command, ControlError)))
        model = self._model
        arrays = {}
        for name in ("tau", "kp", "kd", "q_target", "v_target"):
            if getattr(command, name) is None:
                continue
            value = arrays[name] = numbers(name, getattr(command, name), ControlError)
            size = model.nq if name == "q_target" else model.nv
            if value.shape != (size,):
                raise ControlError(f"{name} has shape {value.shape}, expected ({size},)")
            if not np.isfinite(value).all():
                raise ControlError(f"{name} must hold finite numbers, got {value}")
            if name in ("kp", "kd") and (value < 0.0).any():
                raise ControlError(f"{name} must not be negative, got {value}")
        if "kp" in arrays and "q_target" not in arrays:
            raise ControlError("kp is given without q_target: say where the joints should go")
        if "q_target" in arrays:
            self._check_manifold("q_target", arrays["q_target"], ControlError)
        return Command(**arrays)

    def _check_warm(self, warm: WarmStart) -> None:
        """Refuse the warm start of another robot or contact model."""
        w, shape, n = warm.w, self._weights, self._n_contacts
        if np.shape(w) != shape:
            raise StateError(
                f"the warm start has weights of shape {np.shape(w)}, expected {shape}: it comes "
                "from another robot or contact model; use simulator.state(state.q, state.v)"
            )
        feasible = bool((w >= 0.0).all() and (w.sum(axis=1) <= 1.0 + _SUM_TOLERANCE).all())
        if not (feasible and 0.0 < warm.gamma < np.inf):
            raise StateError(
                "the warm start must have weights >= 0 whose sum is <= 1 for each contact, and a "
                "gamma > 0; use warm=None"
            )
        forces = warm.forces
        if forces is not None and not (np.shape(forces) == (n, 3) and np.isfinite(forces).all()):
            raise StateError(
                f"the warm start has forces of shape {np.shape(forces)}, expected {(n, 3)}, "
                "finite; use warm=None"
            )

    def _check_manifold(self, name: str, q: np.ndarray, error: type[NmdpError]) -> None:
        model = self._model
        if model.nq != model.nv and not pin.isNormalized(model, q, _NORM_TOLERANCE):
            raise error(
                f"{name} is not a configuration: a quaternion or (cos, sin) pair in it is not of "
                "unit length; use pinocchio.normalize(model, q)"
            )

    def _full_torque(self, tau: np.ndarray) -> np.ndarray:
        """Torque of all velocities from one of the driven joints."""
        driven, nv = self._driven, self._model.nv
        if tau.shape == (len(driven),) and len(driven) != nv:
            full = np.zeros(nv)
            full[driven] = tau
            return full
        return tau


def check_step(h: float) -> None:
    """Check the length of a step.

    Raises:
        StateError: it is not in (0, MAX_STEP].
    """
    if not (is_real(h) and 0.0 < h <= MAX_STEP):
        suspect = is_real(h) and 1.0 < h <= 1000.0
        hint = f"; did you mean {h / 1000:g} s (milliseconds)?" if suspect else ""
        raise StateError(f"the step must be in (0, {MAX_STEP:g}] s, got {h!r}{hint}")


def _is_length(value: float) -> bool:
    return is_real(value) and 0.0 < value < np.inf


def is_real(value: object) -> bool:
    """Whether a value is a real number."""
    return isinstance(value, Real)
