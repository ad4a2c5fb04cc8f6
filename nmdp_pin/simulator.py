"""The simulator: a robot, the ground, a contact model and a method, stepped in time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pinocchio as pin

from nmdp_pin.contact.wrench_space import WrenchSpace
from nmdp_pin.control.controller import Command, Controller
from nmdp_pin.errors import ControlError, IntegratorError, StateError, StepFailed
from nmdp_pin.integrators import Integrator, StepResult, integrator_named
from nmdp_pin.robot import Robot
from nmdp_pin.state import State
from nmdp_pin.step_control import step_with_halving
from nmdp_pin.terrain import Terrain

MAX_STEP = 1.0  # [s]; a longer step is taken for milliseconds by mistake
_NORM_TOLERANCE = 1e-6  # on the norm of quaternions and (cos, sin) pairs


class Simulator:
    """Steps a robot through time; `step` is pure: the same arguments give the same bits.

    Holds scratch memory, so use one simulator a thread; pickling rebuilds the scratch.

    Args:
        robot: what moves.
        terrain: the static world.
        contact: the contact model.
        method: name of the integrator.
        min_step: where Algorithm 2 stops to halve a step [s].
        options: of the method, by keyword.

    Raises:
        IntegratorError: unknown method or option.
    """

    def __init__(
        self,
        robot: Robot,
        terrain: Terrain,
        contact: WrenchSpace,
        method: str = "ne-nmdp",
        *,
        min_step: float = 1e-5,
        **options: Any,
    ) -> None:
        if not 0.0 < min_step <= MAX_STEP:
            raise IntegratorError(f"min_step must be in (0, {MAX_STEP}] s, got {min_step}")
        self.robot, self.terrain, self.contact = robot, terrain, contact
        self.method, self.min_step, self.options = method, min_step, dict(options)
        self._integrator = self._build()

    def _build(self) -> Integrator:
        method = integrator_named(self.method)
        try:
            return method(self.robot, self.terrain, self.contact, **self.options)
        except TypeError as error:
            raise IntegratorError(f"method '{self.method}': {error}") from error

    def __reduce__(self) -> tuple[Any, ...]:
        arguments = (
            self.robot,
            self.terrain,
            self.contact,
            self.method,
            self.min_step,
            self.options,
        )
        return _rebuild, arguments

    def state(
        self, q: np.ndarray | None = None, v: np.ndarray | None = None, t: float = 0.0
    ) -> State:
        """A checked state: standing and at rest unless said otherwise.

        Raises:
            StateError: wrong shape, not finite, or a configuration off its manifold.
        """
        model = self.robot.model
        q = np.array(self.robot.standing if q is None else q, dtype=float)
        v = np.array(np.zeros(model.nv) if v is None else v, dtype=float)
        state = State(float(t), q, v)
        self._check_state(state)
        return state

    def step(self, state: State, command: Command | np.ndarray | None, h: float) -> StepResult:
        """One step of length h, halved where the method fails (Algorithm 2).

        Args:
            state: start of the step.
            command: for the end of the step; an array is a torque (nv,) or one value a driven
                joint; None is no torque.
            h: length of the step [s].

        Returns:
            On failure `result.state is state` and `result.status` says why.

        Raises:
            StateError, ControlError: an argument that is not finite or of the wrong shape.
        """
        _check_step(h)
        self._check_state(state)
        command = self._command(command)
        return step_with_halving(self._integrator, state, command, h, self.min_step)

    def run(
        self,
        state: State,
        controller: Controller,
        *,
        dt: float,
        duration: float,
        on_failure: str = "stop",
    ) -> Iterator[StepResult]:
        """Step from `state` for `duration`, yielding every result; the last one may have failed.

        Args:
            state: start.
            controller: asked for a command before each step.
            dt: length of a step [s]; the last one ends at the duration.
            duration: how long to run [s].
            on_failure: "stop" yields the failed result and ends; "raise" raises StepFailed.
        """
        if on_failure not in ("stop", "raise"):
            raise IntegratorError(f"on_failure must be 'stop' or 'raise', got '{on_failure}'")
        _check_step(dt)
        end = state.t + duration
        steps = max(int(np.ceil(duration / dt - 1e-9)), 0)
        for k in range(steps):
            h = dt if k + 1 < steps else end - state.t
            result = self.step(state, controller.command(state, h), h)
            if not result.status.ok and on_failure == "raise":
                raise StepFailed(result)
            yield result
            if not result.status.ok:
                return
            state = result.state

    def _check_state(self, state: State) -> None:
        model = self.robot.model
        for name, value, size in (("q", state.q, model.nq), ("v", state.v, model.nv)):
            if np.shape(value) != (size,):
                raise StateError(f"{name} has shape {np.shape(value)}, expected ({size},)")
            if not np.isfinite(value).all():
                raise StateError(f"{name} must hold finite numbers, got {value}")
        if not np.isfinite(state.t):
            raise StateError(f"t must be a finite time, got {state.t}")
        if model.nq != model.nv and not pin.isNormalized(model, state.q, _NORM_TOLERANCE):
            raise StateError(
                "q is not a configuration: a quaternion or (cos, sin) pair in it is not of unit "
                "length; use pinocchio.normalize(model, q)"
            )

    def _command(self, command: Command | np.ndarray | None) -> Command:
        if command is None:
            return Command()
        if not isinstance(command, Command):
            command = Command(tau=self._full_torque(np.asarray(command, dtype=float)))
        model = self.robot.model
        for name in ("tau", "kp", "kd", "q_target", "v_target"):
            value = getattr(command, name)
            size = model.nq if name == "q_target" else model.nv
            if value is None:
                continue
            if np.shape(value) != (size,):
                raise ControlError(f"{name} has shape {np.shape(value)}, expected ({size},)")
            if not np.isfinite(value).all():
                raise ControlError(f"{name} must hold finite numbers, got {value}")
            if name in ("kp", "kd") and (np.asarray(value) < 0.0).any():
                raise ControlError(f"{name} must not be negative, got {value}")
        if command.kp is not None and command.q_target is None:
            raise ControlError("kp is given without q_target: say where the joints should go")
        return command

    def _full_torque(self, tau: np.ndarray) -> np.ndarray:
        """Torque of all velocities from one of the driven joints."""
        driven, nv = self.robot.driven, self.robot.model.nv
        if tau.shape == (len(driven),) and len(driven) != nv:
            full = np.zeros(nv)
            full[driven] = tau
            return full
        return tau


def _rebuild(
    robot: Robot,
    terrain: Terrain,
    contact: WrenchSpace,
    method: str,
    min_step: float,
    options: dict[str, Any],
) -> Simulator:
    return Simulator(robot, terrain, contact, method, min_step=min_step, **options)


def _check_step(h: float) -> None:
    if not (np.isfinite(h) and 0.0 < h <= MAX_STEP):
        hint = f"; did you mean {h / 1000:g} s (milliseconds)?" if 1.0 < h <= 1000.0 else ""
        raise StateError(f"the step must be in (0, {MAX_STEP:g}] s, got {h}{hint}")
