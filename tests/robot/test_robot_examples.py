"""Every robot of example-robot-data loads by its name."""

import dataclasses
import json
import pickle
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from kept_values import ALIKE, ROBOTS, differences, of_robot
from urdf_samples import HOPPER, link, pyramid, shape, write
from urdf_samples import robot as urdf

from nmdp_pin._robot import (
    bundled_robots,
    example_robots,
    free_body,
    load_robot,
    together,
    touching,
)
from nmdp_pin._robot.assembly import assemble
from nmdp_pin._robot.body_contacts import connected
from nmdp_pin._robot.catalog import RobotFiles, find_robot
from nmdp_pin._robot.loading import describe
from nmdp_pin._robot.settings import RobotSettings
from nmdp_pin._terrain import Sphere
from nmdp_pin.errors import RobotError

KEPT = json.loads(ROBOTS.read_text(encoding="utf-8"))
# Sums of hundreds of numbers, of which the figures hold eleven digits.
ROBOT_TOL = {"": 1e-9}
# Feet start on the ground to rounding.
GROUND_TOL = 1e-9


@pytest.mark.parametrize("name", sorted({*example_robots()} - ALIKE))
def test_every_example_robot_loads(name, capfd):
    """It loads silently, has a regular mass matrix, and stands on the ground in its limits."""
    robot = load_robot(name, visuals=False)
    assert capfd.readouterr() == ("", "")
    model, q, points = robot.model, robot.standing, robot.contact_points
    assert robot.name == name
    assert not differences(KEPT[name], of_robot(robot), ROBOT_TOL)
    assert pin.isNormalized(model, q)
    data = model.createData()
    upper = np.triu(pin.crba(model, data, q))
    assert np.linalg.eigvalsh(upper + np.triu(upper, 1).T)[0] > 0.0
    heights = points.bottoms(model, q)
    assert len(points) <= 512
    if len(heights) and model.existJointName("root_rotation"):
        assert min(heights) == pytest.approx(0.0, abs=GROUND_TOL)


@pytest.mark.parametrize("name", bundled_robots())
def test_bundled_robot_is_as_before(name):
    """The figures of a robot are what was kept."""
    assert not differences(KEPT[name], of_robot(load_robot(name, visuals=False)), ROBOT_TOL)


def test_table_is_whole():
    """The table of example-robot-data is there, without names of ours."""
    assert len(example_robots()) >= 70
    assert ALIKE < set(example_robots())
    assert not set(bundled_robots()) & set(example_robots())


@pytest.mark.parametrize(
    ("name", "nq", "nv", "feet"),
    [
        ("anymal", 19, 18, ["LF_FOOT", "LH_FOOT", "RF_FOOT", "RH_FOOT"]),
        ("hyq", 19, 18, ["lf_foot", "lh_foot", "rf_foot", "rh_foot"]),
        ("quadruped", 15, 14, ["BL_contact", "BR_contact", "FL_contact", "FR_contact"]),
    ],
)
def test_quadrupeds_stand_on_four_feet(name, nq, nv, feet):
    """A quadruped whose feet are spheres gets one contact point a foot, in its SRDF posture."""
    robot = load_robot(name, contacts="feet", visuals=False)
    assert (robot.model.nq, robot.model.nv) == (nq, nv)
    assert sorted(robot.contact_points.names) == feet
    assert np.all(robot.contact_points.radii > 0.0)


def test_anymal_has_its_reference_posture():
    """The standing joints are those of the SRDF, all bases alike."""
    free = load_robot("anymal", visuals=False)
    knee = free.model.joints[free.model.getJointId("LF_KFE")].idx_q
    assert free.standing[knee] == pytest.approx(-1.0)
    planar = load_robot("anymal", base="planar", visuals=False)
    np.testing.assert_allclose(planar.standing[3:], free.standing[7:], atol=GROUND_TOL)
    assert planar.standing[1] == pytest.approx(free.standing[2], abs=GROUND_TOL)


def test_joints_with_nothing_to_move_are_locked_and_named():
    """The massless fingers of a bundled table entry are locked; asked for by name, refused."""
    robot = load_robot("bravo7_gripper", visuals=False)
    assert any("nothing to move: bravo_finger1_joint" in note for note in robot.notes)
    with pytest.raises(RobotError, match="no mass"):
        load_robot("bravo7_gripper", joints="all", visuals=False)


@pytest.mark.parametrize(("name", "count"), [("a1", 34), ("panda", 12)])
def test_self_collision_follows_the_srdf(name, count):
    """Pairs of bodies with pinocchio's active pairs of shapes, but for neighbours."""
    bot = load_robot(name, visuals=False)
    geometry, model = bot.collision_model.copy(), bot.model
    geometry.addAllCollisionPairs()
    pin.removeCollisionPairs(model, geometry, str(find_robot(name).srdf), False)
    joints = [int(item.parentJoint) for item in geometry.geometryObjects]
    pairs = [{joints[p.first], joints[p.second]} for p in geometry.collisionPairs]
    active = {frozenset(pair) for pair in pairs if 0 not in pair}  # the base of a fixed robot
    points = touching(bot).contact_points
    bodies = zip(points.joints.tolist(), points.touches.tolist(), strict=True)
    facing = {frozenset(pair) for pair in bodies if pair[1] > 0}
    assert len(facing) == count
    assert facing == {pair for pair in active if len(pair) == 2 and not connected(model, *pair)}
    beside = together(bot, [free_body("ball", Sphere(radius=0.1), mass=1.0)])
    assert beside.disabled == bot.disabled
    other = together(free_body("ball", Sphere(radius=0.1), mass=1.0), [bot])
    assert other.disabled == {(i + 2, j + 2) for i, j in bot.disabled}


SRDF = """<robot name="sample"><passive_joint name="hip"/><passive_joint name="no"/>
<rotor_params><joint name="hip" mass="2e-4" gear_ratio="50"/></rotor_params>
<group_state name="up" group="all"><joint name="hip" value="0.5"/></group_state></robot>"""


@pytest.mark.parametrize("base", ["free-flyer", "fixed"])
def test_what_an_srdf_says(base, tmp_path):
    """Posture, rotors behind their gears, joints without a motor; other joints are told."""
    urdf = write(tmp_path, HOPPER)
    settings = RobotSettings(base=base, armature=0.1)
    srdf = write(tmp_path, SRDF, "sample.srdf")
    files = RobotFiles("sample", urdf, settings, srdf=srdf, posture="up")
    bot = assemble(files, describe(files, visuals=False))
    assert bot.standing[-1] == 0.5
    assert bot.model.armature[-1] == pytest.approx(0.1 + 2e-4 * 50.0**2)
    assert not bot.model.armature[:-1].any()
    assert not len(bot.driven)
    assert "joints of the SRDF that the URDF lacks or fixes: no" in bot.notes
    other = dataclasses.replace(files, posture="none")
    assert assemble(other, describe(files, visuals=False)).standing[-1] == 0.0


def test_rotors_of_talos():
    """Its SRDF gives 1e-5 kg m2 behind a gear of 100."""
    robot = load_robot("talos_legs", visuals=False)
    np.testing.assert_allclose(robot.model.armature[6:], 0.1)


def test_legs_of_talos():
    """talos_legs moves the twelve leg joints only, as its table entry does."""
    robot = load_robot("talos_legs", visuals=False)
    assert robot.model.nv == 18
    assert all(name.startswith("leg_") for name in list(robot.model.names)[3:])


def test_visuals_of_an_example_robot():
    """Meshes are found through package://, and are not missing."""
    anymal = load_robot("anymal")
    assert anymal.missing_visuals == ()
    meshes = [shape.meshPath for shape in anymal.require_visuals().geometryObjects]
    meshes = [path for path in meshes if path.endswith(".dae")]
    assert len(meshes) >= 13
    assert all(Path(path).is_file() for path in meshes)


def test_robot_with_meshes_pickles(tmp_path):
    """Meshes and their placements survive pickling."""
    write(tmp_path, pyramid(), "pyramid.stl")
    parts = [shape(k, '<mesh filename="pyramid.stl"/>', "1 2 3") for k in ("visual", "collision")]
    robot = load_robot(write(tmp_path, urdf(link("base", shapes="".join(parts)))))
    copy = pickle.loads(pickle.dumps(robot))
    for kind in ("visual_model", "collision_model"):
        (ours,), (theirs,) = (getattr(each, kind).geometryObjects for each in (robot, copy))
        assert ours.meshPath
        assert (ours.name, ours.meshPath) == (theirs.name, theirs.meshPath)
        assert ours.placement == theirs.placement
        assert ours.geometry == theirs.geometry


@pytest.mark.parametrize(
    ("given", "meant"), [("robosimain", "robosimian"), ("anymall", "anymal"), ("Box", "box")]
)
def test_unknown_name_lists_the_known(given, meant):
    """A misspelt name proposes the right one and lists all."""
    with pytest.raises(RobotError, match=f"Did you mean {meant}") as caught:
        load_robot(given)
    for name in (*bundled_robots(), "go2", "talos"):
        assert name in str(caught.value)
