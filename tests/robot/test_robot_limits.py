"""Bounds of joints: read from the description, kept on the robot, told where not enforced."""

import functools
import re
from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from core_samples import FORMS, Problem
from physics_scenes import CUBE, block
from urdf_samples import FOOT, HOPPER, hinge, link, robot, write

from nmdp_pin import FrictionCone, Plane, Simulator, State, Terrain, load_robot
from nmdp_pin._cli import main
from nmdp_pin._contact import DryFriction, Penalty
from nmdp_pin._control import Command, Passive
from nmdp_pin._dynamics.system import System
from nmdp_pin._integrators import INTEGRATORS
from nmdp_pin._robot import JointLimits, Mimic, check_robot, free_body, together
from nmdp_pin._robot.feasibility import buried_depth, efforts_beyond_limits, joints_beyond_range
from nmdp_pin._robot.overlaps import GROUND, OverlapCheck
from nmdp_pin._runs.run_warnings import start_warnings
from nmdp_pin._scenario import Scenario
from nmdp_pin._terrain import Box
from nmdp_pin.papers.methods.objectives import OBJECTIVES

ROUNDING = 1e-9
# A step is solved to this share of the acceleration that is compared.
SOLVED = 1e-6
COPIED = 1e-3  # [rad] by which the spring of a mimic joint gives way to its weight
# Between its contact points a link may lie this deep in the ground [m].
BETWEEN = 0.015
LAWS = {"ne-ncp": DryFriction(), "pbd": Penalty(), "pbfd": Penalty()}


def gripper(*, friction: float = 0.5) -> str:
    """A body with a leg, and a finger that mimics the leg; the finger rubs and turns for ever."""
    finger = hinge("finger", "leg", "tip", kind="continuous").replace(
        "</joint>",
        f'<mimic joint="hip" multiplier="-2" offset="0.1"/><dynamics friction="{friction}"/>'
        "</joint>",
    )
    return robot(
        link("body"), link("leg", shapes=FOOT), link("tip"), hinge("hip", "body", "leg"), finger
    )


@pytest.mark.parametrize("base", ["free-flyer", "planar", "fixed"])
def test_they_are_read_in_the_order_of_the_velocity(base, tmp_path):
    """Of hinges with ends the numbers of the URDF; no bound of a base or where none is given."""
    bot = load_robot(write(tmp_path, HOPPER), base=base)
    n, limits = bot.model.nv - 1, bot.limits
    np.testing.assert_array_equal(limits.lower, [-np.inf] * n + [-1.0])
    np.testing.assert_array_equal(limits.upper, [np.inf] * n + [1.0])
    np.testing.assert_array_equal(limits.effort, [np.inf] * n + [10.0])
    np.testing.assert_array_equal(limits.friction, np.zeros(n + 1))
    assert limits.kinds == ("position", "effort")


def test_friction_and_mimics_are_read(tmp_path):
    """Dry friction, and what a joint copies, though the joint has two numbers for its angle."""
    path = write(tmp_path, gripper().replace("continuous", "revolute"))
    bot = load_robot(path)
    assert bot.limits.friction[-1] == 0.5
    assert bot.limits.mimics == (Mimic("finger", "hip", -2.0, 0.1),)
    assert bot.limits.kinds == ("position", "effort", "friction", "mimic")
    assert load_robot(path, joints=["finger"]).limits.mimics == ()
    none = load_robot(path, limits=False).limits
    assert none.kinds == ()


def copying(*primaries: str) -> str:
    """Links in a row, of whose joints j0, j1, ... the first copy others, twice and 0.25 more."""
    joints = [hinge(f"j{k}", f"l{k}", f"l{k + 1}") for k in range(len(primaries) + 1)]
    for k, primary in enumerate(primaries):
        mimic = f'<mimic joint="{primary}" multiplier="2" offset="0.25"/></joint>'
        joints[k] = joints[k].replace("</joint>", mimic)
    return robot(*(link(f"l{k}") for k in range(len(joints) + 1)), *joints)


def test_copies_of_copies(tmp_path):
    """They copy the first of all, in whatever order they stand."""
    bot = load_robot(write(tmp_path, copying("j1", "j2")), base="fixed")
    assert bot.limits.mimics == (Mimic("j0", "j2", 4.0, 0.75), Mimic("j1", "j2", 2.0, 0.25))
    np.testing.assert_allclose(bot.standing, [0.75, 0.25, 0.0], atol=ROUNDING)
    np.testing.assert_array_equal(bot.driven, [2])


@pytest.mark.parametrize("primaries", [("j1", "j0"), ("j1", "j2", "j1"), ("j0",)])
def test_copies_in_a_circle(primaries, tmp_path):
    """They copy nothing, have motors, and a warning names them."""
    bot = load_robot(write(tmp_path, copying(*primaries)), base="fixed")
    assert bot.limits.mimics == ()
    assert len(bot.driven) == len(primaries) + 1
    names = ", ".join(f"j{k}" for k in range(len(primaries)))
    assert f"mimic joints that copy each other move by themselves: {names}" in bot.warnings


@pytest.mark.parametrize("limit", [True, False])
def test_copies_that_turn_for_ever_keep(limit, tmp_path):
    """A continuous joint that copies, or is copied, has one number for its angle and no range."""
    text = gripper().replace('"revolute"', '"continuous"')
    text = text if limit else re.sub("<limit[^>]*>", "", text)
    bot = load_robot(write(tmp_path, text), base="fixed")
    assert bot.limits.mimics == (Mimic("finger", "hip", -2.0, 0.1),)
    np.testing.assert_allclose(bot.standing, [0.0, 0.1])
    np.testing.assert_array_equal(bot.limits.lower, [-np.inf, -np.inf])
    np.testing.assert_array_equal(bot.limits.effort, [10.0 if limit else np.inf] * 2)
    simulator = Simulator(bot, Terrain(Plane(height=-9.0)), FrictionCone(stiffness=1e5), "ne-nmdp")
    start, turn = simulator.state(), 8.0  # [rad], more than a turn of the finger
    start = State(0.0, start.q, np.array([turn, -2.0 * turn]))
    *_, last = simulator.run(start, Passive(), dt=0.01, duration=1.0)
    assert abs(last.state.q[1]) > 2.0 * np.pi
    assert last.state.q[1] == pytest.approx(-2.0 * last.state.q[0] + 0.1, abs=COPIED)


def test_copies_of_joints_with_several_axes_are_named(tmp_path):
    """They move by themselves, and a warning says so unless one of the two is locked."""
    text = copying("j1").replace('"j1" type="revolute"', '"j1" type="planar"')
    path = write(tmp_path, text)
    assert "have one axis each: j0 of j1" in "\n".join(load_robot(path).warnings)
    assert "j0 of j1" not in "\n".join(load_robot(path, joints=["j0"]).warnings)


@pytest.mark.parametrize("hip", [0.0, 0.3, 2.0])
def test_copies_stand_where_their_joint_puts_them(tmp_path, hip):
    """Also where that is outside the range of the copy, and of a joint that was moved into its."""
    write(tmp_path, gripper().replace("continuous", "revolute"))
    write(tmp_path, f'urdf = "sample.urdf"\nstanding.joints = {{ hip = {hip} }}\n', "robot.toml")
    bot = load_robot(tmp_path / "robot.toml", base="fixed")
    np.testing.assert_allclose(bot.standing, [min(hip, 1.0), -2.0 * min(hip, 1.0) + 0.1])
    assert Mimic("a", "b") == Mimic("a", "b", multiplier=1.0, offset=0.0)


def test_kinds_of_single_bounds():
    """One end of one joint of many is a bound of the kind; `bounded` lists those with rows."""
    none = JointLimits.none(3)
    for name, bound, kinds, rows in (
        ("lower", -1.0, ("position",), [1]),
        ("upper", 1.0, ("position",), [1]),
        ("effort", 5.0, ("effort",), []),
        ("friction", 0.1, ("friction",), [1]),
    ):
        values = getattr(none, name).copy()
        values[1] = bound
        limits = replace(none, **{name: values})
        assert limits.kinds == kinds
        assert limits.bounded.tolist() == rows


def test_efforts_of_zero_alone_are_told(tmp_path):
    """Beside a range of some width; and a range of no width that is not at 0 is one."""
    bot = load_robot(write(tmp_path, HOPPER.replace('effort="10"', 'effort="0"')))
    assert JointLimits.empty(bot.model) == ["hip"]
    assert bot.limits.kinds == ("position",)
    for effort in ("1", "10"):
        bot = load_robot(write(tmp_path, HOPPER.replace('effort="10"', f'effort="{effort}"')))
        assert JointLimits.empty(bot.model) == []
    at = HOPPER.replace('lower="-1" upper="1"', 'lower="0.5" upper="0.5"')
    assert load_robot(write(tmp_path, at)).limits.kinds == ("position", "effort")


def test_zeros_are_no_limits(tmp_path):
    """A range of no width at 0 and an effort of 0 mean that the writer did not know."""
    text = HOPPER.replace('lower="-1" upper="1" effort="10"', 'lower="0" upper="0" effort="0"')
    bot = load_robot(write(tmp_path, text))
    assert bot.limits.kinds == ()
    assert any("taken as none given: hip" in text for text in bot.warnings)
    off = load_robot(write(tmp_path, text), limits=False)
    assert not any("taken as none given" in text for text in off.warnings)


def test_two_robots_keep_theirs(tmp_path):
    """Beside an object the bounds of the robot stay where its joints are."""
    bot = load_robot(write(tmp_path, gripper().replace("continuous", "revolute")))
    both = together(bot, [free_body("cube", Box(size=(0.1, 0.1, 0.1)), mass=1.0)])
    assert len(both.limits.lower) == both.model.nv
    np.testing.assert_array_equal(both.limits.upper[: bot.model.nv], bot.limits.upper)
    assert both.limits.mimics == bot.limits.mimics


def test_armature_is_in_the_mass_matrix(tmp_path):
    """The robot.toml gives it for all joints that move, or by joint; it adds to the diagonal."""
    write(tmp_path, HOPPER)
    plain = load_robot(tmp_path / "sample.urdf")
    M = pin.crba(plain.model, plain.model.createData(), plain.standing)
    for given in ("0.3", "{ hip = 0.3 }"):
        toml = write(tmp_path, f'urdf = "sample.urdf"\narmature = {given}\n', "robot.toml")
        bot = load_robot(toml)
        more = pin.crba(bot.model, bot.model.createData(), plain.standing)
        np.testing.assert_allclose(np.diag(more - M), [0, 0, 0, 0, 0, 0, 0.3], atol=ROUNDING)


@pytest.mark.parametrize("given", ["-0.1", "{ knee = 0.1 }", "nan"])
def test_wrong_armature_is_refused(given, tmp_path):
    """A negative one, or of a joint that does not exist."""
    write(tmp_path, HOPPER)
    toml = write(tmp_path, f'urdf = "sample.urdf"\narmature = {given}\n', "robot.toml")
    assert not check_robot(toml).ok


@pytest.mark.parametrize("method", INTEGRATORS)
def test_every_method_has_the_armature(method, tmp_path):
    """A torque on a rotor accelerates it by tau / (I + armature)."""
    rod = robot(link("base"), link("rod"), hinge("j", "base", "rod"))
    write(tmp_path, rod)
    toml = write(tmp_path, 'urdf = "sample.urdf"\nbase = "fixed"\narmature = 0.4\n', "robot.toml")
    bot = load_robot(toml, contacts=[])
    bot.model.gravity.linear[:] = 0.0
    law = LAWS.get(method, FrictionCone(stiffness=1e4))
    sim = Simulator(bot, Terrain(Plane(height=-9.0)), law, method)
    result = sim.step(sim.state(), np.array([1.0]), 0.001)
    v = result.state.v[0]
    assert v == pytest.approx(0.001 * 1.0 / (0.1 + 0.4), rel=SOLVED)
    assert result.kinetic_energy == pytest.approx(0.5 * (0.1 + 0.4) * v**2, rel=SOLVED)


def test_the_energy_of_rotors_is_no_gain():
    """A foot that is stopped hands its rotor's energy on: hard contact accepts the step."""
    bot = load_robot("gym-hopper")
    sim = Simulator(bot, Terrain(Plane(friction=0.9)), DryFriction(), "ne-ncp")
    v = np.array([0.123, 0.594, -2.227, 0.773, -5.672, -3.59])
    q = np.array([0.185, 1.151, 0.113, -0.192, -0.36, 0.393])
    assert sim.step(sim.state(q, v), None, 0.002).status.ok


@pytest.mark.parametrize("objective", ["kinetic", "end_effector"])
def test_objectives_have_the_armature(objective):
    """K and its gradient are of one function."""
    bot = load_robot("gym-hopper")
    form = FORMS["ne"](System(bot, Terrain(Plane()), FrictionCone(stiffness=1e6)))
    K, h, v = OBJECTIVES[objective](), 0.01, np.array([0.1, -0.2, 0.3, -0.4, 0.5, -0.6])
    problem, w = Problem(form, bot.standing, v, Command(), h, 1), form.no_forces()
    q = pin.integrate(bot.model, bot.standing, h * v)
    at = problem.evaluate(q, w)
    gradient = K.derivatives(problem, at, problem.linearise(at))[0]
    for i, step in enumerate(1e-6 * np.eye(6)):
        ends = [problem.evaluate(problem.retract(q, s * step), w) for s in (1, -1)]
        slope = (K.value(problem, ends[0]) - K.value(problem, ends[1])) / 2e-6
        assert slope == pytest.approx(gradient[i], rel=1e-3, abs=1e-3)


def test_what_is_not_enforced_is_told(tmp_path, capsys):
    """A run says which bounds its method leaves out; without bounds it says nothing."""
    path = write(tmp_path, HOPPER)
    enforced = INTEGRATORS["ne-nmdp"].enforces
    said = " ".join(start_warnings(Scenario.load(path).build(visuals=False)))
    assert ("the ranges of its joints" in said) == ("position" not in enforced)
    assert ("the effort limits" in said) == ("effort" not in enforced)
    off = Scenario.load(path, overrides=["robot.limits=false"]).build(visuals=False)
    assert start_warnings(off) == []
    with pytest.raises(SystemExit):
        main(["run", str(path), "--duration", "0.02"])
    assert ("warning: ne-nmdp does not enforce" in capsys.readouterr().err) == bool(said)


def test_a_joint_beyond_its_range_and_an_effort_beyond_its_limit(tmp_path):
    """Both are named with numbers, and with how often of many."""
    bot = load_robot(write(tmp_path, HOPPER), base="fixed")
    q = np.array([[0.0], [1.5], [-1.2]])
    (range_,) = joints_beyond_range(bot, q)
    assert "joint 'hip' at 1.5 is beyond its range -1 to 1 (in 2 of 3 states)" in range_
    assert joints_beyond_range(bot, q[:1]) == []
    (effort,) = efforts_beyond_limits(bot, np.array([[-12.0]]))
    assert "an effort of 12, its limit is 10" in effort
    assert efforts_beyond_limits(bot, np.array([[9.0]])) == []


@pytest.mark.parametrize(
    "body",
    [functools.partial(load_robot, "box"), functools.partial(block, CUBE)],
    ids=["two", "one"],
)
def test_a_base_in_the_ground_counts_though_it_has_contacts(body):
    """The centre of mass of a body with contact points, on two joints or one, under a plane."""
    robot = body()
    q = np.tile(robot.standing, (2, 1))
    q[:, 2] = -0.3, 0.1
    depth = buried_depth(robot, Terrain(Plane()), q)
    np.testing.assert_allclose(depth, [0.3, 0.0], atol=1e-12)


def test_feet_may_sink(tmp_path):
    """A leg that hangs 0.2 m in the ground counts only where it has no contact points."""
    text = robot(
        link("body"), link("leg", shapes=FOOT), hinge("hip", "body", "leg", xyz="0 0 -0.5")
    )
    path = write(tmp_path, text)
    for contacts, depth in ((["leg"], 0.0), (["body"], 0.2)):
        hopper = load_robot(path, contacts=contacts)
        q = hopper.standing.copy()
        q[2] = 0.3
        assert buried_depth(hopper, Terrain(Plane()), q[None]) == pytest.approx([depth])


@pytest.mark.parametrize(
    ("given", "base", "wanted"),
    [(1.3, "fixed", 1.0), (-2.0, "free-flyer", -1.0), (0.5, "fixed", 0.5)],
)
def test_no_joint_stands_outside_its_range(tmp_path, given, base, wanted):
    """It stands at the nearer end, which is said; without limits, where the files put it."""
    write(tmp_path, HOPPER)
    write(tmp_path, f'urdf = "sample.urdf"\nstanding.joints = {{ hip = {given} }}\n', "robot.toml")
    bot = load_robot(tmp_path / "robot.toml", base=base)
    assert bot.standing[-1] == wanted
    told = [note for note in bot.notes if "outside the range" in note]
    assert told == (
        []
        if given == wanted
        else [
            "standing pose outside the range of joints, moved into it: "
            f"hip from {given:.4g} to {wanted:.4g}"
        ]
    )
    assert load_robot(tmp_path / "robot.toml", base=base, limits=False).standing[-1] == given


@pytest.mark.parametrize("name", ["kinova", "laikago", "simple_humanoid", "allegro_left_hand"])
def test_robots_of_others_stand_in_their_ranges(name):
    """Their zero is outside, or their posture."""
    bot = load_robot(name, visuals=False)
    outside = joints_beyond_range(bot, bot.standing[None])
    assert outside == []
    assert any("outside the range" in note for note in bot.notes)


def test_the_report_warns_of_the_standing_pose(tmp_path):
    """Joints beyond their ranges, a link under the lowest contact point, a motor too weak."""
    write(tmp_path, HOPPER.replace('effort="10"', 'effort="0.001"'))
    write(tmp_path, 'urdf = "sample.urdf"\nstanding.joints = { hip = 1.3 }\n', "robot.toml")
    fixed = check_robot(tmp_path / "robot.toml", base="fixed", contacts=["leg"])
    assert any("hip from 1.3 to 1" in text for text in fixed.notes)
    assert not any("effort" in text for text in fixed.warnings)  # its centre is on the hinge
    low = check_robot(tmp_path / "sample.urdf", contacts=[("top", "body", [0, 0, 0.2], 0.0)])
    assert any("'leg' and the ground overlap by 0.65 m" in text for text in low.warnings)
    assert any("pass through the ground, without contact points: 'leg'" in n for n in low.notes)
    heavy = HOPPER.replace(
        '<link name="leg"><inertial>', '<link name="leg"><inertial><origin xyz="0.5 0 0"/>'
    )
    weak = check_robot(write(tmp_path, heavy.replace('effort="10"', 'effort="2"')), base="fixed")
    assert any("takes an effort of 4.905, its limit is 2" in text for text in weak.warnings)


def test_a_body_is_buried_with_its_centre_of_mass(tmp_path):
    """Of the base always, of other bodies where they have no contact points."""
    write(tmp_path, HOPPER)
    ground, free = Terrain(Plane()), load_robot(tmp_path / "sample.urdf", contacts=[])
    q = np.tile(pin.neutral(free.model), (3, 1))
    q[:, 2] = 1.0, -0.25, -1e12
    data = free.model.createData()
    pin.forwardKinematics(free.model, data, q[1])
    lowest = min(
        data.oMi[j].act(inertia.lever)[2]
        for j, inertia in enumerate(free.model.inertias)
        if inertia.mass > 0.0
    )
    np.testing.assert_allclose(buried_depth(free, ground, q), [0.0, -lowest, 0.0], atol=ROUNDING)
    held = load_robot(tmp_path / "sample.urdf", contacts="all")
    assert buried_depth(held, ground, q)[1] == pytest.approx(0.25)


def test_a_fallen_robot_lies_on_the_ground():
    """Talos, thrown on its side, ends on links that are no feet, and sinks in nowhere."""
    tilted = ["robot.initial.rpy=[1.0, 0.3, 0.0]", "robot.initial.position=[0.0, 0.0, 1.0]"]
    setup = Scenario.load("talos", overrides=tilted).build(visuals=False)
    *_, last = setup.simulator.run(setup.state, setup.controller, dt=0.02, duration=1.6)
    assert last.status.ok
    overlaps = OverlapCheck(setup.robot, setup.terrain).depths(last.state.q[None])
    assert last.state.q[2] < 0.4
    in_ground = [depth.max() for (_, other), depth in overlaps.items() if other == GROUND]
    assert 0.0 < max(in_ground) < BETWEEN


@pytest.mark.parametrize("method", ["ne-nmdp", "pbd-nmdp", "ne-mdp", "pbfd"])
def test_a_limit_clips_the_motor_and_no_push(method, tmp_path):
    """A servo of 10 N m gives way to 100 N m from outside as to 90; its own torque is 10."""
    bot = load_robot(write(tmp_path, HOPPER), base="fixed")
    law = Penalty() if method == "pbfd" else FrictionCone(stiffness=1e6)
    simulator = Simulator(bot, Terrain(Plane(height=-5.0)), law, method)
    inertia, h = float(pin.crba(bot.model, bot.model.createData(), bot.standing)[0, 0]), 1e-3
    one = np.ones(1)
    servo = Command(kp=1e4 * one, kd=1e4 * one, q_target=bot.standing, force=100.0 * one)
    result = simulator.step(simulator.state(bot.standing), servo, h)
    assert result.state.v[0] == pytest.approx(90.0 * h / inertia, rel=1e-3)
    assert result.tau[0] == pytest.approx(-10.0, rel=1e-6)
    free = simulator.step(simulator.state(bot.standing), Command(force=5.0 * one), h)
    assert free.state.v[0] == pytest.approx(5.0 * h / inertia, rel=1e-3)
    assert free.tau[0] == pytest.approx(0.0, abs=1e-9)


def test_no_bounds_are_infinite():
    """What a robot of no joints has."""
    none = JointLimits.none(3)
    assert none.kinds == ()
    assert np.isinf(none.effort).all()


@pytest.mark.parametrize("kind", ["continuous", "revolute"])
@pytest.mark.parametrize("method", ["ne-nmdp", "pbd-nmdp", "ne-ncp"])
def test_motor_and_friction_of_a_wheel(tmp_path, kind, method):
    """5 N m are asked for; 1 N m of the motor less 0.5 N m of friction turn 0.1 kg m^2 in 1 s."""
    text = f"""<robot name="wheel">
      <link name="base"/>
      <link name="rim"><inertial><mass value="1"/>
        <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
      <joint name="axle" type="{kind}"><parent link="base"/><child link="rim"/>
        <axis xyz="0 0 1"/><dynamics friction="0.5"/>
        <limit effort="1" velocity="10" lower="-100" upper="100"/></joint></robot>"""
    (tmp_path / "wheel.urdf").write_text(text)
    wheel = load_robot(tmp_path / "wheel.urdf", base="fixed")
    law = DryFriction() if method == "ne-ncp" else FrictionCone(stiffness=1e6)
    simulator = Simulator(wheel, Terrain(Plane(height=-5.0)), law, method)
    state = simulator.state()
    for _ in range(100):
        state = simulator.step(state, [5.0], 0.01).state
    assert state.v == pytest.approx([5.0], rel=1e-3)
