"""Actuators of MJCF files: forces and motions are MuJoCo's, each within its own ranges."""

from dataclasses import replace

import numpy as np
import pytest
from urdf_samples import write

from nmdp_pin import FrictionCone, Plane, Scenario, Simulator, State, Terrain, load_robot
from nmdp_pin._robot import check_robot, free_body, together
from nmdp_pin._terrain import Sphere
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


def odd_arm():
    """The arm with a servo along a tendon, two servos of each of two joints, and a filter."""
    odd = ARM.replace(
        '"pull" tendon="both" ctrlrange="-1 1" gear="1.5"', '"pull" tendon="both" kp="30"'
    )
    odd = odd.replace('<motor name="pull"', '<position kv="2" forcerange="-1.5 1.5" name="pull"')
    odd = odd.replace('<motor name="motor"', '<velocity name="motor" kv="2"')
    odd = odd.replace('name="odd"', 'name="odd" dyntype="filter" dynprm=".1"')
    copy = '<position name="copy" tendon="grip" kp="900" kv="9" forcerange="-20 20"/></actuator>'
    return odd.replace("</actuator>", copy)


def along(motors, simulator, m, u, steps, h=0.005):
    """Our path and MuJoCo's from the standing pose with held controls, (steps, n) each."""
    names = list(simulator.robot.model.names)
    places = [
        simulator.robot.model.joints[names.index(m.joint(j).name)].idx_q for j in range(m.njnt)
    ]
    start = simulator.robot.standing.copy()
    start[2] = 0.01  # where the equality holds
    data, state = mujoco.MjData(m), simulator.state(q=start)
    data.ctrl[:], data.qpos[:] = u, state.q[places]
    found, expected = np.zeros((2, steps, m.nq))
    for k in range(steps):
        state = simulator.step(state, motors, h).state
        mujoco.mj_step(m, data, nstep=round(h / m.opt.timestep))
        found[k], expected[k] = state.q[places], data.qpos
    return found, expected


@pytest.mark.usefixtures("loaded")
def test_servos_of_tendons_and_of_one_joint(tmp_path):
    """Each keeps to its own range, and controls follow their filter: the path is MuJoCo's."""
    path, u = write(tmp_path, odd_arm(), "odd.xml"), [1.0, -3.0, 0.5, -0.4, 0.02, 0.02]
    robot, m = load_robot(path), mujoco.MjModel.from_xml_path(str(path))
    assert robot.warnings == ()
    assert [t.joint for t in robot.tendons] == ["both_tendon", "motor_tendon", "copy_tendon"]
    said = "tendons that are joints of their own: both_tendon, motor_tendon, copy_tendon"
    assert said in robot.notes
    motors = Actuators(robot, controls=dict(zip(Actuators(robot).names, u, strict=True)))
    simulator = Simulator(robot, Terrain(Plane(height=-9.0)), FrictionCone(stiffness=1e6))
    found, expected = along(motors, simulator, m, u, 60)
    assert np.ptp(expected, axis=0)[:2].min() > 0.15
    np.testing.assert_allclose(found, expected, atol=2e-3)  # of MuJoCo's own step


@pytest.mark.usefixtures("loaded")
def test_what_tendons_resist(tmp_path):
    """Limits, springs, damping, dry friction and equalities of fixed tendons are MuJoCo's."""
    fixed = """<fixed name="both" limited="true" range="-.1 .1" stiffness="4" springlength="0.05"
damping="0.2" frictionloss="0.1" armature="0.01"><joint joint="lift" coef=".5"/>"""
    odd = ARM.replace('<fixed name="both"><joint joint="lift" coef=".5"/>', fixed)
    path = write(tmp_path, odd, "odd.xml")
    robot, m = load_robot(path), mujoco.MjModel.from_xml_path(str(path))
    assert robot.warnings == ()
    u = [0.3, 0.0, 0.0, 0.0, 0.02]
    motors = Actuators(robot, controls=dict(zip(Actuators(robot).names, u, strict=True)))
    simulator = Simulator(robot, Terrain(Plane(height=-9.0)), FrictionCone(stiffness=1e6))
    found, expected = along(motors, simulator, m, u, 100)
    assert np.abs(expected[-1] @ [0.5, -2.0, 0.0, 0.0]).max() == pytest.approx(0.1, abs=0.02)
    np.testing.assert_allclose(found, expected, atol=0.015)  # the stop is soft in MuJoCo
    (spring,) = robot.springs
    assert (spring.joint, spring.stiffness, spring.rest) == ("both_tendon", 4.0, 0.05)


@pytest.mark.usefixtures("loaded")
@pytest.mark.parametrize(("other", "slope"), [("", 0.0), ('tendon2="grip"', 0.7)])
def test_equalities_of_tendons(other, slope, tmp_path):
    """Lengths differ from those at the joints' references by a constant, or by that of another."""
    tie = f'<equality><tendon tendon1="both" {other} polycoef="0.1 {slope} 0 0 0"/>'
    tied = ARM.replace("<equality>", tie).replace('"bend" axis', '"bend" ref=".3" axis')
    path = write(tmp_path, tied.replace('"right" type', '"right" ref=".2" type'), "tied.xml")
    robot, m = load_robot(path), mujoco.MjModel.from_xml_path(str(path))
    simulator = Simulator(robot, Terrain(Plane(height=-9.0)), FrictionCone(stiffness=1e6))
    state = simulator.state()
    for _ in range(20):
        state = simulator.step(state, None, 0.01).state
    data = mujoco.MjData(m)
    data.qpos[:] = state.q
    mujoco.mj_forward(m, data)
    both, grip = data.ten_length - m.tendon_length0
    assert both == pytest.approx(0.1 + slope * grip, abs=1e-5)
    assert abs(grip) > 0.01 or not slope


@pytest.mark.usefixtures("loaded")
def test_the_stop_of_a_tendon_carries_what_hangs_on_it(tmp_path):
    """The weight of the arm along a tendon of 0.1 m presses it in by no more than 0.1 mm."""
    short = '<fixed name="both" limited="true" range="-.01 .01"><joint joint="lift" coef=".1"/>'
    hung = ARM.replace('<joint joint="bend" coef="-2"/>', "")
    hung = hung.replace('<fixed name="both"><joint joint="lift" coef=".5"/>', short)
    robot = load_robot(write(tmp_path, hung, "hung.xml"))
    simulator = Simulator(robot, Terrain(Plane(height=-9.0)), FrictionCone(stiffness=1e6))
    state = simulator.state()
    for _ in range(40):
        state = simulator.step(state, None, 0.02).state
    assert 0.1 < state.q[0] < 0.1 + 1.1e-4 / 0.1


@pytest.mark.usefixtures("loaded")
def test_actuators_beside_another_robot(tmp_path):
    """Those of a second arm, along its tendons, move it as the first one."""
    robot = load_robot(write(tmp_path, odd_arm(), "odd.xml"))
    both = together(robot, [replace(robot, name="other")])
    u = dict(zip(Actuators(robot).names, [1.0, -3.0, 0.5, -0.4, 0.02, 0.05], strict=True))
    motors = Actuators(both, controls=u | {f"other/{name}": x for name, x in u.items()})
    simulator = Simulator(both, Terrain(Plane(height=-9.0)), FrictionCone(stiffness=1e6))
    state = simulator.state()
    for _ in range(10):
        state = simulator.step(state, motors, 0.01).state
    first, second = np.split(state.q, 2)
    np.testing.assert_allclose(first, second, atol=1e-9)
    assert np.abs(first[:4] - robot.standing[:4]).min() > 1e-3


# Two light fingers that a tendon couples; the servo of one, without a range, would move both on.
FINGERS = """<mujoco><compiler angle="radian"/><default><joint damping="0.05" axis="0 1 0"/>
<geom contype="0" conaffinity="0" size=".01" pos=".03 0 0" mass=".03"/></default><worldbody>
<body><joint name="a"/><geom/></body>
<body pos="0 1 0"><joint name="b" range="0 0.5"/><geom/></body></worldbody>
<tendon><fixed name="both"><joint joint="a" coef="1"/><joint joint="b" coef="-1"/></fixed></tendon>
<equality><tendon tendon1="both"/></equality>
<actuator><position joint="a" kp="20" ctrlrange="0 0.7"/></actuator></mujoco>"""


@pytest.mark.usefixtures("loaded")
def test_stops_bear_what_servos_can(tmp_path):
    """Whatever weight moves: 4 N m at a stop press it by less than the 0.1 mrad of its load."""
    robot = load_robot(write(tmp_path, FINGERS, "fingers.xml"))
    simulator = Simulator(robot, Terrain(Plane(height=-9.0)), FrictionCone(stiffness=1e6))
    state, command = simulator.state(), Actuators(robot).command_of(np.array([0.7]))
    for _ in range(100):
        state = simulator.step(state, command, 0.01).state
    assert state.q == pytest.approx([0.5, 0.5], abs=1e-4)
    assert simulator.step(state, command, 0.01).tau[0] == pytest.approx(20.0 * 0.2, abs=1e-2)


def test_activations_are_those_of_mujoco(tmp_path, monkeypatch):
    """A control is integrated within a range, or followed, from the keyframe's activation on."""
    compiled = lambda path: mujoco.MjModel.from_xml_path(str(path))  # noqa: E731
    monkeypatch.setattr("nmdp_pin._robot.mjcf._compiled", compiled)
    kinds = (
        'dyntype="integrator" actlimited="true" actrange="0 .2"',
        'dyntype="filterexact" ctrlrange="-.5 .5"',
    )
    bodies = "".join(
        f'<body><joint name="j{k}" axis="0 1 0"/><geom size=".1"/></body>' for k in range(2)
    )
    motors = "".join(
        f'<general name="m{k}" joint="j{k}" gainprm="3" dynprm=".05" {kind}/>'
        for k, kind in enumerate(kinds)
    )
    text = f"""<mujoco><worldbody>{bodies}</worldbody><actuator>{motors}</actuator>
<keyframe><key act="0.1 0.3"/></keyframe></mujoco>"""
    path = write(tmp_path, text, "slow.xml")
    robot, m = load_robot(path), mujoco.MjModel.from_xml_path(str(path))
    motors, data, u = Actuators(robot), mujoco.MjData(m), [0.7, -1.0]
    mujoco.mj_resetDataKeyframe(m, data, 0)
    data.ctrl[:], m.opt.timestep = u, 0.001
    act = motors.activations
    for _ in range(10):
        mujoco.mj_step(m, data, nstep=20)
        act = motors.activated(act, u, 0.02)
        np.testing.assert_allclose(act, data.act, atol=1e-12)
        np.testing.assert_allclose(motors.command_of(u, act).tau, 3.0 * data.act)
    assert act[0] == 0.2
    held = Actuators(robot, controls={"m0": 0.7, "m1": -1.0})
    np.testing.assert_allclose(held.command(State(0.0, *np.zeros((2, 2))), 0.2).tau, 3.0 * act)
    with pytest.raises(ControlError, match=r"activations are needed, .* of m0, m1"):
        motors.command_of(u)


def test_thrusters_of_sites(tmp_path, monkeypatch):
    """Rotors on a body that is turned move it as in MuJoCo, and a site at rest has none."""
    compiled = lambda path: mujoco.MjModel.from_xml_path(str(path))  # noqa: E731
    monkeypatch.setattr("nmdp_pin._robot.mjcf._compiled", compiled)
    text = """<mujoco><option timestep="0.0002"/><worldbody><site name="still"/>
<body name="body" pos="0 0 3" euler="20 30 40"><freejoint/><geom type="box" size=".2 .1 .05"/>
<site name="one" pos=".2 .1 .1" euler="10 0 0"/><site name="two" pos="-.2 0 0"/></body></worldbody>
<actuator><motor site="one" gear="0 0 1 0 0 .2" ctrlrange="0 9"/><motor site="still"/>
<motor site="two" gear="1 0 1 0 .1 0"/></actuator></mujoco>"""
    path = write(tmp_path, text, "drone.xml")
    robot, m = load_robot(path, base="free-flyer"), mujoco.MjModel.from_xml_path(str(path))
    said = "not simulated: actuators that move no hinge, slide, fixed tendon or site: '1'"
    assert robot.warnings == (said,)
    assert [a.frame for a in robot.actuators] == ["body", "body"]
    data, command = mujoco.MjData(m), Actuators(robot).command_of([30.0, 20.0])
    data.ctrl[:] = 30.0, 0.0, 20.0
    simulator = Simulator(robot, Terrain(Plane(height=-9.0)), FrictionCone(stiffness=1e6))
    state = simulator.state(q=[*data.qpos[:3], *np.roll(data.qpos[3:], -1)])
    alone = simulator.step(simulator.state(), command, 0.002).state
    for _ in range(100):
        state = simulator.step(state, command, 0.002).state
    mujoco.mj_step(m, data, nstep=1000)
    assert np.linalg.norm(data.qpos[:3] - [0, 0, 3]) > 0.05
    np.testing.assert_allclose(state.q[:3], data.qpos[:3], atol=2e-3)
    np.testing.assert_allclose(np.roll(state.q[3:], 1), data.qpos[3:], atol=5e-3)
    ball = free_body("ball", Sphere(radius=0.1), mass=1.0)
    both = together(ball, [replace(robot, name="body")])  # as its link is called
    simulator = Simulator(both, Terrain(Plane(height=-9.0)), FrictionCone(stiffness=1e6))
    pushed = Actuators(both).command_of([30.0, 20.0])
    moved = simulator.step(simulator.state(), pushed, 0.002).state
    assert moved.v[6:9] == pytest.approx(alone.v[:3], abs=1e-9)


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


def test_a_check_lists_them(loaded):
    """Names, forms, what they move and the ranges of their controls."""
    robot, model = loaded
    rows = check_robot(robot.source).actuators
    assert [row.name for row in rows] == [model.actuator(a).name for a in range(model.nu)]
    forms = {row.name: (row.form, row.moves) for row in rows}
    for actuator in robot.actuators:
        form = "servo" if actuator.is_servo else "motor"
        assert forms[actuator.name] == (form, ", ".join(actuator.arms))
    thrusters = check_robot("drone").actuators
    assert {(row.form, row.lower, row.upper) for row in thrusters} == {("thruster", "0", "6")}
    assert "actuators (4)" in str(check_robot("drone"))
