"""MJCF files: as MuJoCo compiles them, or refused by name."""

import copy
import importlib.util
import os
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from kept_values import of_robot
from urdf_samples import write

from nmdp_pin import load_robot
from nmdp_pin._control import StablePD
from nmdp_pin._files import limited_process
from nmdp_pin._robot import check_robot, free_body, together, touching
from nmdp_pin._robot.mjcf import _refuse
from nmdp_pin._robot.mjcf_model import MjcfModel
from nmdp_pin._robot.mjcf_motors import Motors
from nmdp_pin._scenario import Scenario
from nmdp_pin._terrain import Sphere
from nmdp_pin.errors import MissingExtra, RobotError

mujoco = pytest.importorskip("mujoco", reason="needs mujoco: extra 'mjcf'")

# Of numbers of order 1: rounding of two codes that start from the same compiled numbers.
SAME = 1e-10
# MuJoCo stores the vertices of meshes in single precision.
SINGLE = 1e-6

ONE_LEG = """<mujoco model="one-leg">
<compiler angle="radian"/><default><joint armature="0.2"/></default>
<worldbody><geom type="plane" size="1 1 1"/>
<body name="trunk" pos="0 0 1" quat="1 0 0 0"><freejoint/>
<geom type="box" size="0.1 0.2 0.05" mass="3" contype="0" conaffinity="0"/>
<body name="leg" pos="0.1 0 0"><joint name="roll" axis="1 0 0" range="-1 1" limited="true"/>
<joint name="pitch" axis="0 1 0" pos="0 0 0.1" frictionloss="0.3" actuatorfrcrange="-9 9"/>
<geom type="capsule" size="0.02" fromto="0 0 0 0.1 0 -0.5" mass="1"/></body></body></worldbody>
<actuator><motor joint="pitch"/></actuator></mujoco>"""

BODIES = ONE_LEG[ONE_LEG.index('<body name="trunk"') : ONE_LEG.index("</mujoco>")]

# All kinds of joints and geometry, `ref`, several joints in a body, servos, gears, a keyframe; no
# angle="radian", and gravity of its own.
ALL = """<mujoco model="all"><option gravity="1 0 -5"/>
<asset><mesh name="tip" vertex="0 0 0 .1 0 0 0 .1 0 0 0 .1"/><material name="red" rgba="1 0 0 1"/>
</asset><worldbody>
<body name="post" pos="0 0 1" euler="10 20 30"><geom type="box" size="0.1 0.1 0.1"/>
<body name="arm" pos="0.1 0 0" quat="1 2 3 4">
<joint name="yaw" axis="1 2 3" pos="0.1 0 0" ref="20" range="-90 90" armature="0.1" damping="0.5"/>
<joint name="lift" type="slide" axis="0 1 1" ref="0.1" range="-0.2 0.3"/>
<geom type="capsule" size="0.02" fromto="0 0 0 0.3 0 0" material="red"/><site name="eye"/>
<body name="tail" pos="0 0 0.2"><joint name="ball" type="ball" pos="0 0 0.1"/>
<geom type="ellipsoid" size="0.1 0.2 0.05"/></body>
<body name="left"><joint name="l" type="slide" axis="1 0 0" range="0 0.1" ref="0.02"/>
<geom type="mesh" mesh="tip"/></body>
<body name="right"><joint name="r" type="slide" axis="-1 0 0"/><geom size="0.1"/></body>
</body></body>
<body name="toy" pos="2 0 0" quat="1 1 0 0"><freejoint name="free"/>
<geom type="cylinder" size="0.05 0.1" pos="0.1 0 0"/></body></worldbody>
<equality><joint joint1="l" joint2="r" polycoef="0.01 2 0 0 0"/></equality>
<actuator>
<position joint="yaw" kp="20" kv="2" gear="3" forcerange="-5 5" armature="0.1" damping="0.3"/>
<motor joint="lift" gear="-4" ctrlrange="-2 2"/><velocity joint="l" kv="7"/></actuator>
<keyframe><key qpos="0.3 0.2 1 1 0 0 0.05 0.06 2 1 0 0 0 1 0"/></keyframe></mujoco>"""


def gymnasium_files():
    """MJCF files of gymnasium, where it is installed."""
    found = importlib.util.find_spec("gymnasium")
    folder = Path(found.origin).parent / "envs/mujoco/assets" if found else Path("none")
    return sorted(folder.glob("*.xml"))


OWN = Path(mujoco.__file__).parent / "testdata/model.xml"
FILES = [*gymnasium_files(), OWN, "all"]


@pytest.fixture(scope="module", params=FILES, ids=lambda file: Path(file).stem)
def loaded(request, tmp_path_factory):
    """A robot, and MuJoCo's model of its file."""
    path = request.param
    if path == "all":
        path = write(tmp_path_factory.mktemp("all"), ALL, "all.xml")
    return load_robot(path, visuals=False), mujoco.MjModel.from_xml_path(str(path))


@pytest.fixture
def both(loaded):
    """A robot, a copy of MuJoCo's model of its file, and the latter's data."""
    bot, model = loaded
    theirs = copy.copy(model)
    return bot, theirs, mujoco.MjData(theirs)


@pytest.fixture
def compiled_here(monkeypatch):
    """MuJoCo compiles in this process, which is faster."""
    compiled = lambda path: mujoco.MjModel.from_xml_path(str(path))  # noqa: E731
    monkeypatch.setattr("nmdp_pin._robot.mjcf._compiled", compiled)


def put(bot, data, q, v):
    """Put MuJoCo's robot in a state of ours: their quaternions begin with w."""
    qpos, size = [], 0
    for kind in data.model.jnt_type.tolist():
        n = (7, 4, 1, 1)[kind]
        part = q[size : size + n]
        qpos.append(part if n == 1 else np.concatenate([part[: n - 4], np.roll(part[n - 4 :], 1)]))
        size += n
    data.qpos[:], data.qvel[:] = np.concatenate(qpos), v
    mujoco.mj_forward(data.model, data)


def test_motion_is_that_of_mujoco(both):
    """Mass matrix, forces of gravity and inertia, places of all bodies, at random states."""
    bot, theirs, data = both
    rng, ours = np.random.default_rng(0), bot.model.createData()
    for _ in range(3):
        q = pin.integrate(bot.model, bot.standing, rng.standard_normal(theirs.nv))
        v = rng.standard_normal(theirs.nv)
        put(bot, data, q, v)
        expected = np.zeros((theirs.nv, theirs.nv))
        mujoco.mj_fullM(theirs, data, expected)
        M = np.triu(pin.crba(bot.model, ours, q))
        np.testing.assert_allclose(M + np.triu(M, 1).T, expected, rtol=SAME, atol=SAME)
        forces = pin.nonLinearEffects(bot.model, ours, q, v)
        np.testing.assert_allclose(forces, data.qfrc_bias, rtol=SAME, atol=SAME)
        pin.framesForwardKinematics(bot.model, ours, q)
        for body in range(1, theirs.nbody):
            name = theirs.body(body).name or f"body{body}"
            frame = ours.oMf[bot.model.getFrameId(name, pin.BODY)]
            np.testing.assert_allclose(frame.translation, data.xpos[body], atol=SAME)
            np.testing.assert_allclose(frame.rotation.ravel(), data.xmat[body], atol=SAME)
    np.testing.assert_array_equal(bot.model.gravity.linear, theirs.opt.gravity)


def test_bounds_are_those_of_mujoco(both):
    """Ranges and dry friction; damping is that of the passive force of each dof."""
    bot, theirs, data = both
    for j in np.flatnonzero(theirs.jnt_type >= 2).tolist():
        v, limited = theirs.jnt_dofadr[j], theirs.jnt_limited[j]
        given = theirs.jnt_range[j] if limited else [-np.inf, np.inf]
        assert [bot.limits.lower[v], bot.limits.upper[v]] == list(given)
        assert bot.limits.friction[v] == theirs.dof_frictionloss[v]
    theirs.jnt_stiffness[:] = theirs.opt.density = theirs.opt.viscosity = 0.0
    theirs.body_gravcomp[:] = theirs.tendon_stiffness[:] = theirs.tendon_damping[:] = 0.0
    v = np.random.default_rng(1).standard_normal(theirs.nv)
    put(bot, data, bot.standing, v)
    np.testing.assert_allclose(-bot.model.damping * v, data.qfrc_damper, rtol=SAME, atol=SAME)


def test_motors_are_those_of_mujoco(both):
    """The torques of motors and servos at random controls, and where they saturate."""
    bot, theirs, data = both
    rng, nv = np.random.default_rng(2), theirs.nv
    put(bot, data, bot.standing, rng.standard_normal(nv))
    kp, kd = np.zeros(nv), np.zeros(nv)
    for a in range(theirs.nu):
        joint, gear = int(theirs.actuator_trnid[a, 0]), theirs.actuator_gear[a, 0]
        if theirs.actuator_trntype[a] != 0 or theirs.jnt_type[joint] < 2:
            continue
        if theirs.actuator_dyntype[a] != 0:
            continue
        name, v = theirs.joint(joint).name, theirs.jnt_dofadr[joint]
        assert v in bot.driven or name in [m.joint for m in bot.limits.mimics]
        data.ctrl[:] = 0.0
        servo = bool(theirs.actuator_biastype[a])
        if servo:
            kp[v], kd[v] = bot.kp.get(name, 0.0), bot.kd.get(name, 0.0)
            data.ctrl[a] = gear * data.qpos[theirs.jnt_qposadr[joint]] + 1e-3
            torque = kp[v] * 1e-3 / gear - kd[v] * data.qvel[v]
            if kp[v] == 0.0:  # of velocity
                data.ctrl[a], torque = 0.0, -kd[v] * data.qvel[v]
            torque = np.clip(torque, -bot.limits.effort[v], bot.limits.effort[v])
        else:
            data.ctrl[a] = 1e6 if theirs.actuator_ctrllimited[a] else 1.0
            torque = np.sign(gear) * min(bot.limits.effort[v], abs(gear * data.ctrl[a]))
        mujoco.mj_forward(theirs, data)
        assert data.qfrc_actuator[v] == pytest.approx(torque, rel=SAME, abs=SAME)


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
    other = load_robot(tmp_path / "leg.xml", base="fixed", package_dirs=["meshes"])
    assert other.model.nv == 2
    assert "package_dirs, of which MJCF files know nothing: meshes" in other.notes


@pytest.mark.parametrize("base", ["free-flyer", "planar", "fixed"])
def test_gravity_of_the_file(base, tmp_path):
    """It stays on every base, where joints are locked, and where the file switches it off."""
    given = '<option gravity="0 1 -3"/><default>'
    path = write(tmp_path, ONE_LEG.replace("<default>", given), "leg.xml")
    bot = load_robot(path, base=base, joints=["pitch"])
    np.testing.assert_array_equal(bot.model.gravity.linear, [0.0, 1.0, -3.0])
    off = '<option><flag gravity="disable"/></option><default>'
    path = write(tmp_path, ONE_LEG.replace("<default>", off), "leg.xml")
    assert not load_robot(path, base=base).model.gravity.linear.any()


CHAIN = """<mujoco><worldbody><geom type="plane" size="1 1 1"/><body name="a"><freejoint/>
<geom size="0.1" {a}/><body name="b" pos="1 0 0"><joint/><geom size="0.1" {b}/>
<body name="c" pos="1 0 0"><joint/><geom size="0.1" {c}/></body></body></body></worldbody>
{more}</mujoco>"""
LONE = 'contype="1" conaffinity="0"'


@pytest.mark.usefixtures("compiled_here")
@pytest.mark.parametrize(
    ("parts", "count"),
    [
        ({}, 1),
        ({"a": LONE}, 1),
        ({"a": LONE, "c": LONE}, 0),
        ({"a": 'contype="0" conaffinity="2"', "c": 'contype="2" conaffinity="0"'}, 1),
        ({"more": '<contact><exclude body1="c" body2="a"/></contact>'}, 0),
    ],
)
def test_bodies_that_never_touch(parts, count, tmp_path):
    """By their masks or because they are excluded; MuJoCo has the same contacts."""
    text = CHAIN.format(**{"a": "", "b": "", "c": "", "more": "", **parts})
    bot = touching(load_robot(write(tmp_path, text, "chain.xml"), visuals=False))
    points = bot.contact_points
    pairs = {frozenset(p) for p in zip(points.joints, points.touches, strict=True)}
    assert len([pair for pair in pairs if 0 not in pair]) == count
    m = mujoco.MjModel.from_xml_string(text.replace('size="0.1"', 'size="1.2"'))
    data = mujoco.MjData(m)
    mujoco.mj_forward(m, data)
    bodies = [{int(m.geom_bodyid[g]) for g in c.geom} for c in data.contact]
    assert len([pair for pair in bodies if pair == {1, 3}]) == count


def test_robots_with_gravities_of_their_own(tmp_path):
    """That of the first robot acts; the other's is told, that of a free body is none."""
    given = '<option gravity="0 0 -3"/><default>'
    moon = load_robot(write(tmp_path, ONE_LEG.replace("<default>", given), "leg.xml"))
    ball = free_body("ball", Sphere(radius=0.1), mass=1.0)
    both, other = together(moon, [ball]), together(ball, [moon])
    told = f"{moon.name}: its gravity is left out for that of ball"
    assert both.model.gravity.linear[2] == -3.0
    assert (told in both.notes, told in other.notes) == (False, True)
    assert other.model.gravity.linear[2] == -9.81


def test_of_two_coupled_joints_the_driven_one_leads(tmp_path):
    """Whatever their ratio is."""
    for slope in (1.0, 2.0):
        text = ALL.replace('polycoef="0.01 2', f'polycoef="0.01 {slope}')
        (mimic,) = load_robot(write(tmp_path, text, "all.xml")).limits.mimics
        assert (mimic.joint, mimic.primary, mimic.multiplier) == ("r", "l", 1.0 / slope)


def test_coupled_joints_have_references(tmp_path):
    """R - 0.05 = 0.01 + 2 (l - 0.3): positions of both joints begin at their `ref`."""
    text = (
        ONE_LEG.partition("<worldbody>")[0]
        + """<worldbody>
<body><joint name="l" ref="0.3" axis="0 1 0"/><geom size="0.1"/></body>
<body pos="1 0 0"><joint name="r" ref="0.05" axis="0 1 0"/><geom size="0.1"/></body></worldbody>
<equality><joint joint1="r" joint2="l" polycoef="0.01 2 0 0 0"/></equality></mujoco>"""
    )
    (mimic,) = load_robot(write(tmp_path, text, "two.xml")).limits.mimics
    assert (mimic.joint, mimic.primary, mimic.multiplier) == ("r", "l", 2.0)
    assert mimic.offset == pytest.approx(0.05 + 0.01 - 2.0 * 0.3)


def test_the_keyframe_is_the_standing_pose(tmp_path):
    """Joints, balls and free joints where it says; servos and equalities in our terms."""
    bot = load_robot(write(tmp_path, ALL, "all.xml"))
    ball, free = [np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5)], [2.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0]
    np.testing.assert_allclose(bot.standing, [0.3, 0.2, *ball, 0.05, 0.06, *free], atol=SAME)
    # r = (l - 0.02 - 0.01) / 2, for of the two l has the motor
    (mimic,) = bot.limits.mimics
    assert (mimic.joint, mimic.primary, mimic.multiplier) == ("r", "l", 0.5)
    assert mimic.offset == pytest.approx(-0.015)
    assert bot.kp == {"yaw": 180.0}
    assert bot.kd == {"yaw": 18.0, "l": 7.0}
    np.testing.assert_allclose(bot.limits.effort[[0, 1]], [15.0, 8.0])
    StablePD(bot, kp=bot.kp, kd=bot.kd)
    assert bot.model.existFrame("eye")
    red = bot.require_visuals().geometryObjects[1].meshColor
    np.testing.assert_array_equal(red, [1.0, 0.0, 0.0, 1.0])


def test_one_free_body_is_a_floating_base():
    """Which pinocchio's model is without; two bodies that move have their joints in the world."""
    one = MjcfModel(mujoco.MjModel.from_xml_string(ONE_LEG))
    assert one.floats
    assert list(one.model.names) == ["universe", "roll", "pitch"]
    two = MjcfModel(mujoco.MjModel.from_xml_string(ALL))
    assert not two.floats
    assert list(two.model.names)[-2:] == ["free", "free_rotation"]
    held = ONE_LEG.replace("<freejoint/>", '<joint name="lift" type="slide"/>')
    fixed = MjcfModel(mujoco.MjModel.from_xml_string(held))
    assert not fixed.floats
    assert list(fixed.model.names) == ["universe", "lift", "roll", "pitch"]


def test_ranges_may_be_of_any_size():
    """Other numbers may not, and those of losses are not negative."""
    for name, value in (("jnt_range", 1e300), ("body_mass", 1e9), ("dof_damping", 0.0)):
        m = mujoco.MjModel.from_xml_string(ONE_LEG)
        getattr(m, name)[-1:] = value
        _refuse(m, "leg.xml")
    for name, value in (("jnt_range", np.inf), ("body_mass", 1e11), ("dof_damping", -1e-9)):
        m = mujoco.MjModel.from_xml_string(ONE_LEG)
        getattr(m, name)[-1:] = value
        with pytest.raises(RobotError, match=name):
            _refuse(m, "leg.xml")


def test_a_posture_places_a_floating_base():
    """By position and quaternion; joints are told by name, balls with the real part last."""
    read = MjcfModel(mujoco.MjModel.from_xml_string(ONE_LEG))
    turn = np.array([0.5, 0.5, -0.5, 0.5])  # w, x, y, z
    found, root = read.posture(np.array([1.0, 2.0, 3.0, *turn, 0.6, 0.7]))
    assert found == {"roll": 0.6, "pitch": 0.7}
    expected = pin.XYZQUATToSE3(np.array([1.0, 2.0, 3.0, *turn[1:], turn[0]]))
    assert root.isApprox(expected, SAME)
    other = MjcfModel(mujoco.MjModel.from_xml_string(ALL))
    found, root = other.posture(np.array([0.3, 0.2, *turn, 0.05, 0.06, 2.0, 1.0, 0.5, *turn]))
    assert root.isIdentity()
    assert {name: found[name] for name in ("yaw", "lift", "l", "r")} == {
        **{"yaw": 0.3, "lift": 0.2, "l": 0.05, "r": 0.06}
    }
    for name in ("ball", "free_rotation"):
        np.testing.assert_allclose(found[name], [*turn[1:], turn[0]], atol=SAME)
    np.testing.assert_array_equal(found["free"], [2.0, 1.0, 0.5])


def test_bounds_of_joints_behind_a_floating_base():
    """Armature, friction, damping, ranges and efforts are those of the dofs that are left."""
    text = ONE_LEG.replace('armature="0.2"', 'armature="0.2" damping="0.7"')
    m = mujoco.MjModel.from_xml_string(text)
    read = MjcfModel(m)
    read.set_bounds(Motors(m, read.joints))
    np.testing.assert_array_equal(read.model.armature, [0.2, 0.2])
    np.testing.assert_array_equal(read.model.damping, [0.7, 0.7])
    np.testing.assert_array_equal(read.model.upperDryFrictionLimit, [0.0, 0.3])
    np.testing.assert_array_equal(read.model.lowerDryFrictionLimit, [0.0, -0.3])
    np.testing.assert_array_equal(read.model.upperEffortLimit[1], 9.0)
    np.testing.assert_array_equal(read.model.lowerEffortLimit[1], -9.0)
    assert (read.model.lowerPositionLimit[0], read.model.upperPositionLimit[0]) == (-1.0, 1.0)
    assert read.model.upperPositionLimit[1] > 1e300


def test_shapes_have_the_masses_of_the_file(tmp_path):
    """Each shape of 1000 kg/m3 has the mass of its body, about the body's centre of mass."""
    bot = load_robot(write(tmp_path, ALL, "all.xml"))
    shapes = [s for s in bot.require_collisions().geometryObjects if s.parentJoint]
    assert len(shapes) == 5
    for item in shapes:
        inertia = bot.model.inertias[item.parentJoint]
        assert 1000.0 * item.geometry.computeVolume() == pytest.approx(inertia.mass, rel=SINGLE)
        centre = item.placement.act(item.geometry.computeCOM())
        np.testing.assert_allclose(centre, inertia.lever, atol=SINGLE)


@pytest.mark.parametrize("name", ["ant", "half_cheetah", "hopper", "humanoid", "walker2d"])
def test_robots_of_gymnasium(name):
    """All their motors drive, and they run from one command."""
    path = next((file for file in gymnasium_files() if file.stem == name), None)
    if path is None:
        pytest.skip("needs gymnasium: extra 'gym'")
    theirs = mujoco.MjModel.from_xml_path(str(path))
    setup = Scenario.load(path).build(visuals=False)
    assert setup.robot.mass == pytest.approx(theirs.body_mass.sum(), rel=SAME)
    assert (setup.robot.model.nv, len(setup.robot.driven)) == (theirs.nv, theirs.nu)
    *_, last = setup.simulator.run(setup.state, setup.controller, dt=0.02, duration=0.1)
    assert last.status.ok


def test_what_is_left_out_is_told():
    """A sentence on each part of MuJoCo's own example that is not simulated."""
    told = "\n".join(load_robot(OWN, visuals=False).warnings)
    for part in (
        *("slide, fixed tendon or site: '1'", "not fixed: 'spatial'"),
        *("fluid", "sensors (11)", "<geom> of the"),
    ):
        assert part in told


# What MuJoCo computes itself when it compiles a file, and what belongs to its solver.
DERIVED = (
    *("body_invweight0", "body_subtreemass", "dof_invweight0", "dof_M0", "geom_rbound"),
    *("timestep", "tolerance", "impratio", "ls_tolerance", "noslip_tolerance", "ccd_tolerance"),
)


def test_every_number_that_moves_mujoco_is_read_or_told(monkeypatch):
    """Other numbers in any of its fields change the robot or its warnings, if they change steps."""

    def path_of(m):
        data = mujoco.MjData(m)
        mujoco.mj_resetDataKeyframe(m, data, 0)
        data.ctrl[:] = 0.3
        mujoco.mj_step(m, data, 40)
        return data.qpos.tolist()

    def read(m):
        monkeypatch.setattr("nmdp_pin._robot.mjcf._compiled", lambda path: m)
        try:
            bot = load_robot("all.xml", visuals=False)
        except RobotError as error:
            return str(error)
        places = [frame.placement.homogeneous.tolist() for frame in bot.model.frames]
        sizes = [s.geometry.computeVolume() for s in bot.collision_model.geometryObjects]
        springs = [(x.joint, x.stiffness, np.array(x.rest).tolist()) for x in bot.springs]
        numbers = *places, *sizes, bot.model.gravity.vector.tolist()
        return of_robot(bot), numbers, springs, bot.lifts, bot.warnings

    def numbers(m):
        held = {name: getattr(m, name) for name in dir(m) if name not in DERIVED}
        held |= {name: getattr(m.opt, name) for name in dir(m.opt) if name not in DERIVED}
        kinds = {name: getattr(x, "dtype", np.dtype(int)).kind for name, x in held.items()}
        return {name: x for name, x in held.items() if kinds[name] == "f" and x.size}

    plain = mujoco.MjModel.from_xml_string(ALL)
    before, known, tried = path_of(plain), read(plain), 0
    for name in numbers(plain):
        m = mujoco.MjModel.from_xml_string(ALL)
        values = numbers(m)[name]
        values += 0.1 * (1.0 + 0.1 * np.arange(values.size).reshape(values.shape))
        if path_of(m) != before:
            tried += 1
            assert read(m) != known, name
    assert tried > 20


@pytest.mark.usefixtures("compiled_here")
@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("<motor ", '<motor delay="0.01" nsample="2" ', "delays of: '0'"),
        ('axis="1 0 0"', 'axis="1 0 0" solreflimit="0.05 1"', "left out (jnt_solref)"),
        ('frictionloss="0.3"', 'frictionloss="0.3" solimpfriction="0.5 0.9 0.01"', "(dof_solimp)"),
        ('axis="1 0 0"', 'axis="1 0 0" stiffness="1 2"', "springs of joints that are not linear"),
        ('axis="1 0 0"', 'axis="1 0 0" actuatorgravcomp="true"', "actuatorgravcomp"),
        ("<freejoint/>", '<joint type="free" stiffness="1"/>', "the spring of the base"),
        (
            'name="pitch" axis="0 1 0" pos="0 0 0.1" frictionloss="0.3" actuatorfrcrange="-9 9"',
            'name="pitch" type="ball" frictionloss="0.3"',
            "the dry friction of balls and free joints",
        ),
        (
            'name="pitch" axis="0 1 0" pos="0 0 0.1" frictionloss="0.3" actuatorfrcrange="-9 9"',
            'name="pitch" type="ball" range="0 1" limited="true"',
            "the ranges of ball joints",
        ),
        ('mass="1"', 'mass="1" contype="2" conaffinity="4"', "(contype and conaffinity against"),
        ("</mujoco>", '<keyframe><key qvel="1 0 0 0 0 0 0 0"/></keyframe></mujoco>', "qvel of the"),
        ("</mujoco>", '<keyframe><key ctrl="1"/></keyframe></mujoco>', "ctrl of the keyframe"),
        ("</default>", '</default><option><flag override="enable"/></option>', "(<option> o_...)"),
        (
            "</mujoco>",
            '<asset><hfield name="h" nrow="3" ncol="3" size="1 1 1 1"/></asset><worldbody><body>'
            '<joint/><geom type="hfield" hfield="h"/><geom size="1"/></body></worldbody></mujoco>',
            "height fields on bodies",
        ),
    ],
)
def test_options_that_are_left_out_are_told(old, new, says, tmp_path):
    """And only where they are given."""
    plain = load_robot(write(tmp_path, ONE_LEG, "plain.xml"), visuals=False)
    bot = load_robot(write(tmp_path, ONE_LEG.replace(old, new), "leg.xml"), visuals=False)
    assert says in "\n".join(bot.warnings)
    assert says not in "\n".join(plain.warnings)


@pytest.mark.usefixtures("compiled_here")
def test_actuators_that_are_switched_off(tmp_path):
    """They drive no joint, and are told; their rotors stay."""
    text = ONE_LEG.replace("<motor ", '<motor group="3" armature="0.1" ')
    text = text.replace("<default>", '<option actuatorgroupdisable="3"/><default>')
    bot = load_robot(write(tmp_path, text, "leg.xml"), visuals=False)
    assert not len(bot.driven)
    assert bot.model.armature[-1] == pytest.approx(0.3)
    assert any("switched off (actuatorgroupdisable): '0'" in text for text in bot.warnings)


@pytest.mark.usefixtures("compiled_here")
@pytest.mark.parametrize(
    ("attributes", "gains"),
    [
        ('gainprm="4" biasprm="2 -5 -1"', (5.0, 1.0)),
        ('gainprm="5" biasprm="0 0 -1"', (0.0, 1.0)),
        ('gainprm="5" biasprm="3 0 0"', (0.0, 0.0)),
    ],
)
def test_general_actuators(attributes, gains, tmp_path):
    """The gains of a servo are those of its bias, whatever its control does."""
    general = f'<general joint="pitch" biastype="affine" {attributes}/>'
    text = ONE_LEG.replace('<motor joint="pitch"/>', general)
    robot = load_robot(write(tmp_path, text, "leg.xml"), visuals=False)
    assert (robot.kp.get("pitch", 0.0), robot.kd.get("pitch", 0.0)) == gains
    assert len(robot.warnings) == 1


def test_servos_that_drive_away_are_told(tmp_path):
    """Springs of the wrong sign become no gains."""
    general = '<general joint="pitch" biastype="affine" gainprm="5" biasprm="0 5 -1"/>'
    path = write(tmp_path, ONE_LEG.replace('<motor joint="pitch"/>', general), "leg.xml")
    robot = load_robot(path)
    assert robot.kp.get("pitch", 0.0) == robot.kd.get("pitch", 0.0) == 0.0
    assert any("are not affine and stable" in text for text in robot.warnings)


def test_controllers_of_plugins_are_told(tmp_path):
    """What a plugin computes is no torque of a motor."""
    plugin = '<plugin plugin="mujoco.pid"><instance name="pid"><config key="kp" value="4"/>'
    text = ONE_LEG.replace(
        "<default>", f"<extension>{plugin}</instance></plugin></extension><default>"
    )
    text = text.replace("<motor ", '<plugin plugin="mujoco.pid" instance="pid" ')
    robot = load_robot(write(tmp_path, text, "leg.xml"))
    assert any("are not affine and stable" in text for text in robot.warnings)


@pytest.mark.parametrize("taken", ["universe", "root_rotation"])
def test_names_that_are_taken(taken, tmp_path):
    """A joint called like pinocchio's world or a base gets another name, and that is told."""
    bot = load_robot(write(tmp_path, ONE_LEG.replace("roll", taken), "leg.xml"))
    assert list(bot.model.names)[3:] == [f"{taken}_", "pitch"]
    assert f"joint '{taken}' is called '{taken}_' here" in bot.warnings


def test_files_that_it_includes(tmp_path):
    """They are read in their place; twice they are refused."""
    leg = '<include file="parts/leg.xml"/>'
    body = ONE_LEG[ONE_LEG.index("<worldbody>") : ONE_LEG.index("<actuator>")]
    (tmp_path / "parts").mkdir()
    write(tmp_path / "parts", f"<mujocoinclude>{body}</mujocoinclude>", "leg.xml")
    path = write(tmp_path, ONE_LEG.replace(body, leg), "leg.xml")
    assert list(load_robot(path).model.names)[3:] == ["roll", "pitch"]
    path = write(tmp_path, ONE_LEG.replace(body, 2 * leg), "leg.xml")
    with pytest.raises(RobotError, match="already included"):
        load_robot(path)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (
            "<actuator>",
            '<include file="more.xml"/><actuator>',
            "Error opening file 'more.xml'.*line 9",
        ),
        ('axis="1 0 0"', 'axis="1 0 0" type="screw"', "MuJoCo refuses it.*keyword: 'screw'"),
        ("<worldbody>", '<asset><mesh file="/etc/passwd"/></asset><worldbody>', "no decoder"),
        (
            "<worldbody>",
            '<asset><mesh file="no.stl"/></asset><worldbody>',
            "Error opening file 'no.stl'",
        ),
        ('mass="3"', 'mass="1e11"', "body_mass: must hold numbers of at most 1e"),
        ('armature="0.2"', 'armature="nan"', "dof_armature: must hold numbers"),
        ('armature="0.2"', 'armature="-1"', "dof_armature: must be >= 0"),
        (
            '<joint name="roll"',
            '<joint frictionloss="-1" name="roll"',
            "frictionloss: must be >= 0",
        ),
        (
            "<freejoint/>",
            '<replicate count="600"><body><geom size="1"/></body></replicate>',
            "nbody: has 603; at most 501",
        ),
        ('pos="0 0 1"', 'pos="0 0 high"', "MuJoCo refuses it.*'pos'"),
        (BODIES, "</worldbody>", "has no <body>"),
        ("mujoco", "sdf", "XML model type: 'sdf'"),
        (
            "<worldbody>",
            '<asset><hfield name="h" nrow="99999" ncol="99999" size="1 1 1 1"/></asset><worldbody>',
            "MuJoCo refuses it",
        ),
    ],
)
def test_what_is_not_read_is_refused(old, new, says, tmp_path, monkeypatch):
    """The error says what it is."""
    monkeypatch.setattr(limited_process, "MEMORY", 1 << 30)
    path = write(tmp_path, ONE_LEG.replace(old, new), "leg.xml")
    with pytest.raises(RobotError, match=says):
        load_robot(path)


PIPE = '<include file="pipe"/>'
DENSE = '<replicate count="300">' * 3 + '<geom size="1"/>' + "</replicate>" * 3


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("<freejoint/>", f"<freejoint/>{DENSE}"),
        ("<worldbody>", '<include file="pipe"/><worldbody>'),
    ],
    ids=["replicas", "pipe"],
)
def test_what_takes_for_ever_is_refused(old, new, tmp_path, monkeypatch):
    """A file of some hundred bytes, and one that includes a pipe without a writer."""
    monkeypatch.setattr(limited_process, "SECONDS", 1)
    os.mkfifo(tmp_path / "pipe")
    path = write(tmp_path, ONE_LEG.replace(old, new), "leg.xml")
    with pytest.raises(RobotError, match="it takes more than 1 s"):
        load_robot(path)


def test_the_report_says_so_too(tmp_path):
    """What MuJoCo refuses, and what we do, is an error of the report."""
    for old, new in (('pos="0 0 1"', 'pos="0 0 high"'), ('mass="3"', 'mass="1e11"')):
        assert not check_robot(write(tmp_path, ONE_LEG.replace(old, new), "leg.xml")).ok


def test_the_extra_is_named(monkeypatch, tmp_path):
    """Without mujoco the error says what to install."""
    monkeypatch.setattr("nmdp_pin._robot.mjcf.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"nmdp-pin\[mjcf\]"):
        load_robot(write(tmp_path, ONE_LEG, "leg.xml"))


@pytest.mark.parametrize(
    ("name", "says"), [("m.sdf", "is an SDF file"), ("x.urdf.xacro", "run xacro on it")]
)
def test_other_formats_are_named(name, says, tmp_path):
    """A file that exists is not an unknown robot."""
    path = write(tmp_path, "<sdf/>", name)
    with pytest.raises(RobotError, match=says):
        load_robot(path)
    assert says in str(check_robot(path))
