"""The contract of sensors."""

import abc
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from nmdp_pin._options import NonNegative, Number, Positive, check_fields, phrased, readable
from nmdp_pin._robot import Robot
from nmdp_pin._robot.frames import frame_named
from nmdp_pin._sensors.instant import Instant
from nmdp_pin.errors import SensorError

Spread = Annotated[
    NonNegative | tuple[NonNegative, ...], phrased("a number >= 0, or one for each component")
]
Offset = Annotated[Number | tuple[Number, ...], phrased("a number, or one for each component")]


@readable
@dataclass(frozen=True, kw_only=True)
class Sensor(abc.ABC):
    """Base class of sensors: what is measured at the end of a step, and how well.

    A sensor measures at the end of each step, or of those in which a period of its rate ends.

    Args:
        name: name of its readings; None: the kind of the sensor.
        rate: number of measurements a second, at multiples of 1 / rate [Hz]; None: each step.
        delay: time from a measurement until it is read [s].
        noise: standard deviation of the normal noise of a measurement, of all components or of
            each one, in the unit of the sensor.
        bias: error of all measurements, of all components or of each one, likewise.

    Raises:
        SensorError: an option is out of range.
    """

    name: str | None = None
    rate: Positive | None = None
    delay: NonNegative = 0.0
    noise: Spread = 0.0
    bias: Offset = 0.0

    kind: ClassVar[str]
    """Name of the readings without a `name`."""

    def __post_init__(self) -> None:
        check_fields(self, SensorError)

    @property
    def key(self) -> str:
        """Name of the readings."""
        return self.kind if self.name is None else self.name

    @property
    def dtype(self) -> type:
        """Type of the numbers; those without a fraction have neither noise nor bias."""
        return float

    @abc.abstractmethod
    def shape(self, robot: Robot) -> tuple[int, ...]:
        """Shape of a measurement.

        Args:
            robot: the robot that has the sensor.

        Raises:
            SensorError: the robot lacks what is measured.
        """

    @abc.abstractmethod
    def measure(self, at: Instant) -> np.ndarray:
        """Make a measurement without errors, an array of the shape and the type above.

        Args:
            at: the robot at the end of a step.
        """

    def frame_index(self, robot: Robot, name: str | None) -> int:
        """Index of a frame of the robot; None: the base link.

        Args:
            robot: the robot that has the sensor.
            name: name of a link or frame.

        Raises:
            SensorError: the robot lacks it.
        """
        return frame_named(robot.model, name, SensorError, f"sensor '{self.key}'")
