"""The controller that holds a pose."""

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from tight_solves import TIGHT
from urdf_samples import hinge, link, robot, shape, write

from nmdp_pin import FrictionCone, Plane, Simulator, State, Terrain, load_robot
from nmdp_pin._control import hold
from nmdp_pin._control.hold import moved_inertias
from nmdp_pin.errors import ControlError

ROUNDING = 1e-9
# A pendulum's tip on its way to rest is within this of the closed form after a second [rad].
SETTLED = 1e-6
# A joint at 10 Hz sags by g / (l w^2) = 12 mrad where the weight hangs 0.2 m from it [rad].
HELD = 0.0125
START = State(0.0, np.zeros(1), np.zeros(1))


def arm(tmp_path):
    """One level rod on a fixed base: 1 kg at 0.4 m, 0.1 kg m^2 about its centre."""
    rod = link("rod").replace("<inertial>", '<inertial><origin xyz="0.4 0 0"/>')
    path = write(tmp_path, robot(link("base"), rod, hinge("j", "base", "rod")))
    return load_robot(path, base="fixed")


def test_gains_are_those_of_an_oscillator(tmp_path):
    """Kp = I (2 pi f)^2 and kd = 2 zeta I (2 pi f), with I = 0.1 + 1 * 0.4^2 about the hinge."""
    command = hold(arm(tmp_path), frequency=2.0, damping_ratio=0.5).command(START, 0.01)
    inertia, rate = 0.1 + 0.4**2, 2.0 * np.pi * 2.0
    assert command.kp == pytest.approx([inertia * rate**2], rel=ROUNDING)
    assert command.kd == pytest.approx([inertia * rate], rel=ROUNDING)


def test_an_arm_sags_by_its_weight(tmp_path):
    """At rest kp dq = m g l cos(dq)."""
    bot = arm(tmp_path)
    sim = Simulator(bot, Terrain(Plane(height=-5.0)), FrictionCone(stiffness=1e4), vi_newton=TIGHT)
    *_, last = sim.run(sim.state(), hold(bot), dt=0.02, duration=1.0)
    sag = float(last.state.q[0])
    kp = moved_inertias(bot, bot.standing)["j"] * (2.0 * np.pi * 10.0) ** 2
    assert kp * sag == pytest.approx(9.81 * 0.4 * np.cos(sag), rel=SETTLED)


def test_a_free_leg_moves_the_rest_of_the_robot(tmp_path):
    """Of a free base the inertia is that of the heavier side, about the joint's axis."""
    text = robot(
        link("body", mass=10.0, shapes=shape("collision", '<box size="0.2 0.2 0.2"/>')),
        link("leg"),
        hinge("hip", "body", "leg", xyz="0 0 -0.5"),
    )
    bot = load_robot(write(tmp_path, text))
    assert moved_inertias(bot, bot.standing)["hip"] == pytest.approx(0.1 + 10.0 * 0.5**2)
    (model := pin.Model(bot.model)).armature[-1] = 0.7  # of the rotor
    geared = replace(bot, model=model)
    assert moved_inertias(geared, bot.standing)["hip"] == pytest.approx(0.8 + 10.0 * 0.5**2)


@pytest.mark.parametrize("name", ["anymal", "panda"])
def test_the_pose_is_held(name):
    """After a second the joints are where they were, to the sag of a frequency of 10 Hz."""
    bot = load_robot(name, visuals=False)
    sim = Simulator(bot, Terrain(Plane()), FrictionCone(stiffness=1e6, power=2))
    *_, last = sim.run(sim.state(), hold(bot), dt=0.02, duration=1.0)
    moved = pin.difference(bot.model, bot.standing, last.state.q)[bot.driven]
    assert np.abs(moved).max() < HELD


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"frequency": 0.0}, "frequency must be"),
        ({"damping_ratio": float("nan")}, "damping_ratio must be"),
        ({"q": np.zeros(5)}, r"expected \(1,\)"),
    ],
)
def test_wrong_options(options, says, tmp_path):
    """They are named."""
    with pytest.raises(ControlError, match=says):
        hold(arm(tmp_path), **options)
