"""The viewer without a browser: scene, animation, pace, and the server's process."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
import umsgpack
from sample_motion import LEG, hop_recording, hop_result, hop_state, hopper

from nmdp_pin.errors import RecordingError, ViewerError
from nmdp_pin.recorder import Recorder
from nmdp_pin.robot import Robot
from nmdp_pin.status import Status
from nmdp_pin.terrain import Box, Cylinder, HeightField, Mesh, Plane, Sphere, Terrain
from nmdp_pin.viz import meshcat_server
from nmdp_pin.viz.animation import MAX_FRAME_RATE, CommandLog, animation_html, write_html
from nmdp_pin.viz.live_window import LiveWindow
from nmdp_pin.viz.meshcat_viewer import DRAWING_SHARE, LiveView, MeshcatViewer
from nmdp_pin.viz.page_server import PageServer, view_recording
from nmdp_pin.viz.scene import WEIGHT_ARROW, Scene

# Placements repeat a few products of rotations.
_ROUNDING = 1e-12
# Drawing hands over data and returns; even a busy machine is far from this [s].
_PROMPT = 0.5

FLAT = Terrain([Plane(height=0.0)])


def _commands(log: CommandLog) -> list[dict]:
    return [umsgpack.unpackb(command) for command in log.commands]


def _scene(robot: Robot | None = None, terrain: Terrain | None = FLAT) -> tuple[Scene, list[dict]]:
    log = CommandLog()
    scene = Scene(log, robot or hopper(), terrain)
    return scene, _commands(log)


def _objects(commands: list[dict]) -> dict[str, dict]:
    return {c["path"]: c for c in commands if c["type"] == "set_object"}


def test_scene_holds_robot_contacts_forces_and_terrain() -> None:
    """Each body, contact point, arrow and shape of the terrain is one object."""
    _, commands = _scene()
    paths = set(_objects(commands))
    for path in (
        "/meshcat/robot/root/torso",
        "/meshcat/robot/front_hip/front_leg",
        "/meshcat/robot/rear_hip/rear_leg",
        "/meshcat/robot/front_hip/contact_front_foot/mark",
        "/meshcat/robot/front_hip/contact_front_foot/touch",
        "/meshcat/forces/rear_foot/shaft",
        "/meshcat/forces/rear_foot/head",
        "/meshcat/terrain/plane_0",
    ):
        assert path in paths


def test_every_terrain_shape_is_drawn() -> None:
    """All six kinds become objects, none with a warning."""
    tetrahedron = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    faces = np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]])
    shapes = [
        Plane(height=0.0),
        Box(size=(1.0, 1.0, 0.5)),
        Sphere(radius=0.5),
        Cylinder(radius=0.3, length=1.0),
        HeightField(heights=np.zeros((3, 4)), size=(2.0, 2.0)),
        Mesh(vertices=tetrahedron, faces=faces),
    ]
    _, commands = _scene(terrain=Terrain(shapes))
    drawn = [path for path in _objects(commands) if path.startswith("/meshcat/terrain/")]
    assert len(drawn) == len(shapes)


def test_tilted_plane_is_drawn_where_it_is() -> None:
    """The square that stands for a plane lies in it, below the robot."""
    normal = np.array([-0.3, 0.2, 1.0]) / np.linalg.norm([-0.3, 0.2, 1.0])
    plane = Plane(normal=(-0.3, 0.2, 1.0), height=-0.25)
    _, commands = _scene(terrain=Terrain([plane]))
    (matrix,) = (
        np.array(c["matrix"]).reshape(4, 4).T
        for c in commands
        if c["type"] == "set_transform" and c["path"] == "/meshcat/terrain/plane_0"
    )
    np.testing.assert_allclose(matrix[:3, 2], normal, atol=_ROUNDING)
    assert normal @ matrix[:3, 3] == pytest.approx(normal @ [0.0, 0.0, -0.25])
    assert np.linalg.norm(matrix[:3, 3]) < 2.0


def test_placements_are_those_of_the_joints() -> None:
    """Bodies move with their joints, arrows start at the contact points, along the force."""
    robot = hopper()
    scene, _ = _scene(robot)
    q = hop_state(robot, 0.3).q
    force = np.array([[30.0, 0.0, 40.0], [0.0, 0.0, 0.0]])
    moved = scene.placements(q, force)
    data = robot.model.createData()
    pin.forwardKinematics(robot.model, data, q)
    np.testing.assert_allclose(
        moved["/meshcat/robot/rear_hip"], data.oMi[3].homogeneous, atol=_ROUNDING
    )
    arrow = moved["/meshcat/forces/front_foot"]
    foot = data.oMi[2].act(np.array([0.0, 0.0, -LEG]))
    np.testing.assert_allclose(arrow[:3, 3], foot, atol=_ROUNDING)
    length = np.linalg.norm(arrow[:3, 2])
    np.testing.assert_allclose(arrow[:3, 2] / length, [0.6, 0.0, 0.8], atol=_ROUNDING)
    assert length == pytest.approx(WEIGHT_ARROW * scene.size * 50.0 / (12.0 * 9.81))
    assert np.linalg.norm(moved["/meshcat/forces/rear_foot"][:3, :3]) < 1e-5
    touching = {
        k: moved[f"/meshcat/robot/{k}_hip/contact_{k}_foot/touch"] for k in ("front", "rear")
    }
    np.testing.assert_array_equal(touching["front"], np.eye(4))
    assert np.linalg.norm(touching["rear"][:3, :3]) < 1e-5
    # The world moves so that the robot stays before the camera.
    np.testing.assert_allclose(moved["/meshcat"][:2, 3], -q[:2], atol=_ROUNDING)


def test_force_that_is_not_finite_is_hidden() -> None:
    """A NaN does not reach the page."""
    robot = hopper()
    scene, _ = _scene(robot)
    moved = scene.placements(robot.standing, np.full((2, 3), np.nan))
    assert all(np.isfinite(matrix).all() for matrix in moved.values())


def test_robot_without_looks_is_drawn_as_sticks() -> None:
    """Where no shape is known, sticks lead from joint to joint."""
    robot = dataclasses.replace(hopper(), visual_model=None)
    _, commands = _scene(robot)
    assert {"/meshcat/robot/root/stick_2", "/meshcat/robot/root/stick_3"} <= set(_objects(commands))


def _page_commands(page: str) -> list[dict]:
    """The commands that a page holds."""
    import base64
    import gzip
    import struct

    packed = re.search(r'atob\("([A-Za-z0-9+/=]+)"\), c => c', page)
    assert packed
    data, commands, start = gzip.decompress(base64.b64decode(packed[1])), [], 0
    while start < len(data):
        (size,) = struct.unpack_from("<I", data, start)
        commands.append(umsgpack.unpackb(data[start + 4 : start + 4 + size]))
        start += 4 + size
    return commands


def _tracks(page: str) -> dict[tuple[str, str], list[dict]]:
    """(path, property) → keyframes of the page's animation."""
    (animation,) = (c for c in _page_commands(page) if c["type"] == "set_animation")
    assert all(a["clip"]["fps"] == 1 for a in animation["animations"])
    return {
        (a["path"], track["name"]): track["keys"]
        for a in animation["animations"]
        for track in a["clip"]["tracks"]
    }


def test_animation_has_the_times_and_places_of_the_recording() -> None:
    """Keyframes are the rows: times in seconds, positions of the base."""
    recording = hop_recording(duration=3.0)
    tracks = _tracks(animation_html(recording, hopper(), FLAT))
    keys = tracks["/meshcat/robot/root", ".position"]
    assert [key["time"] for key in keys] == pytest.approx(list(recording.t))
    np.testing.assert_allclose(
        [key["value"] for key in keys], recording.base_position, atol=_ROUNDING
    )
    turns = np.array([k["value"] for k in tracks["/meshcat/robot/front_hip", ".quaternion"]])
    assert np.linalg.norm(turns, axis=1) == pytest.approx(np.ones(recording.n))
    assert (np.sum(turns[1:] * turns[:-1], axis=1) > 0.0).all()
    # Nothing is sent for what keeps still.
    assert ("/meshcat/robot/root", ".scale") not in tracks


def test_turning_bodies_take_the_short_way() -> None:
    """Quaternions of neighbouring keyframes lie on the same side through a whole turn."""
    robot = hopper()
    recording = hop_recording()
    q = recording.q.copy()
    for row, angle in zip(q, np.linspace(0.0, 4 * np.pi, len(q)), strict=True):
        row[3:7] = pin.Quaternion(pin.rpy.rpyToMatrix(0.0, 0.0, angle)).coeffs()
    tracks = _tracks(animation_html(dataclasses.replace(recording, q=q), robot, FLAT))
    turns = np.array([k["value"] for k in tracks["/meshcat/robot/root", ".quaternion"]])
    assert (np.sum(turns[1:] * turns[:-1], axis=1) > 0.0).all()


def test_small_steps_are_thinned() -> None:
    """Rows of 1 ms give keyframes of the largest rate, with the first and the last row."""
    recording = hop_recording(duration=1.0, dt=0.001)
    keys = _tracks(animation_html(recording, hopper(), None))["/meshcat/robot/root", ".position"]
    times = np.array([key["time"] for key in keys])
    assert len(times) <= MAX_FRAME_RATE + 2
    assert times[0] == 0.0
    assert times[-1] == pytest.approx(1.0)


def test_failed_step_gives_no_second_keyframe() -> None:
    """A failed step repeats the time; three.js needs times that increase."""
    robot = hopper()
    recorder = Recorder(robot, hop_state(robot, 0.0))
    for t, status in ((0.05, Status.CONVERGED), (0.05, Status.NOT_FINITE)):
        recorder.record(hop_result(robot, t, status=status), 0.001)
    tracks = _tracks(animation_html(recorder.recording(), robot, FLAT))
    assert [key["time"] for key in tracks["/meshcat/robot/root", ".position"]] == [0.0, 0.05]


def test_page_needs_nothing_else() -> None:
    """No script, style, picture or address outside of the page."""
    page = animation_html(hop_recording(), hopper(), FLAT, title="a < b")
    assert "<title>a &lt; b</title>" in page
    assert not re.search(r"<(link|img|iframe|script)[^>]*(src|href)\s*=", page)
    assert set(re.findall(r"https?://[^\s\"'`)]+", page)) == {"http://www.w3.org/1999/xhtml"}
    assert len(page) < 2e6


def test_page_of_ten_seconds_is_small(tmp_path: Path) -> None:
    """Ten seconds at 5 ms stay far below the limit of 15 MB."""
    path = tmp_path / "run.html"
    write_html(path, hop_recording(duration=10.0, dt=0.005), hopper(), FLAT)
    assert path.stat().st_size < 3e6
    assert os.listdir(tmp_path) == ["run.html"]


def test_wrong_requests_for_a_page_are_refused(tmp_path: Path) -> None:
    """Another robot, a speed that is none and a folder that does not exist."""
    recording, robot = hop_recording(), hopper()
    other = dataclasses.replace(
        robot, contact_points=dataclasses.replace(robot.contact_points, names=("a", "b"))
    )
    with pytest.raises(RecordingError, match="not the robot"):
        animation_html(recording, other, FLAT)
    for speed in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(RecordingError, match="speed"):
            animation_html(recording, robot, FLAT, speed=speed)
    with pytest.raises(RecordingError, match="create it first"):
        write_html(tmp_path / "absent" / "run.html", recording, robot, FLAT)


class FakeTime:
    """A clock that only moves when someone sleeps or works."""

    def __init__(self) -> None:
        self.now = 100.0

    def clock(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        assert seconds > 0.0
        self.now += seconds


class FakeViewer:
    """A viewer whose frames take a known time."""

    def __init__(self, time: FakeTime, cost: float, *, busy: bool = False) -> None:
        self.time, self.cost, self.busy = time, cost, busy
        self.frames: list[float] = []

    def draw(self, q: np.ndarray, contact_force: np.ndarray | None = None) -> bool:
        if self.busy:
            return False
        self.time.now += self.cost
        self.frames.append(float(q[0]) / 0.5)  # the hops' simulated time
        return True

    def flush(self) -> None:
        self.busy = False


def _run(
    viewer: FakeViewer, *, dt: float, work: float, duration: float, speed: float = 1.0
) -> tuple[LiveView, float]:
    """Steps of `work` seconds each; the time that the whole run took."""
    robot = hopper()
    fake = viewer.time
    live = LiveView(viewer, speed=speed, clock=fake.clock, sleep=fake.sleep)
    start = fake.now
    for k in range(1, round(duration / dt) + 1):
        fake.now += work
        live.update(hop_result(robot, k * dt))
    return live, fake.now - start


@pytest.mark.parametrize(("speed", "expected"), [(1.0, 2.0), (0.5, 4.0), (4.0, 0.5)])
def test_live_view_keeps_the_pace(speed: float, expected: float) -> None:
    """A simulation that is faster than real time takes as long as is asked for."""
    viewer = FakeViewer(FakeTime(), cost=0.001)
    _, took = _run(viewer, dt=0.05, work=0.002, duration=2.0, speed=speed)
    assert took == pytest.approx(expected, abs=0.06 / speed)  # the first step starts it


def test_live_view_draws_at_the_rate_at_most() -> None:
    """Steps of 1 ms are drawn thirty times a second."""
    viewer = FakeViewer(FakeTime(), cost=0.0005)
    _run(viewer, dt=0.001, work=0.0001, duration=2.0)
    assert 50 <= len(viewer.frames) <= 61


def test_drawing_never_slows_a_slow_run() -> None:
    """A run behind real time loses the share of drawing at most, however slow frames are."""
    viewer = FakeViewer(FakeTime(), cost=0.05)
    _, took = _run(viewer, dt=0.01, work=0.02, duration=3.0)
    work = 300 * 0.02
    drawing = len(viewer.frames) * viewer.cost
    assert took == pytest.approx(work + drawing)
    assert drawing <= 1.05 * DRAWING_SHARE * took
    assert len(viewer.frames) > 5


def test_late_run_does_not_race_afterwards() -> None:
    """After a pause the picture goes on at its pace instead of catching up."""
    fake = FakeTime()
    viewer = FakeViewer(fake, cost=0.001)
    live, _ = _run(viewer, dt=0.05, work=0.002, duration=1.0)
    fake.now += 5.0
    robot, start = hopper(), fake.now
    for k in range(21, 41):
        live.update(hop_result(robot, k * 0.05))
    assert fake.now - start == pytest.approx(1.0, abs=0.06)


def test_last_step_is_shown_even_if_it_was_left_out() -> None:
    """While the page is busy frames are left out; the last one is drawn at the end."""
    viewer = FakeViewer(FakeTime(), cost=0.001, busy=True)
    live, _ = _run(viewer, dt=0.05, work=0.002, duration=1.0)
    assert viewer.frames == []
    live.finish()
    assert viewer.frames == [pytest.approx(1.0)]


def test_pace_must_be_positive() -> None:
    """Speeds and rates that are none are refused."""
    viewer = FakeViewer(FakeTime(), cost=0.0)
    for value in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(ViewerError, match="speed"):
            LiveView(viewer, speed=value)
        with pytest.raises(ViewerError, match="max_rate"):
            LiveView(viewer, max_rate=value)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_live_viewer_serves_its_page_at_the_port() -> None:
    """The page is there while the viewer is, and gone after it."""
    port = _free_port()
    with MeshcatViewer(hopper(), FLAT, port=port) as viewer:
        assert viewer.url == f"http://127.0.0.1:{port}/static/"
        with urllib.request.urlopen(viewer.url, timeout=10) as page:
            assert b"MeshCat" in page.read()
        with pytest.raises(ViewerError, match=rf"port {port}: .*in use.*another port"):
            MeshcatViewer(hopper(), FLAT, port=port)
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(viewer.url, timeout=10)


def test_port_in_use_moves_on_unless_it_was_asked_for() -> None:
    """Without a port, two viewers stand side by side."""
    with MeshcatViewer(hopper(), None) as one, MeshcatViewer(hopper(), None) as two:
        assert one.url != two.url


@pytest.mark.parametrize("port", [0, -1, 65536])
def test_port_must_be_one(port: int) -> None:
    """Numbers that are no ports are refused."""
    with pytest.raises(ViewerError, match="from 1 to 65535"):
        LiveWindow(port=port)


def test_wrong_address_of_a_server_is_refused() -> None:
    """An address that is none, and a port and an address together."""
    with pytest.raises(ViewerError, match="no address"):
        LiveWindow(zmq_url="nonsense")
    with pytest.raises(ViewerError, match="the port of a new viewer or"):
        LiveWindow(port=7000, zmq_url="tcp://127.0.0.1:6000")


def test_absent_server_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """An address where nobody answers gives an error, not an endless wait."""
    monkeypatch.setattr("nmdp_pin.viz.live_window._PATIENCE", 200)
    with pytest.raises(ViewerError, match="no meshcat server"):
        LiveWindow(zmq_url=f"tcp://127.0.0.1:{_free_port()}")


def test_a_running_server_can_be_used() -> None:
    """A second program draws into the page of the first, and leaves it there."""
    window = LiveWindow()
    try:
        with MeshcatViewer(hopper(), FLAT, zmq_url=window.zmq_url) as viewer:
            assert viewer.url == window.url
            assert viewer.draw(hopper().standing)
            viewer.flush()
        with urllib.request.urlopen(window.url, timeout=10) as page:
            assert page.status == 200
    finally:
        window.close()


def test_drawing_does_not_wait_for_the_server() -> None:
    """While the server stands still frames are left out; then the picture goes on."""
    robot = hopper()
    with MeshcatViewer(robot, FLAT) as viewer:
        assert viewer.draw(robot.standing)
        viewer.flush()
        server = viewer._window._server
        assert server is not None
        server.send_signal(signal.SIGSTOP)
        try:
            start = time.perf_counter()
            drawn = [viewer.draw(hop_state(robot, 0.1 * k).q) for k in range(1, 6)]
            assert time.perf_counter() - start < _PROMPT
            assert drawn == [True, False, False, False, False]
        finally:
            server.send_signal(signal.SIGCONT)
        viewer.flush()
        assert viewer.draw(hop_state(robot, 0.9).q)


def test_dead_server_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waiting for a server that died ends with an error."""
    monkeypatch.setattr("nmdp_pin.viz.live_window._PATIENCE", 200)
    robot = hopper()
    with MeshcatViewer(robot, FLAT) as viewer:
        server = viewer._window._server
        assert server is not None
        server.kill()
        server.wait()
        viewer.draw(hop_state(robot, 0.3).q)
        with pytest.raises(ViewerError, match="does not answer"):
            viewer.flush()


def test_server_ends_with_its_program() -> None:
    """The server does not outlive a program that was killed."""
    server = subprocess.Popen(
        [sys.executable, meshcat_server.__file__, "0"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert server.stdout is not None
    assert "web_url" in json.loads(server.stdout.readline())
    assert server.poll() is None
    server.communicate(timeout=10)  # closes its input, as the system does when a program dies
    assert server.returncode == 0


def test_replay_is_served_until_it_is_closed() -> None:
    """The page of a recording, nothing else, at the port that was asked for."""
    port = _free_port()
    with view_recording(hop_recording(), hopper(), FLAT, port=port, open_browser=False) as server:
        assert server.url == f"http://127.0.0.1:{port}/"
        with urllib.request.urlopen(server.url, timeout=10) as page:
            assert "hopper · nmdp-pin" in page.read().decode("utf-8")
        with pytest.raises(urllib.error.HTTPError, match="404") as error:
            urllib.request.urlopen(server.url + "etc/passwd", timeout=10)
        error.value.close()
        with pytest.raises(ViewerError, match=rf"port {port}: .*in use"):
            PageServer("", port=port)
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(server.url, timeout=10)


def test_replays_stand_side_by_side() -> None:
    """Without a port the first free one is taken."""
    with PageServer("one") as one, PageServer("two") as two:
        assert one.url != two.url
