"""Actuators of MJCF files: forces and motions are MuJoCo's, each within its own ranges."""

import numpy as np
import pytest
from urdf_samples import write

from nmdp_pin import FrictionCone, Plane, Scenario, Simulator, Terrain, load_robot
from nmdp_pin.control import Actuators, StablePD
from nmdp_pin.errors import ControlError

mujoco = pytest.importorskip("mujoco", reason="needs mujoco: extra 'mjcf'")

# A servo and a motor on one joint, each with a range; a motor of tendons on two free joints; a
# general actuator whose gain is not its bias; a servo on the tendon of two coupled fingers.
ARM = """<mujoco><compiler angle="radian"/><option timestep="0.0005"/><default>
<joint damping="0.1" armature="0.02"/><geom contype="0" conaffinity="0"/></default><worldbody>
<body><joint name="lift" axis="0 1 0"/><geom type="capsule" size=".03" fromto="0 0 0 .4 0 0"/>
<body pos=".4 0 0"><joint name="bend" axis="0 1 0"/>
<geom type="capsule" size=".02" fromto="0 0 0 .3 0 0"/>
<body pos=".3 .05 0"><joint name="left" type="slide" axis="0 1 0"/><geom size=".02"/></body>
<body pos=".3 -.05 0"><joint name="right" type="slide" axis="0 -1 0"/><geom size=".02"/></body>
</body></body></worldbody>
<equality><joint joint1="left" joint2="right" polycoef="0.01 1 0 0 0"/></equality>
<tendon><fixed name="both"><joint joint="lift" coef=".5"/><joint joint="bend" coef="-2"/></fixed>
<fixed name="grip"><joint joint="left" coef=".5"/><joint joint="right" coef=".5"/></fixed></tendon>
<actuator>
<position name="servo" joint="lift" kp="40" kv="3" forcerange="-6 6" ctrlrange="-1 1"/>
<motor name="motor" joint="lift" gear="2" forcerange="-4 4"/>
<general name="odd" joint="bend" gear="3" gainprm="5" biastype="affine" biasprm=".2 -7 -.1"/>
<motor name="pull" tendon="both" ctrlrange="-1 1" gear="1.5"/>
<general name="fingers" tendon="grip" gear="2" gainprm="80" biastype="affine"
biasprm="0 -90 -2" forcerange="-3 3"/></actuator></mujoco>"""


@pytest.fixture
def loaded(tmp_path, monkeypatch):
    """The arm, and MuJoCo's model of it."""
    compiled = lambda path: mujoco.MjModel.from_xml_path(str(path))  # noqa: E731
    monkeypatch.setattr("nmdp_pin._robot.mjcf._compiled", compiled)
    path = write(tmp_path, ARM, "arm.xml")
    return load_robot(path), mujoco.MjModel.from_xml_path(str(path))


def test_forces_are_those_of_mujoco(loaded):
    """At random states and controls; of two coupled fingers the first one has the force of both."""
    robot, m = loaded
    data, rng, motors = mujoco.MjData(m), np.random.default_rng(0), Actuators(robot)
    assert robot.warnings == ()
    assert motors.names == ("servo", "motor", "odd", "pull", "fingers")
    met = np.zeros(2, dtype=bool)
    for _ in range(60):
        q, v, u = rng.standard_normal((3, 4)) * [[0.3], [1.0], [1.0]]
        u = np.append(2.0 * u, 0.1 * rng.standard_normal())
        q[2], v[2] = q[3] + 0.01, v[3]  # where the equality holds
        data.qpos[:], data.qvel[:], data.ctrl[:] = q, v, u
        mujoco.mj_forward(m, data)
        command = motors.command_of(u)
        asked = command.tau - command.kp * (q - command.q_target) - command.kd * v
        found = np.clip(asked, -robot.limits.effort, robot.limits.effort) + command.force
        expected = data.qfrc_actuator
        np.testing.assert_allclose(found[:2], expected[:2], atol=1e-10)
        assert found[2] + found[3] == pytest.approx(expected[2] + expected[3], abs=1e-10)
        met |= np.abs(asked[[0, 3]]) > robot.limits.effort[[0, 3]]
    assert met.all()


def test_two_actuators_of_a_joint_clip_by_themselves(loaded):
    """A step of 1 rad ends where MuJoCo's does."""
    robot, m = loaded
    data, u = mujoco.MjData(m), [1.0, -3.0, 0.5, 0.2, 0.02]
    data.qpos[2] = 0.01
    data.ctrl[:] = u
    mujoco.mj_step(m, data, nstep=400)
    simulator = Simulator(robot, Terrain(Plane(height=-9.0)), FrictionCone(stiffness=1e6))
    state = simulator.state(q=[0.0, 0.0, 0.01, 0.0])
    command = Actuators(robot).command_of(u)
    for _ in range(40):
        state = simulator.step(state, command, 0.005).state
    np.testing.assert_allclose(state.q, data.qpos, atol=2e-3)


def test_actuators_in_scenarios_and_mistakes(loaded, tmp_path):
    """Held controls by name; what is unknown, locked or not there is told."""
    robot, _ = loaded
    held = Actuators(robot, controls={"motor": 1.0}).command(None, 0.01)
    np.testing.assert_allclose(held.force, [2.0, 0.0, 0.0, 0.0])
    table = Scenario.load(str(tmp_path / "arm.xml")).resolved()
    table["controller"] = {"kind": "actuators", "controls": {"servo": 0.3}}
    setup = Scenario.from_dict(table).build(visuals=False)
    assert setup.controller.command(setup.state, 0.01).tau[0] == pytest.approx(12.0)
    with pytest.raises(ControlError, match=r"'left' is not an actuator of robot .*Known: fingers"):
        Actuators(robot, controls={"left": 1.0})
    with pytest.raises(ControlError, match="must be 5 finite numbers"):
        Actuators(robot).command_of([1.0])
    with pytest.raises(ControlError, match="has no actuators, which MJCF files have"):
        Actuators(load_robot("box"))
    locked = load_robot(tmp_path / "arm.xml", joints=["lift"])
    assert Actuators(locked).names == ("servo", "motor")
    assert "actuators of joints that are locked, left out: odd, pull, fingers" in locked.notes
    StablePD(robot, kp=robot.kp, kd=robot.kd)


def test_what_actuators_leave_out(tmp_path):
    """Servos on tendons of free joints, ranges of two servos, activations: a sentence each."""
    odd = ARM.replace('<motor name="pull"', '<position name="pull" kp="3"')
    odd = odd.replace('<motor name="motor"', '<velocity name="motor" kv="2"')
    odd = odd.replace('name="odd"', 'name="odd" dyntype="filter" dynprm=".1"')
    robot = load_robot(write(tmp_path, odd, "odd.xml"))
    assert robot.warnings == (
        "not simulated: activations, gains and biases that are not affine and stable, of: 'odd'",
        "not simulated: servos on tendons of several joints that do not copy each other: 'pull'",
        "the force ranges of several servos of a joint are taken as one, their sum: 'lift'",
    )
    np.testing.assert_allclose(robot.limits.effort[0], 6.0 + 8.0)


def test_what_pulls_a_joint_adds_to_its_effort(tmp_path):
    """A motor beside a tendon, whose range a joint's own bounds as well; a name that is taken."""
    odd = ARM.replace('name="lift" axis', 'name="lift" actuatorfrcrange="-.5 .5" axis')
    odd = (
        odd[: odd.index("<position")]
        + """<motor joint="bend" ctrlrange="-2 2" name="actuator1"/>
<motor tendon="both" ctrlrange="-1 1" gear="1.5"/></actuator></mujoco>"""
    )
    path = write(tmp_path, odd, "odd.xml")
    robot, m = load_robot(path), mujoco.MjModel.from_xml_path(str(path))
    data, effort = mujoco.MjData(m), robot.limits.effort
    assert Actuators(robot).names == ("actuator1", "actuator1_")
    data.ctrl[:] = -2.0, 1.0
    mujoco.mj_forward(m, data)
    found = np.clip(Actuators(robot).command_of(data.ctrl).tau, -effort, effort)
    np.testing.assert_allclose(found[:2], data.qfrc_actuator[:2], atol=1e-12)
    np.testing.assert_allclose(found[:2], [0.5, -5.0])
