"""Checks of the arguments of a simulator."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np
import pinocchio as pin

from nmdp_pin._control.controller import Command, CommandSource, ExternalWrench, full_torque
from nmdp_pin._kernels.algebra.linear import all_finite
from nmdp_pin._options import check_part, check_parts, check_shape, numbers, shown
from nmdp_pin._robot import Robot
from nmdp_pin._robot.frames import frame_named
from nmdp_pin._robot.model import base_velocities
from nmdp_pin._state.state import State, WarmStart
from nmdp_pin.errors import ControlError, NmdpError, StateError

MAX_STEP = 1.0  # [s]; a longer step is taken for milliseconds by mistake
_NORM_TOLERANCE = 1e-6  # on the norm of quaternions and (cos, sin) pairs
_SUM_TOLERANCE = 1e-9  # on sum(w) <= 1 of a contact


@dataclass(frozen=True)
class _Checked(CommandSource):
    """Commands of a source, checked where they are not as they should be at first sight."""

    inner: CommandSource
    check: "ArgumentCheck"

    def at(self, t: float) -> Command:
        """See `CommandSource.at`."""
        command = self.inner.at(t)
        if not self.check.fits(command):
            return self.check.command(command)
        self.check.refuse_base_gains(command)
        return command


class ArgumentCheck:
    """Checks states and commands against a robot.

    There are `n_pairs` pairs of a contact point and a shape, with `n_vertices` weights each.
    """

    def __init__(self, robot: Robot, n_pairs: int, n_vertices: int) -> None:
        self._model, self._driven, self._scripted = robot.model, robot.driven, robot.scripted
        self._base = base_velocities(robot.model, robot.driven)
        self._n_joints = len(robot.limits.bounded) + sum(loop.rows for loop in robot.loops)
        self._n_pairs, self._n_vertices = n_pairs, n_vertices
        self._of_q, self._of_v = (robot.model.nq,), (robot.model.nv,)

    def state(self, state: State) -> None:
        """Check a state."""
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
            if not are_finite(value):
                raise StateError(f"{name} must hold finite numbers, got {value}")
        if not (is_real(state.t) and math.isfinite(state.t)):
            raise StateError(f"t must be a finite time [s], got {state.t!r}")
        self._check_manifold("q", state.q, StateError)
        if state.warm is not None:
            self._check_warm(state.warm)
        if state.h_next is not None and not _is_length(state.h_next):
            raise StateError(f"h_next must be a length [s] > 0 or None, got {state.h_next!r}")

    def command(self, command: Command | np.ndarray | None) -> Command:
        """Convert a torque or None to a checked command."""
        if command is None:
            return Command()
        if not isinstance(command, Command):
            command = Command(tau=numbers("tau", command, ControlError))
        model = self._model
        arrays = {}
        for name in ("tau", "kp", "kd", "q_target", "v_target", "force"):
            if getattr(command, name) is None:
                continue
            size = model.nq if name == "q_target" else model.nv
            value = numbers(name, getattr(command, name), ControlError)
            if name == "tau":
                value = full_torque(value, self._driven, size)
            check_shape(name, value, ControlError, size)
            arrays[name] = value
            if not are_finite(value):
                raise ControlError(f"{name} must hold finite numbers, got {value}")
            if name in ("kp", "kd") and (value < 0.0).any():
                raise ControlError(f"{name} must not be negative, got {value}")
        if "kp" in arrays and "q_target" not in arrays:
            raise ControlError("kp is given without q_target: say where the joints should go")
        if "q_target" in arrays:
            self._check_manifold("q_target", arrays["q_target"], ControlError)
            if self._scripted and "v_target" not in arrays:
                raise ControlError(
                    "q_target says where scripted joints are at the end of the step, and their "
                    "velocity there is missing: give v_target"
                )
        result = Command(
            **arrays,
            base_gains=command.base_gains,
            wrenches=self._wrenches(command.wrenches),
            attached=tuple(
                map(_pair, check_parts("attached", command.attached, (tuple, list), ControlError))
            ),
        )
        self.refuse_base_gains(result)
        return result

    def fits(self, command: Command) -> bool:
        """Whether the arrays of a command have their types and shapes."""
        if not isinstance(command, Command):
            return False
        of_v, q = self._of_v, command.q_target
        given = command.kp, command.kd, command.v_target, command.tau, command.force
        return (q is None or _is_array(q, self._of_q)) and all(
            x is None or _is_array(x, of_v) for x in given
        )

    def _wrenches(self, wrenches: Sequence[ExternalWrench]) -> tuple[ExternalWrench, ...]:
        """Check wrenches on links."""
        found = check_parts("wrenches", wrenches, ExternalWrench, ControlError)
        for wrench in found:
            frame_named(self._model, wrench.frame, ControlError, "a wrench")
        return found

    def refuse_base_gains(self, command: Command) -> None:
        """Refuse gains on a floating base that are not asked for."""
        if command.base_gains:
            return
        for name, gain in (("kp", command.kp), ("kd", command.kd)):
            # of few entries `any` of Python is quicker than that of NumPy
            if gain is not None and any(np.asarray(gain)[self._base].tolist()):
                raise ControlError(
                    f"{name} acts on a floating base (velocities {self._base.tolist()}), which "
                    "has no motor; set these gains to 0, or give base_gains=True to hold it from "
                    "outside"
                )

    def source(self, source: CommandSource) -> CommandSource:
        """A source whose commands fit and do not hold a floating base, or raise a ControlError."""
        return _Checked(source, self)

    def _check_warm(self, warm: WarmStart) -> None:
        """Refuse the warm start of another robot, terrain or contact model."""
        check_part("warm", warm, WarmStart, StateError)
        contacts = warm.contacts
        if not (
            isinstance(contacts, np.ndarray)
            and contacts.ndim == 1
            and contacts.dtype.kind == "i"
            and _are_indices(contacts.tolist(), self._n_pairs)
        ):
            raise StateError(
                f"the warm start has contacts {warm.contacts!r}, expected ascending indices below "
                f"{self._n_pairs}: it comes from another robot or terrain; use "
                "simulator.state(state.q, state.v)"
            )
        k = len(contacts)
        shapes = {
            "w": (k, self._n_vertices if warm.forces is None else np.shape(warm.w)[-1]),
            "joints": (self._n_joints,),
            "a": (self._model.nv,),
            "forces": (k, 3),
            "tau": (self._model.nv,),
        }
        for name, shape in shapes.items():
            value = getattr(warm, name)
            if name in ("forces", "tau") and value is None:
                continue
            if not (
                isinstance(value, np.ndarray)
                and value.dtype == float
                and value.shape == shape
                and are_finite(value)
            ):
                raise StateError(
                    f"the warm start has {name} of shape {np.shape(value)}, expected {shape}, "
                    "finite: it comes from another robot or contact model; use "
                    "simulator.state(state.q, state.v)"
                )
        w, joints = warm.w, warm.joints
        feasible = not w.size or (w.min() >= 0.0 and w.sum(axis=1).max() <= 1.0 + _SUM_TOLERANCE)
        if joints.size and warm.forces is None:
            feasible = feasible and 0.0 <= joints.min() and joints.max() <= 1.0 + _SUM_TOLERANCE
        if not (feasible and 0.0 < warm.gamma < np.inf):
            raise StateError(
                "the warm start must have weights >= 0 whose sum is <= 1 for each contact, and a "
                "gamma > 0; use warm=None"
            )

    def _check_manifold(self, name: str, q: np.ndarray, error: type[NmdpError]) -> None:
        model = self._model
        if model.nq != model.nv and not pin.isNormalized(model, q, _NORM_TOLERANCE):
            raise error(
                f"{name} is not a configuration: a quaternion or (cos, sin) pair in it is not of "
                "unit length; use pinocchio.normalize(model, q)"
            )


def _pair(names: tuple[object, ...]) -> tuple[str, str]:
    """The names of two frames."""
    if [type(name) for name in names] != [str, str]:
        raise ControlError(f"attached must hold pairs of names of frames, got {shown(names)}")
    return str(names[0]), str(names[1])


def _is_array(value: object, shape: tuple[int, ...]) -> bool:
    """Whether a value is an array of floats of this shape."""
    return isinstance(value, np.ndarray) and value.shape == shape and value.dtype == float


def are_finite(values: np.ndarray) -> bool:
    """Whether all numbers are finite."""
    if not values.flags.carray:  # no kernel is compiled for strided or read-only arrays
        return bool(np.isfinite(values).all())
    return all_finite(values.reshape(-1))


def _are_indices(ascending: list[int], end: int) -> bool:
    """Whether numbers ascend, from 0 at the least to below `end`."""
    if not ascending:
        return True
    unique = sorted(set(ascending))
    return unique == ascending and 0 <= unique[0] and unique[-1] < end


def check_step(h: float) -> None:
    """Check the length of a step."""
    if not (is_real(h) and 0.0 < h <= MAX_STEP):
        suspect = is_real(h) and 1.0 < h <= 1000.0
        hint = f"; did you mean {h / 1000:g} s (milliseconds)?" if suspect else ""
        raise StateError(f"the step must be in (0, {MAX_STEP:g}] s, got {h!r}{hint}")


def _is_length(value: float) -> bool:
    return is_real(value) and 0.0 < value < np.inf


def is_real(value: object) -> bool:
    """Whether a value is a real number."""
    return isinstance(value, float | Real)  # floats are found sooner


def check_count(name: str, value: object, least: int) -> None:
    """Check a number of things."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise StateError(f"{name} must be a whole number >= {least}, got {value!r}")
