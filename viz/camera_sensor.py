"""Cameras on robots, as sensors."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import pinocchio as pin
from pydantic import Field

from nmdp_pin._options import Count, Flag, Number, Vector3
from nmdp_pin._robot import Robot
from nmdp_pin._sensors.instant import Instant
from nmdp_pin._sensors.sensor import Sensor
from nmdp_pin.viz.renderer import WIDEST, Renderer

Pixels = Annotated[Count, Field(ge=16, le=8192)]


@dataclass(frozen=True)
class Camera(Sensor):
    """Picture of a camera on a link, shape (height, width, 3), 0 to 255; or its depths.

    It looks along the x axis of its frame, with z upwards. Depths are along that axis, at most
    100 m, shape (height, width) [m]. Bodies are seen by their visual geometry (extra `video`).

    Args:
        frame: link or frame; None: the base link.
        position: origin of the camera in it [m].
        rpy: orientation of the camera in it, roll-pitch-yaw [rad].
        size: width and height [pixels].
        field_of_view: angle between the upper and the lower edge [deg].
        depth: whether depths are measured.
    """

    frame: str | None = None
    position: Vector3 = (0.0, 0.0, 0.0)
    rpy: Vector3 = (0.0, 0.0, 0.0)
    size: tuple[Pixels, Pixels] = (160, 120)
    field_of_view: Annotated[Number, Field(gt=0, lt=WIDEST)] = 60.0
    depth: Flag = False

    kind: ClassVar[str] = "camera"

    @property
    def dtype(self) -> type:
        """See `Sensor.dtype`."""
        return float if self.depth else np.uint8

    def shape(self, robot: Robot) -> tuple[int, ...]:
        """See `Sensor.shape`."""
        self.frame_index(robot, self.frame)
        width, height = self.size
        return (height, width) if self.depth else (height, width, 3)

    def measure(self, at: Instant) -> np.ndarray:
        """See `Sensor.measure`.

        Raises:
            MissingExtra: VTK is not installed.
            ViewerError: nothing can draw on this machine.
        """
        if self.key not in at.scratch:
            at.scratch[self.key] = Renderer(at.robot, at.terrain, size=self.size, marks=False)
        renderer: Renderer = at.scratch[self.key]
        pose = at.data.oMf[self.frame_index(at.robot, self.frame)] * pin.SE3(
            pin.rpy.rpyToMatrix(np.array(self.rpy)), np.array(self.position)
        )
        frame = renderer.scene.frame(at.state.t, at.state.q, None)
        if self.depth:
            return renderer.depth(frame, pose, field_of_view=self.field_of_view)
        return renderer.picture(frame, camera=pose, field_of_view=self.field_of_view)
