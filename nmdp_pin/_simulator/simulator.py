"""Simulation of a robot on a terrain, with a contact law and a method."""

import functools
import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from nmdp_pin._contact import ContactLaw, FrictionCone, WrenchSpace
from nmdp_pin._contact.wrench_space import check_shapes
from nmdp_pin._control.controller import Command, CommandSource, Controller, Timed
from nmdp_pin._control.conversion import ControllerLike, controller_of
from nmdp_pin._control.external_wrench import Loads
from nmdp_pin._control.scripted import spread
from nmdp_pin._dynamics.geometry.candidates import n_pairs_of
from nmdp_pin._dynamics.law_pairs import refuse_stiffnesses
from nmdp_pin._dynamics.parameter_set import ParameterSet
from nmdp_pin._dynamics.surface_twists import refuse_surface_motion
from nmdp_pin._dynamics.system import System
from nmdp_pin._integrators import (
    INTEGRATORS,
    Integrator,
    StepResult,
    integrator_named,
    methods_that_take,
)
from nmdp_pin._integrators.presets import check_recovery, preset_options
from nmdp_pin._kernels.compiler.kernel_lock import KernelLock
from nmdp_pin._kernels.tree.joints import Commands
from nmdp_pin._options import numbers, options_of, shown
from nmdp_pin._robot import Robot
from nmdp_pin._robot.loop_closure import OPEN, closed
from nmdp_pin._simulator.argument_check import MAX_STEP, ArgumentCheck, check_step, is_real
from nmdp_pin._simulator.state_vector import StateVector, from_free_flyer
from nmdp_pin._simulator.step_control import Halving, StepControl, StepFailed
from nmdp_pin._state.state import State, WarmStart
from nmdp_pin._terrain import Terrain
from nmdp_pin.errors import IntegratorError, RobotWarning, StateError


class Simulator:
    """Simulator of a robot on a terrain.

    `step` is pure: equal arguments give equal bits. The simulator owns a copy of the robot, which
    what happens to the given one does not change. Its scratch memory is protected by a lock, so
    threads that share one wait for each other; pickling rebuilds it.

    Args:
        robot: the robot, with the bodies that move beside it.
        terrain: the static world.
        contact: contact law, of a kind that the method accepts.
        method: name of the integrator, a key of `nmdp_pin._integrators.INTEGRATORS`.
        control: treatment of steps that fail or are inaccurate: `Halving` (default), `Fixed` or
            `ErrorControl`.
        preset: name of a set of options, overridden by keywords; "paper" holds the settings of
            the papers' authors, with a contact law whose `recovery` is 0.
        options: keyword options of the method.

    Raises:
        IntegratorError: the method or an option is unknown, or the law is of another kind.
        ContactError: bodies state a contact stiffness, which the law does not take.
    """

    def __init__(
        self,
        robot: Robot,
        terrain: Terrain,
        contact: ContactLaw,
        method: str = "ne-nmdp",
        *,
        control: StepControl | None = None,
        preset: str | None = None,
        **options: Any,
    ) -> None:
        if preset is not None:
            known = {*options_of(integrator_named(method)), "control"}
            table = preset_options(preset, known, options)
            check_recovery(preset, contact)
            preferred = table.pop("control", None)
            control = preferred if control is None else control
            options = {**table, **options}
        given = System(robot, terrain, contact)
        self.method, self.options = method, dict(options)
        self.control = Halving() if control is None else control
        if not isinstance(self.control, StepControl):
            what = "control must be Halving(...), Fixed() or ErrorControl(...)"
            raise IntegratorError(f"{what}, got {shown(control)}")
        self._own(replace(given, robot=given.robot.copy()))

    def _own(self, system: System[Any], like: "Simulator | None" = None) -> None:
        """Take a system that nobody else has, and the memory of another simulator if it fits."""
        self.system, own = system, system.robot
        varied = None if like is None else like.integrator.varied(system)
        self._integrator = varied or self._build()
        n_pairs = n_pairs_of(self._integrator.candidates)
        self._check = ArgumentCheck(own, n_pairs, system.law.n_vertices)
        self._lock: KernelLock = like._lock if like and varied else KernelLock()
        self._loads = Loads(own.model)
        self.vector = StateVector(own.model)

    @functools.cached_property
    def robot(self) -> Robot:
        """Copy of the simulated robot: what changes in its model changes no step."""
        return self.system.robot.copy()

    @property
    def terrain(self) -> Terrain:
        """The static world."""
        return self.system.terrain

    @property
    def contact(self) -> ContactLaw:
        """The contact law."""
        result: ContactLaw = self.system.law
        return result

    @property
    def integrator(self) -> Integrator:
        """The method with its options; its memory is scratch."""
        return self._integrator

    def _build(self) -> Integrator:
        method = integrator_named(self.method)
        allowed = list(options_of(method))
        for name in self.options:
            if name not in allowed:
                raise IntegratorError(
                    f"method '{self.method}' has no option '{name}'; "
                    f"choose from {allowed or 'none'}"
                )
        law = self.system.law
        if not isinstance(law, method.law_type):
            others = methods_that_take(law)
            raise IntegratorError(
                f"method '{self.method}' takes a contact law of the kind "
                f"{method.law_type.__name__}, got "
                f"{type(law).__name__}, which is a law of {', '.join(others) or 'no method'}"
            )
        for loop in self.robot.loops:
            if not method.closes_loops:
                able = [name for name, other in INTEGRATORS.items() if other.closes_loops]
                raise IntegratorError(
                    f"method '{self.method}' does not simulate the {loop.name}; these do: "
                    f"{', '.join(able)}"
                )
        if self.robot.scripted and not method.follows_scripts:
            able = [name for name, other in INTEGRATORS.items() if other.follows_scripts]
            raise IntegratorError(
                f"method '{self.method}' does not simulate scripted joints, such as "
                f"'{min(self.robot.scripted)}'; these do: {', '.join(able)}"
            )
        if not method.moves_surfaces:
            refuse_surface_motion(self.robot, self.terrain, f"method '{self.method}'")
        refuse_stiffnesses(self.system)
        self.control.check(method)
        if isinstance(law, WrenchSpace) and type(law) is not FrictionCone:
            check_shapes(law, self.system.robot)
        try:
            return method(self.system, **self.options)
        except TypeError as error:
            raise IntegratorError(f"method '{self.method}': {error}") from error

    def __reduce__(self) -> tuple[Any, ...]:
        keywords = {"control": self.control, **self.options}
        parts = self.system.robot, self.terrain, self.contact, self.method
        return functools.partial(Simulator, **keywords), parts

    def with_parameters(self, **parameters: Any) -> "Simulator":
        """Make a simulator of the same system with other parameters, without reading files.

        Its steps are equal to the bit to those of a simulator of a robot, terrain and law with
        these parameters. A warm start of this one serves there too, unless `limits` bound other
        joints.

        Args:
            parameters: `mass`, `payload`, `placement`, `friction`, `armature`, `limits`, `gravity`,
                `stiffness`; names and conventions are those of derivatives (docs/parameters.md).

        Raises:
            ParameterError: a name is unknown, or a value does not fit.
        """
        result = object.__new__(Simulator)
        result.method, result.options, result.control = self.method, self.options, self.control
        result._own(ParameterSet.of(parameters).changed(self.system), self)
        return result

    def state(
        self,
        q: np.ndarray | None = None,
        v: np.ndarray | None = None,
        t: float = 0.0,
        *,
        free_flyer_v: np.ndarray | None = None,
    ) -> State:
        """Make a checked state; the default is the standing pose at rest.

        A configuration in which loops of the robot are open is moved to a near one that closes
        them within the ranges of the joints.

        Args:
            q: configuration, shape (nq,).
            v: velocity, shape (nv,); the linear velocity of a floating base is in the world frame.
            t: time [s].
            free_flyer_v: velocity of a model with Pinocchio's free-flyer, whose linear velocity is
                in the frame of the base, shape (nv,); replaces v.

        Warns:
            RobotWarning: the loops do not close within the ranges of the joints.

        Raises:
            StateError: a shape is wrong, a number is not finite, q is off its manifold, or no
                configuration near it closes the loops.
        """
        robot = self.system.robot
        model = robot.model
        q = numbers("q", robot.standing if q is None else q, StateError).copy()
        if free_flyer_v is not None:
            if v is not None:
                raise StateError("give one of v and free_flyer_v")
            v = from_free_flyer(model, q, free_flyer_v)
        v = numbers("v", np.zeros(model.nv) if v is None else v, StateError).copy()
        state = State(t, q, v)
        self._check.state(state)
        if robot.loops:
            closure = closed(robot, q)
            if closure.gap > OPEN:
                raise StateError(
                    f"no configuration near q closes the {closure.loop}: {closure.gap:.2g} m or "
                    "rad are left"
                )
            for sentence in closure.warnings:
                warnings.warn(f"{robot.name}: {sentence}", RobotWarning, stacklevel=2)
            state = State(t, closure.q, v)
        return state

    def step(
        self,
        state: State,
        command: CommandSource | ControllerLike | np.ndarray,
        h: float,
    ) -> StepResult:
        """Make one step of length h, divided into sub-steps by the step control.

        A `Command` is held over the step, so h is the period of the controller. Other sources are
        evaluated at the ends of stages and sub-steps.

        Args:
            state: start of the step.
            command: command of the step; an array is a torque of all velocities (nv,) or of the
                driven joints (nu,); None is no torque. Or a controller, as `run` takes it.
            h: length of the step [s].

        Returns:
            The result; on failure `result.state is state`, and `result.status` is the reason.

        Raises:
            StateError, ControlError: an argument is not finite or has a wrong shape.
        """
        check_step(h)
        self._check.state(state)
        if isinstance(command, Controller) or callable(command):
            source = self._source(controller_of(command), state, h)
        else:
            source = self.checked_source(command)
        return self._stepped(state, source, h)

    def _source(self, controller: Controller, state: State, h: float) -> CommandSource:
        """The command of a controller for a step, or its source, checked."""
        if controller.follows_time:
            return self.checked_source(Timed(controller, state, h))
        return self.checked_source(controller.command(state, h))

    def _stepped(self, state: State, source: CommandSource, h: float) -> StepResult:
        """A step of checked arguments."""
        loaded = self._loads.on(spread(self.system.robot, source, state, h), state)
        with self._lock:
            result = self.control.step(self._integrator, state, loaded, h)
        return replace(result, external=loaded.wrenches) if loaded.wrenches else result

    def advance(
        self, state: State, command: Command, plan: Commands, first: int, h: float, x: np.ndarray
    ) -> tuple[int, State]:
        """Make steps of checked arguments by one compiled call; see `Integrator.advance`.

        None is made where the step control looks at each step.
        """
        if not self.control.keeps_length:
            return first, state
        with self._lock:
            return self._integrator.advance(state, command, plan, first, h, x)

    def step_x(
        self,
        x: np.ndarray,
        u: Command | np.ndarray | None,
        h: float,
        *,
        t: float = 0.0,
        warm: WarmStart | None = None,
    ) -> tuple[np.ndarray, StepResult]:
        """Make one step on vectors x = [q; v], as a function of its arguments alone.

        Args:
            x: start, shape (nq + nv,); `vector` has the operations on such vectors.
            u: torque of the driven joints, shape (nu,), or a command of `step`.
            h: length of the step [s].
            t: time at its start [s].
            warm: warm start of the solver, such as `info.state.warm` of the step before; it saves
                iterations and changes the solution within the tolerance of the solver.

        Returns:
            The end [q; v], which is x where the step failed, and the `StepResult`.

        Raises:
            StateError, ControlError: an argument is not finite or has a wrong shape.
        """
        result = self.step(replace(self.vector.unpack(x, t), warm=warm), u, h)
        return self.vector.pack(result.state), result

    def run(
        self,
        state: State,
        controller: ControllerLike,
        *,
        dt: float,
        duration: float,
        on_failure: str = "stop",
    ) -> Iterator[StepResult]:
        """Step from `state` for `duration` and yield every result; the last one may have failed.

        Args:
            state: start.
            controller: source of the commands; a function of the state at the start of a step and
                its length, which returns a torque (nv,) or a `Command`; a `Command` that is held;
                None: no torque.
            dt: length of a step [s]; the last one ends at the duration.
            duration: simulated time [s].
            on_failure: "stop" yields the failed result and ends; "raise" raises StepFailed.

        Raises:
            StateError, ControlError, IntegratorError: an argument is wrong; raised when the first
                result is requested.
        """
        if on_failure not in ("stop", "raise"):
            raise IntegratorError(f"on_failure must be 'stop' or 'raise', got '{on_failure}'")
        check_step(dt)
        if not (is_real(duration) and 0.0 <= duration < np.inf):
            raise StateError(f"duration must be a finite number of seconds >= 0, got {duration!r}")
        self._check.state(state)
        controller = controller_of(controller)
        end = state.t + duration
        steps = max(int(np.ceil(duration / dt - 1e-9)), 0)
        for k in range(steps):
            h = dt if k + 1 < steps else min(end - state.t, MAX_STEP)
            command = self._source(controller, state, h)
            if controller.follows_time and k == 0:
                self.checked_command(command.at(state.t + h))
            result = self._stepped(state, command, h)
            if not result.status.ok and on_failure == "raise":
                raise StepFailed(result, self.checked_command(command.at(state.t + h)), h)
            yield result
            if not result.status.ok:
                return
            state = result.state

    def checked_state(self, state: State) -> State:
        """The state, where it fits the simulator.

        Raises:
            StateError: a number is not finite, or a shape is wrong.
        """
        self._check.state(state)
        return state

    def checked_command(self, command: Command | np.ndarray | None) -> Command:
        """Convert the argument `command` of `step` to a checked `Command`.

        Raises:
            ControlError: a number is not finite, a shape is wrong, or a target is missing.
        """
        return self._check.command(command)

    def checked_source(self, command: Command | CommandSource | np.ndarray | None) -> CommandSource:
        """Source of a command: a `Command` or torques are checked, of others the base's gains.

        Raises:
            ControlError: the command does not fit the robot.
        """
        if isinstance(command, CommandSource) and not isinstance(command, Command):
            return self._check.source(command)
        return self._check.command(command)
