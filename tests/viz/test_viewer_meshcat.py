"""The live view in meshcat: what is drawn, who can see it, and what it costs a run."""

from __future__ import annotations

import dataclasses
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import meshcat
import numpy as np
import pinocchio as pin
import pytest
from browser import CHROMIUM, REASON, REQUIRED, Browser
from sample_motion import hop_recording, hop_state, hopper

from nmdp_pin._robot import Robot
from nmdp_pin._terrain import Box, Plane, Terrain
from nmdp_pin.errors import ViewerError
from nmdp_pin.viz.meshcat_link import MeshcatLink
from nmdp_pin.viz.meshcat_window import MeshcatWindow
from nmdp_pin.viz.scene import LONGEST_ARROW
from nmdp_pin.viz.viewer import FRAME_RATE, Viewer

needs_browser = pytest.mark.skipif(CHROMIUM is None and not REQUIRED, reason=REASON)

FLAT = Terrain([Plane(height=0.0)])
FORCE = np.array([[30.0, 0.0, 40.0], [0.0, 0.0, 0.0]])
# Frames are in single precision.
_SINGLE = 1e-6
# A share of the page's pixels; the torso alone covers a tenth of it.
_BODY_SHARE = 0.02
# A busy machine answers within this, or not at all [s].
_PATIENCE = 20.0
_LISTENS = "0A"  # state of a socket in /proc/net/tcp


@pytest.fixture(scope="module")
def window() -> Iterator[MeshcatWindow]:
    with MeshcatWindow() as window:
        yield window


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser(width=480, height=320) as browser:
        yield browser


def _listening(port: int) -> set[str]:
    """Addresses at which a port of this machine listens, as /proc/net writes them."""
    found = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(table).read_text().splitlines()[1:]:
            _, local, _, state, *_ = line.split()
            address, number = local.split(":")
            if int(number, 16) == port and state == _LISTENS:
                found.add(address)
    return found


def _status(url: str, host: str) -> int:
    request = urllib.request.Request(url, headers={"Host": host})
    try:
        with urllib.request.urlopen(request, timeout=_PATIENCE) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def test_ports_listen_on_this_machine_only(window: MeshcatWindow) -> None:
    """Those of the page and of the commands, on the loopback address and no other."""
    for url in (window.visualizer.url(), window.visualizer.window.zmq_url):
        assert _listening(urlsplit(url).port or 0) == {"0100007F"}


def test_other_hosts_are_refused(window: MeshcatWindow) -> None:
    """A name of another site that leads here gets nothing."""
    url = str(window.visualizer.url())
    port = urlsplit(url).port
    assert _status(url, f"evil.example:{port}") == 404
    for name in ("127.0.0.1", "localhost"):
        assert _status(url, f"{name}:{port}") == 200


def test_port_is_the_one_that_was_asked_for() -> None:
    """Or an error that says what to do; without one, two windows stand side by side."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    with MeshcatWindow(port) as one, MeshcatWindow() as two:
        ports = [urlsplit(window.visualizer.url()).port for window in (one, two)]
        assert ports[0] == port != ports[1]
        with pytest.raises(ViewerError, match=rf"port {port}: .*in use.*another port"):
            MeshcatWindow(port)
    assert not _listening(port)
    for number in (0, 65536):
        with pytest.raises(ViewerError, match="from 1 to 65535"):
            MeshcatWindow(number)


def test_server_ends_with_the_program() -> None:
    """Also where the program is killed and can close nothing."""
    code = (
        "import time; from nmdp_pin.viz.meshcat_window import MeshcatWindow;"
        "window = MeshcatWindow(); print(window.visualizer.url(), flush=True); time.sleep(600)"
    )
    words = [sys.executable, "-c", code]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        port = urlsplit(program.stdout.readline().strip()).port or 0
        assert _listening(port)
        program.kill()
    end = time.monotonic() + _PATIENCE
    while _listening(port):
        assert time.monotonic() < end
        time.sleep(0.05)


class _Heard:
    """Commands that a viewer sends."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.commands: list[tuple[str, str]] = []
        send = MeshcatLink._send

        def hear(link: MeshcatLink, kind: str, path: str, data: bytes) -> None:
            self.commands.append((kind, path))
            send(link, kind, path, data)

        monkeypatch.setattr(MeshcatLink, "_send", hear)


def test_a_window_that_is_handed_over_keeps_what_it_shows(
    window: MeshcatWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everything is drawn under one path; camera, lights and what others drew stay."""
    heard, robot = _Heard(monkeypatch), hopper()
    visualizer = window.visualizer["left"]
    with Viewer(robot, FLAT, visualizer=visualizer) as viewer:
        viewer.draw(0.0, robot.standing, FORCE)
        viewer.finish()
        assert viewer.visualizer is visualizer
    window.visualizer.set_transform(np.eye(4))  # it is still there, and in order
    paths = {path for kind, path in heard.commands if kind != "set_animation"}
    assert all(path.startswith("/meshcat/left/nmdp_pin") for path in paths)
    with pytest.raises(ViewerError, match="port"):
        Viewer(robot, FLAT, visualizer=visualizer, port=7000)


def test_a_server_that_is_gone_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """A viewer of a window whose server does not answer says so instead of waiting."""
    monkeypatch.setattr("nmdp_pin.viz.viewer._PATIENCE", 0.2)
    with MeshcatWindow() as window:
        visualizer = window.visualizer
    with pytest.raises(ViewerError, match="does not answer"):
        Viewer(hopper(), FLAT, visualizer=visualizer)


def test_frames_follow_the_clock(window: MeshcatWindow, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many steps a run makes, 30 frames a second are sent, and of them what changed."""
    heard, robot = _Heard(monkeypatch), hopper()
    with Viewer(robot, FLAT, visualizer=window.visualizer) as viewer:
        heard.commands.clear()
        start = time.monotonic()
        for k in range(3000):
            viewer.draw(0.001 * k, hop_state(robot, 0.001 * k).q)
        took = time.monotonic() - start
    frames = sum(path.endswith("/time") and kind == "set_object" for kind, path in heard.commands)
    assert 1 <= frames <= FRAME_RATE * took + 1
    assert not any("/contacts/" in path for _, path in heard.commands[20:])  # no force, no arrow


def test_a_server_that_hangs_holds_nothing() -> None:
    """The run goes on, and no more than a frame waits to be sent."""
    robot = hopper()
    with Viewer(robot, FLAT) as viewer:
        assert viewer._window is not None
        os.kill(viewer._window._process.pid, signal.SIGSTOP)
        for k in range(20):
            viewer.draw(0.02 * k, hop_state(robot, 0.02 * k).q, FORCE)
            viewer._due = -np.inf
        assert 0 < viewer._link.unanswered() < 30
        os.kill(viewer._window._process.pid, signal.SIGCONT)
        assert viewer._link.flush(_PATIENCE)


def test_waiting_for_the_page() -> None:
    """It ends after the longest wait where no page was opened."""
    with Viewer(hopper(), None) as viewer:
        assert not viewer.wait_for_page(0.01)


def test_a_page_frames_the_robot_before_it_has_its_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """First the camera and the light, the ground last, and arrows when a point bears a force."""
    sent: list[str] = []

    def send(link: MeshcatLink, kind: str, path: str, **content: object) -> None:
        sent.extend([path] if kind in ("set_object", "set_property") else [])

    monkeypatch.setattr(MeshcatLink, "send", send)
    robot = hopper()
    with Viewer(robot, FLAT) as viewer:
        parts = [path for path in sent if path.startswith(ROOT)]
        assert sent.index("/Daylight") < sent.index(parts[0])
        assert any(path.startswith("/Cameras") for path in sent[: sent.index(parts[0])])
        assert parts[-1] == f"{ROOT}/terrain"
        assert not [path for path in parts if "/contacts/" in path]
        viewer.draw(0.0, robot.standing, FORCE)
    arrows = [path for path in sent if "/contacts/" in path]
    assert arrows == [f"{ROOT}/contacts/0 front_foot/{part}" for part in ("force", "mark")]


def _open(browser: Browser, viewer: Viewer) -> None:
    """Open the window, and wait until it has the scene."""
    browser.errors.clear()
    browser.open(viewer.url)
    _wait_for_server(browser, viewer)


def _wait_for_server(browser: Browser, viewer: Viewer) -> None:
    """Wait until the page has what was sent, daylight last; pictures are decoded by and by."""
    assert viewer._link.flush(_PATIENCE)
    browser.wait_for(f"{_node('/Daylight')}.children[0]?.children.length > 0")
    browser.wait_for(f"{_node('/meshcat')}.visible")
    browser.wait_for(f"{_node('/meshcat/nmdp_pin/terrain')}.children[0]?.children.length > 0")


def _node(path: str) -> str:
    words = [word for word in path.split("/") if word]
    return f"viewer.scene_tree.find({words!r}).object"


def _pose(browser: Browser, path: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Position, quaternion (x, y, z, w) and scale of a node."""
    node = _node(path)
    parts = [f"{node}.{part}.toArray()" for part in ("position", "quaternion", "scale")]
    position, turn, scale = browser.evaluate(f"[{','.join(parts)}]")
    return np.array(position, float), np.array(turn, float), np.array(scale, float)


def _picture(browser: Browser) -> np.ndarray:
    browser.evaluate("viewer.set_dirty()")
    browser.evaluate(
        "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
    )
    return browser.screenshot()


def _blue(picture: np.ndarray) -> np.ndarray:
    """Where the hopper's colour is seen, shape (height, width)."""
    return picture[:, :, 2] > picture[:, :, 0] + 60


ROOT = "/meshcat/nmdp_pin"


@needs_browser
def test_bodies_forces_and_marks_are_where_they_are(browser: Browser) -> None:
    """Poses of the joints; an arrow along its force, of its length; a mark at the loaded point."""
    robot = hopper()
    q = hop_state(robot, 0.3).q
    data = robot.model.createData()
    pin.forwardKinematics(robot.model, data, q)
    with Viewer(robot, FLAT) as viewer:
        viewer.draw(0.3, q, FORCE)
        _open(browser, viewer)
        for joint in (1, 2, 3):
            name = f"{ROOT}/bodies/{joint} {robot.model.names[joint]}"
            position, turn, _ = _pose(browser, name)
            place = pin.SE3ToXYZQUAT(data.oMi[joint])
            np.testing.assert_allclose(position, place[:3], atol=_SINGLE)
            assert abs(turn @ place[3:]) == pytest.approx(1.0, abs=_SINGLE)
        foot = data.oMi[2].act(robot.contact_points.positions[0])
        position, turn, scale = _pose(browser, f"{ROOT}/contacts/0 front_foot/force")
        np.testing.assert_allclose(position, foot, atol=_SINGLE)
        along = pin.Quaternion(*turn[[3, 0, 1, 2]]).matrix()[:, 2]
        np.testing.assert_allclose(along, [0.6, 0.0, 0.8], atol=_SINGLE)
        assert scale[2] == pytest.approx(50.0 * viewer._scene.arrow_scale, rel=1e-5)
        loaded = [_pose(browser, f"{ROOT}/contacts/{k}/mark")[2] for k in ("0 front_foot",)]
        assert loaded[0][0] == pytest.approx(1.0)
        marks = [_node(f"{ROOT}/contacts/{k}/mark") for k in ("0 front_foot", "1 rear_foot")]
        there = ",".join(f"{mark}.children.length > 0" for mark in marks)
        assert browser.evaluate(f"[{there}]") == [True, False]
        assert _blue(_picture(browser)).mean() > _BODY_SHARE
    assert browser.errors == []


@needs_browser
def test_arrows_stop_growing(browser: Browser) -> None:
    """A blow a thousand times the weight is the longest arrow, and the orange one."""
    robot = hopper()
    with Viewer(robot, FLAT) as viewer:
        viewer.draw(0.0, robot.standing, np.array([[0.0, 0, -1e6], [0.0, 0, 0.0]]))
        _open(browser, viewer)
        _, turn, cut = _pose(browser, f"{ROOT}/contacts/0 front_foot/cut")
        assert cut[2] == pytest.approx(LONGEST_ARROW * viewer._scene.size)
        force = _node(f"{ROOT}/contacts/0 front_foot/force")
        assert browser.evaluate(f"{force}.children.length") == 0
        down = pin.Quaternion(*turn[[3, 0, 1, 2]]).matrix()[:, 2]
        np.testing.assert_allclose(down, [0.0, 0.0, -1.0], atol=_SINGLE)


@needs_browser
def test_meshcat_replays_the_run(browser: Browser) -> None:
    """After the run its controls play it from the start, and what is drawn then is live again."""
    robot, recording = hopper(), hop_recording()
    with Viewer(robot, FLAT) as viewer:
        viewer.draw(0.0, recording.q[0])
        _open(browser, viewer)
        for k in range(1, recording.n):
            viewer.draw(recording.t[k], recording.q[k], recording.contact_forces[k])
        viewer.finish()
        browser.wait_for("viewer.animator.actions.length > 0")
        assert browser.evaluate("viewer.animator.playing")
        assert browser.evaluate(f"{_node(f'{ROOT}/contacts/1 rear_foot/force')}.children.length")
        duration = browser.evaluate("viewer.animator.duration")
        assert duration == pytest.approx(recording.t[-1] - recording.t[0])
        browser.evaluate("viewer.animator.pause()")
        for k in (0, 10, 31):
            browser.evaluate(f"viewer.animator.seek({recording.t[k]})")
            position, _, _ = _pose(browser, f"{ROOT}/bodies/1 root")
            np.testing.assert_allclose(position, recording.base_position[k], atol=1e-5)
        viewer._due = -np.inf
        viewer.draw(0.0, recording.q[0])
        browser.wait_for("viewer.animator.actions.length === 0")
    assert browser.errors == []


@needs_browser
def test_a_page_that_comes_late_has_all(browser: Browser) -> None:
    """One that is opened after the run shows the scene and plays it."""
    robot = hopper()
    with Viewer(robot, FLAT) as viewer:
        for t in (0.0, 0.5, 1.0):
            viewer.draw(t, hop_state(robot, t).q, FORCE)
        viewer.finish()
        _open(browser, viewer)
        assert viewer.wait_for_page(_PATIENCE)
        browser.wait_for("viewer.animator.duration === 1")
        assert _blue(_picture(browser)).mean() > _BODY_SHARE


@needs_browser
def test_a_page_draws_no_part_of_a_scene(browser: Browser) -> None:
    """While it gets the scene, which is hidden then, it waits: software takes 20 ms a picture."""
    robot = hopper()
    with Viewer(robot, FLAT) as viewer:
        viewer.draw(0.0, robot.standing)
        _open(browser, viewer)
        for shown in ("false", "true"):
            browser.evaluate(f"{_node('/meshcat')}.visible = {shown}; viewer.set_dirty()")
            browser.evaluate(
                "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
            )
            assert browser.evaluate("viewer.needs_render") == (shown == "false")


@needs_browser
def test_edges_are_not_smoothed_by_software(browser: Browser) -> None:
    """It would take a picture twice the time; the browser of the tests draws by software."""
    with Viewer(hopper(), FLAT) as viewer:
        _open(browser, viewer)
        context = "viewer.renderer.getContext()"
        assert browser.evaluate(f"{context}.getContextAttributes().antialias") is False
        smooth = "document.createElement('canvas').getContext('2d') !== null"
        assert browser.evaluate(smooth), "other contexts are as they were"


@needs_browser
def test_camera_follows_and_looks_over_a_wall(browser: Browser) -> None:
    """A robot far away and up is in the picture, and one behind a wall too."""
    robot = hopper()
    wall = Box(size=(20.0, 2.0, 1.2), position=(0.0, -1.6, 0.6))
    with Viewer(robot, Terrain([Plane(height=0.0), wall])) as viewer:
        viewer.draw(0.0, robot.standing)
        _open(browser, viewer)
        assert _blue(_picture(browser)).mean() > _BODY_SHARE
        far = robot.standing.copy()
        far[:3] += [5.0, 2.0, 3.0]
        viewer._due = -np.inf
        viewer.draw(0.1, far)
        browser.wait_for(f"{_node(f'{ROOT}/bodies/1 root')}.position.x > 4.9")
        assert _blue(_picture(browser)).mean() > _BODY_SHARE


@needs_browser
def test_names_leave_the_page_intact(browser: Browser) -> None:
    """Markup, slashes and placeholders in names are names."""
    robot = hopper()
    names = ("</script><script>window.broken = 1</script>", "<img src=x onerror='broken = 1'>")
    points = dataclasses.replace(robot.contact_points, names=names)
    strange: Robot = dataclasses.replace(robot, name="@SCRIPT@ <b>", contact_points=points)
    with Viewer(strange, FLAT) as viewer:
        viewer.draw(0.0, robot.standing, FORCE)
        _open(browser, viewer)
        browser.evaluate("viewer.gui.open()")
        assert _blue(_picture(browser)).mean() > _BODY_SHARE
        assert browser.evaluate("window.broken === undefined")
        name = f"0 {names[0].replace('/', '_')}"
        assert _pose(browser, f"{ROOT}/contacts/{name}/force")[2][2] > 1e-3
    assert browser.errors == []


@needs_browser
def test_users_draw_into_the_same_window(browser: Browser) -> None:
    """What a user draws with the visualizer stands beside the robot."""
    robot = hopper()
    with Viewer(robot, FLAT) as viewer:
        viewer.draw(0.0, robot.standing)
        viewer.visualizer["mine"].set_object(meshcat.geometry.Sphere(0.1))
        _open(browser, viewer)
        assert browser.evaluate(f"{_node('/meshcat/mine')}.children.length") == 1
