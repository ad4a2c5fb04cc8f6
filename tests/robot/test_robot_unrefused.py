"""What a robot is not refused for, and what is said instead."""

import warnings
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from urdf_samples import FOOT, HOPPER, hinge, link, mesh, pyramid, robot, shape, write

from nmdp_pin import Command, FrictionCone, Plane, Simulator, State, Terrain, load_robot, touching
from nmdp_pin._control import Passive
from nmdp_pin._robot import check_robot
from nmdp_pin.errors import RobotError, RobotWarning

FILES = Path(__file__).parents[1] / "data" / "unrefused"
ROUNDING = 1e-12
POINT = 1e-9  # [m], the largest radius of what is a point
TWO = link("a") + link("b")
# A shape that cannot be read, and what the note on it says.
ODD_LOOKS = {
    "no size": ('<box size="0 0 0"/>', "must be at least 1e-12"),
    "no radius": ('<sphere radius="0"/>', "must be at least 1e-12"),
    "no numbers": ('<cylinder radius="x" length="1"/>', "must hold 1 finite number"),
    "huge": ('<sphere radius="1e11"/>', "must hold numbers of at most"),
    "unknown": ("<torus/>", "must hold one shape"),
    "none": ("", "must hold one shape"),
    "not a mesh": ('<mesh filename="broken.stl"/>', "Could not load resource"),
    "outside": ('<mesh filename="/etc/passwd"/>', "lies outside the folders of packages"),
}


def looking(text: str) -> str:
    """A robot of one ball that has two looks, one of them a box of 0.2 m."""
    good = shape("visual", '<box size="0.2 0.2 0.2"/>')
    return robot(link("a", shapes=f"{shape('visual', text)}{good}{FOOT}"))


@pytest.mark.parametrize("name", ["zero_visual", "unbound_prefix", "leading_newline"])
def test_boxes_that_others_read(name):
    """A box of 1 m on its corners."""
    bot = load_robot(FILES / f"{name}.urdf")
    assert (bot.mass, bot.model.nv, bot.lowest_point) == (1.0, 6, 0.0)
    assert len(bot.contact_points) == 8
    assert bot.warnings == ()


@pytest.mark.parametrize("case", ODD_LOOKS)
def test_looks_refuse_no_robot(case, tmp_path, capfd):
    """What a visual holds is left out with a note, and the others are kept."""
    text, says = ODD_LOOKS[case]
    write(tmp_path, "hello", "broken.stl")
    path = write(tmp_path, looking(text))
    bot = load_robot(path)
    assert [type(g.geometry).__name__ for g in bot.require_visuals().geometryObjects] == ["Box"]
    assert any("is left out" in note and says in note for note in bot.notes)
    assert bot.warnings == ()
    assert not any("pinocchio" in note for note in bot.notes)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("case", ODD_LOOKS)
def test_looks_that_would_touch_are_warned_about(case, tmp_path):
    """Where nothing else touches, they are missed in the motion."""
    text, says = ODD_LOOKS[case]
    write(tmp_path, "hello", "broken.stl")
    path = write(tmp_path, looking(text).replace(FOOT, ""))
    with pytest.warns(RobotWarning, match=says):
        bot = load_robot(path)
    assert len(bot.contact_points) == 8


def test_materials_refuse_no_robot(tmp_path, capfd):
    """In geometry, given twice, without a number, with a texture that is missing."""
    red, none = '<color rgba="1 0 0 1"/>', '<color rgba="x"/>'
    looks = shape("visual", '<box size="1 1 1"/><material name="m"/>').replace(
        "</visual>", '<material name="red"/></visual>'
    )
    odd = shape("visual", '<sphere radius="1"/>').replace(
        "</visual>", '<material name="t"><texture filename="no.png"/></material></visual>'
    )
    materials = "".join(
        f'<material name="{name}">{color}</material>'
        for name, color in (("red", red), ("red", red), ("blue", none))
    )
    text = robot(link("a", shapes=f"{looks}{odd}{FOOT}"), materials)
    bot = load_robot(write(tmp_path, text))
    assert bot.require_visuals().ngeoms == 2
    np.testing.assert_array_equal(
        bot.require_visuals().geometryObjects[0].meshColor, [1.0, 0.0, 0.0, 1.0]
    )
    said = "\n".join(bot.notes)
    assert "material 'red' is left out: its name is given twice" in said
    assert "material 'blue' is left out: <color" in said
    assert "not read: <material> (1)" in said
    assert capfd.readouterr() == ("", "")


def test_a_sphere_of_no_radius_is_a_point(tmp_path):
    """It carries the robot on the ground and on others."""
    assert check_robot(FILES / "zero_sphere_contact.urdf").contacts[0].form == "point"
    bot = load_robot(FILES / "zero_sphere_contact.urdf")
    assert bot.contact_points.names == ("foot",)
    assert bot.contact_points.radii[0] < POINT
    assert bot.standing[2] == pytest.approx(0.1, abs=POINT)
    box, foot = shape("collision", '<box size="1 1 0.1"/>'), FOOT.replace("0.05", "0")
    links = link("a", shapes=box), link("b"), link("c", shapes=foot)
    three = robot(*links, hinge("j", "a", "b"), hinge("k", "b", "c"))
    felt = touching(load_robot(write(tmp_path, three)), [("a", "c")])
    simulator = Simulator(felt, Terrain(Plane()), FrictionCone(stiffness=1e5), "ne-nmdp")
    assert simulator.step(simulator.state(), Command(), 0.01).status.ok


def test_names_with_prefixes(tmp_path):
    """Bound or not, of elements and attributes; the default name space changes no name."""
    text = HOPPER.replace("<robot", '<robot xmlns="http://x" xmlns:drake="http://y" sensor:z="1"')
    extra = '<drake:joint name="x"/><gazebo><sensor:camera name="c"/></gazebo></robot>'
    bot = load_robot(write(tmp_path, text.replace("</robot>", extra)))
    assert bot.mass == 2.0
    assert any("<drake:joint> (1), <gazebo> (1)" in note for note in bot.notes)


def test_xacro_that_is_left_over_is_told(tmp_path):
    """Where xacro was run, what it left may be a part of the robot: a warning names it."""
    text = HOPPER.replace("</robot>", '<xacro:property name="x" value="1"/></robot>')
    with pytest.warns(RobotWarning, match=r"xacro left over.*<xacro:property>"):
        assert load_robot(write(tmp_path, text)).mass == 2.0


def test_places_in_a_file_that_begins_with_blanks(tmp_path):
    """The line of a mistake counts the blank ones; a byte order mark may come before them."""
    marked = b"\xef\xbb\xbf\n" + HOPPER.encode()
    assert load_robot(write(tmp_path, marked)).mass == 2.0
    text = '\n \n<?xml version="1.0"?>\n<robot name="r"><link name="a"></robot>'
    with pytest.raises(RobotError, match="line 4, column 34: is not valid XML"):
        load_robot(write(tmp_path, text))


def test_an_inertial_without_inertia_is_a_point_mass(tmp_path):
    """With a warning; its arm has the inertia of the mass."""
    leg = '<link name="b"><inertial><origin xyz="0 0 -2"/><mass value="3"/></inertial></link>'
    with pytest.warns(RobotWarning, match=r"link 'b': its <inertial> has no <inertia>"):
        bot = load_robot(write(tmp_path, robot(link("a"), leg, hinge("j", "a", "b"))), base="fixed")
    assert pin.crba(bot.model, bot.model.createData(), bot.standing)[0, 0] == pytest.approx(12.0)


def test_a_scale_of_one_number(tmp_path):
    """It scales all directions."""
    write(tmp_path, pyramid(), "foot.stl")
    lowest = []
    for scale in ("2", "2 2 2"):
        text = mesh("collision", "foot.stl").replace("<mesh", f'<mesh scale="{scale}"')
        bot = load_robot(write(tmp_path, robot(link("a", shapes=text))))
        lowest.append(np.ptp(bot.contact_points.positions, axis=0))
    np.testing.assert_allclose(lowest, [[0.4, 0.4, 0.6]] * 2, atol=ROUNDING)


@pytest.mark.parametrize("kind", ["revolute", "prismatic", "fixed", "continuous"])
def test_crossed_limits_are_no_range(kind, tmp_path):
    """With a warning, of joints that have one."""
    joint = hinge("j", "a", "b", kind=kind).replace('lower="-1"', 'lower="2"')
    bot = load_robot(write(tmp_path, robot(TWO, joint)))
    assert np.isinf(bot.limits.lower).all()
    assert np.isinf(bot.limits.upper).all()
    told = any("lower limit 2 is above the upper one, 1" in text for text in bot.warnings)
    assert told == (kind in ("revolute", "prismatic"))


def test_negative_velocities_bound_nothing():
    """They are told, and the effort beside them keeps."""
    bot = load_robot(FILES / "negative_velocity.urdf")
    np.testing.assert_array_equal(bot.limits.effort, [10.0])
    np.testing.assert_array_equal([bot.limits.lower, bot.limits.upper], [[-1.0], [1.0]])
    assert any('<limit velocity="-1"> is negative and left out' in text for text in bot.warnings)
    (row,) = check_robot(FILES / "negative_velocity.urdf").joints
    assert (row.effort, row.velocity) == ("10", "")


def test_ends_without_mass_are_locked(tmp_path):
    """With a note; not where their joint is asked for."""
    path = write(
        tmp_path,
        robot(TWO, link("tip", mass=0.0), hinge("j", "a", "b"), hinge("k", "b", "tip")),
    )
    bot = load_robot(path)
    assert list(bot.model.names)[-1] == "j"
    assert "locked, having nothing to move: k" in bot.notes
    for joints in ("all", ["k"]):
        with pytest.raises(RobotError, match="joint 'k': moves links that have no mass"):
            load_robot(path, joints=joints)


def test_a_root_without_mass_is_scenery(tmp_path):
    """Its base is fixed unless what hangs on it holds it; another base is refused with the rule."""
    bot = load_robot(FILES / "static_root.urdf")
    assert list(bot.model.names) == ["universe", "slide"]
    assert any(note.startswith("base fixed: its root link has no mass") for note in bot.notes)
    for base in ("free-flyer", "planar"):
        with pytest.raises(RobotError, match='static scenery has base = "fixed"'):
            load_robot(FILES / "static_root.urdf", base=base)
    legs = [hinge(f"j{k}", "hips", f"l{k}", xyz=f"{k} 0 0") for k in range(3)]
    links = [link(f"l{k}") for k in range(3)]
    walker = robot(link("hips", mass=0.0), *links, *legs)
    assert load_robot(write(tmp_path, walker)).floating


@pytest.mark.parametrize("name", ["my%20foot.stl", "package://my%20robot/my%20foot.stl"])
def test_blanks_in_paths_may_be_percent_signs(name, tmp_path):
    """A file of the very name comes first."""
    folder = tmp_path / "my robot"
    write(folder, "<package/>", "package.xml")
    write(folder, pyramid(), "my foot.stl")
    path = write(folder, robot(link("a", shapes=mesh("collision", name))))
    assert len(load_robot(path).contact_points) == 5
    write(folder, "hello", "my%20foot.stl")
    if "package" not in name:
        with pytest.raises(RobotError, match="pinocchio cannot read it"):
            load_robot(path)


@pytest.mark.parametrize("origin", ['rpy="0.3 -0.2 0.5"', 'quat_xyzw="0.1 0.2 -0.3 2"', ""])
@pytest.mark.parametrize("axis", ["0 1 0", "0 0 -1", "1 -2 0.5", "0 0 1", ""])
def test_planar_joints_keep_their_axis(axis, origin, tmp_path):
    """They move at right angles to it and turn about it; the link stands as the file has it."""
    joint = hinge("j", "a", "b", kind="planar").replace(
        '<origin xyz="0 0 0"/>', f'<origin xyz="1 2 3" {origin}/>'
    )
    joint = joint.replace('<axis xyz="0 1 0"/>', f'<axis xyz="{axis}"/>' if axis else "")
    bot = load_robot(write(tmp_path, robot(TWO, joint)), base="fixed")
    fixed = joint.replace("planar", "fixed")
    still = load_robot(write(tmp_path, robot(TWO, fixed))).model
    model, data = bot.model, bot.model.createData()
    pin.framesForwardKinematics(model, data, pin.neutral(model))
    frame = still.frames[still.getFrameId("b")].placement
    at = model.getFrameId("b")
    np.testing.assert_allclose(data.oMf[at].homogeneous, frame.homogeneous, atol=ROUNDING)
    normal = frame.rotation @ np.array((axis or "1 0 0").split(), dtype=float)
    normal /= np.linalg.norm(normal)
    J = pin.computeFrameJacobian(model, data, pin.neutral(model), at, pin.LOCAL_WORLD_ALIGNED)
    np.testing.assert_allclose(normal @ J[:3, :2], 0.0, atol=ROUNDING)
    np.testing.assert_allclose(J[3:], np.outer(normal, [0.0, 0.0, 1.0]), atol=ROUNDING)
    assert (bot.mass, bot.model.nv) == (1.0, 3)


def test_load_robot_warns_of_what_changes_the_motion(tmp_path):
    """Once for each of `Robot.warnings`, where it is called; a sound file says nothing."""
    text = HOPPER.replace('effort="10"', 'effort="0"').replace('izz="0.1"', 'izz="0.9"', 1)
    path = write(tmp_path, text)
    with pytest.warns(RobotWarning) as caught:
        bot = load_robot(path)
    assert [str(w.message) for w in caught] == [f"sample: {text}" for text in bot.warnings]
    assert len(caught) == 2
    assert {w.filename for w in caught} == {__file__}
    assert "effort of 0 is taken as none given: hip" in str(caught[1].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load_robot(write(tmp_path, HOPPER))


@pytest.mark.parametrize("name", ["arena", "arena_memory"])
def test_arenas_of_any_size(name):
    """MuJoCo's memory for its own steps is not needed."""
    pytest.importorskip("mujoco", reason="needs mujoco: extra 'mjcf'")
    bot = load_robot(FILES / f"{name}.xml")
    assert bot.model.nv == 6
    assert bot.lowest_point == pytest.approx(0.0, abs=ROUNDING)


def test_dampings_that_hold_a_joint():
    """They are clipped with a warning; the joint stands, and the hinge on it swings."""
    pytest.importorskip("mujoco", reason="needs mujoco: extra 'mjcf'")
    with pytest.warns(RobotWarning, match=r"damping above 1e\+10 is taken as that.*'slide0'"):
        bot = load_robot(FILES / "big_damping.xml")
    np.testing.assert_array_equal(bot.model.damping, [1e10, 0.0])
    simulator = Simulator(bot, Terrain(Plane(height=-9)), FrictionCone(stiffness=1e5), "ne-nmdp")
    start = State(0.0, simulator.state().q, np.array([0.0, 1.0]))
    *_, last = simulator.run(start, Passive(), dt=0.01, duration=0.2)
    assert last.status.ok
    np.testing.assert_allclose(last.state.q, [0.0, 0.2], atol=1e-6)


def test_bodies_that_are_free_beside_others_have_no_fixed_base(tmp_path):
    """The note names their joints instead of a base."""
    pytest.importorskip("mujoco", reason="needs mujoco: extra 'mjcf'")
    text = (
        '<mujoco><worldbody><body pos="0 0 1"><freejoint name="free"/><geom size=".1"/></body>'
        '<body><joint axis="0 1 0"/><geom size=".1" pos=".3 0 0"/></body></worldbody></mujoco>'
    )
    notes = "\n".join(load_robot(write(tmp_path, text, "two.xml")).notes)
    assert "of several bodies that move, some are free: 'free'" in notes
    assert "base fixed" not in notes
