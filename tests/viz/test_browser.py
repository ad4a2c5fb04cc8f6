"""Self-contained pages in a real headless Chromium: what is seen, and what the page needs."""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser import CHROMIUM, REASON, REQUIRED, Browser
from sample_motion import hop_recording, hop_state, hopper

from nmdp_pin._robot import Robot, load_robot
from nmdp_pin._runs.recorder import Recorder
from nmdp_pin._runs.recording import Recording
from nmdp_pin._state.state import State
from nmdp_pin._terrain import Box, Plane, Terrain
from nmdp_pin.viz.replay import Replay
from nmdp_pin.viz.scene import LONGEST_ARROW

pytestmark = pytest.mark.skipif(CHROMIUM is None and not REQUIRED, reason=REASON)

FLAT = Terrain([Plane(height=0.0)])

# Frames are in single precision.
_SINGLE = 1e-6
# A share of the page's pixels; the torso alone covers a tenth of it.
_BODY_SHARE = 0.02
# Rendering without a graphics card takes about a second a frame at worst; the clock of the page
# goes on meanwhile.
_PACE = 0.25

_DRAWN = "window.player && player.renderer.info.render.frame > 0"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser(width=480, height=320) as browser:
        yield browser


@pytest.fixture
def page(browser: Browser, tmp_path: Path) -> Browser:
    """The exported page of the hops, opened from the disk, stopped at its start."""
    _open(browser, tmp_path, hop_recording(), speed=0.5)
    return browser


def _open(
    browser: Browser,
    folder: Path,
    recording: Recording,
    *,
    robot: Robot | None = None,
    terrain: Terrain = FLAT,
    speed: float = 1.0,
) -> None:
    """Open the page of a recording, stopped at its start."""
    path = folder / "run.html"
    Replay(recording, robot or hopper(), terrain, speed=speed).write_html(path)
    browser.requests.clear()
    browser.errors.clear()
    browser.open(path.as_uri())
    browser.wait_for(_DRAWN)
    browser.evaluate("player.pause(), player.seek(0), 0")


def _seek(page: Browser, t: float) -> np.ndarray:
    """The picture at time t."""
    page.evaluate(f"player.seek({t}), player.render(), 0")
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return page.screenshot()


def _place(page: Browser, name: str) -> np.ndarray:
    """Where a joint's node is, shape (3,)."""
    node = f"player.view.nodes.find(node => node.name === {json.dumps(name)})"
    return np.array(page.evaluate(f"{node}.position.toArray()"))


def _text(page: Browser, element: str) -> Any:
    return page.evaluate(f"document.getElementById('{element}').textContent")


def _blue(picture: np.ndarray) -> np.ndarray:
    """Where the hopper's colour is seen, shape (height, width)."""
    return picture[:, :, 2] > picture[:, :, 0] + 60


def test_exported_page_shows_the_robot(page: Browser) -> None:
    """The canvas has the robot in its colour, a ground and a sky, and no script failed."""
    picture = _seek(page, 0.0)
    assert picture.std() > 10.0
    assert _blue(picture).mean() > _BODY_SHARE
    assert len(np.unique(picture.reshape(-1, 3), axis=0)) > 100
    assert page.errors == []


def test_exported_page_asks_for_nothing(page: Browser) -> None:
    """The page loads itself and what is inside of it, no other address."""
    _seek(page, 0.5)
    outside = [url for url in page.requests if not url.startswith(("data:", "blob:"))]
    assert len(outside) == 1
    assert outside[0].startswith("file:///")


def test_policy_of_the_page_stops_foreign_scripts(page: Browser) -> None:
    """A script that got into the page does not run."""
    page.evaluate(
        "(() => { const script = document.createElement('script');"
        "script.textContent = 'window.broken = 1'; document.body.append(script); })()"
    )
    assert page.evaluate("window.broken === undefined")


def test_bodies_are_in_the_scene_and_move_as_recorded(page: Browser) -> None:
    """At a recorded time each body of the page is where the recording has it."""
    recording = hop_recording()
    for k in (0, 10, 31, 40):
        _seek(page, recording.t[k])
        np.testing.assert_allclose(_place(page, "root"), recording.base_position[k], atol=_SINGLE)
        foot = page.evaluate(
            "player.view.contacts[1].touch.getWorldPosition(new THREE.Vector3()).toArray()"
        )
        np.testing.assert_allclose(foot, recording.contact_positions[k, 1], atol=1e-5)
    assert page.evaluate("player.view.terrain.children.map(shape => shape.name)") == ["floor_0"]


def test_between_frames_bodies_take_the_short_way(browser: Browser, tmp_path: Path) -> None:
    """Half a frame after q, and -q, which is the same rotation, the page shows q."""
    recording = hop_recording()
    q = recording.q.copy()
    q[1::2, 3:7] *= -1.0
    _open(browser, tmp_path, dataclasses.replace(recording, q=q))
    _seek(browser, 0.025)
    turn = browser.evaluate("player.view.nodes[0].quaternion.toArray()")
    middle = hop_state(hopper(), 0.025).q[3:7]
    assert abs(np.dot(turn, middle)) > 0.999


def test_controls_hide_nothing(page: Browser) -> None:
    """The picture ends where the bar of controls begins, also in a window of another size."""
    edge = "document.getElementById('{}').getBoundingClientRect().{}"
    inside = f"{edge.format('canvas', 'bottom')} <= {edge.format('bar', 'top')}"
    fills = f"{edge.format('bar', 'bottom')} === innerHeight"
    assert page.evaluate(f"{inside} && {fills} && canvas.clientHeight > 0.7 * innerHeight")


def test_picture_changes_with_time(page: Browser) -> None:
    """The picture of a hop's top differs from that of its start, and comes back."""
    start, top, again = _seek(page, 0.0), _seek(page, 0.5), _seek(page, 0.0)
    assert (np.abs(start - top).max(axis=2) > 20).mean() > _BODY_SHARE
    assert (np.abs(start - again).max(axis=2) > 20).mean() < 0.001


def test_time_is_on_the_page(page: Browser) -> None:
    """The time shown is that of the recording."""
    _seek(page, 1.25)
    assert _text(page, "time") == "t = 1.250 / 2.00 s"


def test_arrows_show_forces_only_while_they_push(page: Browser) -> None:
    """Green is seen while the feet push, and not in flight."""

    def green(picture: np.ndarray) -> float:
        return float((picture[:, :, 1] > picture[:, :, [0, 2]].max(axis=2) + 40).mean())

    assert green(_seek(page, 0.5)) < 1e-4
    assert green(_seek(page, 1.0)) > 1e-3


def test_keys_switch_marks_forces_and_help(page: Browser) -> None:
    """c, f and ? switch contact points, forces and the list of keys off and on."""
    shown = (
        "[player.view.marks.every(mark => mark.visible), player.view.arrows.visible,"
        "!document.getElementById('help').hidden]"
    )
    assert page.evaluate(shown) == [True, True, False]
    for _ in range(2):
        before = page.evaluate(shown)
        for key in "cf?":
            page.evaluate(f"document.dispatchEvent(new KeyboardEvent('keydown', {{key: '{key}'}}))")
        assert page.evaluate(shown) == [not value for value in before]


def test_arrows_stop_growing(browser: Browser, tmp_path: Path) -> None:
    """A blow a thousand times the weight is as long as the longest arrow, and orange."""
    recording = hop_recording()
    force = np.tile([[0.0, 0, 1e6], [0.0, 0, 30.0]], (recording.n, 1, 1))
    _open(browser, tmp_path, dataclasses.replace(recording, contact_forces=force))
    length, size = browser.evaluate(
        "[Math.hypot(...player.view.contacts[0].arrow.matrix.elements.slice(8, 11)),"
        "player.view.header.size]"
    )
    colors = browser.evaluate("player.view.contacts.map(c => c.material.color.getHex())")
    assert length == pytest.approx(LONGEST_ARROW * size)
    assert colors == [0xF07C12, 0x2BA84A]


def test_controls_play_at_the_speed_and_stop(page: Browser) -> None:
    """The page plays at the speed that was asked for, by the clock, pauses and scrubs."""
    assert page.evaluate("player.speed") == 0.5
    assert page.evaluate("player.duration") == pytest.approx(2.0)
    page.evaluate("player.seek(0), document.getElementById('play').click(), 0")
    played, took = page.evaluate(
        "new Promise(done => { const start = performance.now(), from = player.time;"
        "setTimeout(() => { player.advance(); const now = performance.now();"
        "done([player.time - from, (now - start) / 1000]); }, 1000); })"
    )
    assert played == pytest.approx(0.5 * took, abs=_PACE)
    page.evaluate("document.getElementById('play').click(), 0")
    stopped = page.evaluate("player.time")
    time.sleep(0.3)
    assert page.evaluate("player.time") == stopped
    page.evaluate(
        "(() => { const slider = document.getElementById('slider'); slider.value = 750;"
        "slider.dispatchEvent(new Event('input'));"
        "const speed = document.getElementById('speed'); speed.value = '2';"
        "speed.dispatchEvent(new Event('change')); })()"
    )
    assert page.evaluate("[player.time, player.speed]") == [pytest.approx(1.5), 2]


def test_camera_rises_with_the_robot(browser: Browser, tmp_path: Path) -> None:
    """A robot that climbs stays in the middle of the picture."""
    recording, q = hop_recording(), hop_recording().q.copy()
    q[:, 2] += 8.0 * recording.t**2
    _open(browser, tmp_path, dataclasses.replace(recording, q=q))
    for t in (0.0, 1.0, 1.5, 1.9):
        rows = np.nonzero(_blue(_seek(browser, t)))[0]
        assert 0.2 * 320 < rows.mean() < 0.8 * 320


def test_camera_stays_out_of_the_ground(browser: Browser, tmp_path: Path) -> None:
    """Where a wall would hide the robot the camera looks over it, and the robot is seen."""
    wall = Box(size=(20.0, 2.0, 1.2), position=(0.0, -1.6, 0.6))
    _open(browser, tmp_path, hop_recording(), terrain=Terrain([Plane(height=0.0), wall]))
    picture = _seek(browser, 0.0)
    eye = browser.evaluate("player.camera.camera.position.toArray()")
    assert eye[2] > 1.2 or abs(eye[1] + 1.6) > 1.0
    assert _blue(picture).mean() > _BODY_SHARE


def _open_standing(browser: Browser, folder: Path, robot: Robot) -> None:
    state = State(0.0, robot.standing, np.zeros(robot.model.nv))
    recording = Recorder(robot, state).recording()
    low = float(recording.contact_positions[0, :, 2].min(initial=0.0))
    ground = Terrain([Plane(height=low - 0.02)])
    _open(browser, folder, recording, robot=robot, terrain=ground)


def test_page_shows_robosimian(browser: Browser, tmp_path: Path) -> None:
    """The page of the bundled robot: every body is there, and it fills the picture."""
    robot = load_robot("robosimian")
    _open_standing(browser, tmp_path, robot)
    picture = _seek(browser, 0.0)
    bodies = browser.evaluate("player.view.header.bodies.length")
    assert robot.visual_model is not None
    assert bodies == robot.visual_model.ngeoms
    # Dark torso and orange joints, which neither the ground nor the sky has.
    dark = (picture.max(axis=2) < 60).mean()
    orange = ((picture[:, :, 0] > 100) & (picture[:, :, 2] < 0.5 * picture[:, :, 0])).mean()
    assert dark > 0.01
    assert orange > 0.003
    assert browser.errors == []


def test_colours_of_collada_files_are_shown(browser: Browser, tmp_path: Path) -> None:
    """A robot whose parts have attributes that differ, which three.js' loader cannot merge."""
    _open_standing(browser, tmp_path, load_robot("anymal_c"))
    browser.evaluate("player.view.world.visible = false, 0")
    empty = _seek(browser, 0.0)
    browser.evaluate("player.view.world.visible = true, 0")
    picture = _seek(browser, 0.0)
    assert (np.abs(picture - empty).max(axis=2) > 20).mean() > _BODY_SHARE
    colors = browser.evaluate("player.view.header.bodies.map(body => body.mesh.color.join())")
    assert len(set(colors)) > 3
    assert browser.errors == []
    assert _text(browser, "notes") == ""
