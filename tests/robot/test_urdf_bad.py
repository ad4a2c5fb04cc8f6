"""A bad URDF raises a typed error that names file and element, and never reaches urdfdom."""

import copy
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from urdf_samples import HOPPER, hinge, link, robot, shape, write

from nmdp_pin._robot import check_robot, load_robot
from nmdp_pin._robot.model import MAX_LINKS
from nmdp_pin.errors import RobotError

_ENTITIES = "".join(f'<!ENTITY a{k + 1} "{f"&a{k};" * 10}">' for k in range(9))
BOMB = (
    f'<?xml version="1.0"?><!DOCTYPE robot [<!ENTITY a0 "{"ha" * 99}">{_ENTITIES}]>'
    '<robot name="&a9;"><link name="a"/></robot>'
)
EXTERNAL = (
    '<!DOCTYPE robot [<!ENTITY secret SYSTEM "file:///etc/passwd">]>'
    '<robot name="r"><link name="&secret;"/></robot>'
)
TWO = link("a") + link("b")
INERTIA = 'ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"'

# name: (text, what the message says, the element it names)
UNREADABLE = {
    "empty file": ("", "no element found", "line 1"),
    "blanks": (" \n\t ", "no element found", "line 2"),
    "no XML": ("hello", "not valid XML", "line 1"),
    "cut short": ('<robot name="r">\n  <link name="a">', "not valid XML", "line 2"),
    "wrong close": ('<robot>\n<link name="a"></robot>', "not valid XML", "line 2, column 18"),
    "bytes": (b"\x00\x01\x02\xff", "not valid XML", "line 1"),
    "unknown encoding": ('<?xml version="1.0" encoding="nope"?><robot/>', "not valid XML", ""),
    "entity bomb": (BOMB, "limit on input amplification", "line 1"),
    "entity bomb in UTF-16": (BOMB.encode("utf-16"), "limit on input amplification", "line 1"),
    "external entity": (EXTERNAL, "external entity", "line 1"),
    "unknown entity": ("<robot>&x;</robot>", "not valid XML", "line 1"),
    "nested": ("<robot>" + "<a>" * 70 + "</a>" * 70 + "</robot>", "nests more than", ""),
    "many links": (robot(*(f'<link name="{k}"/>' for k in range(MAX_LINKS + 1))), "links", ""),
    "SDF": ("<sdf><model/></sdf>", "starts with <sdf>", ""),
    "xacro": (
        '<robot xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:include/></robot>',
        "xacro",
        "",
    ),
    "xacro with links": (
        robot(link("${name}")).replace("</robot>", "<xacro:leg/></robot>"),
        "is a xacro file",
        "",
    ),
}
BROKEN = {
    "no links": (robot(), "no links", "robot"),
    "no name": (robot("<link/>"), "no name", "link"),
    "link twice": (robot(link("a"), link("a")), "given twice", "link 'a'"),
    "joint twice": (
        robot(TWO, link("c"), hinge("j", "a", "b"), hinge("j", "b", "c")),
        "given twice",
        "joint 'j'",
    ),
    "two roots": (robot(TWO), "2 root links (a, b)", "robot"),
    "unknown child": (robot(TWO, hinge("j", "a", "x")), "child link 'x'", "joint 'j'"),
    "unknown parent": (robot(TWO, hinge("j", "x", "b")), "parent link 'x'", "joint 'j'"),
    "no parent": (
        robot(TWO, '<joint name="j" type="fixed"><child link="b"/></joint>'),
        "no <parent",
        "joint 'j'",
    ),
    "two parents": (
        robot(TWO, link("c"), hinge("j", "a", "c"), hinge("k", "b", "c")),
        "two parents",
        "link 'c'",
    ),
    "cycle": (robot(TWO, hinge("j", "a", "b"), hinge("k", "b", "a")), "cycle", "link 'a'"),
    "cycle beside a tree": (
        robot(TWO, link("c"), hinge("j", "a", "b"), hinge("k", "b", "a")),
        "cycle",
        "link 'a'",
    ),
    "own parent": (robot(TWO, hinge("j", "a", "a")), "cycle", "link 'a'"),
    "joint type": (robot(TWO, hinge("j", "a", "b", kind="hinge")), "is not one of", "joint 'j'"),
    "zero axis": (
        robot(TWO, hinge("j", "a", "b").replace("0 1 0", "0 0 0")),
        "axis is 0 0 0",
        "joint 'j'",
    ),
    "no limit": (
        robot(TWO, hinge("j", "a", "b").replace('effort="10"', "")),
        "limit is missing",
        "joint 'j'",
    ),
    "negative effort": (
        robot(TWO, hinge("j", "a", "b").replace('effort="10"', 'effort="-1"')),
        "must not be negative",
        "joint 'j'",
    ),
    "NaN origin": (
        robot(TWO, hinge("j", "a", "b", xyz="0 nan 0")),
        "3 finite numbers",
        "joint 'j'",
    ),
    "two numbers": (robot(TWO, hinge("j", "a", "b", xyz="0 0")), "3 finite numbers", "joint 'j'"),
    "negative mass": (robot(link("a", mass=-1.0)), "must not be negative", "link 'a'"),
    "no mass": (
        robot(f'<link name="a"><inertial><inertia {INERTIA}/></inertial></link>'),
        "no <mass",
        "link 'a'",
    ),
    "infinite mass": (robot(link("a", mass=float("inf"))), "finite number", "link 'a'"),
    "unknown shape": (
        robot(link("a", shapes=shape("collision", "<torus/>"))),
        "must hold one shape",
        "link 'a'",
    ),
    "flat box": (
        robot(link("a", shapes=shape("collision", '<box size="1 0 1"/>'))),
        "must be at least 1e-12",
        "link 'a'",
    ),
    "version": (robot(link("a")).replace("<robot", '<robot version="9"'), "version", "robot"),
    "massless robot": (robot(link("a", mass=0.0)), "has no mass", "joint 'root_translation'"),
}


@pytest.mark.parametrize("case", [*UNREADABLE, *BROKEN])
def test_bad_files_raise_a_named_error(case, tmp_path, capfd):
    """The error names the file and the element and says what is wrong; nothing is printed."""
    text, message, element = {**UNREADABLE, **BROKEN}[case]
    path = write(tmp_path, text)
    with pytest.raises(RobotError) as caught:
        load_robot(path)
    assert caught.value.file == str(path)
    assert element in caught.value.element
    assert message in str(caught.value)
    assert capfd.readouterr() == ("", "")


def test_the_first_ten_problems_are_named(tmp_path):
    """The first one by the error's element, the others in its message."""
    flat = shape("collision", '<box size="1 0 1"/>')
    names = [f"part{k}" for k in range(12)]
    joints = (hinge(f"j{name}", names[0], name) for name in names[1:])
    with pytest.raises(RobotError) as caught:
        load_robot(write(tmp_path, robot(*(link(name, shapes=flat) for name in names), *joints)))
    assert caught.value.element == "link 'part0'"
    assert [f"'{name}'" in str(caught.value) for name in names] == [True] * 10 + [False] * 2


@pytest.mark.parametrize("case", [*UNREADABLE, *BROKEN])
def test_the_report_says_the_same(case, tmp_path):
    """check_robot never raises: what load_robot refuses is among its errors."""
    text, message, _ = {**UNREADABLE, **BROKEN}[case]
    report = check_robot(write(tmp_path, text))
    assert not report.ok
    assert any(message in error for error in report.errors)
    assert message in str(report)


def test_the_samples_are_bad_for_one_reason(tmp_path):
    """The sample that the bad ones are made from loads."""
    good = robot(TWO, hinge("j", "a", "b"))
    assert load_robot(write(tmp_path, good)).model.nv == 7


def test_missing_file_and_folder(tmp_path):
    """A path that is not there, or is a folder, is an error with its name."""
    for path, message in (
        (tmp_path / "no.urdf", "there is no robot description"),
        (tmp_path, "is a folder"),
    ):
        with pytest.raises(RobotError, match=message) as caught:
            load_robot(path)
        assert str(path) in str(caught.value)


def test_size_limit(tmp_path, monkeypatch):
    """A file over the stated size is refused before it is read."""
    path = write(tmp_path, HOPPER)
    monkeypatch.setattr("nmdp_pin._robot.urdf._LARGEST", 100)
    with pytest.raises(RobotError, match="at most 100"):
        load_robot(path)


def test_whatever_is_changed_never_crashes(tmp_path, capfd):
    """Each attribute of a good URDF spoiled, each element removed: a robot or a RobotError."""
    root = ET.fromstring(HOPPER)
    values = ("", "abc", "nan", "-1", "0 0 0", " 1 ", "1_0")
    spoiled = []
    for k, element in enumerate(root.iter()):
        for key in element.attrib:
            for value in values:
                changed = copy.deepcopy(root)
                list(changed.iter())[k].set(key, value)
                spoiled.append(changed)
        if k:
            changed = copy.deepcopy(root)
            list(changed.iter())[k].clear()
            spoiled.append(changed)
    errors = []
    for changed in spoiled:
        path = write(tmp_path, ET.tostring(changed))
        try:
            load_robot(path)
        except RobotError as error:
            errors.append(error)
    assert 0 < len(errors) < len(spoiled)
    assert {error.file for error in errors} == {str(path)}
    assert capfd.readouterr() == ("", "")


def test_what_is_odd_and_harmless_is_a_warning(tmp_path):
    """An inertia that no solid has, and bounds of a plane, load and are reported."""
    odd = robot(
        link("a").replace('izz="0.1"', 'izz="0.9"'),
        link("b").replace('ixx="0.1"', 'ixx="-0.01"'),
        link("rod").replace('ixx="0.1"', 'ixx="0"'),
        link("c"),
        hinge("j", "a", "b"),
        hinge("k", "b", "rod"),
        hinge("l", "b", "c", kind="planar").replace("<axis", '<dynamics damping="1"/><axis'),
    )
    path = write(tmp_path, odd)
    assert load_robot(path).model.nv == 11
    text = "\n".join(check_robot(path).warnings)
    assert "link 'a': its inertia breaks the triangle inequality" in text
    assert "link 'b': its inertia is not positive" in text
    assert (
        "joint 'l': a planar joint has none of what is given, which is left out: damping, lower"
        in text
    )
    assert "'rod'" not in text


def test_extensions_are_left_behind(tmp_path, capfd):
    """Blocks for other programs, blanks around numbers and nameless materials do no harm."""
    text = HOPPER.replace('mass value="1.0"', 'mass value=" 1.0\n"').replace(
        "<robot", '<robot xmlns:drake="http://x" drake:y="1"'
    )
    extra = (
        '<gazebo><plugin filename="x.so"/></gazebo><transmission name="t"/>'
        '<material name="red"/></robot>'
    )
    visual = '<visual><geometry><box size="1 1 1"/></geometry><material/></visual></link>'
    path = write(tmp_path, text.replace("</robot>", extra).replace("</link>", visual, 1))
    robot_loaded = load_robot(path)
    assert sum(inertia.mass for inertia in robot_loaded.model.inertias) == pytest.approx(2.0)
    assert capfd.readouterr() == ("", "")
    assert "not read: <gazebo> (1), <transmission> (1)" in "\n".join(robot_loaded.notes)


def test_materials_are_named_and_looked_up(tmp_path):
    """A visual has the colour of the material that it names."""
    red = '<material name="red"><color rgba="1 0 0 1"/></material></robot>'
    visual = '<visual><geometry><box size="1 1 1"/></geometry><material name="red"/></visual>'
    text = HOPPER.replace("</robot>", red).replace("</link>", f"{visual}</link>", 1)
    (item,) = load_robot(write(tmp_path, text)).require_visuals().geometryObjects
    np.testing.assert_array_equal(item.meshColor, [1.0, 0.0, 0.0, 1.0])


def test_parts_that_are_not_read_are_told(tmp_path):
    """Elements and attributes, with their numbers."""
    soft = '<safety_controller k_velocity="1" soft_lower_limit="-0.5"/></joint>'
    text = HOPPER.replace("</joint>", soft).replace("<limit", '<limit acceleration="3"')
    text = text.replace("</collision>", "<verbose/></collision>")
    (note,) = [t for t in load_robot(write(tmp_path, text)).notes if "not read" in t]
    assert note.endswith(": <safety_controller> (1), <verbose> (1), <limit acceleration> (1)")
    assert not any("not read" in t for t in load_robot(write(tmp_path, HOPPER)).notes)
