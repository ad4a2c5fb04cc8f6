"""Commands as kernels take them: torques of one row a stage, or one for all."""

import core_samples as samples
import numpy as np
import pinocchio as pin
import pytest

from nmdp_pin._control import Command
from nmdp_pin._dynamics.commands import length_of_commands, new_commands, new_torque, values_of
from nmdp_pin._dynamics.joint_bounds import joints_of
from nmdp_pin._kernels.tree.joints import write_torque


@pytest.fixture
def robot():
    """A robot with damped joints."""
    return samples.robot("wheels+damping")


def torques(robot, q, commands):
    """The torques of commands."""
    model, n = robot.model, len(commands)
    values = np.full(length_of_commands(n, model.nq, model.nv), np.nan)
    known = new_commands(values, n, model.nv)
    np.concatenate(values_of(commands, q, np.zeros(model.nv)), out=values)
    made = [new_torque(np.full(model.nq, np.nan), model.nv) for _ in commands]
    for i, torque in enumerate(made):
        write_torque(joints_of(robot), known, i, torque)
    return made


def test_a_torque_is_the_sum_of_its_parts(robot):
    """Of the servo, of the damping of the joints, and of what acts from outside, a row a stage."""
    model, rng = robot.model, np.random.default_rng(0)
    q, v = samples.configuration(model, rng), rng.standard_normal(model.nv)
    commands = [samples.command(model, rng), samples.command(model, rng)]
    force = rng.standard_normal(model.nv)
    commands += [Command(force=force), Command(kd=np.ones(model.nv)), Command(kp=np.ones(model.nv))]
    damping = np.array(model.damping)
    assert damping.any()
    for told, made in zip(commands, torques(robot, q, commands), strict=True):
        expected = -damping * v
        if told.tau is not None:
            error = pin.difference(model, told.q_target, q)
            expected += told.tau - told.kp * error - told.kd * (v - told.v_target)
        elif told.kd is not None:
            expected -= told.kd * v
        elif told.force is not None:
            expected += force
        error = pin.difference(model, made.q_target, q)
        found = made.constant - made.kp * error - made.kd * v
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
        np.testing.assert_array_equal(made.external, 0.0 if told.force is None else told.force)
        np.testing.assert_array_equal(made.kp, 0.0 if told.q_target is None else told.kp)
