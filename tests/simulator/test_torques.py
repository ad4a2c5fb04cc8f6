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


def torques_of(model, q, commands, rows):
    """The torques of some stages."""
    nv = model.nv
    parts = {name: np.full((rows, nv), np.nan) for name in ("constant", "kp", "kd", "external")}
    made = SimpleNamespace(**parts, q_target=np.full((rows, model.nq), np.nan))
    write_torques(made, np.array(model.damping), q, commands)
    return made


def test_a_torque_is_the_sum_of_its_parts(model):
    """Of the servo, of the damping of the joints, and of what acts from outside, a row a stage."""
    rng = np.random.default_rng(0)
    q, v = samples.configuration(model, rng), rng.standard_normal(model.nv)
    commands = [samples.command(model, rng), samples.command(model, rng)]
    force = rng.standard_normal(model.nv)
    commands.append(Command(force=force))
    commands.append(Command(kd=np.ones(model.nv)))
    made = torques_of(model, q, commands, rows=len(commands))
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


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_one_command_is_that_of_all_stages(model, rows):
    """However many there are."""
    rng = np.random.default_rng(1)
    command, q = samples.command(model, rng), samples.configuration(model, rng)
    made, one = (torques_of(model, q, [command], rows=n) for n in (rows, 1))
    for name, part in vars(made).items():
        np.testing.assert_array_equal(part, np.repeat(vars(one)[name], rows, axis=0))
