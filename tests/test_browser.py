"""The viewer in a real headless Chromium: what is seen, and what the page needs."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser import CHROMIUM, REASON, REQUIRED, Browser
from sample_motion import hop_recording, hop_state, hopper

from nmdp_pin.robot import load_robot
from nmdp_pin.terrain import Plane, Terrain
from nmdp_pin.viz.animation import write_html
from nmdp_pin.viz.meshcat_viewer import MeshcatViewer
from nmdp_pin.viz.page_server import view_recording

pytestmark = pytest.mark.skipif(CHROMIUM is None and not REQUIRED, reason=REASON)

FLAT = Terrain([Plane(height=0.0)])

# The page holds positions as doubles; three.js keeps the tracks of an animation as floats.
_SINGLE = 1e-6
# A share of the page's pixels; the torso alone covers a tenth of it.
_BODY_SHARE = 0.02
# Rendering without a graphics card takes about a second a frame at worst; the clock of the page
# goes on meanwhile.
_PACE = 0.25


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser(width=480, height=320) as browser:
        yield browser


@pytest.fixture
def page(browser: Browser, tmp_path: Path) -> Browser:
    """The exported page of the hops, opened from the disk, stopped at its start."""
    path = tmp_path / "run.html"
    write_html(path, hop_recording(), hopper(), FLAT, speed=0.5)
    browser.requests.clear()
    browser.errors.clear()
    browser.open(path.as_uri())
    browser.wait_for("viewer.animator.duration > 0 && viewer.gui.closed === false")
    browser.evaluate("viewer.animator.pause(), viewer.gui.close(), 0")
    return browser


def _seek(page: Browser, t: float) -> np.ndarray:
    """The picture at time t."""
    page.evaluate(f"viewer.animator.seek({t}), viewer.render(), 0")
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return page.screenshot()


def _node(page: Browser, path: str, value: str) -> Any:
    """A value of the three.js object at a meshcat path."""
    return page.evaluate(f"viewer.scene_tree.find({json.dumps(path.split('/'))}).object.{value}")


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


def test_bodies_are_in_the_scene_and_move_as_recorded(page: Browser) -> None:
    """At a recorded time each body of the page is where the recording has it."""
    recording = hop_recording()
    for k in (0, 10, 31, 40):
        _seek(page, recording.t[k])
        np.testing.assert_allclose(
            _node(page, "meshcat/robot/root", "position.toArray()"),
            recording.base_position[k],
            atol=_SINGLE,
        )
        foot = page.evaluate(
            "(() => { const find = path => viewer.scene_tree.find(path).object;"
            "const foot = find(['meshcat', 'robot', 'rear_hip', 'contact_rear_foot']);"
            "const world = find(['meshcat']);"
            "viewer.scene.updateMatrixWorld(true);"
            "return world.worldToLocal(foot.getWorldPosition(foot.position.clone())).toArray();"
            "})()"
        )
        np.testing.assert_allclose(foot, recording.contact_position[k, 1], atol=1e-5)
    assert _node(page, "meshcat/robot/front_hip/front_leg/<object>", "type") == "Mesh"
    assert _node(page, "meshcat/terrain/plane_0/<object>", "type") == "Mesh"


def test_picture_changes_with_time(page: Browser) -> None:
    """The picture of a hop's top differs from that of its start, and comes back."""
    start, top, again = _seek(page, 0.0), _seek(page, 0.5), _seek(page, 0.0)
    assert (np.abs(start - top).max(axis=2) > 20).mean() > _BODY_SHARE
    assert (np.abs(start - again).max(axis=2) > 20).mean() < 0.001
    rows = [np.nonzero(_blue(picture))[0].mean() for picture in (start, top)]
    assert rows[1] < rows[0] - 10  # higher up in the picture


def test_arrows_show_forces_only_while_they_push(page: Browser) -> None:
    """Green is seen while the feet push, and not in flight."""

    def green(picture: np.ndarray) -> float:
        return float((picture[:, :, 1] > picture[:, :, [0, 2]].max(axis=2) + 40).mean())

    assert green(_seek(page, 0.5)) < 1e-4
    assert green(_seek(page, 1.0)) > 1e-3


def test_controls_play_at_the_speed_and_stop(page: Browser) -> None:
    """The page plays at the speed that was asked for, by the clock, and pauses."""
    assert page.evaluate("viewer.animator.mixer.timeScale") == 0.5
    assert page.evaluate("viewer.animator.duration") == pytest.approx(2.0)
    names = page.evaluate(
        "[...viewer.animator.folder.domElement.querySelectorAll('.property-name')]"
        ".map(e => e.textContent)"
    )
    assert {"play", "pause", "reset", "time", "timeScale"} <= set(names)
    played, took = page.evaluate(
        "new Promise(done => { const a = viewer.animator; a.reset(); a.play();"
        "const start = performance.now();"
        "setTimeout(() => { a.update(); const now = performance.now(); const at = a.time;"
        "a.pause(); done([at, (now - start) / 1000]); }, 1000); })"
    )
    assert played == pytest.approx(0.5 * took, abs=_PACE)
    stopped = page.evaluate("viewer.animator.time")
    time.sleep(0.3)
    assert page.evaluate("viewer.animator.time") == stopped


def test_replay_page_shows_robosimian(browser: Browser) -> None:
    """The served page of the bundled robot: every body is there, and it fills the picture."""
    robot = load_robot("robosimian")
    from nmdp_pin.recorder import Recorder
    from nmdp_pin.state import State

    recorder = Recorder(robot, State(0.0, robot.standing, np.zeros(robot.model.nv)))
    recording = recorder.recording()
    ground = Terrain([Plane(height=float(recording.contact_position[0, :, 2].min()) - 0.02)])
    browser.errors.clear()
    with view_recording(recording, robot, ground, open_browser=False) as server:
        browser.open(server.url)
        browser.wait_for("viewer.gui.closed === false")
        browser.evaluate("viewer.gui.close(), viewer.render(), 0")
        picture = browser.screenshot()
    meshes = browser.evaluate(
        "(() => { let n = 0; viewer.scene_tree.find(['meshcat', 'robot']).object"
        ".traverse(o => { n += o.isMesh ? 1 : 0; }); return n; })()"
    )
    assert robot.visual_model is not None
    # Each contact point has two marks of its own.
    assert meshes == robot.visual_model.ngeoms + 2 * len(robot.contact_points)
    # Dark torso and orange joints, which neither the ground nor the sky has.
    dark = (picture.max(axis=2) < 60).mean()
    orange = ((picture[:, :, 0] > 100) & (picture[:, :, 2] < 0.5 * picture[:, :, 0])).mean()
    assert dark > 0.01
    assert orange > 0.005
    assert browser.errors == []


def test_live_page_follows_the_robot(browser: Browser) -> None:
    """A live page shows what is drawn, and a page opened later shows the latest."""
    robot = hopper()
    browser.errors.clear()
    with MeshcatViewer(robot, FLAT) as viewer:
        viewer.draw(hop_state(robot, 0.5).q, np.array([[0.0, 0.0, 60.0], [0.0, 0.0, 0.0]]))
        viewer.flush()
        browser.open(viewer.url)
        for t in (0.5, 1.25):
            q = hop_state(robot, t).q
            viewer.draw(q)
            viewer.flush()
            browser.wait_for(
                "Math.abs(viewer.scene_tree.find(['meshcat', 'robot', 'root'])"
                f".object.position.x - {q[0]}) < 1e-9"
            )
        np.testing.assert_allclose(
            _node(browser, "meshcat/robot/root", "position.toArray()"), q[:3], atol=1e-12
        )
        browser.evaluate("viewer.render(), 0")
        picture = browser.screenshot()
    assert _blue(picture).mean() > _BODY_SHARE
    assert browser.errors == []
