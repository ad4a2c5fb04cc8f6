"""Replays of recordings in the browser, and self-contained pages."""

from __future__ import annotations

import gzip
import os
from collections.abc import Mapping

import numpy as np

from nmdp_pin.errors import RecordingError
from nmdp_pin.files.output_file import check_writable, write_text
from nmdp_pin.recording import Recording
from nmdp_pin.robot import Robot
from nmdp_pin.terrain import Terrain
from nmdp_pin.viz.html_page import html_page
from nmdp_pin.viz.page_data import packed_scene
from nmdp_pin.viz.scene import Scene
from nmdp_pin.viz.timeline import MAX_RATE, Frames
from nmdp_pin.viz.viewer import Viewer


def view_recording(
    recording: Recording,
    robot: Robot,
    terrain: Terrain | None,
    *,
    kinds: Mapping[int, str] | None = None,
    speed: float = 1.0,
    follow: bool = True,
    port: int | None = None,
    open_browser: bool = True,
) -> Viewer:
    """Replay a recording in the browser, with pause, speed and scrubbing.

    Args:
        recording: the run.
        robot: recorded robot.
        terrain: the terrain; None: no terrain.
        kinds: look of terrain shapes, as in `Scene`.
        speed: initial speed, in simulated seconds a second.
        follow: whether the camera follows the robot.
        port: port of the page; None: the first free one from 7000.
        open_browser: whether to open the page.

    Returns:
        The viewer; call `wait` and `close`.

    Raises:
        RecordingError: the recording is of another robot.
        ViewerError: the port is in use or invalid, or `speed` is not positive.
    """
    check_robot(recording, robot)
    viewer = Viewer(
        robot,
        terrain,
        kinds=kinds,
        speed=speed,
        follow=follow,
        port=port,
        open_browser=open_browser,
    )
    for i in keyframes(recording):
        viewer.draw(recording.t[i], recording.q[i], recording.contact_force[i])
    viewer.finish()
    return viewer


def recording_html(
    recording: Recording,
    robot: Robot,
    terrain: Terrain | None,
    *,
    kinds: Mapping[int, str] | None = None,
    speed: float = 1.0,
    follow: bool = True,
    title: str | None = None,
) -> str:
    """Self-contained page of a recording, without server and network.

    Args:
        recording: the run.
        robot: recorded robot.
        terrain: the terrain; None: no terrain.
        kinds: look of terrain shapes, as in `Scene`.
        speed: initial speed, in simulated seconds a second.
        follow: whether the camera follows the robot.
        title: title of the page; default: name of the robot.

    Raises:
        RecordingError: the recording is of another robot, or `speed` is not positive.
    """
    if not 0.0 < speed < np.inf:
        raise RecordingError(f"the speed must be a positive number; {speed} was given")
    check_robot(recording, robot)
    scene = Scene(robot, terrain, kinds=kinds)
    rows = keyframes(recording)
    values = np.array(
        [scene.frame(recording.t[i], recording.q[i], recording.contact_force[i]) for i in rows]
    )
    title = title or f"{robot.name} · nmdp-pin"
    return html_page(
        title,
        scene=packed_scene(scene, title=title, speed=speed, follow=follow),
        frames=gzip.compress(Frames(0, 0, True, values).packed(), mtime=0),
    )


def write_html(
    path: str | os.PathLike[str],
    recording: Recording,
    robot: Robot,
    terrain: Terrain | None,
    *,
    kinds: Mapping[int, str] | None = None,
    speed: float = 1.0,
    follow: bool = True,
) -> None:
    """Write the page of `recording_html`, whole or not at all.

    Raises:
        RecordingError: as for `recording_html`, or the path cannot be written.
    """
    check_writable(path)
    page = recording_html(recording, robot, terrain, kinds=kinds, speed=speed, follow=follow)
    write_text(path, page)


def check_robot(recording: Recording, robot: Robot) -> None:
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


def keyframes(recording: Recording, max_rate: float = MAX_RATE) -> np.ndarray:
    """Rows of increasing time, thinned to `max_rate` a second, with the first and the last."""
    kept = [0]
    gap = (1.0 - 1e-6) / max_rate
    for i in range(1, recording.n):
        if recording.t[i] - recording.t[kept[-1]] >= gap:
            kept.append(i)
    last = recording.n - 1
    if recording.t[last] > recording.t[kept[-1]]:
        kept.append(last)
    return np.array(kept)
