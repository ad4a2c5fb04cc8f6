"""Scenes: what stands still in a file is terrain, against MuJoCo."""

import math

import numpy as np
import pinocchio as pin
import pytest
from urdf_samples import write

from nmdp_pin import FrictionCone, Scenario, Simulator, State, load_robot, load_scene
from nmdp_pin._dynamics.geometry.candidates import candidates_of
from nmdp_pin._robot.overlaps import OverlapCheck, contact_depth
from nmdp_pin._robot.scene import robot_of_scene
from nmdp_pin._terrain import Sphere, Terrain
from nmdp_pin._terrain.shape import masks_of
from nmdp_pin.control import BodyMotion, Scripted
from nmdp_pin.errors import RobotError, ScenarioError

mujoco = pytest.importorskip("mujoco", reason="needs mujoco: extra 'mjcf'")

# A floor, a table that is turned, with a lamp, a height field and a wedge, a body above each; a
# column that has the masks of nothing, and what only looks.
ROOM = """<mujoco model="room"><asset>
<hfield name="hills" nrow="3" ncol="4" size="0.5 0.4 0.2 0.1" elevation="4 3 3 4 3 1 0 3 4 3 2 4"/>
<mesh name="wedge" vertex="0 0 0 .4 0 0 0 .3 0 0 0 .2 .4 0 .2 0 .3 .2"/></asset><worldbody>
<geom name="floor" type="plane" size="3 3 .1" friction="0.6"/>
<body pos="1 0 0.5" euler="0 0 30">
<geom name="top" type="box" size="0.3 0.2 0.02" friction="0.3" condim="1"/>
<geom name="leg" type="cylinder" size="0.03 0.24" pos="0 0 -0.26"/>
<body pos="0 -.3 .3" euler="0 20 0"><geom name="lamp" type="box" size=".1 .1 .05"/></body></body>
<geom name="hills" type="hfield" hfield="hills" pos="-1 0 0"/>
<geom name="wedge" type="mesh" mesh="wedge" pos="0 1 0"/>
<geom name="look" type="box" size="9 9 9" contype="0" conaffinity="0"/>
<geom name="column" type="capsule" size=".1 1" contype="2" conaffinity="2"/>
<body name="box" pos="0 -1 0.06"><freejoint/><geom type="box" size=".05 .05 .05"/></body>
<body name="ball" pos="1 0 0.58"><freejoint/><geom size=".05"/></body>
<body name="stone" pos="-0.844 -0.005 0.09"><freejoint/><geom size=".08"/></body>
<body name="bar" pos="0.15 1.1 0.25"><freejoint/>
<geom type="capsule" size=".03 .05" euler="0 90 0"/></body></worldbody></mujoco>"""

# Two balls, of which one touches the floor alone and the other one the shelf and the ball.
MASKS = """<mujoco><worldbody><geom name="floor" type="plane" size="1 1 1" contype="1"/>
<geom name="shelf" type="box" size="1 1 .01" pos="0 0 .5" contype="2" conaffinity="4"/>
<body name="low" pos="0 0 .8"><freejoint/><geom name="low" size=".1" contype="0"/></body>
<body name="high" pos="0 0 1.2"><freejoint/>
<geom name="high" size=".1" contype="4" conaffinity="2"/></body>
<body name="rest" pos="9 0 .1"><freejoint/><geom name="rest" size=".1"/></body></worldbody>
<contact><exclude body1="world" body2="rest"/></contact>
<keyframe><key name="up" qpos="0 0 2 1 0 0 0 0 0 3 1 0 0 0 9 0 4 1 0 0 0"/>
<key name="down" qpos="0 0 .1 1 0 0 0 0 0 .7 1 0 0 0 9 0 .1 1 0 0 0"/></keyframe></mujoco>"""

# A rail that stands still, on which a cart with a pole drives into a block.
RAIL = """<robot name="rail"><link name="world"/>
<link name="rail"><collision><geometry><box size="4 .1 .1"/></geometry></collision></link>
<link name="block"><collision><origin xyz="1 0 .2"/>
<geometry><box size=".2 .2 .2"/></geometry></collision></link>
<link name="cart"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0"
iyz="0"/></inertial><collision><geometry><box size=".3 .2 .2"/></geometry></collision></link>
<joint name="to_rail" type="fixed"><parent link="world"/><child link="rail"/></joint>
<joint name="to_block" type="fixed"><parent link="rail"/><child link="block"/></joint>
<joint name="slide" type="prismatic"><origin xyz="0 0 .16"/><parent link="rail"/>
<child link="cart"/><axis xyz="1 0 0"/><limit lower="-2" upper="2" effort="9" velocity="9"/>
</joint></robot>"""

# An arm on a base that touches neither the arm nor the floor, and a hand that mocap would move.
ARM = """<mujoco><worldbody><geom name="floor" type="plane" size="9 9 .1"/>
<body name="base" pos="0 0 .1"><geom name="foot" size=".1" contype="2" conaffinity="2"/>
<body name="first" pos="0 0 .12"><joint name="first" axis="0 1 0"/>
<geom name="link" type="capsule" fromto="0 0 0 .5 0 .2" size=".05"/>
<body name="second" pos=".5 0 .3"><joint name="second" axis="0 1 0"/>
<geom type="capsule" fromto="0 0 0 .5 0 .2" size=".05"/></body></body></body>
<body name="hand" mocap="true" pos="0 0 2"><geom name="hand" type="box" size=".1 .1 .1"/></body>
</worldbody></mujoco>"""

# Hands that mocap moves, and a box.
PUSH = """<mujoco><worldbody><geom name="floor" type="plane" size="9 9 .1"/>
<body name="hand" mocap="true" pos="-.3 0 .12"><geom type="box" size=".1 .1 .1"/></body>
<body name="palm" mocap="true" pos="0 9 2"><geom size=".1"/></body>
<body name="box" pos="0 0 .1"><freejoint/><geom type="box" size=".1 .1 .1" friction=".4"/></body>
</worldbody><keyframe><key name="up" mpos="0 0 1 2 9 1" mquat="1 0 0 0 .48 .64 0 .6"/></keyframe>
</mujoco>"""


@pytest.fixture(autouse=True)
def compiled_here(monkeypatch):
    """MuJoCo compiles in this process, which is faster."""
    compiled = lambda path: mujoco.MjModel.from_xml_path(str(path))  # noqa: E731
    monkeypatch.setattr("nmdp_pin._robot.mjcf._compiled", compiled)


def test_world_is_where_mujoco_has_it(tmp_path):
    """Rays of MuJoCo end on the shapes, which have the friction of their geometry."""
    path = write(tmp_path, ROOM, "room.xml")
    robot, terrain = load_scene(path)
    m = mujoco.MjModel.from_xml_path(str(path))
    data, rng, hit, met = mujoco.MjData(m), np.random.default_rng(0), np.zeros(1, np.int32), set()
    mujoco.mj_forward(m, data)
    assert list(robot.world) == ["floor", "hills", "wedge", "top", "leg", "lamp"]
    for _ in range(600):
        start = np.array([*rng.uniform((-1.4, -0.5), (1.4, 1.4)), 2.0])
        groups = np.ones(6, np.uint8)
        far = mujoco.mj_ray(m, data, start, np.array([0.0, 0.0, -1.0]), groups, 1, -1, hit)
        if (name := m.geom(int(hit[0])).name) in robot.world:
            found = terrain.query(start[None] - [0.0, 0.0, far])
            assert abs(found.distance[0]) < 1e-7
            assert terrain.shapes[found.shape[0]] is robot.world[name]
            met.add(name)
    assert met == {"floor", "hills", "wedge", "top", "lamp"}
    assert [shape.friction for shape in robot.world.values()] == [0.6, 1.0, 1.0, 0.0, 1.0, 1.0]


def test_bodies_rest_where_mujoco_has_them(tmp_path):
    """On floor, table, height field and mesh, to a millimetre; the contacts of both are soft."""
    path = write(tmp_path, ROOM, "room.xml")
    robot, terrain = load_scene(path)
    simulator = Simulator(robot, terrain, FrictionCone(stiffness=1e10))
    state = simulator.state()
    for _ in range(30):
        state = simulator.step(state, None, 0.02).state
    m = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(m)
    mujoco.mj_step(m, data, nstep=300)
    np.testing.assert_allclose(state.q[2::7], data.qpos[2::7], atol=1.5e-3)


def test_bodies_have_a_friction_that_is_given(tmp_path):
    """In the place of that of the file, which the world keeps."""
    robot, terrain = load_scene(write(tmp_path, ROOM, "room.xml"), friction=0.2)
    assert {s.friction for surface in robot.surfaces.values() for s in surface.shapes} == {0.2}
    assert terrain.friction.tolist() == [0.6, 1.0, 1.0, 0.0, 1.0, 1.0]


def test_masks_are_those_of_mujoco(tmp_path):
    """Which pairs have contacts: of the floor, the shelf and the balls; an exclude."""
    path = write(tmp_path, MASKS, "masks.xml")
    robot, terrain = load_scene(path)
    pairs, joints = candidates_of(robot, terrain), list(robot.model.names)
    rows = [*robot.world, *("low", "high", "rest")]
    owners = {joints[j]: n for j, n in zip((2, 4, 6), rows[2:], strict=True)}
    touching = {
        frozenset({owners[joints[a]] if a else rows[row], owners[joints[b]] if b else rows[row]})
        for (a, b), row in zip(pairs.bodies.tolist(), pairs.rows.tolist(), strict=True)
    }
    m = mujoco.MjModel.from_xml_path(str(path))
    t, a = m.geom_contype, m.geom_conaffinity
    names = [m.geom(k).name for k in range(m.ngeom)]
    expected = {
        frozenset({names[i], names[j]})
        for i in range(m.ngeom)
        for j in range(i)
        if (t[i] & a[j] or t[j] & a[i]) and {"floor", "shelf"} != {names[i], names[j]}
    } - {frozenset({"floor", "rest"}), frozenset({"shelf", "rest"})}
    assert touching == expected
    assert masks_of(np.ones((2, 2), dtype=bool)) == [None, None]
    meets = np.random.default_rng(0).random((9, 9)) < 0.5
    masks = masks_of(meets | meets.T)
    balls = [Sphere(radius=1.0, mask=mask) for mask in masks]
    table = [[a.meets(b) for a in balls] for b in balls]
    np.testing.assert_array_equal(table, meets | meets.T)


def test_keyframes_by_name(tmp_path):
    """The pose of a keyframe; overlaps of what the masks keep apart are none."""
    path = write(tmp_path, MASKS, "masks.xml")
    robot = load_robot(path, keyframe="down")
    np.testing.assert_array_equal(robot.standing[2::7], [0.1, 0.7, 0.1])
    assert robot.notes[0] == "other keyframes, for `keyframe`: 'up'"
    assert load_robot(path).standing[2] == 2.0
    with pytest.raises(RobotError, match=r"'left' is not a keyframe\. Known: down, up"):
        load_robot(path, keyframe="left")
    through = robot_of_scene(path)
    q = robot.standing.copy()
    q[2] = 0.5  # the low ball in the shelf
    world = Terrain([*through.world.values()])
    assert OverlapCheck(through, world).deepest(q[None]) == []
    assert contact_depth(through, world, q[None]) == [0.0]
    q[2] = 0.07  # in the floor
    assert contact_depth(through, world, q[None]) == pytest.approx(0.03)


def test_links_of_a_urdf_that_stand_still(tmp_path):
    """A cart on a rail, which it does not touch, drives into a block."""
    path = write(tmp_path, RAIL)
    robot, terrain = load_scene(path)
    assert list(robot.world) == ["rail_0", "block_0"]
    ((cart,),) = (surface.shapes for surface in robot.surfaces.values())
    assert [shape.meets(cart) for shape in terrain.shapes] == [False, True]
    simulator = Simulator(robot, terrain, FrictionCone(stiffness=math.inf))
    state = simulator.state()
    for _ in range(40):
        result = simulator.step(state, [5.0], 0.05)
        state = result.state
    assert abs(state.q[0] - 0.75) < 1e-3
    assert abs(result.contact_forces[:, 0].sum() + 5.0) < 1e-3
    with pytest.raises(RobotError, match="has no keyframe 'home'"):
        load_robot(path, keyframe="home")


def test_run_takes_the_world_of_the_file(tmp_path):
    """A scenario of the file alone has its ground and pose; without a world there is a plane."""
    path = write(tmp_path, ROOM, "room.xml")
    scenario = Scenario.load(str(path))
    assert scenario.resolved()["terrain"]["shapes"] == []
    setup = scenario.build(visuals=False)
    assert len(setup.terrain.shapes) == 6
    assert setup.state.q[2] == 0.06
    again = Scenario.from_dict(scenario.resolved())
    assert list(again.build_robot(visuals=False).world) == list(setup.robot.world)
    with pytest.raises(ScenarioError, match="the ground is that of the file"):
        Scenario.load(str(path), overrides=["contact.friction=0.4"])
    bare = Scenario.load(str(path), overrides=["robot.scene=false"])
    assert bare.resolved()["terrain"]["shapes"][0]["height"] == 0.0
    rail = Scenario.load(str(write(tmp_path, RAIL))).build(visuals=False)
    assert [type(shape).__name__ for shape in rail.terrain.shapes] == ["Plane", "Box", "Box"]
    lonely = ROOM[: ROOM.index("<geom")] + ROOM[ROOM.index('<body name="box"') :]
    empty = Scenario.load(str(write(tmp_path, lonely, "lonely.xml")))
    assert empty.resolved()["terrain"]["shapes"][0]["kind"] == "plane"
    with pytest.raises(RobotError, match="nothing that touches stands still in it"):
        load_scene(tmp_path / "lonely.xml")


def test_bases_that_touch_no_link(tmp_path):
    """An arm's base is no world of its own link, which an exclude keeps apart; locked links are."""
    path = write(tmp_path, ARM, "arm.xml")
    robot, _ = load_scene(path)
    assert list(robot.world) == ["floor"]
    locked, _ = load_scene(path, joints=["second"])
    assert list(locked.world) == ["floor", "link", "hand"]
    with pytest.raises(RobotError, match="a base would carry its mocap bodies"):
        load_scene(path, base="free-flyer")
    path = write(tmp_path, ARM.replace('mocap="true"', ""), "still.xml")
    free, _ = load_scene(path, base="free-flyer")
    bodies = [free.model.names[j] for j in free.surfaces]
    assert bodies == ["root_rotation", "first", "second"]
    assert not free.world["floor"].meets(free.surfaces[2].shapes[0])


def test_mocap_bodies_are_where_a_keyframe_has_them(tmp_path):
    """Each turned as in MuJoCo, with its own mass."""
    path = write(tmp_path, PUSH, "push.xml")
    robot, _ = load_scene(path, keyframe="up")
    m = mujoco.MjModel.from_xml_path(str(path))
    data, state = mujoco.MjData(m), State(0.0, robot.standing, np.zeros(robot.model.nv))
    mujoco.mj_resetDataKeyframe(m, data, 0)
    mujoco.mj_forward(m, data)
    for name in ("hand", "palm"):
        place, body = robot.pose(state, name), data.body(name)
        np.testing.assert_allclose(place.translation, body.xpos, atol=1e-12)
        np.testing.assert_allclose(place.rotation, body.xmat.reshape(3, 3), atol=1e-12)
        joint = robot.model.frames[robot.model.getFrameId(name)].parentJoint
        assert robot.model.inertias[joint].mass == pytest.approx(m.body(name).mass[0])


def test_mocap_bodies_are_moved(tmp_path):
    """A hand pushes a box as in MuJoCo; a robot has none."""
    path = write(tmp_path, PUSH, "push.xml")
    robot, terrain = load_scene(path)
    assert robot.warnings == ()
    assert list(robot.world) == ["floor"]
    simulator = Simulator(robot, terrain, FrictionCone(stiffness=1e7, power=2))
    pushes = BodyMotion(times=(0.0, 1.0), positions=((-0.3, 0.0, 0.12), (0.2, 0.0, 0.12)))
    hand = Scripted(robot, {"hand": pushes})
    state = hand.on(simulator.state())
    m = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(m)
    for k in range(100):
        state = simulator.step(state, hand, 0.01).state
        for j in range(5):
            data.mocap_pos[0] = pushes(0.01 * k + 0.002 * (j + 1))[0].translation
            mujoco.mj_step(m, data)
    np.testing.assert_allclose(robot.pose(state, "hand").translation, [0.2, 0, 0.12], atol=1e-12)
    box = robot.pose(state, "box").translation
    np.testing.assert_allclose(box, [0.4, 0.0, 0.1], atol=0.005)  # contacts of both sink in
    np.testing.assert_allclose(box, data.body("box").xpos, atol=0.005)
    assert load_robot(path).scripted == frozenset()
    table = Scenario.load(path).resolved()
    knots = {"times": [0.0, 1.0], "positions": [[-0.3, 0.0, 0.12], [0.2, 0.0, 0.12]]}
    setup = Scenario.from_dict({**table, "motions": {"hand": knots}}).build(visuals=False)
    target = setup.controller.command(setup.state, 0.5).q_target
    np.testing.assert_allclose(target[:3], pushes(0.5)[0].translation)


@pytest.mark.parametrize(("kind", "top"), [("plane", 0.0), ("box", 0.1)])
def test_surfaces_move_along_the_axes_of_their_geometry(kind, top, tmp_path):
    """At a point of it R (v + w x R' (p - c)), of a plane and of a box that lean."""
    belt = f"""<geom name="belt" type="{kind}" size="2 2 .1" pos="1 2 .3" euler="20 0 70"
surfacevel=".5 .1 0 0 0 2"/>"""
    path = write(tmp_path, ROOM.replace("<worldbody>", f"<worldbody>{belt}"), "belt.xml")
    robot, terrain = load_scene(path)
    m = mujoco.MjModel.from_xml_path(str(path))
    data, v, w = mujoco.MjData(m), np.array([0.5, 0.1, 0.0]), np.array([0.0, 0.0, 2.0])
    mujoco.mj_forward(m, data)
    c, R = data.geom("belt").xpos, data.geom("belt").xmat.reshape(3, 3)
    shape, p = robot.world["belt"], c + R @ [0.4, -0.3, top]
    assert terrain.shapes[0] is shape
    assert Terrain(shape).query(p[None]).distance[0] == pytest.approx(0.0, abs=1e-12)
    twist = pin.Motion(shape.surface_twist)
    moved = twist.linear + np.cross(twist.angular, p)
    np.testing.assert_allclose(moved, R @ (v + np.cross(w, [0.4, -0.3, top])), atol=1e-12)


def test_pairs_are_limited(tmp_path):
    """Thousands of shapes and points would take the memory of the machine."""
    pebbles = "".join(f'<geom size=".01" pos="{k} 9 0"/>' for k in range(500))
    path = write(tmp_path, ROOM.replace("<worldbody>", f"<worldbody>{pebbles}"), "pebbles.xml")
    with pytest.raises(RobotError, match=r"has 202400 pairs .* at most 100000"):
        load_scene(path, contact_points=400)


def test_what_a_scene_leaves_out(tmp_path):
    """Torsional friction, slippery on rough, meshes that are no terrain: a sentence each."""
    odd = ROOM.replace('size=".05"/>', 'size=".05" condim="4" friction="20"/>')
    odd = odd.replace('name="leg"', 'name="leg" condim="1"')
    robot, _ = load_scene(write(tmp_path, odd, "odd.xml"))
    assert robot.warnings == (
        "not simulated: torsional and rolling friction (condim 4 and 6), of geom9",
        "not simulated: friction above 10, which is taken as that, of geom9",
    )
    vast = ROOM.replace(
        'vertex="0 0 0 .4 0 0 0 .3 0 0 0 .2 ', 'vertex="0 0 0 3e9 0 0 0 3e9 0 0 0 3e9 '
    )
    robot, _ = load_scene(write(tmp_path, vast, "vast.xml"))
    assert robot.warnings[0].startswith("<geom> of the world left out: 'wedge' (Mesh: ")
    assert "wedge" not in robot.world
    robot, _ = load_scene(write(tmp_path, ROOM.replace("1 0 0.58", "0 -1 0.1"), "in.xml"))
    said = "no contact between bodies that overlap where the robot stands: box and ball"
    assert robot.warnings == (said,)
    slippery = ROOM.replace('friction="0.3"', 'friction="2"')
    robot, _ = load_scene(write(tmp_path, slippery, "slippery.xml"))
    said = "not simulated: friction of geometry of condim 1 on what has less of condim 3, of top"
    assert robot.warnings == (said,)
