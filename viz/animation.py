"""A recording as a page of its own: play, pause, speed and scrubbing in any browser."""

from __future__ import annotations

import base64
import gzip
import html
import json
import os
import struct
from importlib import resources
from typing import Any, BinaryIO

import numpy as np
import pinocchio as pin
import umsgpack
from meshcat.animation import Animation, AnimationClip, AnimationTrack
from meshcat.commands import SetAnimation
from meshcat.path import Path

from nmdp_pin.errors import RecordingError
from nmdp_pin.files.output_file import check_writable, write_whole
from nmdp_pin.recording import Recording
from nmdp_pin.robot import Robot
from nmdp_pin.terrain import Terrain
from nmdp_pin.viz.scene import Scene

MAX_FRAME_RATE = 60.0
"""Keyframes a second of simulated time, at most; the page interpolates between them."""

_STILL = 1e-9  # a track that moves less than this is left out
_FOREVER = 1_000_000  # repetitions


class CommandLog:
    """A window that keeps meshcat's commands instead of showing them."""

    def __init__(self) -> None:
        self.commands: list[bytes] = []

    def send(self, command: Any) -> None:
        """Keep a command."""
        self.commands.append(umsgpack.packb(command.lower()))


def animation_html(
    recording: Recording,
    robot: Robot,
    terrain: Terrain | None,
    *,
    speed: float = 1.0,
    follow: bool = True,
    title: str | None = None,
) -> str:
    """A page that shows a recording; it needs no server, no network and no other file.

    Args:
        recording: the run.
        robot: the robot that was recorded.
        terrain: the ground, None for none.
        speed: simulated seconds a second at which it starts to play; the page can change it.
        follow: the camera keeps beside the robot.
        title: title of the page.

    Raises:
        RecordingError: the recording is of another robot, or `speed` is not positive.
    """
    _check(recording, robot, speed)
    log = CommandLog()
    scene = Scene(log, robot, terrain, follow=follow)
    log.send(SetAnimation(_animation(recording, scene), play=True, repetitions=_FOREVER))
    script = resources.files("meshcat").joinpath("viewer/dist/main.min.js").read_text("utf-8")
    # Each command with its length before it; text of meshes and tracks of still joints pack well.
    packed = gzip.compress(b"".join(struct.pack("<I", len(c)) + c for c in log.commands), mtime=0)
    return _PAGE.format(
        title=html.escape(title or f"{recording.meta['robot']} · nmdp-pin"),
        meshcat=script,
        commands=base64.b64encode(packed).decode("ascii"),
        speed=json.dumps(float(speed)),
    )


def write_html(
    path: str | os.PathLike[str],
    recording: Recording,
    robot: Robot,
    terrain: Terrain | None,
    *,
    speed: float = 1.0,
    follow: bool = True,
) -> None:
    """Write the page of `animation_html`, whole or not at all.

    Raises:
        RecordingError: as `animation_html`, or the path cannot be written.
    """
    check_writable(path)
    page = animation_html(recording, robot, terrain, speed=speed, follow=follow)

    def write(file: BinaryIO) -> None:
        file.write(page.encode("utf-8"))

    write_whole(path, write)


def _check(recording: Recording, robot: Robot, speed: float) -> None:
    if not 0.0 < speed < np.inf:
        raise RecordingError(f"the speed must be a positive number; {speed} was given")
    sizes = (recording.q.shape[1], tuple(recording.meta["joints"]), recording.contact_names)
    if sizes != (robot.model.nq, tuple(robot.model.names)[1:], robot.contact_points.names):
        raise RecordingError(
            f"the recording is of '{recording.meta['robot']}' ({sizes[0]} coordinates), which "
            f"is not the robot '{robot.name}' ({robot.model.nq} coordinates) as it is loaded; "
            "give the robot, base and contact points that were recorded"
        )


def _animation(recording: Recording, scene: Scene) -> Animation:
    """Keyframes at the times of the recorded rows, of those that move."""
    rows = _keyframes(recording)
    times = [float(t) for t in recording.t[rows] - recording.t[0]]
    frames = [scene.placements(recording.q[i], recording.contact_force[i]) for i in rows]
    animation = Animation(default_framerate=1)
    first = next(iter(frames[0]))  # keeps its track even if it rests: it gives the duration
    for path in frames[0]:
        # One frame a second, so that the times of keyframes are seconds, whole or not.
        clip = AnimationClip(fps=1)
        for name, kind, values in _tracks(np.array([frame[path] for frame in frames])):
            if np.ptp(values, axis=0).max() > _STILL or (path, name) == (first, "position"):
                clip.tracks[name] = AnimationTrack(name, kind, times, values.tolist())
        if clip.tracks:
            animation.clips[Path(tuple(path.strip("/").split("/")))] = clip
    return animation


def _keyframes(recording: Recording) -> np.ndarray:
    """Rows of increasing time, thinned to `MAX_FRAME_RATE`, with the first and the last."""
    kept = [0]
    gap = (1.0 - 1e-6) / MAX_FRAME_RATE
    for i in range(1, recording.n):
        if recording.t[i] - recording.t[kept[-1]] >= gap:
            kept.append(i)
    last = recording.n - 1
    if recording.t[last] > recording.t[kept[-1]]:
        kept.append(last)
    return np.array(kept)


def _tracks(matrices: np.ndarray) -> list[tuple[str, str, np.ndarray]]:
    """Name, type and values of the tracks of a node with the transforms (n, 4, 4)."""
    scales = np.linalg.norm(matrices[:, :3, :3], axis=1)
    rotations = matrices[:, :3, :3] / scales[:, None, :]
    turns = np.array([pin.Quaternion(rotation).coeffs() for rotation in rotations])
    # q and -q are one rotation; the way between two keyframes must be the short one.
    flips = np.cumprod(np.where(np.sum(turns[1:] * turns[:-1], axis=1) < 0.0, -1.0, 1.0))
    turns[1:] *= flips[:, None]
    return [
        ("position", "vector3", matrices[:, :3, 3]),
        ("quaternion", "quaternion", turns),
        ("scale", "vector3", scales),
    ]


_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{title}</title>
<style>
body {{ margin: 0; }}
#meshcat-pane {{ width: 100vw; height: 100vh; overflow: hidden; }}
</style>
</head>
<body>
<div id="meshcat-pane"></div>
<script>{meshcat}</script>
<script>
var viewer = new MeshCat.Viewer(document.getElementById("meshcat-pane"));
(async () => {{
  const packed = Uint8Array.from(atob("{commands}"), c => c.charCodeAt(0));
  const unpacked = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const buffer = await new Response(unpacked).arrayBuffer();
  for (let start = 0; start < buffer.byteLength;) {{
    const end = start + 4 + new DataView(buffer).getUint32(start, true);
    viewer.handle_command_bytearray(new Uint8Array(buffer.slice(start + 4, end)));
    start = end;
  }}
  viewer.animator.mixer.timeScale = {speed};
  viewer.gui.open();
  viewer.scene_tree.folder.close();
}})();
</script>
</body>
</html>
"""
