"""Reading a URDF safely: XML from a stranger in, checked links and joints out."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path

from nmdp_pin.errors import RobotError
from nmdp_pin.robot.joint_limits import Mimic
from nmdp_pin.robot.xml_file import read_xml

# The largest robot known has 150 links.
MAX_LINKS = 500
# Time and memory of a step grow with the square of the joints: 200 of them take 1.1 GB.
MAX_MOVING = 250
# The joints whose limits have a default in the first two; many files use the capsules of the last.
LIMITED = ("revolute", "prismatic")
VERSIONS = ("1.0", "1.1", "1.2")
# All that pinocchio needs; <gazebo>, <transmission>, <mimic> and the like are left behind.
KEPT: dict[str, tuple[str, ...]] = {
    "robot": ("link", "joint", "material"),
    "link": ("inertial", "visual", "collision", "collision_checking"),
    "joint": ("origin", "parent", "child", "axis", "limit", "dynamics"),
}
# Attributes that are no numbers: their blanks count.
WORDS = ("name", "filename", "link", "type", "version")


@dataclass(frozen=True)
class Problem:
    """One thing wrong with a robot description.

    Args:
        element: the link, joint, mesh or key at fault.
        message: the mistake and its remedy.
        fatal: True if the robot cannot be simulated because of it.
    """

    element: str
    message: str
    fatal: bool = True

    def __str__(self) -> str:
        return f"{self.element}: {self.message}" if self.element else self.message


@dataclass(frozen=True)
class Urdf:
    """Parsed URDF, not yet checked.

    Args:
        path: the file.
        root: the `<robot>` element, holding only what pinocchio needs.
        mimics: joints that copy others.
    """

    path: Path
    root: ET.Element
    mimics: tuple[Mimic, ...] = ()

    @property
    def name(self) -> str:
        """Name of the robot, else that of its file."""
        return self.root.get("name") or self.path.stem

    @property
    def links(self) -> list[ET.Element]:
        """The `<link>` elements in the order of the file."""
        return self.root.findall("link")

    @property
    def joints(self) -> list[ET.Element]:
        """The `<joint>` elements in the order of the file."""
        return self.root.findall("joint")

    @property
    def held(self) -> bool:
        """Whether the root link is `world`, the name in ROS of what does not move."""
        children = {child.get("link") for child in self.root.iterfind("joint/child")}
        return "world" in {link.get("name") for link in self.links} - children

    def text(self) -> str:
        """The description for pinocchio, written from what was parsed."""
        return ET.tostring(self.root, encoding="unicode")


def read_urdf(path: Path) -> Urdf:
    """Read a URDF without trusting it: no entities, no document type, bounded size and depth.

    Raises:
        RobotError: the file cannot be read, is not XML (line and column), or is no URDF.
    """
    file = str(path)
    root = read_xml(path)
    _check_robot_element(root, file)
    links = len(root.findall("link"))
    if links > MAX_LINKS:
        raise RobotError(f"has {links} links; at most {MAX_LINKS} are read", file=file)
    moving = sum(joint.get("type") != "fixed" for joint in root.findall("joint"))
    if moving > MAX_MOVING:
        raise RobotError(f"has {moving} joints that move; at most {MAX_MOVING} are read", file=file)
    mimics = _mimics(root)
    _strip(root)
    return Urdf(path, root, mimics)


def _mimics(root: ET.Element) -> tuple[Mimic, ...]:
    """Mimic joints; values that are no numbers become NaN."""
    found = []
    for joint in root.findall("joint"):
        mimic = joint.find("mimic")
        if mimic is not None:
            primary = mimic.get("joint", "")
            factor, offset = (
                _number_or_nan(mimic.get(key, default))
                for key, default in (("multiplier", "1"), ("offset", "0"))
            )
            found.append(Mimic(joint.get("name", ""), primary, factor, offset))
    return tuple(found)


def _number_or_nan(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _check_robot_element(root: ET.Element, file: str) -> None:
    """Refuse other documents; a nameless robot gets the name of its file."""
    if root.tag != "robot":
        raise RobotError(
            f"starts with <{root.tag}>; a URDF starts with <robot>. MJCF is read from files whose "
            "name ends in .xml or .mjcf; SDF must be converted to URDF first",
            file=file,
        )
    if any("xacro" in str(element.tag) for element in root.iter()):
        raise RobotError("is a xacro file; run xacro on it first", file=file)
    root.set("name", root.get("name") or Path(file).stem)


def _strip(root: ET.Element) -> None:
    """Reduce the document to the parts that Pinocchio reads."""
    for tag, kept in KEPT.items():
        for parent in [root] if tag == "robot" else root.findall(tag):
            for child in [child for child in parent if child.tag not in kept or _blank(child)]:
                parent.remove(child)
    for k, visual in enumerate(root.iterfind("link/visual")):
        for material in visual.findall("material"):
            if not material.get("name") and _blank(material):
                visual.remove(material)
            else:
                material.set("name", material.get("name") or f"nameless_{k}")
    if root.get("version", VERSIONS[0]) in VERSIONS:
        _raise_version(root)
    for key in [key for key in root.attrib if key not in WORDS]:
        del root.attrib[key]
    for element in root.iter():
        for key, text in element.attrib.items():
            if key not in WORDS:
                element.set(key, " ".join(text.split()))


def _raise_version(root: ET.Element) -> None:
    """Make a file of any version one of the last: it has capsules, and limits without default."""
    root.set("version", VERSIONS[-1])
    for joint in root.findall("joint"):
        for limit in joint.findall("limit") if joint.get("type") in LIMITED else ():
            for key in ("lower", "upper"):
                limit.set(key, limit.get(key, "0"))


def _blank(element: ET.Element) -> bool:
    """Whether an element is empty and confuses urdfdom: `<dynamics/>`, `<material name="x"/>`."""
    if element.tag == "material":
        return element.find("color[@rgba]") is None and element.find("texture") is None
    return element.tag == "dynamics" and not element.attrib
