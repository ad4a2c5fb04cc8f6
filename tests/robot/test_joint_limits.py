"""Bounds of joints as a pinocchio model holds them, and those of two robots in one model."""

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

from nmdp_pin._robot import JointLimits
from nmdp_pin._robot.joint_limits import Mimic, simple_joints

NONE = np.inf


def model_of(lower=-0.5, upper=0.25, least=-10.0, most=10.0, friction=0.0, joint=None):
    """A planar base, and a joint with limits behind it."""
    model, still = pin.Model(), pin.SE3.Identity()
    base = model.addJoint(0, pin.JointModelPlanar(), still, "base")
    joint = joint or pin.JointModelRY()
    index = model.addJoint(base, joint, still, "joint")
    q, v = model.joints[index].idx_q, model.joints[index].idx_v
    model.lowerPositionLimit[:], model.upperPositionLimit[:] = -0.1, 0.1  # of the base: no stops
    model.upperEffortLimit[:], model.lowerEffortLimit[:] = 3.0, -3.0
    model.lowerPositionLimit[q:], model.upperPositionLimit[q:] = lower, upper
    model.lowerEffortLimit[v], model.upperEffortLimit[v] = least, most
    friction_limits = np.zeros(model.nv)
    friction_limits[v] = friction
    model.upperDryFrictionLimit = friction_limits
    return model


def bounds(**how):
    """Lower, upper, effort and friction of the joint; nothing bounds the base."""
    limits = JointLimits.of(model_of(**how))
    for values, free in (
        (limits.lower, -NONE),
        (limits.upper, NONE),
        (limits.effort, NONE),
        (limits.friction, 0.0),
    ):
        assert values[:3].tolist() == [free] * 3
    return tuple(float(x[3]) for x in (limits.lower, limits.upper, limits.effort, limits.friction))


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ({}, (-0.5, 0.25, 10.0, 0.0)),
        ({"friction": 0.7}, (-0.5, 0.25, 10.0, 0.7)),
        ({"lower": 0.0, "upper": 0.0}, (-NONE, NONE, 10.0, 0.0)),
        ({"lower": 0.2, "upper": 0.2}, (0.2, 0.2, 10.0, 0.0)),
        ({"lower": 0.3, "upper": 0.2}, (-NONE, NONE, 10.0, 0.0)),
        ({"lower": -1.7e308}, (-NONE, 0.25, 10.0, 0.0)),
        ({"upper": 1.7e308}, (-0.5, NONE, 10.0, 0.0)),
        ({"lower": -1e299, "upper": 1e299}, (-1e299, 1e299, 10.0, 0.0)),
        ({"least": -4.0}, (-0.5, 0.25, 4.0, 0.0)),
        ({"most": 4.0}, (-0.5, 0.25, 4.0, 0.0)),
        ({"most": 0.0}, (-0.5, 0.25, NONE, 0.0)),
        ({"least": -1.7e308, "most": 1.7e308}, (-0.5, 0.25, NONE, 0.0)),
        ({"joint": pin.JointModelRUBY()}, (-NONE, NONE, 10.0, 0.0)),
    ],
)
def test_bounds_of_a_model(how, expected):
    """What exporters write for unknown limits, and the largest numbers, bound nothing."""
    assert bounds(**how) == expected


@pytest.mark.parametrize(
    ("how", "names"),
    [
        ({}, []),
        ({"lower": 0.0, "upper": 0.0}, ["joint"]),
        ({"lower": 0.2, "upper": 0.2}, []),
        ({"lower": 0.0, "upper": 0.2}, []),
        ({"most": 0.0}, ["joint"]),
    ],
)
def test_bounds_that_bound_nothing_are_named(how, names):
    """A range [0, 0] and an effort of 0."""
    assert JointLimits.empty(model_of(**how)) == names


def test_which_joints_are_simple_and_bounded():
    """Those with a stop on either side, or with dry friction."""
    model = model_of()
    assert list(simple_joints(model)) == ["joint"]
    assert list(simple_joints(model_of(joint=pin.JointModelRUBY()))) == []
    limits = JointLimits.none(5)
    assert limits.bounded.tolist() == []
    assert limits.kinds == ()
    limits.lower[1], limits.upper[3], limits.friction[4] = -1.0, 2.0, 0.5
    assert limits.bounded.tolist() == [1, 3, 4]
    assert limits.kinds == ("position", "friction")
    limits.effort[0] = 3.0
    assert replace(limits, mimics=(Mimic("a", "b"),)).kinds == (
        "position",
        "effort",
        "friction",
        "mimic",
    )


def test_mimics_of_locked_joints_are_left_out():
    """Both joints have to move, and be two."""
    model = model_of()
    index = model.addJoint(2, pin.JointModelRZ(), pin.SE3.Identity(), "other")
    assert model.joints[index].nq == 1
    good = Mimic("joint", "other", 2.0, 0.1)
    bad = (Mimic("joint", "joint"), Mimic("joint", "locked"), Mimic("locked", "other"))
    assert JointLimits.of(model, (good, *bad, Mimic("base", "other"))).mimics == (good,)


def test_bounds_of_two_robots():
    """The second one's come behind the first one's, under other names."""
    first, second = JointLimits.none(1), JointLimits.none(2)
    first.lower[:], second.lower[:] = 1.0, (2.0, 3.0)
    own, theirs = Mimic("a", "b"), Mimic("c", "d", 2.0, 0.5)
    both = replace(first, mimics=(own,)).beside(replace(second, mimics=(theirs,)), "x/")
    assert both.lower.tolist() == [1.0, 2.0, 3.0]
    assert both.upper.shape == both.effort.shape == both.friction.shape == (3,)
    assert both.mimics == (own, Mimic("x/c", "x/d", 2.0, 0.5))
