"""Films and pictures by VTK: what is seen, and what is refused."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from browser import REQUIRED
from sample_motion import hop_recording, hop_state, hopper

from nmdp_pin._terrain import Box, Plane, Terrain
from nmdp_pin.errors import MissingExtra, NmdpError, RecordingError, ViewerError
from nmdp_pin.viz.film import FRAME_RATE, write_film
from nmdp_pin.viz.renderer import Renderer
from nmdp_pin.viz.replay import Replay

av = pytest.importorskip("av")
pytest.importorskip("vtkmodules")

FLAT = Terrain([Plane(height=0.0)])
SIZE = (320, 180)
# A share of the picture; the torso alone covers a twentieth of it.
_BODY_SHARE = 0.02


def _renderer(terrain: Terrain | None = FLAT, *, follow: bool = True) -> Renderer:
    """A small renderer; the test is skipped where nothing can draw, but for CI."""
    try:
        return Renderer(hopper(), terrain, size=SIZE, follow=follow)
    except ViewerError as error:
        if REQUIRED:
            raise
        pytest.skip(str(error))


def _blue(picture: np.ndarray) -> np.ndarray:
    """Where the hopper's colour is seen, shape (height, width)."""
    return picture[:, :, 2].astype(int) > picture[:, :, 0].astype(int) + 60


def _green(picture: np.ndarray) -> float:
    other = picture[:, :, [0, 2]].max(axis=2).astype(int)
    return float((picture[:, :, 1].astype(int) > other + 40).mean())


def test_picture_shows_robot_ground_and_forces() -> None:
    """The robot in its colour, arrows while there are forces, the same bytes for the same frame."""
    renderer, robot = _renderer(), hopper()
    force = np.array([[0.0, 0, 60.0], [0.0, 0, 60.0]])
    pushed = renderer.picture(renderer.scene.frame(0.0, robot.standing, force))
    free = renderer.picture(renderer.scene.frame(0.0, robot.standing, None))
    again = renderer.picture(renderer.scene.frame(0.0, robot.standing, force))
    assert pushed.shape == (SIZE[1], SIZE[0], 3)
    assert pushed.dtype == np.uint8
    assert _blue(free).mean() > _BODY_SHARE
    assert _green(pushed) > 1e-3 > _green(free)
    np.testing.assert_array_equal(pushed, again)
    renderer.close()


def test_camera_goes_with_the_robot_or_stays() -> None:
    """Following, a robot 3 m away is in the middle; standing still, the camera has lost it."""
    robot = hopper()
    far = robot.standing.copy()
    far[:3] += [3.0, 0.0, 2.0]
    for follow in (True, False):
        renderer = _renderer(follow=follow)
        renderer.picture(renderer.scene.frame(0.0, robot.standing, None))
        seen = _blue(renderer.picture(renderer.scene.frame(0.1, far, None))).mean()
        assert (seen > _BODY_SHARE) == follow
        renderer.close()


def test_camera_looks_over_a_wall() -> None:
    """A wall between the camera and the robot does not hide it."""
    wall = Box(size=(20.0, 2.0, 1.2), position=(0.0, -1.6, 0.6))
    renderer = _renderer(Terrain([Plane(height=0.0), wall]))
    picture = renderer.picture(renderer.scene.frame(0.0, hopper().standing, None))
    assert _blue(picture).mean() > _BODY_SHARE
    renderer.close()


def test_what_cannot_be_drawn_is_said() -> None:
    """Configurations, forces, cameras and robots of another kind."""
    robot = hopper()
    renderer = Renderer(robot, None, size=(32, 24))
    q, forces = robot.standing, np.zeros((len(robot.contact_points), 3))
    frame = renderer.scene.frame(0.0, q)
    for call, text in (
        (lambda: renderer.scene.frame(0.0, q[:2]), r"q has shape \(2,\), expected"),
        (lambda: renderer.scene.frame("now", q), "t must be a time"),
        (lambda: renderer.scene.frame(0.0, q, forces[:1]), r"contact_forces have shape"),
        (lambda: renderer.picture(q), "a frame is a result of Scene.frame"),
        (lambda: renderer.picture(frame, camera=np.eye(4)), "camera must be of type SE3 or None"),
        (lambda: renderer.picture(frame, field_of_view=200.0), "> 0 and < 170 degrees, got 200"),
        (lambda: Renderer("hopper", None), "robot must be of type Robot"),
        (lambda: Renderer(robot, Plane()), "terrain must be of type Terrain or None"),
        (lambda: Renderer(robot, None, size="large"), "a picture is 16 to 8192 pixels"),
    ):
        with pytest.raises(ViewerError, match=text):
            call()
    renderer.close()


def test_film_has_the_length_and_motion_of_the_run(tmp_path: Path) -> None:
    """A run of half a second at half its speed is a film of a second, and its pictures move."""
    _renderer().close()
    path, recording = tmp_path / "run.mp4", hop_recording(duration=0.5)
    write_film(path, Replay(recording, hopper(), FLAT, speed=0.5), size=SIZE)
    with av.open(str(path)) as film:
        stream = film.streams.video[0]
        assert (stream.width, stream.height) == SIZE
        assert stream.codec_context.name == "h264"
        pictures = [picture.to_ndarray(format="rgb24") for picture in film.decode(stream)]
    assert len(pictures) == FRAME_RATE + 1
    assert all(_blue(picture).mean() > _BODY_SHARE for picture in pictures)
    rows = [np.nonzero(_blue(picture))[0].mean() for picture in pictures]
    assert abs(rows[0] - rows[-1]) > 3.0


def test_wrong_films_are_refused(tmp_path: Path) -> None:
    """Another ending, odd sizes, a speed that is none; nothing is written."""
    recording, robot = hop_recording(duration=0.1), hopper()
    cases: list[tuple[str, dict, type[NmdpError], str]] = [
        ("run.avi", {}, RecordingError, "mp4"),
        ("run.mp4", {"size": (321, 180)}, ViewerError, "even"),
        ("run.mp4", {"size": (4, 4)}, ViewerError, "16 to 8192"),
        ("run.mp4", {"speed": 0.0}, ViewerError, "speed"),
    ]
    for name, options, kind, said in cases:
        size = options.pop("size", SIZE)
        with pytest.raises(kind, match=said):
            write_film(tmp_path / name, Replay(recording, robot, FLAT, **options), size=size)
    assert not list(tmp_path.iterdir())


def test_missing_packages_name_the_extra(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without the encoder the error says what to install."""
    monkeypatch.setitem(sys.modules, "av", None)
    with pytest.raises(MissingExtra, match=r"nmdp-pin\[video\]"):
        write_film(tmp_path / "run.mp4", Replay(hop_recording(duration=0.1), hopper(), FLAT))


def test_environments_give_pictures() -> None:
    """Gymnasium's rgb_array is a picture of the state."""
    gymnasium = pytest.importorskip("gymnasium")
    import nmdp_pin.adapters.gymnasium  # noqa: F401  registers the environments

    _renderer().close()
    env = gymnasium.make("nmdp-pin/Hopper-v0", render_mode="rgb_array")
    env.reset(seed=1)
    first = env.render()
    for _ in range(5):
        env.step(np.ones(env.action_space.shape, dtype=np.float32))
    second = env.render()
    env.close()
    assert first.shape == second.shape == (540, 960, 3)
    assert first.dtype == np.uint8
    assert (np.abs(first.astype(int) - second) > 20).any()


def test_a_state_that_was_reset_is_drawn_at_once() -> None:
    """Nothing of the picture before is left."""
    renderer, robot = _renderer(), hopper()
    start = renderer.picture(renderer.scene.frame(0.0, robot.standing, None))
    renderer.picture(renderer.scene.frame(0.5, hop_state(robot, 0.5).q, np.full((2, 3), 90.0)))
    again = renderer.picture(renderer.scene.frame(0.0, robot.standing, None))
    np.testing.assert_array_equal(start, again)
    renderer.close()
