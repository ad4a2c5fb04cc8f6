"""Sensors that know where frames are: of the base, as motion capture measures it, and of others."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pinocchio as pin

from nmdp_pin._robot import Robot
from nmdp_pin._sensors.instant import Instant
from nmdp_pin._sensors.sensor import Sensor


@dataclass(frozen=True)
class FrameSensor(Sensor):
    """Base class of sensors at a frame.

    Args:
        frame: link or frame; None: the base link.
    """

    frame: str | None = None

    size: ClassVar[int]
    """Number of components."""

    def shape(self, robot: Robot) -> tuple[int, ...]:
        """See `Sensor.shape`."""
        self.frame_index(robot, self.frame)
        return (self.size,)


@dataclass(frozen=True)
class FramePose(FrameSensor):
    """Position [m] and unit quaternion (x, y, z, w) of a frame in the world, shape (7,).

    Args:
        frame: link or frame; None: the base link.
    """

    kind: ClassVar[str] = "pose"
    size: ClassVar[int] = 7

    def measure(self, at: Instant) -> np.ndarray:
        """See `Sensor.measure`."""
        return np.array(pin.SE3ToXYZQUAT(at.data.oMf[self.frame_index(at.robot, self.frame)]))


@dataclass(frozen=True)
class FrameVelocity(FrameSensor):
    """Velocity of a frame's origin and its angular velocity [m/s, rad/s], shape (6,).

    Both are along the axes of the world.

    Args:
        frame: link or frame; None: the base link.
    """

    kind: ClassVar[str] = "velocity"
    size: ClassVar[int] = 6

    def measure(self, at: Instant) -> np.ndarray:
        """See `Sensor.measure`."""
        model, index = at.robot.model, self.frame_index(at.robot, self.frame)
        return np.array(pin.getFrameVelocity(model, at.data, index, pin.LOCAL_WORLD_ALIGNED).vector)
