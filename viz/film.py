"""Films (.mp4) of recordings, rendered offscreen."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin

from nmdp_pin._files.output_file import check_writable, write_whole
from nmdp_pin._robot import Robot
from nmdp_pin._runs.recording import Recording
from nmdp_pin.errors import MissingExtra, RecordingError, ViewerError
from nmdp_pin.viz.renderer import Renderer
from nmdp_pin.viz.replay import Replay

FRAME_RATE = 30
"""Pictures a second of the film."""

_CALM = 0.5  # [s] to each side over which the camera's height is a mean
_LIFT = 0.2  # how far the base may leave the middle of the picture, in units of its size
_QUALITY = "20"  # of H.264: constant rate factor; 18 is as good as lossless to the eye


def write_film(
    path: str | os.PathLike[str], replay: Replay, *, size: tuple[int, int] = (960, 540)
) -> None:
    """Write a film of a recording, whole or not at all.

    Args:
        path: path of the film, .mp4 (H.264).
        replay: the recording, and how it is shown.
        size: width and height, even numbers [pixels].

    Raises:
        MissingExtra: VTK or PyAV is not installed.
        RecordingError: the path cannot be written.
        ViewerError: `size` is invalid, or no renderer works on this machine.
    """
    _av()
    if Path(path).suffix != ".mp4":
        raise RecordingError(f"a film is an .mp4; '{path}' was given")
    if size[0] % 2 or size[1] % 2:
        raise ViewerError(f"the width and height of a film are even numbers; {size} was given")
    check_writable(path)
    renderer = Renderer(
        replay.robot, replay.terrain, kinds=replay.kinds, size=size, follow=replay.follow
    )
    try:
        with tempfile.TemporaryDirectory() as folder:
            scratch = Path(folder) / "film.mp4"
            _encode(scratch, replay.recording, renderer, replay.speed, size)
            film = scratch.read_bytes()
    finally:
        renderer.close()

    def write(file: Any) -> None:
        file.write(film)

    write_whole(path, write)


def _av() -> Any:
    try:
        import av
    except ImportError as error:
        raise MissingExtra("av", "video") from error
    return av


def _encode(
    path: Path, recording: Recording, renderer: Renderer, speed: float, size: tuple[int, int]
) -> None:
    """Draw and encode a picture every 1/30 s of the film."""
    av = _av()
    most = _LIFT * renderer.scene.size
    times = np.arange(recording.t[0], recording.t[-1] + 1e-9, speed / FRAME_RATE)
    with av.open(str(path), "w") as film:
        stream = film.add_stream("libx264", rate=FRAME_RATE)
        stream.width, stream.height = size
        stream.pix_fmt = "yuv420p"
        stream.options = {"crf": _QUALITY}
        for t in times:
            q, force, height = _at(recording, renderer.scene.robot, t)
            near = np.abs(recording.t - t) <= _CALM
            lift = recording.base_position[near, 2].mean() - height if near.any() else 0.0
            lift = float(np.clip(lift, -most, most))
            frame = renderer.scene.frame(t, q, force)
            picture = renderer.picture(frame, lift=lift, caption=f"t = {t:.2f} s")
            for packet in stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")):
                film.mux(packet)
        for packet in stream.encode():
            film.mux(packet)


def _at(recording: Recording, robot: Robot, t: float) -> tuple[np.ndarray, np.ndarray, float]:
    """Configuration, contact forces and height of the base at a time between two rows."""
    after = int(np.searchsorted(recording.t, t).clip(1, max(recording.n - 1, 1)))
    if recording.n == 1:
        return recording.q[0], recording.contact_forces[0], float(recording.base_position[0, 2])
    i, step = after - 1, float(recording.t[after] - recording.t[after - 1])
    share = float(np.clip((t - recording.t[i]) / step, 0.0, 1.0)) if step > 0.0 else 1.0
    q = pin.interpolate(robot.model, recording.q[i], recording.q[after], share)
    force, height = recording.contact_forces, recording.base_position[:, 2]
    return (
        q,
        force[i] + share * (force[after] - force[i]),
        float(height[i] + share * (height[after] - height[i])),
    )
