"""Torques of commands: one row a stage, or one for all."""

from types import SimpleNamespace

import core_samples as samples
import numpy as np
import pinocchio as pin
import pytest

from nmdp_pin._control import Command
from nmdp_pin._dynamics.torques import write_torques


@pytest.fixture
def model() -> pin.Model:
    """A robot with damped joints."""
    return samples.robot("wheels+damping").model


def written(model, q, commands, rows):
    """The torques of commands in a number of rows."""
    constant, kp, kd, external = np.full((4, rows, model.nv), np.nan)
    q_target = np.full((rows, model.nq), np.nan)
    torques = SimpleNamespace(constant=constant, kp=kp, kd=kd, q_target=q_target, external=external)
    write_torques(torques, np.array(model.damping), q, commands)
    return torques


def test_a_torque_is_the_sum_of_its_parts(model):
    """Of the servo, of the damping of the joints, and of what acts from outside, a row a stage."""
    rng = np.random.default_rng(0)
    q, v = samples.configuration(model, rng), rng.standard_normal(model.nv)
    commands = [samples.command(model, rng), samples.command(model, rng)]
    force = rng.standard_normal(model.nv)
    commands.append(Command(force=force))
    commands.append(Command(kd=np.ones(model.nv)))
    made = written(model, q, commands, len(commands))
    damping = np.array(model.damping)
    assert damping.any()
    for i, told in enumerate(commands):
        expected = -damping * v
        if told.tau is not None:
            error = pin.difference(model, told.q_target, q)
            expected += told.tau - told.kp * error - told.kd * (v - told.v_target)
        elif told.kd is not None:
            expected -= told.kd * v
        else:
            expected += force
        error = pin.difference(model, made.q_target[i], q)
        found = made.constant[i] - made.kp[i] * error - made.kd[i] * v
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
        np.testing.assert_array_equal(made.external[i], force if told.force is not None else 0.0)


def test_one_command_is_that_of_all_stages(model):
    """However many they are."""
    rng = np.random.default_rng(1)
    command, q = samples.command(model, rng), samples.configuration(model, rng)
    one, all_stages = (written(model, q, [command], rows) for rows in (1, 3))
    for name, rows in vars(all_stages).items():
        np.testing.assert_array_equal(rows, np.repeat(getattr(one, name), 3, axis=0))
