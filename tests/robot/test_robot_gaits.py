"""The gaits of the bundled robots reproduce the published foot positions."""

import json
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from urdf_samples import HOPPER, write

from nmdp_pin._robot import load_robot
from nmdp_pin._robot.gait import Gait
from nmdp_pin.errors import ControlError, RobotError

# Feet of the authors' trajectories in the world, with the base at `base` (x, z).
KNOTS = json.loads((Path(__file__).parents[1] / "data" / "gait_feet.json").read_text())
GAITS = sorted({(knot["robot"], knot["gait"]) for knot in KNOTS})
# Knots are stored to 1e-5 rad on legs of 0.92 m; the inverse kinematics left 1e-4 m at most.
KNOT_TOL = 1e-4
# Both ends of a loop are solved apart and rounded to 1e-5 rad.
LOOP_TOL = 2.1e-5
CYCLE = {
    ("robosimian", "walk"): 2.0,
    ("robosimian", "walk-fast"): 1.0,
    ("robosimian", "jump"): 1.4,
    ("robosimian", "jump-high"): 1.4,
    ("spider", "walk"): 4.0,
    ("spider", "walk-fast"): 4.0,
    ("spider", "jump"): 2.2,
    ("spider", "jump-high"): 2.2,
}


@pytest.mark.parametrize(("name", "gait_name"), GAITS)
def test_knots_put_the_feet_where_they_belong(name, gait_name):
    """The joint angles of every knot give the published feet, from the planar base."""
    robot = load_robot(name, base="planar", visuals=False)
    model, data = robot.model, robot.model.createData()
    gait, points = robot.gaits[gait_name], robot.contact_points
    knots = [knot for knot in KNOTS if (knot["robot"], knot["gait"]) == (name, gait_name)]
    assert len(knots) == len(gait.times) >= 4
    for time, angles, knot in zip(gait.times, gait.positions, knots, strict=True):
        q = robot.standing.copy()
        q[:2] = knot["base"]
        for joint, angle in zip(gait.joints, angles, strict=True):
            q[model.joints[model.getJointId(joint)].idx_q] = angle
        pin.forwardKinematics(model, data, q)
        feet = [
            data.oMi[int(joint)].act(position)
            for joint, position in zip(points.joints, points.positions, strict=True)
        ]
        assert time == knot["t"]
        np.testing.assert_allclose(feet, knot["feet"], atol=KNOT_TOL)


@pytest.mark.parametrize(
    ("driven", "joints", "says"),
    [
        ('["hip"]', '["knee"]', "joint 'knee': does not exist"),
        ("[]", '["hip"]', None),
        ('["hip"]', '["hip"]', ""),
    ],
)
def test_joints_of_gaits(driven, joints, says, tmp_path):
    """Unknown ones are refused; a gait of locked ones is left out, and told."""
    write(tmp_path, HOPPER)
    text = f'urdf = "sample.urdf"\ndriven = {driven}\n[gaits.walk]\njoints = {joints}\n'
    path = write(tmp_path, text + "times = [0.0, 1.0]\npositions = [[0.0], [1.0]]\n", "robot.toml")
    if says:
        with pytest.raises(RobotError, match=says):
            load_robot(path)
        return
    bot = load_robot(path)
    assert ("gaits of joints that are locked, left out: walk" in bot.notes) == (says is None)
    assert len(bot.gaits) == (says is not None)


@pytest.mark.parametrize(("name", "gait_name"), GAITS)
def test_loops_close(name, gait_name):
    """The joints at both ends of a loop agree, and a loop is one cycle of the paper long."""
    gait = load_robot(name, visuals=False).gaits[gait_name]
    assert gait.loop is not None
    start, end = (int(np.flatnonzero(gait.times == t)[0]) for t in gait.loop)
    np.testing.assert_allclose(gait.positions[start], gait.positions[end], atol=LOOP_TOL)
    assert gait.loop[1] - gait.loop[0] == pytest.approx(CYCLE[name, gait_name])
    inside = gait.positions[start : end + 1]
    assert np.ptp(inside, axis=0).max() > 0.1


@pytest.mark.parametrize(("name", "gait_name"), GAITS)
def test_gaits_stay_in_the_joint_limits(name, gait_name):
    """No knot asks for more than a joint can do."""
    robot = load_robot(name, visuals=False)
    gait = robot.gaits[gait_name]
    places = [robot.model.joints[robot.model.getJointId(joint)].idx_q for joint in gait.joints]
    assert np.all(gait.positions <= robot.model.upperPositionLimit[places])
    assert np.all(gait.positions >= robot.model.lowerPositionLimit[places])


def test_gaits_of_locked_joints_are_left_out():
    """A robot that keeps only some of a gait's joints does not offer the gait."""
    assert load_robot("spider", joints=["FL_knee", "FR_knee"], visuals=False).gaits == {}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"times": [0.0, 2.0, 1.0]}, r"knot 2 \(1 s\) does not come after knot 1 \(2 s\)"),
        ({"times": [0.0, 1.0, 1.0]}, "must increase"),
        ({"times": [0.0, np.nan, 2.0]}, "finite"),
        ({"positions": [[0.0], [np.inf], [0.0]]}, "finite"),
        ({"positions": [[0.0], [1.0]]}, "shape"),
        ({"positions": [[0.0], [1.0, 2.0], [0.0]]}, "tables of numbers"),
        ({"positions": [[0.0], ["a"], [0.0]]}, "tables of numbers"),
        ({"times": [0.0], "positions": [[0.0]]}, "at least two knots"),
        ({"joints": ("a", "a"), "positions": [[0.0, 0.0]] * 3}, "named twice"),
        ({"loop": (1.0, 1.0)}, "loop"),
        ({"loop": (0.0, 3.0)}, "loop"),
        ({"loop": (np.nan, 2.0)}, "loop"),
    ],
)
def test_bad_gaits_are_refused(change, message):
    """What is no gait raises a ControlError that names the gait and the fault."""
    good = {
        "joints": ("a",),
        "times": [0.0, 1.0, 2.0],
        "positions": [[0.0], [1.0], [0.0]],
        "loop": (0.0, 2.0),
    }
    Gait("good", **good)
    with pytest.raises(ControlError, match=message) as caught:
        Gait("mine", **{**good, **change})
    assert "gait 'mine'" in str(caught.value)


def test_bad_gait_of_a_robot_toml_names_the_file(tmp_path):
    """Unsorted knots in a robot.toml raise a RobotError with file and key."""
    (tmp_path / "b.urdf").write_text(
        '<robot name="b"><link name="b"><inertial><mass value="1"/>'
        '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link></robot>'
    )
    path = tmp_path / "robot.toml"
    path.write_text(
        'urdf = "b.urdf"\n[gaits.hop]\njoints = []\ntimes = [0.0, 2.0, 1.0]\n'
        "positions = [[], [], []]\n"
    )
    with pytest.raises(RobotError, match="does not come after") as caught:
        load_robot(path)
    assert (caught.value.file, caught.value.element) == (str(path), "gaits.hop")
