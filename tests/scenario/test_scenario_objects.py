"""[[objects]] and self_collision of scenario files."""

import re
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from nmdp_pin._robot import ContactPoints, free_body, load_robot, surface_names, together, touching
from nmdp_pin._runs.recorder import Recorder
from nmdp_pin._runs.recording import Recording
from nmdp_pin._scenario import Scenario
from nmdp_pin._terrain import Box, Plane, Sphere
from nmdp_pin.errors import RobotError, ScenarioError

BOX = {"kind": "box", "name": "crate", "size": [0.2, 0.3, 0.1], "mass": 2.0}


def table(objects, **robot):
    """A scenario with a finger and objects."""
    return {
        "duration": 0.1,
        "robot": {"name": "finger", **robot},
        "terrain": {"shapes": [{"kind": "plane"}]},
        "objects": objects,
        "contact": {"stiffness": 1e6, "power": 2},
        "integrator": {"name": "ne-nmdp", "dt": 0.01},
    }


def test_an_object_stands_and_moves_as_the_file_says():
    """Position, attitude and velocities of free and of planar objects."""
    moving = {
        "position": [0.5, 0.1, 0.3],
        "rpy": [0.0, 0.4, 0.0],
        "velocity": [1.0, 0.0, 2.0],
        "angular_velocity": [0.0, 3.0, 0.0],
    }
    for base in ("free-flyer", "planar"):
        setup = Scenario.from_dict(table([BOX | moving | {"base": base}])).build(visuals=False)
        model, state = setup.robot.model, setup.state
        data = model.createData()
        pin.forwardKinematics(model, data, state.q, state.v)
        frame = model.getFrameId("crate", pin.BODY)
        place = pin.updateFramePlacement(model, data, frame)
        np.testing.assert_allclose(place.translation, [0.5, 0.1, 0.3], atol=1e-12)
        np.testing.assert_allclose(pin.rpy.matrixToRpy(place.rotation), [0, 0.4, 0], atol=1e-12)
        twist = pin.getFrameVelocity(model, data, frame, pin.LOCAL_WORLD_ALIGNED)
        np.testing.assert_allclose(twist.vector, [1, 0, 2, 0, 3, 0], atol=1e-12)


def test_controllers_drive_the_robot_only():
    """Objects have no driven joints, and gains of all joints are those of the robot."""
    robot = Scenario.from_dict(table([BOX])).build_robot(visuals=False)
    assert robot.driven.tolist() == [0]
    assert robot.name == "finger"
    assert "push" in robot.gaits
    assert surface_names(robot) == ["crate", "tip"]


@pytest.mark.parametrize(
    ("item", "mass"),
    [
        ({"kind": "ball", "radius": 0.1, "density": 100.0}, 400.0 / 3.0 * np.pi * 1e-3),
        ({"kind": "cylinder", "radius": 0.1, "length": 0.2, "density": 100.0}, 0.2 * np.pi),
        ({"kind": "capsule", "radius": 0.1, "length": 0.2, "mass": 0.7}, 0.7),
        ({"kind": "box", "size": [0.1, 0.2, 0.3], "density": 100.0}, 0.6),
    ],
)
def test_masses(item, mass):
    """Mass follows from density and volume."""
    whole = Scenario.from_dict(table([{"name": "thing", **item}])).build_robot(visuals=False)
    alone = load_robot("finger")
    added = pin.computeTotalMass(whole.model) - pin.computeTotalMass(alone.model)
    assert added == pytest.approx(mass)


def test_urdf_object():
    """A URDF is an object too; two of them are told apart by their names."""
    file = load_robot("box").source
    items = [
        {"kind": "urdf", "name": name, "path": file, "position": [x, 0.0, 0.1]}
        for name, x in (("left", 0.5), ("right", 1.0))
    ]
    setup = Scenario.from_dict(table(items)).build(visuals=False)
    points = setup.robot.contact_points
    assert len(set(points.names)) == len(points)
    # 1 of the finger, 2 x 8 with the ground, 1 on each box, 8 of each box on the other; the
    # fingertip is a ball, so no corners of the boxes touch it
    assert len(points) == 1 + 16 + 2 + 16
    assert setup.simulator.step(setup.state, None, 0.01).status.ok


def test_recordings_hold_objects(tmp_path):
    """A run with objects is recorded, with its contacts by name."""
    scenario = Scenario.from_dict(table([BOX | {"position": [0.13, 0.0, 0.049]}]))
    setup = scenario.build(visuals=False)
    recorder = Recorder(setup.robot, setup.state, {"scenario": scenario.resolved()})
    for result in setup.simulator.run(setup.state, setup.controller, dt=0.01, duration=0.05):
        assert result.status.ok
        recorder.record(result, 0.0)
    recorder.recording().save(tmp_path / "run.npz")
    read = Recording.load(tmp_path / "run.npz")
    assert read.contact_names == setup.robot.contact_points.names
    assert read.q.shape == (6, 8)
    again, ground = read.scene()
    assert ground is not None
    assert again.contact_points.names == read.contact_names


def test_contact_rules_name_objects():
    """A rule may be for what touches an object."""
    rules = [{"points": ["tip*"], "on": ["crate"], "model": "friction-cone", "stiffness": 5.0}]
    setup = Scenario.from_dict(table([BOX]) | {"contact_rules": rules}).build(visuals=False)
    tip = setup.robot.contact_points.names.index("tip on crate")
    assert np.array(setup.simulator.contact.table)[tip].tolist() == [0, 1, 0]
    rules[0]["on"] = ["crates"]
    wrong = Scenario.from_dict(table([BOX]) | {"contact_rules": rules})
    with pytest.raises(ScenarioError, match="crate"):
        wrong.build(visuals=False)


def test_self_collision():
    """Robosimian's legs may touch each other; neighbours and what overlaps are left out."""
    robot = touching(load_robot("robosimian", visuals=False))
    points = robot.contact_points
    pairs = {(int(a), int(b)) for a, b in zip(points.joints, points.touches, strict=True) if b}
    assert pairs
    assert all(b != robot.model.parents[a] for a, b in pairs)
    own = table([]) | {"robot": {"name": "robosimian", "self_collision": True}}
    assert len(Scenario.from_dict(own).build_robot(visuals=False).contact_points) == len(points)


def test_overlap_is_noted():
    """Bodies that stand in each other get no contact, and a note says so."""
    first = free_body("first", Box(size=(0.2, 0.2, 0.2)), mass=1.0)
    second = free_body("second", Box(size=(0.2, 0.2, 0.2)), mass=1.0, position=(0.05, 0.0, 0.0))
    robot = touching(together(first, [second]))
    assert not robot.contact_points.touches.any()
    assert "first and second" in robot.notes[-1]


def test_both_ways_but_not_twice():
    """Boxes touch each other both ways, a ball and a box one way, and a pair once."""
    box = free_body("box", Box(size=(0.2, 0.2, 0.2)), mass=1.0)
    other = free_body("other", Box(size=(0.1, 0.1, 0.1)), mass=1.0, position=(1.0, 0.0, 0.0))
    ball = free_body("ball", Sphere(radius=0.1), mass=1.0, position=(0.0, 1.0, 0.0))
    robot = touching(together(box, [other, ball]))
    names = robot.contact_points.names[robot.contact_points.n_terrain :]
    assert sum(name.endswith(" on other") for name in names) == 9
    assert [name for name in names if name.endswith(" on ball")] == []
    assert touching(robot).contact_points.names == robot.contact_points.names


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: free_body("a", Plane(), mass=1.0), "Box, Sphere"),
        (lambda: free_body("a", Box(size=(1, 1, 1))), "mass"),
        (lambda: free_body("a", Box(size=(1, 1, 1)), mass=-1.0), "mass"),
        (lambda: free_body("a", Box(size=(1, 1, 1)), mass=1.0, base="fixed"), "free-flyer"),
        (lambda: free_body("a", Box(size=(1, 1, 1)), mass=1.0, position=(0, 0)), "position"),
        (lambda: together(load_robot("box"), [load_robot("box")]), "name"),
        (lambda: touching(load_robot("finger"), [("tip", "nobody")]), "nobody"),
        (lambda: touching(load_robot("finger"), [("tip", "tip")]), "one body"),
        (lambda: touching(load_robot("finger"), [("tip", "stand")]), "terrain"),
        (lambda: touching(load_robot("chain"), ["ab"]), "two names"),
    ],
)
def test_mistakes(make, words):
    """Each mistake is named."""
    with pytest.raises(RobotError, match=words):
        make()


def test_terrain_contacts_come_first():
    """The order that the dynamics relies on is checked."""
    with pytest.raises(RobotError, match="before"):
        ContactPoints(
            ("a", "b"), np.ones(2, dtype=int), np.zeros((2, 3)), np.zeros(2), np.array([1, 0])
        )


@pytest.mark.parametrize(
    ("item", "words"),
    [
        ({"kind": "box", "name": "a", "size": [1.0, 1.0, 1.0]}, "mass"),
        ({"kind": "torus", "name": "a"}, "torus"),
        ({"kind": "ball", "name": "a", "radius": -1.0, "mass": 1.0}, "radius"),
        (BOX | {"base": "planar", "velocity": [0.0, 1.0, 0.0]}, "planar"),
    ],
)
def test_mistakes_in_files(item, words):
    """A mistake in an object names its key and what is allowed."""
    with pytest.raises(ScenarioError, match=words):
        Scenario.from_dict(table([item]))


def test_the_page_runs():
    """The code of docs/contacts_between_bodies.md runs, and its lines are what it says."""
    page = Path(__file__).parents[2] / "docs" / "contacts_between_bodies.md"
    names = {}
    for code in re.findall(r"^```python\n(.*?)^```", page.read_text("utf-8"), re.S | re.M):
        exec(code, names)
    assert names["result"].status.ok
    assert names["scene"].contact_points.names[-1] == "tip on block"
    assert names["result"].contact_forces.shape == (10, 3)
    assert names["oiled"].frictions
