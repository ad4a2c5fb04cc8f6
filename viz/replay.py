"""Replays of recordings, as self-contained pages."""

from __future__ import annotations

import gzip
import os
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass

import numpy as np

from nmdp_pin._files.output_file import check_writable, write_text
from nmdp_pin._robot import Robot
from nmdp_pin._runs.recording import Recording
from nmdp_pin._terrain import Terrain
from nmdp_pin.errors import RecordingError, ViewerError
from nmdp_pin.viz.frames import Frames
from nmdp_pin.viz.html_page import html_page
from nmdp_pin.viz.page_data import packed_scene
from nmdp_pin.viz.scene import Scene


@dataclass(frozen=True, eq=False)
class Replay:
    """A recording as it is to be shown.

    Args:
        recording: the run.
        robot: recorded robot.
        terrain: the terrain; None: no terrain.
        kinds: look of terrain shapes, as in `Scene`.
        speed: initial speed, in simulated seconds a second.
        follow: whether the camera follows the robot.

    Raises:
        RecordingError: the recording is of another robot.
        ViewerError: `speed` is not positive.
    """

    recording: Recording
    robot: Robot
    terrain: Terrain | None
    _: KW_ONLY
    kinds: Mapping[int, str] | None = None
    speed: float = 1.0
    follow: bool = True

    def __post_init__(self) -> None:
        if not 0.0 < self.speed < np.inf:
            raise ViewerError(f"the speed must be a positive number; {self.speed} was given")
        _check_robot(self.recording, self.robot)

    def html(self, title: str | None = None) -> str:
        """A page that shows it; it needs no server, no network and no other file.

        Args:
            title: of the page; the robot's name unless given.
        """
        scene, recording = Scene(self.robot, self.terrain, kinds=self.kinds), self.recording
        frames = Frames(scene)
        for t, q, force in zip(recording.t, recording.q, recording.contact_forces, strict=True):
            frames.add(t, q, force)
        title = title or f"{self.robot.name} · nmdp-pin"
        return html_page(
            title,
            scene=packed_scene(scene, speed=self.speed, follow=self.follow),
            frames=gzip.compress(frames.values().astype("<f4").tobytes(), mtime=0),
        )

    def write_html(self, path: str | os.PathLike[str]) -> None:
        """Write the page of `html`, whole or not at all.

        Raises:
            RecordingError: the path cannot be written.
        """
        check_writable(path)
        write_text(path, self.html())


def _check_robot(recording: Recording, robot: Robot) -> None:
    """Check that a recording is of the robot, as it is loaded.

    Raises:
        RecordingError: the recording is of another robot.
    """
    sizes = (recording.q.shape[1], tuple(recording.meta["joints"]), recording.contact_names)
    if sizes != (robot.model.nq, tuple(robot.model.names)[1:], robot.contact_points.names):
        raise RecordingError(
            f"the recording is of '{recording.meta['robot']}' ({sizes[0]} coordinates), which "
            f"is not the robot '{robot.name}' ({robot.model.nq} coordinates) as it is loaded; "
            "give the robot, base and contact points that were recorded"
        )
