"""MJCF files: read as MuJoCo reads them, or refused by name."""

from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from urdf_samples import write

from nmdp_pin import load_robot
from nmdp_pin.errors import RobotError
from nmdp_pin.robot import check_robot
from nmdp_pin.scenario import Scenario

# Both codes build the same inertias from the same digits.
SAME = 1e-9

ONE_LEG = """<mujoco model="one-leg">
<compiler angle="radian"/><default><joint armature="0.2"/></default>
<worldbody><geom type="plane" size="1 1 1"/>
<body name="trunk" pos="0 0 1" quat="1 0 0 0"><freejoint/>
<geom type="box" size="0.1 0.2 0.05" mass="3" contype="0" conaffinity="0"/>
<body name="leg" pos="0.1 0 0"><joint name="roll" axis="1 0 0" range="-1 1" limited="true"/>
<joint name="pitch" axis="0 1 0" pos="0 0 0.1" frictionloss="0.3" actuatorfrcrange="-9 9"/>
<geom type="capsule" size="0.02" fromto="0 0 0 0.1 0 -0.5" mass="1"/></body></body></worldbody>
<actuator><motor joint="pitch"/></actuator></mujoco>"""


def test_what_is_read(tmp_path):
    """Free base, joints in order, motors, bounds, armature; the floor is left out and told."""
    bot = load_robot(write(tmp_path, ONE_LEG, "leg.xml"))
    assert (bot.name, bot.model.nq, bot.model.nv) == ("one-leg", 9, 8)
    assert list(bot.model.names)[3:] == ["roll", "pitch"]
    assert list(bot.driven) == [7]
    assert bot.mass == pytest.approx(4.0)
    np.testing.assert_allclose(bot.model.armature[6:], 0.2)
    np.testing.assert_allclose(bot.limits.upper[6:], [1.0, np.inf])
    np.testing.assert_allclose(bot.limits.effort[6:], [np.inf, 9.0])
    np.testing.assert_allclose(bot.limits.friction[6:], [0.0, 0.3])
    assert any("<geom> of the world left out" in text for text in bot.warnings)
    assert bot.lowest_point == pytest.approx(0.0, abs=SAME)
    assert load_robot(tmp_path / "leg.xml", base="fixed").model.nv == 2


def test_the_mass_matrix_is_that_of_mujoco(tmp_path):
    """Of bodies with several joints, of geometry that touches nothing, with the rotors."""
    mujoco = pytest.importorskip("mujoco")
    path = write(tmp_path, ONE_LEG, "leg.xml")
    bot, theirs = load_robot(path), mujoco.MjModel.from_xml_path(str(path))
    data, rng = mujoco.MjData(theirs), np.random.default_rng(0)
    q = pin.integrate(bot.model, bot.standing, rng.standard_normal(bot.model.nv))
    data.qpos[:] = np.concatenate([q[:3], q[[6, 3, 4, 5]], q[7:]])
    mujoco.mj_forward(theirs, data)
    expected = np.zeros((theirs.nv, theirs.nv))
    mujoco.mj_fullM(theirs, data, expected)
    M = np.triu(pin.crba(bot.model, bot.model.createData(), q))
    np.testing.assert_allclose(M + np.triu(M, 1).T, expected, atol=SAME)


@pytest.mark.parametrize("name", ["ant", "half_cheetah", "hopper", "humanoid", "walker2d"])
def test_robots_of_gymnasium(name):
    """Their masses and freedoms are MuJoCo's, and they run from one command."""
    gymnasium, mujoco = pytest.importorskip("gymnasium"), pytest.importorskip("mujoco")
    path = Path(gymnasium.__file__).parent / "envs/mujoco/assets" / f"{name}.xml"
    theirs = mujoco.MjModel.from_xml_path(str(path))
    setup = Scenario.load(path).build(visuals=False)
    assert setup.robot.mass == pytest.approx(theirs.body_mass.sum(), rel=SAME)
    assert (setup.robot.model.nv, len(setup.robot.driven)) == (theirs.nv, theirs.nu)
    *_, last = setup.simulator.run(setup.state, setup.controller, dt=0.02, duration=0.1)
    assert last.status.ok


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("<actuator>", '<include file="more.xml"/><actuator>', "holds <include>"),
        ('axis="1 0 0"', 'axis="1 0 0" type="screw"', "joint 'roll'.*allowed: hinge, slide"),
        ("</worldbody>", '<body name="ball"/></worldbody>', "has 2 bodies"),
        ("<worldbody>", '<asset><mesh file="/etc/passwd"/></asset><worldbody>', "lies outside"),
        (
            "<worldbody>",
            '<asset><mesh file="no.stl"/></asset><worldbody>',
            "mesh 'no.stl'.*not found",
        ),
        ("<mujoco", "<!DOCTYPE x><mujoco", "DOCTYPE"),
        ('angle="radian"', 'settotalmass="-1"', "settotalmass"),
        ('pos="0 0 1"', 'pos="0 0 high"', "body 'trunk'.*3 finite numbers"),
        ("mujoco", "sdf", "starts with <sdf>"),
    ],
)
def test_what_is_not_read_is_refused(old, new, says, tmp_path):
    """The error says what it is, and the report has it too."""
    path = write(tmp_path, ONE_LEG.replace(old, new), "leg.xml")
    with pytest.raises(RobotError, match=says):
        load_robot(path)
    assert not check_robot(path).ok


@pytest.mark.parametrize(
    ("name", "says"), [("m.sdf", "is an SDF file"), ("x.urdf.xacro", "run xacro on it")]
)
def test_other_formats_are_named(name, says, tmp_path):
    """A file that exists is not an unknown robot."""
    path = write(tmp_path, "<sdf/>", name)
    with pytest.raises(RobotError, match=says):
        load_robot(path)
    assert says in str(check_robot(path))
