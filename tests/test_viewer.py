"""The viewer without a browser: scene, frames, pages of their own."""

from __future__ import annotations

import base64
import dataclasses
import gzip
import json
import os
import re
import struct
from pathlib import Path

import coal
import numpy as np
import pinocchio as pin
import pytest
import trimesh
from sample_motion import LEG, hop_recording, hop_result, hop_state, hopper

from nmdp_pin.errors import RecordingError, ViewerError
from nmdp_pin.robot import Robot
from nmdp_pin.runs.recorder import Recorder
from nmdp_pin.scenario import Scenario
from nmdp_pin.status import Status
from nmdp_pin.terrain import Box, Capsule, Cylinder, HeightField, Mesh, Plane, Sphere, Terrain
from nmdp_pin.viz.colored_mesh import ColoredMesh, mesh_of
from nmdp_pin.viz.ground import ground_kinds
from nmdp_pin.viz.mesh_file import read_mesh
from nmdp_pin.viz.replay import Replay, keyframes
from nmdp_pin.viz.scene import Scene
from nmdp_pin.viz.timeline import MAX_RATE, Timeline
from nmdp_pin.viz.viewer import Viewer

# Frames are in single precision, which rounds a metre to 1e-7.
_SINGLE = 1e-6
# A polyhedron in a ball or a cylinder has less volume than it: 1280 faces 0.7 %, 32 sides 0.7 %.
_ROUNDNESS = 0.02

FLAT = Terrain([Plane(height=0.0)])
WHITE = (1.0, 1.0, 1.0, 1.0)


def _volume(mesh: ColoredMesh) -> float:
    """Volume inside a mesh whose faces look outward."""
    a, b, c = mesh.vertices[mesh.faces].astype(float).transpose(1, 0, 2)
    return float(np.sum(np.cross(a, b) * c) / 6.0)


@pytest.mark.parametrize(
    ("shape", "volume"),
    [
        (coal.Box(1.0, 2.0, 3.0), 6.0),
        (coal.Sphere(0.5), np.pi / 6.0),
        (coal.Ellipsoid(0.5, 1.0, 2.0), 4.0 * np.pi / 3.0),
        (coal.Cylinder(0.5, 2.0), np.pi / 2.0),
        (coal.Capsule(0.5, 2.0), np.pi / 2.0 + np.pi / 6.0),
        (coal.Cone(0.5, 2.0), np.pi / 6.0),
    ],
)
def test_primitives_have_their_volume_and_place(shape: coal.ShapeBase, volume: float) -> None:
    """Triangles enclose the volume of the closed form, in coal's own frame, looking outward."""
    mesh = mesh_of(shape)
    assert _volume(mesh) == pytest.approx(volume, rel=_ROUNDNESS)
    shape.computeLocalAABB()
    box = np.array([shape.aabb_local.min_, shape.aabb_local.max_])
    np.testing.assert_allclose(mesh.vertices.min(axis=0), box[0], atol=0.01)
    np.testing.assert_allclose(mesh.vertices.max(axis=0), box[1], atol=0.01)


def test_mirrored_mesh_looks_outward() -> None:
    """A negative scale turns the faces, so that the volume stays positive."""
    mesh = mesh_of(coal.Box(1.0, 2.0, 3.0)).scaled(np.array([-2.0, 1.0, 1.0]))
    assert _volume(mesh) == pytest.approx(12.0)


def test_broken_meshes_are_refused() -> None:
    """No triangles, an index out of range, and coordinates that are no numbers."""
    corners = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]])
    for vertices, faces in (
        (corners, np.zeros((0, 3), dtype=int)),
        (corners, np.array([[0, 1, 3]])),
        (corners, np.array([[0, 1, -1]])),
        (corners, np.array([[0, 1, 1]])),
        (corners * np.nan, np.array([[0, 1, 2]])),
    ):
        with pytest.raises(ValueError, match=r"corner|triangles"):
            ColoredMesh.welded(vertices, faces)


@pytest.mark.parametrize("ending", ["stl", "obj", "ply", "glb", "dae"])
def test_mesh_files_are_read(tmp_path: Path, ending: str) -> None:
    """Each format gives the triangles that were written."""
    path = tmp_path / f"box.{ending}"
    trimesh.creation.box(extents=[0.2, 0.4, 0.6]).export(path)
    (part,) = read_mesh(path, WHITE)
    assert _volume(part) == pytest.approx(0.048, rel=1e-5)
    assert len(part.vertices) == 8


@pytest.mark.parametrize("content", [b"", b"<COLLADA/>", b"solid\nfacet", bytes(range(200))])
def test_broken_mesh_files_are_one_kind_of_error(tmp_path: Path, content: bytes) -> None:
    """Whatever a file holds, it is triangles, none, or a ValueError."""
    for ending in ("dae", "stl", "obj", "glb"):
        path = tmp_path / f"broken.{ending}"
        path.write_bytes(content)
        try:
            parts = read_mesh(path, WHITE)
        except ValueError:
            parts = []
        assert parts == []


def _scene_with(shape: pin.GeometryObject) -> Scene:
    robot = hopper()
    looks = pin.GeometryModel(robot.visual_model)
    looks.addGeometryObject(shape)
    return Scene(dataclasses.replace(robot, visual_model=looks), FLAT)


def test_unreadable_mesh_does_not_stop_the_others(tmp_path: Path) -> None:
    """It is drawn by its collision triangles, or left out; a note says so."""
    (tmp_path / "broken.dae").write_bytes(b"<COLLADA")
    path, scale = str(tmp_path / "broken.dae"), np.ones(3)
    here = pin.SE3.Identity()
    scene = _scene_with(pin.GeometryObject("bad", 1, 0, here, coal.Box(1, 1, 1), path, scale))
    assert [piece.name for piece in scene.bodies] == ["torso", "front_leg", "rear_leg", "bad"]
    assert "bad is drawn in one colour" in scene.notes[0]
    scene = _scene_with(pin.GeometryObject("none", 1, here, coal.Plane(0.0, 0.0, 1.0, 0.0)))
    assert [piece.name for piece in scene.bodies] == ["torso", "front_leg", "rear_leg"]
    assert "none is not drawn" in scene.notes[0]


def test_every_terrain_shape_is_drawn() -> None:
    """All seven kinds become triangles with a picture."""
    tetrahedron = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    faces = np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]])
    shapes = [
        Plane(height=0.0),
        Box(size=(1.0, 1.0, 0.5)),
        Sphere(radius=0.5),
        Cylinder(radius=0.3, length=1.0),
        Capsule(radius=0.3, length=1.0),
        HeightField(heights=np.zeros((3, 4)), size=(2.0, 2.0)),
        Mesh(vertices=tetrahedron, faces=faces),
    ]
    pieces = Scene(hopper(), Terrain(shapes)).terrain
    assert len(pieces) == len(shapes)
    assert all(piece.mesh.image and piece.mesh.uv is not None for piece in pieces)


def test_tilted_plane_is_drawn_where_it_is() -> None:
    """The square that stands for a plane lies in it, below the robot."""
    normal = np.array([-0.3, 0.2, 1.0]) / np.linalg.norm([-0.3, 0.2, 1.0])
    plane = Plane(normal=(-0.3, 0.2, 1.0), height=-0.25)
    (piece,) = Scene(hopper(), Terrain([plane])).terrain
    np.testing.assert_allclose(piece.placement[:3, 2], normal, atol=1e-12)
    assert normal @ piece.placement[:3, 3] == pytest.approx(normal @ [0.0, 0.0, -0.25])
    assert np.linalg.norm(piece.placement[:3, 3]) < 2.0


def test_grounds_look_different() -> None:
    """Ice is what is slippery or called so, sand what is granular, and their pictures differ."""
    assert ground_kinds(Scenario.load("spider-half-sand")) == {0: "sand", 1: "rock"}
    assert ground_kinds(Scenario.load("robosimian-walk-ice")) == {0: "rock", 1: "ice"}
    assert ground_kinds(Scenario.load("sliding-box")) == {}
    slick = Terrain([Plane(friction=0.05), Plane(friction=0.6), Plane(friction=1.2), Plane()])
    pieces = Scene(hopper(), slick, kinds={3: "sand"}).terrain
    assert [piece.name for piece in pieces] == ["ice_0", "floor_1", "rock_2", "sand_3"]
    assert len({piece.mesh.image for piece in pieces}) == 4


def test_frames_are_the_placements_of_the_joints() -> None:
    """A frame holds time, poses of the joints and forces; the quaternion has x first."""
    robot = hopper()
    scene = Scene(robot, FLAT)
    q = hop_state(robot, 0.3).q
    force = np.array([[30.0, 0.0, 40.0], [0.0, 0.0, 0.0]])
    frame = scene.frame(0.3, q, force)
    data = robot.model.createData()
    pin.forwardKinematics(robot.model, data, q)
    assert frame[0] == pytest.approx(0.3)
    for k, joint in enumerate(scene.joints):
        np.testing.assert_allclose(
            frame[1 + 7 * k : 8 + 7 * k], pin.SE3ToXYZQUAT(data.oMi[joint]), atol=_SINGLE
        )
    np.testing.assert_array_equal(frame[-6:], force.ravel())
    foot = data.oMi[2].act(np.array([0.0, 0.0, -LEG]))
    point = robot.contact_points
    np.testing.assert_allclose(data.oMi[int(point.joints[0])].act(point.positions[0]), foot)


def test_force_that_is_not_finite_is_hidden() -> None:
    """Neither NaN nor a force beyond single precision reaches the page."""
    robot = hopper()
    frame = Scene(robot, FLAT).frame(0.0, robot.standing, np.array([[np.nan] * 3, [1e300] * 3]))
    assert np.isfinite(frame).all()
    np.testing.assert_array_equal(frame[-6:], 0.0)


def test_robot_without_looks_is_drawn_as_sticks() -> None:
    """Where no shape is known, or the model of looks is empty, sticks lead from joint to joint."""
    for looks in (None, pin.GeometryModel()):
        robot = dataclasses.replace(hopper(), visual_model=looks)
        assert [piece.name for piece in Scene(robot, None).bodies] == ["stick_2", "stick_3"]


def _filled(times: np.ndarray, **options: float) -> Timeline:
    timeline = Timeline(3, **options)  # type: ignore[arg-type]
    for t in times:
        if timeline.due(t):
            timeline.append(np.array([t, 1.0, 2.0], dtype=np.float32))
    return timeline


def test_timeline_thins_small_steps() -> None:
    """Steps of 1 ms leave the largest rate of frames."""
    times = _filled(np.arange(1001) / 1000.0).after(0, 0).values[:, 0]
    assert len(times) <= MAX_RATE + 1
    assert np.diff(times).min() >= 0.99 / MAX_RATE


def test_timeline_never_takes_more_than_its_memory() -> None:
    """A run without end is thinned again and again: begin and end stay, the memory does too."""
    bound = 12 * 1000
    timeline = _filled(np.arange(20_000) / 60.0, max_bytes=bound)
    frames = timeline.after(0, 0)
    assert frames.edition > 0  # readers learn that all frames are others
    assert timeline._frames.nbytes <= bound
    assert frames.values[0, 0] == 0.0
    assert frames.values[-1, 0] > 330.0
    assert 500 <= len(frames.values) <= 1000


def test_readers_get_what_they_lack() -> None:
    """From an index on, from the beginning of a new edition, and in pieces of bounded size."""
    timeline = _filled(np.arange(100) / 10.0)
    assert timeline.after(0, 90).first == 90
    assert len(timeline.after(0, 90).values) == 10
    for edition, first in ((7, 50), (0, 101), (0, -1)):
        assert timeline.after(edition, first).first == 0
    assert not timeline.after(0, 0).complete
    timeline.finish()
    assert timeline.after(0, 0).complete
    assert timeline.after(0, 100, timeout=60.0).complete  # does not wait
    large = Timeline(300_000)
    for t in range(5):
        large.append(np.full(300_000, t, dtype=np.float32))
    assert len(large.after(0, 0).values) == 1


def test_time_that_goes_back_begins_anew() -> None:
    """An episode that is reset replaces the one before."""
    timeline = _filled(np.array([0.0, 1.0, 2.0, 0.0, 1.0]))
    frames = timeline.after(0, 3)
    assert (frames.edition, frames.first, len(frames.values)) == (1, 0, 2)


def _embedded(page: str, name: str) -> bytes:
    found = re.search(rf'id="{name}-data">([A-Za-z0-9+/=]+)<', page)
    assert found
    return gzip.decompress(base64.b64decode(found[1]))


def _header(page: str) -> dict:
    data = _embedded(page, "scene")
    (size,) = struct.unpack_from("<I", data)
    return json.loads(data[4 : 4 + size])


def _frames(page: str) -> np.ndarray:
    data = _embedded(page, "frames")
    _, _, count, complete = np.frombuffer(data, "<u4", 4)
    assert complete == 1
    return np.frombuffer(data, "<f4", offset=16).reshape(count, -1)


def test_page_has_the_times_and_places_of_the_recording() -> None:
    """Frames are the rows: times in seconds, positions of the base."""
    recording = hop_recording(duration=3.0)
    page = Replay(recording, hopper(), FLAT).html()
    frames, base = _frames(page), _header(page)["base"]
    np.testing.assert_allclose(frames[:, 0], recording.t, atol=_SINGLE)
    place = frames[:, 1 + 7 * base : 4 + 7 * base]
    np.testing.assert_allclose(place, recording.base_position, atol=_SINGLE)


def test_small_steps_are_thinned() -> None:
    """Rows of 1 ms give frames of the largest rate, with the first and the last row."""
    times = _frames(Replay(hop_recording(duration=1.0, dt=0.001), hopper(), None).html())[:, 0]
    assert len(times) <= MAX_RATE + 2
    assert times[0] == 0.0
    assert times[-1] == pytest.approx(1.0)


def test_failed_step_gives_no_second_frame() -> None:
    """A failed step repeats the time; frames have times that increase."""
    robot = hopper()
    recorder = Recorder(robot, hop_state(robot, 0.0))
    for t, status in ((0.05, Status.CONVERGED), (0.05, Status.NOT_FINITE)):
        recorder.record(hop_result(robot, t, status=status), 0.001)
    recording = recorder.recording()
    assert list(recording.t[keyframes(recording)]) == [0.0, 0.05]


def test_page_needs_nothing_else() -> None:
    """No script, style, picture or address outside of the page, and the policy forbids them."""
    page = Replay(hop_recording(), hopper(), FLAT).html(title="a < b")
    assert "<title>a &lt; b</title>" in page
    assert not re.search(r"<(link|img|iframe|script)[^>]*(src|href)\s*=", page)
    assert set(re.findall(r"https?://[^\s\"'`)]+", page)) == {"http://www.w3.org/1999/xhtml"}
    assert "default-src 'none'" in page
    assert len(page) < 2e6


@pytest.mark.parametrize("title", ["@SCRIPT@", "@DATA@ @THREE@", "@POLICY@</title><b>"])
def test_titles_are_no_places_of_the_page(title) -> None:
    """What a robot is called is shown, and the page is otherwise that of any name."""
    replay = Replay(hop_recording(), hopper(), FLAT)
    page, other = replay.html(title=title), replay.html(title="a")
    shown = title.replace("<", "&lt;").replace(">", "&gt;")
    scripts = re.compile("<script>.*?</script>", re.DOTALL)
    assert f"<title>{shown}</title>" in page
    assert scripts.findall(page) == scripts.findall(other)


def test_names_cannot_leave_the_data() -> None:
    """A robot with a script for a name adds no script to the page."""
    robot = dataclasses.replace(hopper(), name="</script><script>alert(1)</script>")
    recorder = Recorder(robot, hop_state(robot, 0.0))
    page = Replay(recorder.recording(), robot, FLAT).html()
    assert "alert(1)</script>" not in page
    assert page.count("<script") == Replay(hop_recording(), hopper(), FLAT).html().count("<script")


def test_page_of_ten_seconds_is_small(tmp_path: Path) -> None:
    """Ten seconds at 5 ms stay far below the limit of 15 MB."""
    path = tmp_path / "run.html"
    Replay(hop_recording(duration=10.0, dt=0.005), hopper(), FLAT).write_html(path)
    assert path.stat().st_size < 3e6
    assert os.listdir(tmp_path) == ["run.html"]


def test_same_run_gives_the_same_page() -> None:
    """Nothing in the page depends on when it was written."""
    pages = {Replay(hop_recording(), hopper(), FLAT).html() for _ in range(2)}
    assert len(pages) == 1


def test_wrong_requests_for_a_page_are_refused(tmp_path: Path) -> None:
    """Another robot, a speed that is none and a folder that does not exist."""
    recording, robot = hop_recording(), hopper()
    points = dataclasses.replace(robot.contact_points, names=("a", "b"))
    other: Robot = dataclasses.replace(robot, contact_points=points)
    with pytest.raises(RecordingError, match="not the robot"):
        Replay(recording, other, FLAT)
    for speed in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(ViewerError, match="speed"):
            Replay(recording, robot, FLAT, speed=speed)
        with pytest.raises(ViewerError, match="speed"):
            Viewer(robot, FLAT, speed=speed)
    with pytest.raises(RecordingError, match="create it first"):
        Replay(recording, robot, FLAT).write_html(tmp_path / "absent" / "run.html")
