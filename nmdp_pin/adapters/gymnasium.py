"""Environments of Gymnasium; the import registers `nmdp-pin/Hopper-v0` and `Walker3D-v0`."""

import time
from typing import Any

import numpy as np
import pinocchio as pin

from nmdp_pin._contact import FrictionCone, WrenchSpace, stiffness_for_static_depth
from nmdp_pin._integrators import StepResult, integrator_named
from nmdp_pin._robot import Robot, load_robot
from nmdp_pin._sensors.sensors import Readings, Sensors
from nmdp_pin._simulator.simulator import Simulator
from nmdp_pin._simulator.step_control import Halving
from nmdp_pin._state.state import State
from nmdp_pin._terrain import Plane, Terrain
from nmdp_pin.adapters.locomotion import Base, Forward
from nmdp_pin.adapters.motors import Motors
from nmdp_pin.errors import MissingExtra, StateError

try:
    import gymnasium
    from gymnasium import spaces
except ImportError as error:
    raise MissingExtra("gymnasium", "gym") from error

HOPPER, WALKER = "nmdp-pin/Hopper-v0", "nmdp-pin/Walker3D-v0"
STATIC_DEPTH = 1e-3  # [m] at which all contact points together carry the robot
LARGEST = 1e6  # in the unit of a sensor, that is observed
MIN_STEP = 1e-3  # [s] a learner rather loses an episode than waits for shorter steps


class SimulatorEnv(gymnasium.Env[Any, np.ndarray]):
    """Environment of a simulator and a task, with one action in [-1, 1] for each motor.

    An episode is terminated when the robot is no longer healthy, and truncated after `duration` or
    when a step fails, with the reason in `info["status"]`.

    Args:
        simulator: simulator of the steps.
        task: observations and rewards.
        action: meaning of an action: "target" of a joint or "torque" of a motor.
        dt: length of a step [s].
        duration: length of an episode [s].
        terminate_when_unhealthy: whether an episode ends when the robot falls.
        sensors: what is observed instead of the task's observation: the readings one after another,
            or by name where one is a picture; the seed of an episode is that of their noise.
        render_mode: "human": page in the browser, in real time; "rgb_array": `render` returns
            pictures (extra `video`); None: no rendering.

    Raises:
        StateError: the base is fixed, or dt, duration or render_mode cannot be used.
        ControlError: the kind of action is unknown, or a motor has no effort limit.
    """

    def __init__(
        self,
        simulator: Simulator,
        task: Forward,
        *,
        action: str = "target",
        dt: float = 0.02,
        duration: float = 8.0,
        terminate_when_unhealthy: bool = True,
        sensors: Sensors | None = None,
        render_mode: str | None = None,
    ) -> None:
        if not 0.0 < dt <= duration:
            raise StateError(f"dt must be > 0 s and at most the duration, got {dt}, {duration}")
        modes = ["human", "rgb_array"]
        self.metadata = {"render_modes": modes, "render_fps": round(1.0 / dt)}
        if render_mode not in (None, *modes):
            raise StateError(
                f"render_mode must be None, 'human' or 'rgb_array', got {render_mode!r}"
            )
        robot = simulator.robot
        self.simulator, self.task, self.dt, self.render_mode = simulator, task, dt, render_mode
        self.motors, self.base = Motors(robot, action), Base.of(robot)
        self.duration, self.terminates = duration, terminate_when_unhealthy
        self._state = simulator.state()
        self._view: Any = None
        self._forces: np.ndarray | None = None  # of the last step [N]
        self._shown_until = 0.0  # clock time of the last step shown [s]
        self.sensors = sensors
        self._readings = None if sensors is None else sensors.read(self._state)
        low, high = task.observed_range(self.base, self._state)
        self.observation_space = spaces.Box(low, high, dtype=np.float64)
        if self._readings is not None:
            self.observation_space = _space_of(self._readings)
        self.action_space = spaces.Box(-1.0, 1.0, (len(self.motors),), np.float32)

    @property
    def state(self) -> State:
        """State of the episode."""
        return self._state

    @property
    def readings(self) -> Readings | None:
        """Last readings of the sensors; None without sensors."""
        return self._readings

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin an episode near the standing pose.

        Args:
            seed: seed of the start; None: continue the random numbers.
            options: {"state": State} starts there instead.
        """
        super().reset(seed=seed)
        given = (options or {}).get("state")
        if given is None:
            given = self.simulator.state(*self.task.start(self.simulator.robot, self.np_random))
        self._state, self._forces = given, None
        self._end = given.t + self.duration
        if self.sensors is not None:
            self._readings = self.sensors.read(given, seed=int(self.np_random.integers(2**31)))
        return self._observed(), {"status": "converged"}

    def step(self, action: np.ndarray) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Make one step; actions are clipped to [-1, 1]."""
        action = np.clip(np.asarray(action, dtype=float), -1.0, 1.0)
        before = self._state
        command = self.motors.command(action)
        result = self.simulator.step(before, command, self.dt)
        info: dict[str, Any] = {"status": result.status.value, "evaluations": result.evaluations}
        if not result.status.ok:
            return self._observed(), 0.0, False, True, info
        self._state, self._forces = result.state, result.contact_forces
        if self.sensors is not None:
            self._readings = self.sensors.read(result, self._readings)
        rewards = self.task.rewards(self.base, before, result.state, action)
        info |= rewards | {"x_position": float(result.state.q[self.base.ground[0]])}
        terminated = self.terminates and not self.task.healthy(self.base, result.state)
        truncated = result.state.t > self._end - 0.5 * self.dt
        if self.render_mode == "human":
            self._show(result)
        return self._observed(), sum(rewards.values()), terminated, truncated, info

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

    def _observed(self) -> Any:
        if self._readings is None:
            return self.task.observation(self.base, self._state)
        if isinstance(self.observation_space, spaces.Dict):
            return {name: _bounded(value) for name, value in self._readings.items()}
        return _bounded(self._readings.vector)

    def _show(self, result: StepResult) -> None:
        from nmdp_pin.viz.viewer import Viewer

        if self._view is None:
            self._view = Viewer(self.simulator.robot, self.simulator.terrain, open_browser=True)
        self._view.draw(result.state.t, result.state.q, result.contact_forces)
        # At the pace of the clock; lost time is not made up.
        now = time.perf_counter()
        self._shown_until = max(self._shown_until, now - self.dt) + self.dt
        time.sleep(max(self._shown_until - now, 0.0))


def _space_of(readings: Readings) -> spaces.Space[Any]:
    """Space of readings: numbers one after another, or all by name where there are pictures."""
    if all(value.dtype == float for value in readings.values()):
        return spaces.Box(-LARGEST, LARGEST, readings.vector.shape, np.float64)
    found = {}
    for name, value in readings.items():
        low, high = (-LARGEST, LARGEST) if value.dtype == float else (0, 255)
        found[name] = spaces.Box(low, high, value.shape, value.dtype.type)
    return spaces.Dict(found)


def _bounded(value: np.ndarray) -> np.ndarray:
    """Readings within the bounds of their space."""
    return np.clip(value, -LARGEST, LARGEST) if value.dtype == float else value


def simulator_for(
    robot: Robot, *, method: str = "pbfd", friction: float = 0.9, **options: Any
) -> Simulator:
    """Simulator of a robot on level ground.

    Args:
        robot: the robot.
        method: name of the integrator.
        friction: friction coefficient of the ground.
        options: options of the simulator and of the method.
    """
    law_type = integrator_named(method).law_type
    law = _cone(robot) if law_type is WrenchSpace else law_type()
    ground = Terrain([Plane(friction=friction)])
    return Simulator(
        robot, ground, law, method, **{"control": Halving(min_step=MIN_STEP), **options}
    )


def _cone(robot: Robot) -> FrictionCone:
    """A friction cone whose contacts carry the robot at `STATIC_DEPTH`."""
    n = max(len(robot.contact_points), 1)
    mass = float(pin.computeTotalMass(robot.model))
    k = stiffness_for_static_depth(mass, n, STATIC_DEPTH, 2)
    return FrictionCone(stiffness=k, power=2, directions=8)


def hopper(
    *, method: str = "pbfd", friction: float = 0.9, task: Forward | None = None, **options: Any
) -> SimulatorEnv:
    """Planar hopper with the rewards of Gymnasium's Hopper.

    Args:
        method: name of the integrator.
        friction: friction coefficient of the ground.
        task: task with other rewards; None: that of the benchmark.
        options: options of `SimulatorEnv`.
    """
    simulator = simulator_for(load_robot("gym-hopper"), method=method, friction=friction)
    task = task or Forward(healthy_height=(0.7, np.inf), healthy_tilt=0.2)
    return SimulatorEnv(simulator, task, **options)


def walker(
    *, method: str = "pbfd", friction: float = 0.9, task: Forward | None = None, **options: Any
) -> SimulatorEnv:
    """Walker in space with the rewards of Gymnasium's Walker2d, less its sideways speed.

    Args:
        method: name of the integrator.
        friction: friction coefficient of the ground.
        task: task with other rewards; None: that of the benchmark.
        options: options of `SimulatorEnv`.
    """
    simulator = simulator_for(load_robot("gym-walker"), method=method, friction=friction)
    task = task or Forward(healthy_height=(0.8, 2.0), healthy_tilt=1.0, lateral_weight=1.0)
    return SimulatorEnv(simulator, task, **options)


for _name, _function in ((HOPPER, hopper), (WALKER, walker)):
    if _name not in gymnasium.registry:
        gymnasium.register(_name, entry_point=f"{__name__}:{_function.__name__}")
