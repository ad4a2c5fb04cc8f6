"""Environments of Gymnasium; the import registers those that are bundled."""

import time
from types import NoneType
from typing import Any

import numpy as np

from nmdp_pin._integrators import StepResult
from nmdp_pin._options import check_part, numbers, shown
from nmdp_pin._sensors.sensors import Readings, Sensors
from nmdp_pin._simulator.argument_check import is_real
from nmdp_pin._simulator.simulator import Simulator
from nmdp_pin._state.state import State
from nmdp_pin.adapters.locomotion import Forward
from nmdp_pin.adapters.motors import Motors
from nmdp_pin.adapters.task import States, Task
from nmdp_pin.errors import ControlError, MissingExtra, StateError

try:
    import gymnasium
    from gymnasium import spaces
except ImportError as error:
    raise MissingExtra("gymnasium", "gym") from error

__all__ = ["Forward", "SimulatorEnv", "States", "Task"]

LARGEST = 1e6  # that is observed, in the unit of a state or sensor


class SimulatorEnv(gymnasium.Env[Any, np.ndarray]):
    """Environment of a simulator and a task, with one action in [-1, 1] for each motor.

    An episode is terminated where the task says so, and truncated after `duration` or when a step
    fails, with the reason in `info["status"]`.

    Args:
        simulator: simulator of the steps.
        task: a `Task`, or an object with its functions; or a function of the robot that makes one,
            such as `Forward(...)`.
        action: meaning of an action: "target" of a joint or "torque" of a motor.
        dt: length of a step [s].
        duration: length of an episode [s].
        terminate: whether the task may end an episode.
        sensors: what is observed instead of the task's observation: the readings one after another,
            or by name where one is a picture; the seed of an episode is that of their noise.
        render_mode: "human": page in the browser, in real time; "rgb_array": `render` returns
            pictures (extra `video`); None: no rendering.

    Raises:
        StateError: dt, duration or render_mode cannot be used, or the task the robot.
        ControlError: the kind of action is unknown, or a motor has no effort limit.
    """

    def __init__(
        self,
        simulator: Simulator,
        task: Any,
        *,
        action: str = "target",
        dt: float = 0.02,
        duration: float = 8.0,
        terminate: bool = True,
        sensors: Sensors | None = None,
        render_mode: str | None = None,
    ) -> None:
        check_part("simulator", simulator, Simulator, StateError)
        check_part("sensors", sensors, (Sensors, NoneType), StateError)
        if not (is_real(dt) and is_real(duration) and 0.0 < dt <= duration):
            raise StateError(
                f"dt must be > 0 s and at most the duration, got {shown(dt)}, {shown(duration)}"
            )
        modes = ["human", "rgb_array"]
        self.metadata = {"render_modes": modes, "render_fps": round(1.0 / dt)}
        if render_mode not in (None, *modes):
            raise StateError(
                f"render_mode must be None, 'human' or 'rgb_array', got {render_mode!r}"
            )
        robot = simulator.robot
        self.simulator, self.dt, self.render_mode = simulator, dt, render_mode
        self.task = _checked_task(task(robot) if callable(task) else task)
        self.motors = Motors(robot, action)
        self.duration, self.terminates, self._end = duration, terminate, duration
        self._state, self._goal = self.begin(np.random.default_rng(0))
        self._view: Any = None
        self._forces: np.ndarray | None = None  # of the last step [N]
        self._shown_until = 0.0  # clock time of the last step shown [s]
        self.sensors = sensors
        self._readings = None if sensors is None else sensors.read(self._state)
        if self._readings is None:
            shape = self._observed().shape
            self.observation_space = spaces.Box(-LARGEST, LARGEST, shape, np.float64)
        else:
            self.observation_space = _space_of(self._readings)
        self.action_space = spaces.Box(-1.0, 1.0, (len(self.motors),), np.float32)

    @property
    def state(self) -> State:
        """State of the episode."""
        return self._state

    @property
    def goal(self) -> np.ndarray:
        """Goal of the episode; empty where the task has none."""
        return self._goal

    @property
    def readings(self) -> Readings | None:
        """Last readings of the sensors; None without sensors."""
        return self._readings

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin an episode as the task does.

        Args:
            seed: seed of the start; None: continue the random numbers.
            options: {"state": State} starts there instead.
        """
        super().reset(seed=seed)
        if unknown := {*(options or {})} - {"state"}:
            raise StateError(f"reset knows the option 'state', got {shown(unknown.pop())}")
        start, self._goal = self.begin(self.np_random)
        given = self.simulator.checked_state((options or {}).get("state", start))
        self._state, self._forces = given, None
        self._end = given.t + self.duration
        if self.sensors is not None:
            self._readings = self.sensors.read(given, seed=int(self.np_random.integers(2**31)))
        return self._observed(), {"status": "converged"}

    def step(self, action: np.ndarray) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Make one step; actions, shape (n_motors,), are clipped to [-1, 1]."""
        action = np.clip(numbers("action", action, ControlError, len(self.motors)), -1.0, 1.0)
        before = self._state
        command = self.motors.command(action)
        result = self.simulator.step(before, command, self.dt)
        info: dict[str, Any] = {"status": result.status.value, "evaluations": result.evaluations}
        if not result.status.ok:
            return self._observed(), 0.0, False, True, info
        self._state, self._forces = result.state, result.contact_forces
        if self.sensors is not None:
            self._readings = self.sensors.read(result, self._readings)
        after = self._seen(result.state)
        reward = self.task.reward(self._seen(before), after, action)
        if isinstance(reward, dict):
            info |= reward
            reward = sum(reward.values())
        terminated = self.terminates and bool(self.task.terminated(after))
        truncated = result.state.t > self._end - 0.5 * self.dt
        if self.render_mode == "human":
            self._show(result)
        return self._observed(), float(reward), terminated, truncated, info

    def render(self) -> np.ndarray | None:
        """Picture of the state with render_mode "rgb_array", shape (540, 960, 3), 0 to 255.

        None otherwise; with "human" every step is shown when it is made.

        Raises:
            MissingExtra: VTK is not installed.
            ViewerError: nothing can draw on this machine.
        """
        if self.render_mode != "rgb_array":
            return None
        from nmdp_pin.viz.renderer import Renderer

        if self._view is None:
            self._view = Renderer(self.simulator.robot, self.simulator.terrain)
        state = self._state
        frame = self._view.scene.frame(state.t, state.q, self._forces)
        return np.asarray(self._view.picture(frame, caption=f"t = {state.t:.2f} s"))

    def close(self) -> None:
        """Close the page or the renderer."""
        if self._view is not None:
            self._view.close()
            self._view = None

    def begin(self, random: np.random.Generator) -> tuple[State, np.ndarray]:
        """Draw a start and a goal of the task."""
        start = self.task.reset(self.simulator, random)
        if not isinstance(start, tuple | list) or len(start) not in (2, 3):
            raise StateError(
                f"a task's reset must return q, v and perhaps a goal, got {shown(start)}"
            )
        q, v, *goal = start
        return self.simulator.state(q, v), np.concatenate([[], *goal])

    def _seen(self, state: State) -> States:
        return States(np.float64(state.t), state.q, state.v, self._goal)

    def _observed(self) -> Any:
        if self._readings is None:
            return bounded(np.asarray(self.task.observation(self._seen(self._state)), float))
        if isinstance(self.observation_space, spaces.Dict):
            return {name: bounded(value) for name, value in self._readings.items()}
        return bounded(self._readings.vector)

    def _show(self, result: StepResult) -> None:
        from nmdp_pin.viz.viewer import Viewer

        if self._view is None:
            self._view = Viewer(self.simulator.robot, self.simulator.terrain, open_browser=True)
        self._view.draw(result.state.t, result.state.q, result.contact_forces)
        # At the pace of the clock; lost time is not made up.
        now = time.perf_counter()
        self._shown_until = max(self._shown_until, now - self.dt) + self.dt
        time.sleep(max(self._shown_until - now, 0.0))


def _checked_task(task: Any) -> Any:
    """A task with all its functions."""
    for name in ("reward", "observation", "terminated", "reset"):
        if not callable(getattr(task, name, None)):
            raise StateError(
                f"the task lacks a function `{name}`, got {shown(task)}: give a Task, an object "
                "with its functions, or a function of the robot that makes one"
            )
    return task


def _space_of(readings: Readings) -> spaces.Space[Any]:
    """Space of readings: numbers one after another, or all by name where there are pictures."""
    if all(value.dtype == float for value in readings.values()):
        return spaces.Box(-LARGEST, LARGEST, readings.vector.shape, np.float64)
    found = {}
    for name, value in readings.items():
        low, high = (-LARGEST, LARGEST) if value.dtype == float else (0, 255)
        found[name] = spaces.Box(low, high, value.shape, value.dtype.type)
    return spaces.Dict(found)


def bounded(value: np.ndarray) -> np.ndarray:
    """Observations within the bounds of their space."""
    return np.clip(value, -LARGEST, LARGEST) if value.dtype == float else value


_BUNDLED = {
    "Hopper-v0": "hopper",
    "Walker3D-v0": "walker",
    "Balance-v0": "balance",
    "Reach-v0": "reach",
    "Push-v0": "push",
    "Pick-v0": "pick",
}
for _name, _function in _BUNDLED.items():
    if f"nmdp-pin/{_name}" not in gymnasium.registry:
        gymnasium.register(
            f"nmdp-pin/{_name}", entry_point=f"nmdp_pin.adapters.bundled_tasks:{_function}"
        )
