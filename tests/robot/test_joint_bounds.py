"""Bounds of joints as arrays for the kernels, and motions of joints."""

import numpy as np
import pinocchio as pin
import pytest
from test_robot_limits import gripper
from urdf_samples import HOPPER, write

from nmdp_pin import load_robot
from nmdp_pin._dynamics import joint_bounds
from nmdp_pin._dynamics.joint_bounds import joints_of, largest_loads
from nmdp_pin._dynamics.kinematic_tree import manifold_of, second_moments, support_of
from nmdp_pin._kernels.algebra.manifold import LINEAR, SPHERICAL, UNBOUNDED

G = 9.81  # [m s^-2], of `largest_loads`


@pytest.mark.parametrize("effort", [0.5, 10.0, 0.0])
def test_the_load_of_a_joint_is_its_motor_or_its_weight(tmp_path, effort):
    """Of a leg of 1 kg and 0.1 kg m2: g sqrt(m I); an effort of 0 is none, no load of 1 N m."""
    path = write(tmp_path, HOPPER.replace('effort="10"', f'effort="{effort}"'))
    (load,) = largest_loads(load_robot(path, base="fixed"))
    assert load == pytest.approx(max(effort, G * np.sqrt(1.0 * 0.1)), rel=1e-12)


def test_the_load_of_a_light_joint_without_a_motor_is_its_weight(tmp_path):
    """It is less than 1 N m; a joint without a limit of its effort has no motor to compare with."""
    light = HOPPER.replace('mass value="1.0"', 'mass value="0.01"')
    light = light.replace('effort="10"', 'effort="0"')  # none
    robot = load_robot(write(tmp_path, light), base="fixed")
    assert not np.isfinite(robot.limits.effort).any()
    (load,) = largest_loads(robot)
    assert load == pytest.approx(G * np.sqrt(0.01 * 0.1), rel=1e-12)


def test_rows_of_stops_friction_and_copies(tmp_path):
    """Endless joints have no coordinate; loads are reached at 0.1 mrad, of copies at 1 urad."""
    alone = gripper().replace('<mimic joint="hip" multiplier="-2" offset="0.1"/>', "")
    bot = load_robot(write(tmp_path, alone), base="fixed")
    joints, loads = joints_of(bot), largest_loads(bot)
    hip, finger = (bot.model.joints[bot.model.getJointId(name)] for name in ("hip", "finger"))
    assert joints.dofs.tolist() == [hip.idx_v, finger.idx_v]
    assert joints.coordinates.tolist() == [hip.idx_q, -1]
    np.testing.assert_allclose(joints.stiffness, loads / 1e-4)
    np.testing.assert_array_equal(joints.friction, [0.0, 0.5])
    both = load_robot(write(tmp_path, gripper().replace("continuous", "revolute")), base="fixed")
    joints, loads = joints_of(both), largest_loads(both)
    springs = joints.springs
    assert springs.first.tolist() == [0, 2]
    assert springs.dofs.tolist() == springs.coordinates.tolist() == [1, 0]
    np.testing.assert_allclose(springs.stiffness, loads.max() / 1e-6)
    assert springs.factors.tolist() == [1.0, 2.0]
    assert springs.rest.tolist() == [0.1]


def test_dofs_move_what_hangs_on_them():
    """As zeros and ones, against pinocchio's Jacobians."""
    bot = load_robot("panda", visuals=False)
    model, data = bot.model, bot.model.createData()
    pin.computeJointJacobians(model, data, pin.randomConfiguration(model))
    supports = support_of(model)
    assert set(np.unique(supports)) == {0.0, 1.0}
    for joint in range(model.njoints):
        J = pin.getJointJacobian(model, data, joint, pin.LOCAL)
        np.testing.assert_array_equal(supports[joint] == 1.0, np.abs(J).max(axis=0) > 0.0)


def test_second_moments_are_those_of_the_inertias():
    """About the origins of the joints: tr(S) 1 - S is the inertia, beside mass and lever."""
    model = load_robot("go2", visuals=False).model
    for S, inertia in zip(second_moments(model), list(model.inertias)[1:], strict=True):
        about_origin = inertia.matrix()[3:, 3:]
        turned = np.trace(S[:3, :3]) * np.eye(3) - S[:3, :3]
        np.testing.assert_allclose(turned, about_origin, rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(S[:3, 3], inertia.mass * inertia.lever, rtol=1e-12)
        np.testing.assert_array_equal(S, S.T)
        assert S[3, 3] == inertia.mass


@pytest.mark.parametrize("loads", [[0.01, 0.002], [0.002, 0.01]])
def test_small_loads_make_soft_springs(loads, tmp_path, monkeypatch):
    """Stops and copies of what weighs a hundredth of a newton, the copy or not, are as soft."""
    text = gripper().replace("continuous", "revolute")
    bot = load_robot(write(tmp_path, text), base="fixed")
    monkeypatch.setattr(joint_bounds, "largest_loads", lambda *_: np.array(loads))
    joints = joints_of(bot)
    np.testing.assert_allclose(joints.stiffness, np.array(loads) / 1e-4)
    np.testing.assert_allclose(joints.springs.stiffness, 0.01 / 1e-6)
    assert len(joints.springs.stiffness) > 0


def test_parts_of_a_composite_joint_follow_each_other():
    """A continuous hinge, a slide and a ball: 2, 1 and 4 numbers, 1, 1 and 3 dofs."""
    composite = pin.JointModelComposite(pin.JointModelRUBX())
    for part in (pin.JointModelPX(), pin.JointModelSpherical()):
        composite.addJoint(part)
    model = pin.Model()
    for parent in range(2):
        model.addJoint(parent, composite, pin.SE3.Identity(), f"j{parent}")
    space = manifold_of(model)
    assert space.first_q.tolist() == [0, 2, 3, 7, 9, 10, 14]
    assert space.first_v.tolist() == [0, 1, 2, 5, 6, 7, 10]
    assert space.kinds.tolist() == 2 * [UNBOUNDED, LINEAR, SPHERICAL]
    assert not space.flat
