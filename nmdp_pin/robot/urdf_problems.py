"""Problems of a URDF: its tree, its numbers, its inertias."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterator

import numpy as np

from nmdp_pin.robot.urdf import LIMITED, VERSIONS, Problem, Urdf

JOINT_TYPES = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")
WITH_AXIS = ("revolute", "prismatic", "continuous", "planar")
INERTIA_KEYS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
# How many numbers an attribute of an element holds; others are words or are not read.
NUMBERS: dict[str, dict[str, int]] = {
    "origin": {"xyz": 3, "rpy": 3, "quat_xyzw": 4},
    "axis": {"xyz": 3},
    "limit": {"lower": 1, "upper": 1, "effort": 1, "velocity": 1},
    "dynamics": {"damping": 1, "friction": 1},
    "mass": {"value": 1},
    "inertia": dict.fromkeys(INERTIA_KEYS, 1),
    "box": {"size": 3},
    "sphere": {"radius": 1},
    "cylinder": {"radius": 1, "length": 1},
    "capsule": {"radius": 1, "length": 1},
    "mesh": {"scale": 3},
    "color": {"rgba": 4},
}
SHAPES = ("box", "sphere", "cylinder", "capsule", "mesh")
SIZED = SHAPES[:-1]
# Attributes that must not be negative.
NOT_NEGATIVE = ("effort", "velocity", "damping", "friction")
# Relative slack of the triangle inequality: URDFs are written with five or six digits.
INERTIA_SLACK = 1e-4
# Absolute slack [kg m2]: what is left of a tensor of zeros after arithmetic.
INERTIA_ZERO = 1e-12


def find_problems(urdf: Urdf) -> list[Problem]:
    """All problems of a URDF, the fatal ones first."""
    problems = [*_version(urdf), *_names(urdf), *_numbers(urdf)]
    problems += [problem for joint in urdf.joints for problem in _joint(joint)]
    problems += _mimics(urdf)
    if not any(problem.fatal for problem in problems):
        problems += _tree(urdf)
    for link in urdf.links:
        problems += [*_looks(link), *_inertia(link)]
    return sorted(problems, key=lambda problem: not problem.fatal)


def link_mass(link: ET.Element) -> float:
    """Mass of a link, 0 where none is given [kg]."""
    mass = link.find("inertial/mass")
    return 0.0 if mass is None else _number(mass.get("value", "0")) or 0.0


def label(element: ET.Element) -> str:
    """Name of a link or joint in an error."""
    return f"{element.tag} '{element.get('name', '')}'"


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and "_" not in text else None


def _version(urdf: Urdf) -> Iterator[Problem]:
    version = urdf.root.get("version", VERSIONS[0])
    if version not in VERSIONS:
        yield Problem("robot", f"version '{version}' is not known; known: {', '.join(VERSIONS)}")


def _names(urdf: Urdf) -> Iterator[Problem]:
    if not urdf.links:
        yield Problem("robot", "has no links; a robot needs at least one <link>")
    for elements in (urdf.links, urdf.joints, urdf.root.findall("material")):
        counts = Counter(element.get("name", "") for element in elements)
        for element in elements:
            name = element.get("name", "")
            if not name:
                yield Problem(element.tag, 'has no name; give it name="..."')
            elif counts.pop(name, 0) > 1:
                yield Problem(label(element), "this name is given twice; names must be unique")


def _numbers(urdf: Urdf) -> Iterator[Problem]:
    """Attributes that must be finite numbers and are not, sizes that are not positive."""
    for owner in urdf.root:
        for element in _read_elements(owner):
            for key, count in NUMBERS.get(element.tag, {}).items():
                text = element.get(key)
                if text is None and element.tag not in SIZED:
                    continue
                values = [_number(part) for part in (text or "").split()]
                what = f'<{element.tag} {key}="{text or ""}">'
                if len(values) != count or None in values:
                    plural = "s" if count > 1 else ""
                    yield Problem(label(owner), f"{what} must hold {count} finite number{plural}")
                elif element.tag in SIZED and min(value or 0.0 for value in values) <= 0.0:
                    yield Problem(label(owner), f"{what} must be positive")
                elif key in NOT_NEGATIVE and (values[0] or 0.0) < 0.0:
                    yield Problem(label(owner), f"{what} must not be negative")


def _read_elements(owner: ET.Element) -> Iterator[ET.Element]:
    """An element and what is inside it, without an extension that names shapes otherwise."""
    yield owner
    for child in owner:
        if child.tag != "collision_checking":
            yield from child.iter()


def _joint(joint: ET.Element) -> Iterator[Problem]:
    kind = joint.get("type", "")
    if kind not in JOINT_TYPES:
        yield Problem(label(joint), f"type '{kind}' is not one of {', '.join(JOINT_TYPES)}")
    for side in ("parent", "child"):
        end = joint.find(side)
        if end is None or not end.get("link"):
            yield Problem(label(joint), f'has no <{side} link="..."/>')
    axis = joint.find("axis")
    if kind in WITH_AXIS and axis is not None:
        values = [_number(part) for part in axis.get("xyz", "").split()]
        if len(values) == 3 and not any(values):
            yield Problem(label(joint), "its axis is 0 0 0; give a direction")
    limit = joint.find("limit")
    if kind not in LIMITED:
        return
    needed = () if limit is None else ("effort", "velocity")
    if limit is None or any(limit.get(key) is None for key in needed):
        yield Problem(
            label(joint),
            'a limit is missing; give <limit lower upper effort="..." velocity="..."/>',
        )
        return
    lower, upper = (_number(limit.get(key, "0")) or 0.0 for key in ("lower", "upper"))
    if lower > upper:
        yield Problem(label(joint), f"lower limit {lower:g} is above upper {upper:g}", fatal=False)


def _mimics(urdf: Urdf) -> Iterator[Problem]:
    """Joints that are to copy something that cannot be copied."""
    moving = {joint.get("name", "") for joint in urdf.joints if joint.get("type") != "fixed"}
    for mimic in urdf.mimics:
        element = f"joint '{mimic.joint}'"
        if not (math.isfinite(mimic.multiplier) and math.isfinite(mimic.offset)):
            yield Problem(element, "its <mimic> must have finite numbers as multiplier and offset")
        if mimic.primary == mimic.joint or mimic.primary not in moving:
            yield Problem(
                element,
                f"mimics '{mimic.primary}', which is not another joint that moves; it moves by "
                "itself",
                fatal=False,
            )


def _tree(urdf: Urdf) -> Iterator[Problem]:
    """Problems of links that form no single tree."""
    names = [link.get("name", "") for link in urdf.links]
    parent_of: dict[str, str] = {}
    for joint in urdf.joints:
        ends = {}
        for side in ("parent", "child"):
            end = joint.find(side)
            ends[side] = "" if end is None else end.get("link", "")
            if ends[side] not in names:
                yield Problem(label(joint), f"{side} link '{ends[side]}' does not exist")
        if ends["child"] in parent_of:
            yield Problem(
                f"link '{ends['child']}'", "has two parents; closed loops are not supported"
            )
        parent_of[ends["child"]] = ends["parent"]
    roots = [name for name in names if name not in parent_of]
    if len(roots) > 1:
        yield Problem(
            "robot", f"has {len(roots)} root links ({', '.join(roots)}); join them to one tree"
        )
    loop = _cyclic(names, parent_of)
    if loop:
        yield Problem(f"link '{loop}'", "is its own ancestor: its joints form a cycle, not a tree")


def _cyclic(names: list[str], parent_of: dict[str, str]) -> str | None:
    """A link that is its own ancestor."""
    rooted: set[str] = set()
    for name in names:
        path: list[str] = []
        while name in parent_of and name not in rooted:
            if name in path:
                return name
            path.append(name)
            name = parent_of[name]
        rooted.update(path)
    return None


def _looks(link: ET.Element) -> Iterator[Problem]:
    """Visual and collision elements that urdfdom gives up on, and the link with them."""
    for kind in ("visual", "collision"):
        for holder in link.findall(kind):
            shapes = [shape.tag for shape in holder.findall("geometry/*")]
            if len(shapes) != 1 or shapes[0] not in SHAPES:
                yield Problem(label(link), f"a <{kind}> must hold one shape of {', '.join(SHAPES)}")


def _inertia(link: ET.Element) -> Iterator[Problem]:
    inertial = link.find("inertial")
    if inertial is None:
        return
    if inertial.find("mass") is None or inertial.find("mass").get("value") is None:  # type: ignore[union-attr]
        yield Problem(label(link), 'its <inertial> has no <mass value="..."/>')
        return
    mass = link_mass(link)
    if mass < 0.0:
        yield Problem(label(link), f"its mass is {mass:g} kg; it must not be negative")
    tensor = inertial.find("inertia")
    if tensor is None or any(tensor.get(key) is None for key in INERTIA_KEYS):
        yield Problem(label(link), f"its <inertia> must give {', '.join(INERTIA_KEYS)}")
        return
    yield from _tensor(label(link), mass, [_number(tensor.get(key, "")) for key in INERTIA_KEYS])


def _tensor(element: str, mass: float, values: list[float | None]) -> Iterator[Problem]:
    """An inertia that no distribution of positive mass has."""
    if None in values:
        return
    xx, xy, xz, yy, yz, zz = (value or 0.0 for value in values)
    low, middle, high = np.linalg.eigvalsh(np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))
    slack = INERTIA_SLACK * max(abs(high), abs(low)) + INERTIA_ZERO
    moments = f"principal moments {low:.3g} {middle:.3g} {high:.3g} kg m2"
    if mass == 0.0 and high > 0.0:
        yield Problem(element, f"has inertia and no mass ({moments})", fatal=False)
    if low < -slack:
        yield Problem(element, f"its inertia is not positive ({moments})", fatal=False)
    elif high > low + middle + slack:
        yield Problem(
            element, f"its inertia breaks the triangle inequality ({moments})", fatal=False
        )
