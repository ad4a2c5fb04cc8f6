"""Scenes, their frames, and self-contained pages, without a browser."""

from __future__ import annotations

import base64
import dataclasses
import gzip
import json
import os
import re
import struct
import sys
from pathlib import Path

import coal
import numpy as np
import pinocchio as pin
import pytest
import trimesh
from sample_motion import LEG, hop_recording, hop_result, hop_state, hopper

from nmdp_pin._files import limited_process
from nmdp_pin._robot import Robot
from nmdp_pin._runs.recorder import Recorder
from nmdp_pin._scenario import Scenario
from nmdp_pin._state.status import Status
from nmdp_pin._terrain import Box, Capsule, Cylinder, HeightField, Mesh, Plane, Sphere, Terrain
from nmdp_pin.errors import RecordingError, ViewerError
from nmdp_pin.viz.colored_mesh import ColoredMesh, mesh_of
from nmdp_pin.viz.frames import MAX_RATE, Frames
from nmdp_pin.viz.ground import ground_kinds
from nmdp_pin.viz.mesh_file import read_mesh
from nmdp_pin.viz.replay import Replay
from nmdp_pin.viz.scene import Scene

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


def test_a_mesh_file_that_takes_for_ever(tmp_path: Path, monkeypatch) -> None:
    """A picture that is a pipe has no end; the mesh is given up."""
    monkeypatch.setattr(limited_process, "SECONDS", 1)
    os.mkfifo(tmp_path / "look.mtl")
    path = tmp_path / "box.obj"
    path.write_text("mtllib look.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    with pytest.raises(ValueError, match="it takes more than 1 s"):
        read_mesh(path, WHITE)


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


def test_colours_of_collada_are_an_extra(tmp_path: Path, monkeypatch) -> None:
    """Without pycollada the reason is the extra to install; other formats are read."""
    for ending in ("dae", "stl"):
        trimesh.creation.box().export(tmp_path / f"box.{ending}")
    monkeypatch.setitem(sys.modules, "collada", None)
    assert read_mesh(tmp_path / "box.stl", WHITE)
    with pytest.raises(ValueError, match=r"nmdp-pin\[collada\]"):
        read_mesh(tmp_path / "box.dae", WHITE)
    looks = pin.GeometryModel()
    place, scale, box = pin.SE3.Identity(), np.ones(3), coal.Box(1.0, 1.0, 1.0)
    for name in "ab":
        path = str(tmp_path / f"{name}.dae")
        looks.addGeometryObject(pin.GeometryObject(name, 1, 0, place, box, path, scale))
    (note,) = Scene(dataclasses.replace(hopper(), visual_model=looks), FLAT).notes
    assert note.startswith("a and 1 more are drawn in one colour: pycollada is not installed")


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


def test_forces_on_a_wheel_begin_at_its_rim() -> None:
    """The contact point of a wheel is a node where the rim is next to the ground."""
    robot = hopper()
    disc = np.array([[0.2, 0.0, 0.0], [0.0, 0.0, 0.2], [0.0] * 3])
    semi_axes = np.stack([disc, np.zeros((3, 3))])
    points = dataclasses.replace(robot.contact_points, semi_axes=semi_axes)
    normal = np.array([0.6, 0.0, 0.8])
    slope = Terrain([Plane(normal=tuple(normal))])
    scene = Scene(dataclasses.replace(robot, contact_points=points), slope)
    q = hop_state(robot, 0.3).q
    frame = scene.frame(0.0, q, None)
    assert scene.n_nodes == len(scene.joints) + 1
    data = robot.model.createData()
    pin.forwardKinematics(robot.model, data, q)
    hub = data.oMi[2].act(points.positions[0])
    rim = frame[1 + 7 * len(scene.joints) :][:3]
    np.testing.assert_allclose(rim, hub - 0.2 * normal, atol=_SINGLE)
    assert list(scene.carriers) == [len(scene.joints), scene.rows[3]]


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


def _filled(times: np.ndarray, **options: int) -> np.ndarray:
    """Times of the frames that are kept of a run."""
    robot = hopper()
    frames = Frames(Scene(robot, FLAT), **options)
    for t in times:
        frames.add(t, robot.standing)
    return frames.values()[:, 0]


def test_frames_of_small_steps_are_thinned() -> None:
    """Steps of 1 ms leave the largest rate of frames, with the first and the last step."""
    times = _filled(np.arange(1001) / 1000.0)
    assert len(times) <= MAX_RATE + 2
    assert np.diff(times)[:-1].min() >= 0.99 / MAX_RATE
    assert (times[0], times[-1]) == (0.0, 1.0)


def test_frames_never_take_more_than_their_memory() -> None:
    """A run without end is thinned again and again: begin and end stay, the memory does too."""
    size = 4 * Scene(hopper(), FLAT).frame_size
    times = _filled(np.arange(20_000) / 60.0, max_bytes=1000 * size)
    assert 500 <= len(times) <= 1001
    assert times[0] == 0.0
    assert times[-1] == pytest.approx(19_999 / 60.0)


def test_time_that_goes_back_begins_anew() -> None:
    """An episode that is reset replaces the one before."""
    assert list(_filled(np.array([0.0, 1.0, 2.0, 0.0, 1.0]))) == [0.0, 1.0]


def test_smooth_faces_share_normals_and_edges_divide_them() -> None:
    """Normals of a ball point away from its centre; a box has three at each of its corners."""
    ball = mesh_of(coal.Sphere(0.5)).shaded()
    assert len(ball.vertices) == 642  # as many as the icosphere has
    np.testing.assert_allclose(ball.normals, ball.vertices / 0.5, atol=_ROUNDNESS)
    box = mesh_of(coal.Box(1.0, 2.0, 3.0)).shaded()
    assert len(box.vertices) == 24
    corners = box.normals[box.faces]
    a, b, c = box.vertices[box.faces].transpose(1, 0, 2)
    flat = np.cross(b - a, c - a)
    flat /= np.linalg.norm(flat, axis=1, keepdims=True)
    np.testing.assert_allclose(corners, flat[:, None].repeat(3, axis=1), atol=_SINGLE)


def _embedded(page: str, name: str) -> bytes:
    found = re.search(rf'id="{name}-data">([A-Za-z0-9+/=]+)<', page)
    assert found
    return gzip.decompress(base64.b64decode(found[1]))


def _header(page: str) -> dict:
    data = _embedded(page, "scene")
    (size,) = struct.unpack_from("<I", data)
    return json.loads(data[4 : 4 + size])


def _frames(page: str) -> np.ndarray:
    header = _header(page)
    size = 1 + 7 * len(header["nodes"]) + 3 * len(header["contacts"])
    return np.frombuffer(_embedded(page, "frames"), "<f4").reshape(-1, size)


def test_page_has_the_times_and_places_of_the_recording() -> None:
    """Frames are the rows: times in seconds, positions of the base."""
    recording = hop_recording(duration=3.0)
    page = Replay(recording, hopper(), FLAT).html()
    frames, base = _frames(page), _header(page)["base"]
    np.testing.assert_allclose(frames[:, 0], recording.t, atol=_SINGLE)
    place = frames[:, 1 + 7 * base : 4 + 7 * base]
    np.testing.assert_allclose(place, recording.base_position, atol=_SINGLE)


def test_failed_step_gives_no_second_frame() -> None:
    """A failed step repeats the time; frames have times that increase."""
    robot = hopper()
    recorder = Recorder(robot, hop_state(robot, 0.0))
    for t, status in ((0.05, Status.CONVERGED), (0.05, Status.NOT_FINITE)):
        recorder.record(hop_result(robot, t, status=status), 0.001)
    times = _frames(Replay(recorder.recording(), robot, FLAT).html())[:, 0]
    np.testing.assert_allclose(times, [0.0, 0.05], atol=_SINGLE)


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
    with pytest.raises(RecordingError, match="create it first"):
        Replay(recording, robot, FLAT).write_html(tmp_path / "absent" / "run.html")
