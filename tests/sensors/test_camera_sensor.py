"""Cameras on links: what they see, and how far it is."""

import numpy as np
import pytest

from nmdp_pin import Plane, Sensors, State, Terrain, free_body, together
from nmdp_pin.errors import SensorError, ViewerError
from nmdp_pin.terrain import Box

pytest.importorskip("vtkmodules")
from nmdp_pin.viz.camera_sensor import Camera

DOWN = (0.0, np.pi / 2, 0.0)  # pitch
SHARP = 2e-3  # [m] of depths of a few metres, in 24 bits
BODY = free_body("drone", Box(size=(0.2, 0.2, 0.05)), mass=1.0, position=(0.0, 0.0, 2.0))
BLOCK = free_body("block", Box(size=(0.4, 0.4, 0.4)), mass=1.0, position=(0.0, 0.0, 0.2))


def read(*sensors):
    """Readings of a drone 2 m above the ground, and 1.6 m above a block on it."""
    robot = together(BODY, [BLOCK])
    try:
        return Sensors(robot, sensors, terrain=Terrain(Plane())).read(
            State(0.0, robot.standing, np.zeros(robot.model.nv))
        )
    except ViewerError as error:
        pytest.skip(str(error))


def test_depth():
    """Below the drone are the block, 1.6 m away, around it the ground, and ahead nothing."""
    below = Camera("drone", rpy=DOWN, position=(0.0, 0.0, -0.05), size=(64, 48), depth=True)
    ahead = Camera("drone", position=(0.2, 0.0, 0.0), size=(64, 48), depth=True, name="ahead")
    found = read(below, ahead)
    depth = found["camera"]
    assert depth.shape == (48, 64)
    assert depth[24, 32] == pytest.approx(1.55, abs=SHARP)
    assert depth[2, 2] == pytest.approx(1.95, abs=SHARP)
    # the block is 0.4 m wide at 1.55 m, in a picture that is 2 tan(30 degrees) of that high
    seen = (depth[:, 32] < 1.75).sum() / 48.0
    assert seen == pytest.approx(0.4 / (2.0 * 1.55 * np.tan(np.pi / 6)), abs=2.0 / 48.0)
    assert found["ahead"][0].min() == pytest.approx(100.0, rel=1e-3)
    # along the ray of the lowest row the ground is 2 m below
    slope = np.tan(np.pi / 6) * 47.0 / 48.0
    assert found["ahead"][-1, 32] == pytest.approx(2.0 / slope, rel=2e-3)


def test_picture():
    """The block differs from the ground; a picture has no noise."""
    picture = read(Camera("drone", rpy=DOWN, position=(0.0, 0.0, -0.05), size=(64, 48)))["camera"]
    assert picture.shape == (48, 64, 3)
    assert picture.dtype == np.uint8
    block, ground = picture[20:28, 28:36].reshape(-1, 3), picture[:6, :6].reshape(-1, 3)
    assert np.abs(block.mean(axis=0) - ground.mean(axis=0)).max() > 10.0
    with pytest.raises(SensorError, match="noise must be 0"):
        Sensors(BODY, [Camera(noise=1.0)])
