"""What is a problem of a URDF and what is none, up to the bounds."""

import xml.etree.ElementTree as ET

import pytest
from urdf_samples import hinge, link, robot, shape

from nmdp_pin._robot.urdf_problems import find_problems, leave_out_looks

TWO = link("a") + link("b")
HINGE = hinge("j", "a", "b")


def told(*parts):
    """Problems of a robot, each as its message and whether it is fatal."""
    return [(p.message, p.fatal) for p in find_problems(ET.fromstring(robot(*parts)))]


def with_shape(text):
    """Problems of a link with one shape."""
    return told(link("a", shapes=shape("collision", text)))


@pytest.mark.parametrize(
    "good", ["size='1 1e-9 1'", "size='1 2 3' colour='x'"], ids=["thin", "other attributes"]
)
def test_boxes(good):
    """Three positive numbers."""
    assert with_shape(f"<box {good}/>") == []
    for bad, what in (
        ("1 0 1", "must be at least 1e-12"),
        ("9e-13 1 1", "must be at least 1e-12"),
        ("-1 1 1", "must be at least 1e-12"),
        ("1 1", "must hold 3 finite numbers"),
        ("1 1 1 1", "must hold 3 finite numbers"),
        ("1 1 1_0", "must hold 3 finite numbers"),
        ("", "must hold 3 finite numbers"),
    ):
        assert with_shape(f'<box size="{bad}"/>') == [(f'<box size="{bad}"> {what}', True)]


def test_single_numbers():
    """One number is asked for in the singular, and where it may be left out it may."""
    assert with_shape('<sphere radius="1e-9"/>') == []
    assert with_shape("<sphere/>") == [('<sphere radius=""> must hold 1 finite number', True)]
    assert with_shape('<mesh filename="a.stl"/>') == []
    limits = HINGE.replace('effort="10"', 'effort="0"')
    assert told(TWO, limits) == []
    ((message, fatal),) = told(TWO, HINGE.replace('effort="', 'effort="-'))
    assert (message, fatal) == ('<limit effort="-10"> must not be negative', True)
    ((message, fatal),) = told(TWO, HINGE.replace('velocity="', 'velocity="-'))
    assert message.startswith('<limit velocity="-5"> is negative and left out')
    assert not fatal
    for scale, count in (("2", 0), ("1 2 3", 0), ("1 2", 1), ("1 2 3 4", 1), ("", 1)):
        assert len(with_shape(f'<mesh filename="a.stl" scale="{scale}"/>')) == count
    assert with_shape('<sphere radius="0.0"/>') == []  # a point
    assert len(with_shape('<sphere radius="-0.1"/>')) == 1
    for key in ("damping", "friction"):
        for value, count in (("0", 0), ("-1e-9", 1)):
            dynamics = HINGE.replace("</joint>", f'<dynamics {key}="{value}"/></joint>')
            assert len(told(TWO, dynamics)) == count


def test_large_numbers():
    """They overflow in a mass matrix; limits may have any."""
    assert told(link("a").replace('value="1.0"', 'value="1e10"')) == []
    ((message, fatal),) = told(link("a").replace('value="1.0"', 'value="1.1e10"'))
    assert (message, fatal) == ('<mass value="1.1e10"> must hold numbers of at most 1e+10', True)
    assert told(TWO, HINGE.replace('effort="10"', 'effort="1e300"')) == []


def test_extensions_are_not_read():
    """Elements of other programs in a link may hold what they like."""
    assert told('<link name="a"><collision_checking><box/></collision_checking></link>') == []


@pytest.mark.parametrize(
    ("kind", "count"), [("fixed", 0), ("floating", 0), ("continuous", 1), ("planar", 1)]
)
def test_axes(kind, count):
    """A direction, of joints that have one."""
    zero = hinge("j", "a", "b", kind=kind).replace("0 1 0", "0 0 0")
    zero = zero.replace('lower="-1" upper="1" effort="10"', 'effort="0"')
    assert len(told(TWO, zero)) == count
    assert told(TWO, zero.replace("0 0 0", "0 0 1e-3")) == []


def test_limits():
    """A lower limit may equal the upper one; one above it is told, of joints that have a range."""
    bounds = {"lower": 0.5, "upper": 0.5}

    def joint(lower, upper):
        element = ET.fromstring(HINGE)
        element.find("limit").attrib |= {"lower": str(lower), "upper": str(upper)}
        return ET.tostring(element, encoding="unicode")

    assert told(TWO, joint(**bounds)) == []
    assert told(TWO, joint(0.6, 0.5).replace("revolute", "fixed")) == []
    what = "its lower limit 0.6 is above the upper one, 0.5: it has no range here"
    assert told(TWO, joint(0.6, 0.5)) == [(what, False)]


@pytest.mark.parametrize(
    ("kind", "left"),
    [("continuous", "lower, upper"), ("planar", "friction, lower, upper, effort"), ("fixed", "")],
)
def test_bounds_that_a_joint_has_not(kind, left):
    """They are named, of joints that move."""
    joint = hinge("j", "a", "b", kind=kind).replace("0 1 0", "0 0 1")
    joint = joint.replace("</joint>", '<dynamics friction="1" damping="0"/></joint>')
    found = [message for message, _ in told(TWO, joint)]
    assert found == [f"a {kind} joint has none of what is given, which is left out: {left}"] * bool(
        left
    )


def test_names_of_joints_that_are_taken():
    """Those of pinocchio's world and of the joints of a base; links may have them."""
    for name in ("universe", "root_rotation", "root_x"):
        ((message, fatal),) = told(TWO, hinge(name, "a", "b"))
        assert (message, fatal) == ("is called like a joint of a base; give it another name", True)
        assert told(link(name), link("b"), hinge("j", name, "b")) == []


def test_elements_that_are_given_twice():
    """Of which urdfdom reads the first alone."""
    again = HINGE.replace("</joint>", '<limit effort="1" velocity="1"/></joint>')
    assert told(TWO, again) == [("has 2 <limit>; give one", True)]
    assert told(link("a").replace("<mass", '<mass value="2"/><mass')) == [
        ("has 2 <mass>; give one", True)
    ]
    shapes = shape("visual", '<sphere radius="1"/>') + shape("collision", '<sphere radius="1"/>')
    assert told(link("a", shapes=2 * shapes)) == []


def test_mimics():
    """Another joint, which moves."""
    three = TWO + link("c")
    for primary, kind, count in (("j", "revolute", 0), ("k", "revolute", 1), ("j", "fixed", 1)):
        first = hinge("j", "a", "b", kind=kind)
        second = hinge("k", "b", "c").replace("</joint>", f'<mimic joint="{primary}"/></joint>')
        found = told(three, first, second)
        assert [fatal for _, fatal in found] == [False] * count


@pytest.mark.parametrize("shapes", ["", "<sphere radius='1'/><sphere radius='1'/>"])
def test_one_shape_each(shapes):
    """Neither none nor two; of what a link looks like it is left out."""
    what = "must hold one shape of box, sphere, cylinder, capsule, mesh"
    problem = (f"a <collision> {what}", True)
    assert told(link("a", shapes=shape("collision", shapes))) == [problem]
    root = ET.fromstring(robot(link("a", shapes=shape("visual", shapes))))
    assert leave_out_looks(root) == [f"what link 'a' looks like is left out: a <visual> {what}"]
    assert root.find("link/visual") is None


def inertia(mass=1.0, **moments):
    """Messages on an inertia, which has unit moments unless it is said otherwise."""
    tensor = {"ixx": 1.0, "iyy": 1.0, "izz": 1.0, "ixy": 0.0, "ixz": 0.0, "iyz": 0.0} | moments
    text = " ".join(f'{key}="{value}"' for key, value in tensor.items())
    return told(
        f'<link name="a"><inertial><mass value="{mass}"/><inertia {text}/></inertial></link>'
    )


def test_inertias():
    """The triangle inequality up to 1e-4 of the largest moment, warnings alone."""
    for izz, count in ((2.0, 0), (2.0001, 0), (2.0003, 1), (-0.9e-4, 0), (-1.1e-4, 1)):
        found = inertia(izz=izz)
        assert [fatal for _, fatal in found] == [False] * count
        assert all(("not positive" if izz < 0.0 else "triangle") in what for what, _ in found)
    for key in ("ixy", "ixz", "iyz"):
        assert inertia(**{key: 0.5}) == []
        assert "breaks the triangle inequality" in inertia(**{key: 0.6})[0][0]
        assert "is not positive" in inertia(**{key: 1.1})[0][0]
    nothing = dict.fromkeys(("ixx", "iyy", "izz"), 0.0)
    assert inertia(mass=0.0, **nothing) == []
    assert inertia(**nothing) == []
    ((what, fatal),) = inertia(mass=0.0)
    assert what.startswith("has inertia and no mass (principal moments 1 1 1 kg m2)")
    assert not fatal
