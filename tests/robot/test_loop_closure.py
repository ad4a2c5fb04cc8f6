"""Poses that are moved to where loops are closed: ranges of joints, mimic joints, tendons."""

import warnings
from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from loop_scenes import Builder, largest_gap, placed, simulator

from nmdp_pin import Connect, with_loops
from nmdp_pin._robot.joint_limits import JointLimits, Mimic
from nmdp_pin._robot.tendon import Tendon
from nmdp_pin.errors import RobotError, RobotWarning

CLOSED = 1e-9  # [m] by which positions are those of a closed loop
APART = 0.5  # [m] between two carts that a loop brings together
TOGETHER = [Connect(first="left", second="right", other=(0, 0, 0))]


def carts(ranges, mimics=(), tendons=()):
    """Two carts on rails along x that stand apart, and two more beside them."""
    b = Builder()
    body = pin.Inertia(1.0, np.zeros(3), np.eye(3))
    for name, at in (("left", 0.0), ("right", APART), ("copy", 0.0), ("line", 0.0)):
        b.add(name, 0, pin.JointModelPX(), placed(at, 0, 0), body)
    robot = b.robot(np.zeros(4))
    lower, upper = (np.array(ends, dtype=float) for ends in zip(*ranges, strict=True))
    limits = replace(JointLimits.none(4), lower=lower, upper=upper, mimics=mimics)
    return replace(robot, limits=limits, tendons=tendons)


def test_pose_is_closed_within_ranges():
    """What a stop leaves open is closed by the other joint; copies and tendons follow."""
    mimic = Mimic("copy-joint", "left-joint", 2.0, 0.01)
    tendon = Tendon("line-joint", {"left-joint": 3.0, "right-joint": 1.0}, 0.02)
    free = (-np.inf, np.inf)
    robot = carts([(0.0, 0.1), free, free, free], (mimic,), (tendon,))
    held = with_loops(robot, TOGETHER)
    expected = np.array([0.1, 0.1 - APART, 0.21, 0.02 + 0.3 + 0.1 - APART])
    np.testing.assert_allclose(held.standing, expected, atol=CLOSED)
    sim = simulator(held)
    from_state = sim.state(np.array([0.05, 0.1, 0.0, 0.0])).q
    np.testing.assert_allclose(from_state, expected, atol=CLOSED)
    at_stops = sim.state(np.array([0.1, 0.3, 0.0, 0.0])).q  # one leaves where it starts
    np.testing.assert_allclose(at_stops, expected, atol=CLOSED)
    there = np.array([-0.2, -0.2 - APART, -0.39, 0.02 - 0.8 - APART])
    np.testing.assert_allclose(sim.state(there).q, there, atol=CLOSED)  # closed: left as it is


def test_loops_that_ranges_keep_open():
    """They close beyond the ranges, with a warning; those that nothing closes are refused."""
    robot = carts([(0.0, 0.1), (-0.2, 0.0), (-1.0, 1.0), (-1.0, 1.0)])
    with pytest.warns(RobotWarning, match="do not close unless joint 'left-joint' at 0.25 is bey"):
        held = with_loops(robot, TOGETHER)
    assert largest_gap(held, held.standing) < CLOSED
    assert "joint 'right-joint' at -0.25 is beyond its range -0.2 to 0" in held.warnings[0]
    sim = simulator(held)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sim.state()
    with pytest.warns(RobotWarning, match="beyond its range 0 to 0.1"):
        sim.state(np.zeros(4))
    far = Connect(first="left", second="right", other=(0, 0, 0.1))
    with pytest.raises(RobotError, match=r"0\.1 m or rad are left"):
        with_loops(carts([(-9.0, 9.0)] * 4), [far])


def test_scripted_joints_stay():
    """Others come to them; where these cannot, both move, and a warning says so."""
    robot = replace(carts([(-9.0, 9.0)] * 4), scripted=frozenset({"right-joint"}))
    held = with_loops(robot, TOGETHER)
    np.testing.assert_allclose(held.standing[:2], [APART, 0.0], atol=CLOSED)
    there = simulator(held).state(np.array([0.0, 0.3, 0.0, 0.0])).q
    np.testing.assert_allclose(there[:2], [APART + 0.3, 0.3], atol=CLOSED)
    short = replace(carts([(0.0, 0.1), *[(-9.0, 9.0)] * 3]), scripted=robot.scripted)
    with pytest.warns(RobotWarning, match="do not close unless scripted joints move"):
        held = with_loops(short, TOGETHER)
    np.testing.assert_allclose(held.standing[:2], [0.1, 0.1 - APART], atol=CLOSED)


def test_what_damping_holds_stays():
    """MJCF files hold bases by a damping of 1e11, of which 1e10 is read."""
    robot = carts([(-9.0, 9.0)] * 4)
    robot.model.damping[0] = 1e10
    np.testing.assert_allclose(with_loops(robot, TOGETHER).standing[:2], [0, -APART], atol=CLOSED)


def test_copies_that_loops_tear_off():
    """Where a mimic joint cannot follow, the loop is closed and a warning says how far it is."""
    mimic = Mimic("right-joint", "left-joint")
    with pytest.warns(RobotWarning, match="joint 'right-joint' is 0.5 off what it follows"):
        held = with_loops(carts([(-9.0, 9.0)] * 4, (mimic,)), TOGETHER)
    assert held.standing[:2] == pytest.approx([0.25, -0.25], abs=CLOSED)
