"""Robots and terrains in recordings: seen as they were, without their files, and only data."""

import json

import coal
import numpy as np
import pinocchio as pin
import pytest
from sample_motion import hop_result, hop_state, hopper

from nmdp_pin import Scenario, run
from nmdp_pin._robot import free_body, load_robot, together
from nmdp_pin._runs.recorded_scene import scene_of, scene_table
from nmdp_pin._runs.recorder import Recorder
from nmdp_pin._runs.recording import Recording
from nmdp_pin._sensors.joint_sensors import JointPositions
from nmdp_pin._sensors.sensors import Sensors
from nmdp_pin._terrain import Box, HeightField, Mesh, Plane, Sphere, Terrain
from nmdp_pin.errors import RecordingError
from nmdp_pin.viz.plots import plot_recording
from nmdp_pin.viz.replay import Replay
from nmdp_pin.viz.scene import Scene

_QUATERNION = 1e-15  # rounding of a rotation to one and back

CORNERS = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
GROUND = (
    Plane(height=-0.1, friction=0.3),
    Box(size=(1.0, 2.0, 0.1), position=(1.0, 0.0, 0.05), rpy=(0.0, 0.1, 0.0)),
    HeightField(roughness=0.1, size=(2.0, 1.0), spacing=(0.2, 0.1), position=(5.0, 0.0, 0.0)),
    Mesh(vertices=CORNERS, faces=[[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]], scale=2.0),
)


def turned():
    """The sample robot with a joint about an axis of its own, an object, and a mesh of no file."""
    robot = together(hopper(), [free_body("ball", mass=1.0, shape=Sphere(radius=0.1))])
    axis = pin.JointModelRevoluteUnaligned(np.array([0.0, 0.6, 0.8]))
    joint = robot.model.addJoint(robot.model.njoints - 1, axis, pin.SE3.Random(), "arm")
    solid = GROUND[3].collision_geometry()
    solids = {"cup": solid, "rod": coal.Capsule(0.1, 0.5), "tin": coal.Cylinder(0.2, 0.3)}
    solids |= {"hat": coal.Cone(0.1, 0.4), "egg": coal.Ellipsoid(0.1, 0.2, 0.3)}
    for name, shape in solids.items():
        item = pin.GeometryObject(name, joint, pin.SE3.Random(), shape)
        robot.visual_model.addGeometryObject(item)
    standing = np.append(robot.standing, 0.2)
    return type(robot)(
        robot.name,
        robot.model,
        robot.contact_points,
        robot.driven,
        standing,
        visual_model=robot.visual_model,
    )


@pytest.mark.parametrize("make", [turned, lambda: load_robot("box")], ids=["python", "urdf"])
def test_a_scene_is_seen_as_it_was(make):
    """All meshes, of links and of the ground, are where they were at any configuration."""
    robot, ground = make(), Terrain(GROUND)
    text = json.dumps(scene_table(robot, ground))
    assert "path" not in text
    there, terrain = scene_of(json.loads(text))
    before, after = Scene(robot, ground), Scene(there, terrain)
    assert [piece.name for piece in before.bodies] == [piece.name for piece in after.bodies]
    for one, other in zip(
        before.bodies + before.terrain, after.bodies + after.terrain, strict=True
    ):
        np.testing.assert_allclose(one.placement, other.placement, rtol=0.0, atol=_QUATERNION)
        assert one.mesh.color == other.mesh.color
        np.testing.assert_array_equal(one.mesh.vertices, other.mesh.vertices)
    q = pin.integrate(robot.model, robot.standing, np.linspace(-1.0, 1.0, robot.model.nv))
    force = np.ones((len(robot.contact_points), 3))
    np.testing.assert_allclose(
        before.frame(0.5, q, force), after.frame(0.5, q, force), rtol=0.0, atol=1e-6
    )
    np.testing.assert_array_equal(terrain.friction, ground.friction)


def test_a_mesh_whose_file_is_gone_is_a_box(tmp_path):
    """Which is told, in place of the mesh."""
    robot = hopper()
    item = robot.visual_model.geometryObjects[0]
    item.geometry, item.meshPath = GROUND[3].collision_geometry(), str(tmp_path / "gone.stl")
    item.overrideMaterial = True
    there, _ = scene_of(json.loads(json.dumps(scene_table(robot, None))))
    assert there.visual_model.geometryObjects[0].overrideMaterial
    scene = Scene(there, None)
    assert "gone.stl" in scene.notes[0]
    corners = scene.bodies[0].mesh.vertices
    np.testing.assert_allclose([corners.min(axis=0), corners.max(axis=0)], [3 * [0.0], 3 * [2.0]])


def test_recordings_of_python_are_shown_and_plotted(tmp_path):
    """Without a scenario, from the file alone: its page, and panels of joints and sensors."""
    robot, path = hopper(), tmp_path / "hop.npz"
    sensors = Sensors(robot, [JointPositions()], terrain=Terrain(GROUND[0]))
    with Recorder(robot, hop_state(robot, 0.0), sensors=sensors, out=path) as recorder:
        for t in (0.1, 0.2):
            recorder.record(hop_result(robot, t), 0.01)
    loaded = Recording.load(path)
    there, terrain = loaded.scene()
    assert terrain.friction.tolist() == [0.3]
    assert "hopper" in Replay(loaded, there, terrain).html()
    plot_recording(loaded, tmp_path / "hop.svg")
    drawn = (tmp_path / "hop.svg").read_text()
    for word in ("joint_positions", "joints [rad]", "front_hip"):
        assert f">{word}<" in drawn


def test_recordings_of_scenarios_have_its_robot_and_ground():
    """Built again of what the recording says."""
    words = ["duration=0.02", "integrator.dt=0.02"]
    recording = run(Scenario.load("falling-box-stairs", overrides=words))
    robot, terrain = recording.scene()
    setup = Scenario.load("falling-box-stairs", overrides=words).build()
    assert terrain.shapes == setup.terrain.shapes
    np.testing.assert_array_equal(robot.standing, setup.robot.standing)


def test_robots_that_cannot_be_held_are_named():
    """A universal joint has no axes that Python can read."""
    robot = hopper()
    universal = pin.JointModelUniversal(np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0]))
    robot.model.addJoint(robot.model.njoints - 1, universal, pin.SE3.Identity(), "wrist")
    with pytest.raises(RecordingError, match="joint 'wrist' is of the kind Universal"):
        scene_of(scene_table(robot, None))
    with pytest.raises(RecordingError, match="was made without"):
        scene_of(None)


@pytest.mark.parametrize(
    "damage",
    [
        lambda table: table["robot"]["joints"][1].__setitem__(2, 99),
        lambda table: table["robot"]["joints"][1].__setitem__(0, "Composite.__class__"),
        lambda table: table["robot"]["joints"][0][3].__setitem__(0, float("nan")),
        lambda table: table["robot"]["frames"][0].__setitem__(1, -1),
        lambda table: table["robot"]["contacts"]["joints"].__setitem__(0, 7),
        lambda table: table["robot"]["shapes"][0].update(joint=12),
        lambda table: table["robot"]["shapes"][0].update(kind="planet"),
        lambda table: table["robot"].update(standing=[1.0]),
        lambda table: table["terrain"][3]["faces"].update(shape=[10**9, 3]),
        lambda table: table["terrain"][3].update(path="/etc/passwd"),
        lambda table: table["terrain"][0].update(kind="__class__"),
        lambda table: table.pop("terrain"),
    ],
)
def test_damaged_scenes_are_refused(damage):
    """Indices out of range, unknown kinds, and numbers that are none end in one typed error."""
    table = json.loads(json.dumps(scene_table(hopper(), Terrain(GROUND))))
    damage(table)
    with pytest.raises(RecordingError, match="is damaged"):
        scene_of(table)
