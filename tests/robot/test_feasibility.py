"""What is said of joints beyond their bounds and of bodies under the ground, up to the bounds."""

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from kernel_scenes import robot_of

from nmdp_pin._robot import ContactPoints, JointLimits
from nmdp_pin._robot.feasibility import (
    buried_depth,
    efforts_beyond_limits,
    how_often,
    joints_beyond_range,
)
from nmdp_pin._terrain import Plane, Terrain


def sliders(n=2, heavy=(True, True, True)):
    """Sliders along z, each on the one before, their centres of mass 0.5 m up."""
    model = pin.Model()
    for k in range(n):
        model.addJoint(k, pin.JointModelPZ(), pin.SE3.Identity(), f"slide{k}")
        if heavy[k]:
            inertia = pin.Inertia(1.0, np.array([0.0, 0.0, 0.5]), np.eye(3))
            model.appendBodyToJoint(k + 1, inertia, pin.SE3.Identity())
    return model


def robot(n=2, heavy=(True, True, True), carriers=(1,)):
    """The sliders with contact points on some of them, and limits of the second."""
    limits = JointLimits.none(n)
    limits.lower[1], limits.upper[1], limits.effort[1] = -0.5, 0.25, 10.0
    names = tuple(f"p{j}" for j in carriers)
    k = len(carriers)
    points = ContactPoints(names, np.array(carriers, int), np.zeros((k, 3)), np.zeros(k))
    return robot_of(sliders(n, heavy), points, limits=limits)


def test_ranges_are_left_by_more_than_rounding():
    """The worst of the states is named, and in how many of them it is so."""
    bot = robot()
    for x in (-0.50009, 0.25009):
        assert joints_beyond_range(bot, np.array([[99.0, x]])) == []
    for x, text in ((-0.5002, "-0.5002"), (0.2502, "0.2502")):
        (said,) = joints_beyond_range(bot, np.array([[99.0, x]]))
        assert said == f"joint 'slide1' at {text} is beyond its range -0.5 to 0.25"
    (said,) = joints_beyond_range(bot, np.array([[0.0, 0.3], [0.0, 0.1], [0.0, -0.7]]))
    assert said.startswith("joint 'slide1' at -0.7 is")
    assert said.endswith(" (in 2 of 3 states)")


def test_efforts_are_beyond_by_a_share():
    """Of either sign, by more than 1e-4 of the limit."""
    bot = robot()
    assert efforts_beyond_limits(bot, np.array([[1e6, 10.0009], [0.0, -10.0009]])) == []
    (said,) = efforts_beyond_limits(bot, np.array([[0.0, 10.002], [0.0, -11.0]]))
    assert said == "joint 'slide1' takes an effort of 11, its limit is 10 (in 2 of 2 states)"
    (said,) = efforts_beyond_limits(bot, np.array([[0.0, -10.002]]))
    assert said.startswith("joint 'slide1' takes an effort of 10")
    limits = replace(bot.limits, effort=np.array([np.inf, 0.0]))
    bot = replace(bot, limits=limits)
    assert efforts_beyond_limits(bot, np.zeros((1, 2))) == []


def test_states_are_counted_where_there_are_several():
    """Nothing is said of the only one."""
    assert how_often(1, 1) == ""
    assert how_often(1, 2) == " (in 1 of 2 states)"


@pytest.mark.parametrize(
    ("heavy", "carriers", "counted"),
    [
        ((True, True, True), (), (0, 1, 2)),
        ((True, True, True), (2,), (0, 2)),
        ((True, True, True), (1, 3), (0, 1)),  # the base counts with its points
        ((False, True, True), (2,), (1, 2)),
        ((True, False, True), (), (0, 2)),
    ],
)
def test_buried_bodies(heavy, carriers, counted):
    """The deepest centre of mass, of bodies with mass whose points are not meant to sink."""
    bot, ground = robot(3, heavy, carriers), Terrain([Plane(height=1.0)])
    q = np.random.default_rng(0).uniform(-1.0, 1.0, (6, 3))
    depth = 1.0 - (np.cumsum(q, axis=1) + 0.5)
    expected = np.maximum(depth[:, counted].max(axis=1), 0.0)
    assert buried_depth(bot, ground, q) == pytest.approx(expected)
    assert buried_depth(bot, ground, np.full((1, 3), 9.0)).tolist() == [0.0]


def test_nothing_is_buried_beyond_all_terrain():
    """Where the distance is not a number."""
    heavy = robot(3, carriers=())
    assert buried_depth(heavy, Terrain([Plane()]), np.full((1, 3), np.inf)).tolist() == [0.0]
