"""Torques of commands: one row a stage, or one for all."""

import core_samples as samples
import numpy as np
import pinocchio as pin
import pytest

from nmdp_pin._control import Command
from nmdp_pin._dynamics.torques import torques_of


@pytest.fixture
def model() -> pin.Model:
    """A robot with damped joints."""
    return samples.robot("wheels+damping").model


def test_a_torque_is_the_sum_of_its_parts(model):
    """Of the servo, of the damping of the joints, and of what acts from outside, a row a stage."""
    rng = np.random.default_rng(0)
    q, v = samples.configuration(model, rng), rng.standard_normal(model.nv)
    commands = [samples.command(model, rng), samples.command(model, rng)]
    force = rng.standard_normal(model.nv)
    commands.append(Command(force=force))
    commands.append(Command(kd=np.ones(model.nv)))
    made = torques_of(model, q, *commands)
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


@pytest.mark.parametrize(("n", "rows"), [(1, 1), (2, 1), (3, 1)])
def test_one_command_is_one_row(model, n, rows):
    """However many stages it has; two that are alike but not the same are two."""
    rng = np.random.default_rng(1)
    command, q = samples.command(model, rng), samples.configuration(model, rng)
    made = torques_of(model, q, *[command] * n)
    assert all(len(part) == rows for part in made)
    assert len(torques_of(model, q, command, Command(tau=command.tau)).kp) == 2
