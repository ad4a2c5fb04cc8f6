"""The sensors of a robot, and what they read."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import NoneType
from typing import Any

import numpy as np

from nmdp_pin._integrators.integrator import StepResult
from nmdp_pin._options import check_part, check_parts
from nmdp_pin._robot import Robot
from nmdp_pin._sensors.instant import Instant
from nmdp_pin._sensors.sensor import Sensor
from nmdp_pin._state.state import State
from nmdp_pin._terrain import Terrain
from nmdp_pin.errors import SensorError

_SOON = 1e-9  # [s] by which rounded times may miss a period or a delay
Measurement = tuple[float, np.ndarray]  # time [s], and what was measured


@dataclass(frozen=True, eq=False)
class Readings(Mapping[str, np.ndarray]):
    """What sensors read at a time, by their names.

    Args:
        t: time [s].
        by_name: readings by the names of the sensors.
        seed: seed of the noise.
        count: number of readings before.
        made: last measurements of each sensor, those that are yet to be read behind that which is.
    """

    t: float
    by_name: Mapping[str, np.ndarray]
    seed: int
    count: int
    made: tuple[tuple[Measurement, ...], ...]

    def __getitem__(self, name: str) -> np.ndarray:
        return self.by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.by_name)

    def __len__(self) -> int:
        return len(self.by_name)

    @property
    def vector(self) -> np.ndarray:
        """All readings, one after another, shape (n,)."""
        return np.concatenate([np.ravel(value) for value in self.by_name.values()], dtype=float)


class Sensors:
    """Sensors of a robot.

    Readings follow from the step, the readings before, and a seed; nothing else is kept.

    Args:
        robot: the robot that is simulated.
        sensors: the sensors, with distinct names.
        terrain: the static world, which rays and cameras see; None: none.

    Attributes:
        robot: the robot.
        sensors: the sensors.
        terrain: the static world.
        shapes: shapes of the readings by name.

    Raises:
        SensorError: two sensors have the same name, the robot lacks what one measures, or the
            number of components of `noise` or `bias` is wrong.
    """

    def __init__(
        self, robot: Robot, sensors: Sequence[Sensor], *, terrain: Terrain | None = None
    ) -> None:
        check_part("robot", robot, Robot, SensorError)
        check_part("terrain", terrain, (Terrain, NoneType), SensorError)
        found = check_parts("sensors", sensors, Sensor, SensorError)
        self.robot, self.sensors, self.terrain = robot, found, terrain
        self._scratch: dict[str, Any] = {}
        self.shapes: dict[str, tuple[int, ...]] = {}
        for sensor in self.sensors:
            if sensor.key in self.shapes:
                raise SensorError(f"two sensors are called '{sensor.key}': give them a name=")
            self.shapes[sensor.key] = sensor.shape(robot)
            _check_errors(sensor, self.shapes[sensor.key])

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the sensors without their scratch memory."""
        return _sensors, (self.robot, self.sensors, self.terrain)

    def read(
        self, of: StepResult | State, before: Readings | None = None, *, seed: int | None = None
    ) -> Readings:
        """Readings at the end of a step; a pure function of its arguments.

        Args:
            of: the step; a state before the first one, where nothing accelerates or touches.
                Of a step that failed nothing is measured.
            before: readings at its start; None: these are the first ones, which have no delay.
            seed: seed of the noise, of first readings; None: 0.

        Raises:
            SensorError: `of` or `before` is of another robot or of other sensors, or a seed is
                given beside `before`.
        """
        check_part("of", of, (StepResult, State), SensorError)
        check_part("before", before, (Readings, NoneType), SensorError)
        state = of.state if isinstance(of, StepResult) else of
        if len(state.q) != self.robot.model.nq:
            raise SensorError(
                f"the state has {len(state.q)} coordinates, that of robot '{self.robot.name}' has "
                f"{self.robot.model.nq}"
            )
        if before is not None:
            self._check_before(before, state, seed)
            if isinstance(of, StepResult) and not of.status.ok:
                return before
        failed = isinstance(of, StepResult) and not of.status.ok
        instant = Instant(self.robot, self.terrain, state if failed else of, self._scratch)
        seed = (seed or 0) if before is None else before.seed
        count = 0 if before is None else before.count + 1
        made = []
        for k, sensor in enumerate(self.sensors):
            known = () if before is None else before.made[k]
            if before is None or _is_due(sensor, before.t, state.t):
                value = _with_errors(sensor, sensor.measure(instant), (seed, k, count))
                known = (*known, (state.t, value))
            made.append(_current(known, state.t - sensor.delay))
        values = {sensor.key: of[0][1] for sensor, of in zip(self.sensors, made, strict=True)}
        return Readings(state.t, values, seed, count, tuple(made))

    def _check_before(self, before: Readings, state: State, seed: int | None) -> None:
        if seed is not None:
            raise SensorError("readings go on with the seed of those before: leave out one of both")
        if list(before) != list(self.shapes):
            raise SensorError(
                f"the readings before are of {list(before)}, not of {list(self.shapes)}"
            )
        if before.t > state.t:
            raise SensorError(
                f"the readings before are of t = {before.t:g} s, after that of the step, "
                f"{state.t:g} s; where a run begins anew, leave them out"
            )


def _sensors(robot: Robot, sensors: Sequence[Sensor], terrain: Terrain | None) -> Sensors:
    return Sensors(robot, sensors, terrain=terrain)


def _check_errors(sensor: Sensor, shape: tuple[int, ...]) -> None:
    """Check noise and bias against the shape of a sensor."""
    for name in ("noise", "bias"):
        value = np.asarray(getattr(sensor, name))
        if value.ndim and value.shape != shape:
            raise SensorError(
                f"sensor '{sensor.key}': {name} has {value.size} components, expected one number "
                f"or shape {shape}"
            )
        if value.any() and sensor.dtype is not float:
            raise SensorError(f"sensor '{sensor.key}' has whole numbers: {name} must be 0")


def _is_due(sensor: Sensor, before: float, now: float) -> bool:
    """Whether a sensor measures at the end of a step: a period of its rate ends within it."""
    if sensor.rate is None:
        return True
    ends = [math.floor((t + _SOON) * sensor.rate) for t in (before, now)]
    return ends[1] > ends[0]


def _with_errors(sensor: Sensor, value: np.ndarray, key: tuple[int, int, int]) -> np.ndarray:
    """A measurement with bias and noise, whose random numbers follow from the key."""
    if sensor.dtype is not float:
        return value
    spread = np.asarray(sensor.noise)
    if spread.any():
        value = value + spread * np.random.default_rng(key).standard_normal(value.shape)
    result: np.ndarray = value + np.asarray(sensor.bias)
    return result


def _current(made: tuple[Measurement, ...], t: float) -> tuple[Measurement, ...]:
    """Measurements from the last one before t on; from the first one if all are later."""
    old = sum(when <= t + _SOON for when, _ in made)
    return made[max(old - 1, 0) :]
