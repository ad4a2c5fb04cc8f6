"""Loops of files: MuJoCo's motion of MJCF equalities, a robot.toml, robots side by side."""

from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from loop_scenes import FAR, largest_gap, run, simulator
from scipy.linalg import null_space
from urdf_samples import write

from nmdp_pin import (
    Command,
    Connect,
    Coupling,
    FrictionCone,
    Plane,
    Simulator,
    Terrain,
    free_body,
    load_robot,
    together,
    touching,
)
from nmdp_pin._robot.spring import spring_efforts
from nmdp_pin._terrain import Box
from nmdp_pin.errors import RobotError

WRITTEN = 1e-9  # of numbers, after conversions of rotations

MJCF = """<mujoco><compiler angle="radian"/><option timestep="1e-4" integrator="RK4">
<flag contact="disable"/></option>
<default><equality solref="0.0004 1" solimp="0.9999 0.9999 0.001"/>
<geom type="capsule" size="0.02" mass="1"/></default><worldbody>
<body name="left" pos="0 0 2"><joint name="l" axis="0 1 0"/><geom fromto="0 0 0 0.1 0 -0.5"/>
  <body name="coupler" pos="0.1 0 -0.5"><joint name="c" axis="0 1 0"/><geom fromto="0 0 0 0.7 0 0"/>
  <body name="tool" pos="0.3 0.1 0" euler="0.1 0.2 0.3"><joint name="tx" axis="1 0 0"/>
  <joint name="tz" axis="0 0 1"/><geom fromto="0 0 0 0.1 0.2 0.3"/></body></body></body>
<body name="right" pos="0.6 0 2"><joint name="r" axis="0 1 0"/>
  <geom fromto="0 0 0 0.2 0 -0.5"/></body>
<body name="load" pos="0.4 0.3 1.6" euler="0.3 0.1 0"><freejoint/>
  <geom type="box" size="0.05 0.1 0.15" mass="0.5"/></body>
<body name="slide" pos="0 1 2"><joint name="s" type="slide" axis="0 0 1" ref="0.2"/>
  <geom type="sphere" size="0.1"/></body>
<body name="arm" pos="0 1.5 2"><joint name="a" axis="0 1 0" ref="0.1"/>
  <geom fromto="0 0 0 0.4 0 0"/></body>
</worldbody><equality>
<connect body1="coupler" body2="right" anchor="0.7 0 0"/>
<weld body1="tool" body2="load" anchor="0.01 0.02 0.03"/>
<joint joint1="s" joint2="a" polycoef="0 0.3 0.2 0 0"/>
</equality></mujoco>"""


def test_motion_of_equalities(tmp_path):
    """A connected four-bar that carries a welded body, and a slide on a polynomial, as MuJoCo's."""
    mujoco = pytest.importorskip("mujoco")
    path = write(tmp_path, MJCF, "loops.xml")
    robot = load_robot(path)
    names = [type(loop).__name__ for loop in robot.loops]
    assert names == ["Connect", "Weld", "Coupling"]
    assert not [said for said in robot.warnings if "equalities" in said]
    m = mujoco.MjModel.from_xml_string(MJCF)
    data = mujoco.MjData(m)
    sim = simulator(robot)
    state = sim.state()
    assert state.q == pytest.approx(robot.standing, abs=1e-9)
    end = run(sim, state, 0.002, 0.3)[-1].state
    while data.time < 0.3 - 1e-6:
        mujoco.mj_step(m, data)
    mujoco.mj_forward(m, data)
    model = robot.model
    for name in ["l", "c", "tx", "tz", "r", "s", "a"]:
        at = model.joints[model.getJointId(name)].idx_q
        moved = data.joint(name).qpos[0] - m.joint(name).qpos0[0]
        assert abs(moved) > 0.01
        assert end.q[at] == pytest.approx(data.joint(name).qpos[0], abs=2e-3)
    place = robot.pose(end, "load")
    assert place.translation == pytest.approx(data.body("load").xpos, abs=1e-3)
    turn = data.body("load").xmat.reshape(3, 3)
    assert place.rotation == pytest.approx(turn, abs=3e-3)


SITES = """<mujoco><compiler angle="radian"/><worldbody>
<body name="post" pos="0 0 1" euler="0 0 0.5"><body name="fixed" pos="1 0 0"/></body>
<body name="a" pos="0 0 1"><joint axis="0 1 0"/><joint axis="1 0 0"/><joint axis="0 0 1"/>
<geom type="capsule" fromto="0 0 0 0.5 0 0" size="0.02"/>
<site name="end" pos="0.5 0 0" euler="0 0.2 0"/></body>
<body name="b" pos="0.2 0.1 1.2"><freejoint/><geom size="0.1"/>
<site name="start" pos="0 0.1 0" euler="0.3 0 0"/></body>
</worldbody><equality>
<weld site1="end" site2="start"/>{more}
</equality></mujoco>"""


def test_equalities_of_sites_and_of_bodies_at_rest(tmp_path):
    """Frames of sites are welded, so that the pose moves; what stands still is the world."""
    mujoco = pytest.importorskip("mujoco")
    robot = load_robot(write(tmp_path, SITES.format(more=""), "sites.xml"))
    sim = simulator(robot)
    q = sim.state().q
    assert largest_gap(robot, q) < WRITTEN
    end, start = (robot.pose(sim.state(), name) for name in ("end", "start"))
    assert start.isApprox(end, 1e-8)
    more = """<connect body1="fixed" body2="a" anchor="0.1 0.2 -0.3"/>
<connect body1="a" anchor="0.3 0 0" active="false"/>"""
    text = SITES.format(more=more)
    found = load_robot(write(tmp_path, text, "more.xml"))
    assert len(found.loops) == 2
    loop, m = found.loops[1], mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(m)
    mujoco.mj_kinematics(m, data)
    fixed = data.body("fixed")
    anchor = fixed.xpos + fixed.xmat.reshape(3, 3) @ [0.1, 0.2, -0.3]
    assert (loop.first, loop.second) == ("world", "a")
    assert loop.point == pytest.approx(anchor, abs=WRITTEN)
    assert loop.other == pytest.approx(anchor - [0, 0, 1], abs=WRITTEN)


BAR = """<robot name="bar"><link name="base"/>{links}</robot>"""
LINK = """<link name="{name}"><inertial><origin xyz="0.25 0 0"/><mass value="1"/><inertia ixx="0.01"
iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="{name}-joint" type="continuous"><parent link="{parent}"/><child link="{name}"/>
<origin xyz="{at} 0 0"/><axis xyz="0 1 0"/></joint>"""
TABLE = """urdf = "bar.urdf"
base = "fixed"
contact = []
standing.joints = {{ left-joint = 1.5, coupler-joint = -1.4, right-joint = 1.6 }}
[[loops]]
{table}
"""
CONNECT = """kind = "connect"
first = "coupler"
second = "right"
point = [0.8, 0.0, 0.0]
other = [0.5, 0.0, 0.0]
"""


def bar(folder, table):
    """A four-bar as a URDF, whose loop is a table of the robot.toml."""
    parts = [("left", "base", 0), ("coupler", "left", 0.5), ("right", "base", 0.8)]
    links = "".join(LINK.format(name=n, parent=p, at=x) for n, p, x in parts)
    write(
        folder,
        BAR.format(
            links=links.replace("continuous", "revolute").replace(
                "<axis", '<limit lower="-4" upper="4" effort="9" velocity="9"/><axis'
            )
        ),
        "bar.urdf",
    )
    return load_robot(write(folder, TABLE.format(table=table), "robot.toml"))


def test_loops_of_a_robot_toml(tmp_path):
    """A table for each loop; the standing pose is closed; joints that are locked drop it."""
    robot = bar(tmp_path, CONNECT)
    (loop,) = robot.loops
    assert loop == Connect(first="coupler", second="right", point=(0.8, 0, 0), other=(0.5, 0, 0))
    assert largest_gap(robot, robot.standing) < WRITTEN
    assert robot.standing == pytest.approx([1.5, -1.4, 1.6], abs=0.2)
    with pytest.raises(RobotError, match="m or rad are left"):  # the others are where they stood
        load_robot(tmp_path / "robot.toml", joints=["left-joint"])
    table = CONNECT.replace("0.8, 0.0", "0.0, 0.1").replace("0.5, 0.0", "0.5, 0.1")
    assert len(bar(tmp_path, table.replace('"right"', '"left"')).loops) == 1
    alone = load_robot(tmp_path / "robot.toml", joints=["left-joint", "right-joint"])
    assert alone.loops == ()
    assert any("Connect of 'coupler' and 'left'" in note for note in alone.notes)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ('kind = "hook"', "kind must be one of connect, weld, distance, coupling, got 'hook'"),
        ('kind = "connect"', "first is missing"),
        (CONNECT + "lenght = 1.0", "'lenght' is not a key of this table"),
        (CONNECT.replace("[0.8, 0.0, 0.0]", '"here"'), "point must be a list"),
        (CONNECT.replace('"right"', '"wrong"'), "link 'wrong' does not exist"),
        (CONNECT.replace("[0.5, 0.0, 0.0]", "[9.0, 0.0, 0.0]"), "no pose near the standing one"),
    ],
)
def test_mistakes_of_a_robot_toml(tmp_path, table, message):
    """Each names the file and what is allowed."""
    with pytest.raises(RobotError, match=message) as error:
        bar(tmp_path, table)
    assert error.value.file


def test_loops_of_robots_side_by_side(tmp_path):
    """Names of a second robot's loops are behind its own, and all are simulated."""
    robot = bar(tmp_path, CONNECT)
    both = together(robot, [_renamed(robot)])
    first, second = both.loops
    assert (second.first, second.second) == ("other/coupler", "other/right")
    coupling = Coupling(joint="a", primary="b").beside("other")
    assert (coupling.joint, coupling.primary) == ("other/a", "other/b")
    sim = simulator(both)
    assert sim.terrain is FAR
    end = run(sim, sim.state(), 0.01, 0.1)[-1]
    assert end.state.q[:3] == pytest.approx(end.state.q[3:], abs=1e-9)
    assert len(end.loop_forces) == 6
    assert end.loop_forces[:3] == pytest.approx(end.loop_forces[3:], rel=1e-6, abs=1e-6)
    assert largest_gap(both, end.state.q) < 1e-7
    assert np.abs(end.state.q - sim.state().q).max() > 1e-3
    assert first.name == "Connect of 'coupler' and 'right'"


def _renamed(robot):
    from dataclasses import replace

    return replace(robot, name="other")


def hand_in_mujoco(mujoco):
    """The bundled 2F-85 as MuJoCo reads its URDF, with its loops, rotors and springs."""
    robot = load_robot("robotiq-2f85")
    text = Path(robot.source).read_text(encoding="utf-8")
    tag = '<mujoco><compiler discardvisual="true" fusestatic="false"/></mujoco></robot>'
    spec = mujoco.MjSpec.from_string(text.replace("</robot>", tag))
    spec.option.timestep = 0.0001
    stiff = {"solref": [0.0002, 1.0], "solimp": [0.9999, 0.9999, 0.001, 0.5, 2.0]}
    for loop in robot.loops:
        data = [*loop.point, *loop.other, *np.zeros(6)]
        kind = {"type": mujoco.mjtEq.mjEQ_CONNECT, "objtype": mujoco.mjtObj.mjOBJ_BODY}
        spec.add_equality(name1=loop.first, name2=loop.second, data=data, **kind, **stiff)
    copy, *_ = robot.limits.mimics
    kind = {"type": mujoco.mjtEq.mjEQ_JOINT, "objtype": mujoco.mjtObj.mjOBJ_JOINT}
    data = [0.0, 1.0, *np.zeros(10)]
    spec.add_equality(name1=copy.joint, name2=copy.primary, data=data, **kind, **stiff)
    m = spec.compile()
    names = list(robot.model.names)[1:]
    order = [names.index(m.joint(j).name) for j in range(m.njnt)]
    m.dof_armature[:] = robot.model.armature[order]
    m.jnt_solref[:], m.jnt_solimp[:] = stiff["solref"], stiff["solimp"]
    for spring in robot.springs:
        j = m.joint(spring.joint).id
        m.jnt_stiffness[j], m.qpos_spring[j] = spring.stiffness, spring.rest
    return robot, m, order


def test_linkages_of_a_robotiq():
    """The motor of the hand closes both linkages as in MuJoCo, and the pads stay upright."""
    mujoco = pytest.importorskip("mujoco")
    robot, m, order = hand_in_mujoco(mujoco)
    data, tau = mujoco.MjData(m), np.zeros(9)
    tau[[0, 5]] = 9.81 * robot.mass, 0.5  # the slide carries the hand
    data.qfrc_applied[:] = tau[order]
    m.opt.gravity[:] = robot.model.gravity.linear
    simulator = Simulator(robot, Terrain(Plane(height=-9.0)), FrictionCone(stiffness=1e6))
    state, command = simulator.state(), Command(tau=tau)
    for _ in range(20):
        state = simulator.step(state, command, 0.01).state
    mujoco.mj_step(m, data, nstep=2000)
    assert state.q[5] > 0.2
    np.testing.assert_allclose(state.q[order], data.qpos, atol=3e-3)
    for side in ("left", "right"):
        turned = robot.pose(state, f"{side}_follower").rotation[2, 2]
        assert turned == pytest.approx(-1.0, abs=1e-3)


def test_forces_of_a_robotiq():
    """Where its linkages hold a block, no motion that these allow does any work: statics."""
    robot = load_robot("robotiq-2f85")
    block = Box(size=(0.04, 0.06, 0.1), friction=0.7)
    held = together(robot, [free_body("block", block, mass=0.2, position=(0.0, 0.0, 0.05))])
    scene = touching(held, [("block", "left_follower"), ("block", "right_follower")])
    law = FrictionCone(stiffness=1e8, power=2)
    simulator = Simulator(scene, Terrain(Plane(height=-9.0)), law, order=1)
    model, data = scene.model, scene.model.createData()
    tau, kp, state = np.zeros(model.nv), np.zeros(model.nv), simulator.state()
    tau[5], kp[0] = 2.0, 1e5
    gravity = pin.computeGeneralizedGravity(model, data, state.q).copy()
    tau[0] = gravity[0] + gravity[-4]  # of the hand and the block
    for _ in range(120):
        result = simulator.step(state, Command(tau=tau, kp=kp, q_target=scene.standing), 0.01)
        state = result.state
    assert np.abs(state.v).max() < 1e-3
    pin.computeJointJacobians(model, data, state.q)
    forces = tau - kp * (state.q[: model.nv] - scene.standing[: model.nv])
    forces -= pin.computeGeneralizedGravity(model, data, state.q)
    forces += spring_efforts(scene.springs, model, state.q)
    points, press = scene.contact_points, 0.0
    for k in np.flatnonzero(result.wrenches.any(axis=1)):
        joint, other = int(points.joints[k]), int(points.touches[k])
        wrench = result.wrenches[k].copy()
        wrench[3:] += np.cross(data.oMi[joint].act(points.positions[k]), wrench[:3])
        for body, sign in ((joint, 1.0), (other, -1.0)):
            forces += sign * pin.getJointJacobian(model, data, body, pin.WORLD).T @ wrench
        press += abs(wrench[1])
    assert press > 20.0
    stops = np.eye(model.nv)[[2, 6]]  # of the couplers
    copies = np.zeros(model.nv)
    copies[[1, 5]] = 1.0, -1.0
    rows = [loop.gaps(model, data, state.q)[1] for loop in scene.loops]
    motions = null_space(np.vstack([*rows, stops, copies]), rcond=1e-9)
    assert motions.shape[1] == model.nv - 7
    np.testing.assert_allclose(motions.T @ forces, 0.0, atol=0.002)
