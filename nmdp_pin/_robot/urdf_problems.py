"""Problems of a URDF: its tree, its numbers, its inertias."""

import graphlib
import math
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from nmdp_pin._robot.model import LARGEST_NUMBER, RESERVED

VERSIONS = ("1.0", "1.1", "1.2")
# The joints whose limits have a default before the last version.
LIMITED = ("revolute", "prismatic")
_JOINTS = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")
_INERTIA = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
# How many numbers an attribute of an element holds; others are words or are not read.
NUMBERS: dict[str, dict[str, int]] = {
    "origin": {"xyz": 3, "rpy": 3, "quat_xyzw": 4},
    "axis": {"xyz": 3},
    "limit": {"lower": 1, "upper": 1, "effort": 1, "velocity": 1},
    "dynamics": {"damping": 1, "friction": 1},
    "mimic": {"multiplier": 1, "offset": 1},
    "mass": {"value": 1},
    "inertia": dict.fromkeys(_INERTIA, 1),
    "box": {"size": 3},
    "sphere": {"radius": 1},
    "cylinder": {"radius": 1, "length": 1},
    "capsule": {"radius": 1, "length": 1},
    "mesh": {"scale": 3},
    "color": {"rgba": 4},
}
_SIZED = ("box", "sphere", "cylinder", "capsule")
SOLIDS = (*_SIZED, "mesh")
THINNEST = 1e-12
"""Least size of a solid, and the radius of a sphere that is a point [m]."""
# Elements that need all of these attributes.
_WHOLE = ("mass", "inertia", *_SIZED)
EXTENSION = "collision_checking"  # names shapes otherwise
# What a link may have several of.
_SEVERAL = ("visual", "collision", EXTENSION)
_NOT_NEGATIVE = ("effort", "damping", "friction", "value")
# Relative slack of the triangle inequality: URDFs are written with five or six digits.
_SLACK = 1e-4
# Absolute slack [kg m2]: what is left of a tensor of zeros after arithmetic.
_ZERO = 1e-12


class Problem(NamedTuple):
    """A mistake in a URDF: the element at fault, what it is, whether it stops a simulation."""

    element: str
    message: str
    fatal: bool = True

    def __str__(self) -> str:
        return f"{self.element}: {self.message}"


def find_problems(root: ET.Element) -> list[Problem]:
    """All problems of a URDF."""
    links, joints = root.findall("link"), root.findall("joint")
    moving = {joint.get("name", "") for joint in joints if joint.get("type") != "fixed"}
    problems = [*_names(root), *_numbers(root), *_repeated(root)]
    problems += [problem for joint in joints for problem in _joint(joint, moving)]
    problems += [problem for link in links for problem in _link(link)]
    if not any(problem.fatal for problem in problems):
        problems += [*_tree(links, joints), *(p for link in links for p in _inertia(link))]
    return problems


def _label(element: ET.Element) -> str:
    return f"{element.tag} '{element.get('name', '')}'"


def numbers(element: ET.Element | None, key: str) -> list[float]:
    """The numbers of an attribute; one NaN for what is none."""
    text = "" if element is None else element.get(key, "")
    try:
        return [float(word) for word in text.replace("_", "x").split()]
    except ValueError:
        return [math.nan]


def leave_out_looks(root: ET.Element) -> list[str]:
    """Remove every `<visual>` and `<material>` that cannot be read, in place, and say why."""
    said = []
    for link in root.iterfind("link"):
        for visual in link.findall("visual"):
            problem = next(iter((*_shape(link, visual), *_of_numbers(link, visual))), None)
            if problem is not None:
                link.remove(visual)
                said.append(f"what {problem.element} looks like is left out: {problem.message}")
    known = set[str]()
    for material in root.findall("material"):
        name = material.get("name", "")
        problem = next(_of_numbers(material, material), None)
        if problem is not None or not name or name in known:
            root.remove(material)
            why = problem.message if problem else "its name is given twice, or not at all"
            said.append(f"{_label(material)} is left out: {why}")
        known.add(name)
    return said


def _names(root: ET.Element) -> Iterator[Problem]:
    if root.get("version", VERSIONS[0]) not in VERSIONS:
        known = ", ".join(VERSIONS)
        yield Problem("robot", f"version '{root.get('version')}' is not known; known: {known}")
    if root.find("link") is None:
        yield Problem("robot", "has no links; a robot needs at least one <link>")
    counts = Counter((element.tag, element.get("name", "")) for element in root)
    for element in root:
        if not element.get("name"):
            yield Problem(element.tag, 'has no name; give it name="..."')
        elif counts.pop((element.tag, element.get("name", "")), 0) > 1:
            yield Problem(_label(element), "this name is given twice; names must be unique")
        if element.tag == "joint" and element.get("name") in RESERVED:
            yield Problem(_label(element), "is called like a joint of a base; give it another name")


def _repeated(root: ET.Element) -> Iterator[Problem]:
    """Elements of which urdfdom reads the first alone."""
    for owner in root:
        for parent in (owner, *owner.iterfind("inertial")):
            for tag, count in Counter(child.tag for child in parent).items():
                if count > 1 and tag not in _SEVERAL:
                    yield Problem(_label(owner), f"has {count} <{tag}>; give one")


def _numbers(root: ET.Element) -> Iterator[Problem]:
    """Attributes that must be finite numbers and are not, sizes that are not positive."""
    for owner in root:
        for part in owner:
            yield from _of_numbers(owner, part) if part.tag != EXTENSION else ()


def _of_numbers(owner: ET.Element, part: ET.Element) -> Iterator[Problem]:
    """The same of a part of an owner, and of what is in it."""
    for element in part.iter():
        for key, count in NUMBERS.get(element.tag, {}).items():
            if element.get(key) is None and element.tag not in _WHOLE:
                continue
            values = numbers(element, key)
            what = f'<{element.tag} {key}="{element.get(key, "")}">'
            single = key == "scale" and len(values) == 1
            point = element.tag == "sphere" and part.tag == "collision" and values == [0.0]
            if not (len(values) == count or single) or not all(map(math.isfinite, values)):
                plural = "s" if count > 1 else ""
                yield Problem(_label(owner), f"{what} must hold {count} finite number{plural}")
            elif element.tag != "limit" and max(map(abs, values)) > LARGEST_NUMBER:
                limit = f"must hold numbers of at most {LARGEST_NUMBER:g}"
                yield Problem(_label(owner), f"{what} {limit}")
            elif element.tag in _SIZED and min(values) < THINNEST and not point:
                yield Problem(_label(owner), f"{what} must be at least {THINNEST:g}")
            elif key in _NOT_NEGATIVE and values[0] < 0.0:
                yield Problem(_label(owner), f"{what} must not be negative")
            elif key == "velocity" and values[0] < 0.0:
                told = "is negative and left out; limits of velocities bound nothing here"
                yield Problem(_label(owner), f"{what} {told}", fatal=False)


def _joint(joint: ET.Element, moving: set[str]) -> Iterator[Problem]:
    name, kind = _label(joint), joint.get("type", "")
    if kind not in _JOINTS:
        yield Problem(name, f"type '{kind}' is not one of {', '.join(_JOINTS)}")
    for side in ("parent", "child"):
        if joint.find(f"{side}[@link]") is None:
            yield Problem(name, f'has no <{side} link="..."/>')
    axis = numbers(joint.find("axis"), "xyz")
    if kind not in ("fixed", "floating") and axis and not any(axis):
        yield Problem(name, "its axis is 0 0 0; give a direction")
    limit, mimic = joint.find("limit"), joint.find("mimic")
    if kind in LIMITED and joint.find("limit[@effort][@velocity]") is None:
        what = 'a limit is missing; give <limit lower upper effort="..." velocity="..."/>'
        yield Problem(name, what)
    lower, upper = (sum(numbers(limit, key)) for key in ("lower", "upper"))
    if kind in LIMITED and lower > upper:
        what = f"its lower limit {lower:g} is above the upper one, {upper:g}: it has no range here"
        yield Problem(name, what, fatal=False)
    given = {key: any(numbers(joint.find("dynamics"), key)) for key in ("damping", "friction")}
    given |= {key: any(numbers(limit, key)) for key in ("lower", "upper", "effort")}
    unbound = {"planar": [*given], "floating": [*given], "continuous": ["lower", "upper"]}
    left = [key for key in unbound.get(kind, ()) if given[key]]
    if left:
        what = f"a {kind} joint has none of what is given, which is left out: {', '.join(left)}"
        yield Problem(name, what, fatal=False)
    primary = "" if mimic is None else mimic.get("joint", "")
    if mimic is not None and primary not in moving - {joint.get("name", "")}:
        what = f"mimics '{primary}', which is not another joint that moves; it moves by itself"
        yield Problem(name, what, fatal=False)


def _link(link: ET.Element) -> Iterator[Problem]:
    """Elements that urdfdom gives up on, and the link with them."""
    for holder in link.findall("collision"):
        yield from _shape(link, holder)
    if (inertial := link.find("inertial")) is not None:
        if inertial.find("mass") is None:
            yield Problem(_label(link), "its <inertial> has no <mass>")
        if inertial.find("inertia") is None:
            what = "its <inertial> has no <inertia>, which is taken as 0: a point mass"
            yield Problem(_label(link), what, fatal=False)


def _shape(link: ET.Element, holder: ET.Element) -> Iterator[Problem]:
    """A `<visual>` or `<collision>` that holds none or several shapes."""
    shapes = [shape.tag for shape in holder.findall("geometry/*")]
    if len(shapes) != 1 or shapes[0] not in SOLIDS:
        known = ", ".join(SOLIDS)
        yield Problem(_label(link), f"a <{holder.tag}> must hold one shape of {known}")


def _tree(links: list[ET.Element], joints: list[ET.Element]) -> Iterator[Problem]:
    """Problems of links that form no single tree."""
    names = [link.get("name", "") for link in links]
    parents: dict[str, list[str]] = {}
    for joint in joints:
        ends = {end.tag: end.get("link", "") for end in joint if end.tag in ("parent", "child")}
        for side, end in ends.items():
            if end not in names:
                yield Problem(_label(joint), f"{side} link '{end}' does not exist")
        parents.setdefault(ends["child"], []).append(ends["parent"])
    for name, above in parents.items():
        if len(above) > 1:
            yield Problem(f"link '{name}'", "has two parents; closed loops are not supported")
    roots = [name for name in names if name not in parents]
    if len(roots) > 1:
        known = ", ".join(roots)
        yield Problem("robot", f"has {len(roots)} root links ({known}); join them to one tree")
    try:
        graphlib.TopologicalSorter(parents).prepare()
    except graphlib.CycleError as error:
        what = "is its own ancestor: its joints form a cycle, not a tree"
        yield Problem(f"link '{min(error.args[1])}'", what)


def _inertia(link: ET.Element) -> Iterator[Problem]:
    """An inertia that no distribution of positive mass has."""
    tensor = link.find("inertial/inertia")
    if tensor is None:
        return
    xx, xy, xz, yy, yz, zz = (numbers(tensor, key)[0] for key in _INERTIA)
    low, middle, high = np.linalg.eigvalsh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    slack = _SLACK * max(abs(high), abs(low)) + _ZERO
    moments = f"principal moments {low:.3g} {middle:.3g} {high:.3g} kg m2"
    if high > 0.0 and numbers(link.find("inertial/mass"), "value") == [0.0]:
        yield Problem(_label(link), f"has inertia and no mass ({moments})", fatal=False)
    if low < -slack or high > low + middle + slack:
        what = "is not positive" if low < -slack else "breaks the triangle inequality"
        yield Problem(_label(link), f"its inertia {what} ({moments})", fatal=False)
