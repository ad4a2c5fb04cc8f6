"""Inertial sensors: gyroscope and accelerometer."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pinocchio as pin

from nmdp_pin._sensors.frame_sensors import FrameSensor
from nmdp_pin._sensors.instant import Instant


@dataclass(frozen=True)
class Gyroscope(FrameSensor):
    """Angular velocity of a frame, along its axes [rad/s], shape (3,).

    Args:
        frame: link or frame; None: the base link.
    """

    kind: ClassVar[str] = "gyroscope"
    size: ClassVar[int] = 3

    def measure(self, at: Instant) -> np.ndarray:
        """See `Sensor.measure`."""
        model, index = at.robot.model, self.frame_index(at.robot, self.frame)
        return np.array(pin.getFrameVelocity(model, at.data, index, pin.LOCAL).angular)


@dataclass(frozen=True)
class Accelerometer(FrameSensor):
    """Acceleration of a frame's origin less gravity, along its axes [m/s^2], shape (3,).

    It is the mean over the step: 9.81 m/s^2 upwards at rest, 0 in free fall.

    Args:
        frame: link or frame; None: the base link.
    """

    kind: ClassVar[str] = "accelerometer"
    size: ClassVar[int] = 3

    def measure(self, at: Instant) -> np.ndarray:
        """See `Sensor.measure`."""
        model, index, total = at.robot.model, self.frame_index(at.robot, self.frame), np.zeros(3)
        for stage, data in at.stages:
            felt = pin.getFrameClassicalAcceleration(model, data, index, pin.LOCAL).linear
            rotation = pin.updateFramePlacement(model, data, index).rotation
            total += stage.weight * (felt - rotation.T @ model.gravity.linear)
        return total
