"""The form of a URDF in which urdfdom and pinocchio read what they would refuse or read wrongly."""

import xml.etree.ElementTree as ET
from collections.abc import Collection, Iterator

import numpy as np
import pinocchio as pin

from nmdp_pin._robot.urdf_problems import THINNEST

_UNBOUNDED = "1e308"  # of a joint; `JointLimits` takes it for none
_AXIS = "1 0 0"  # of a joint that gives none


def conform(root: ET.Element, coupled: Collection[str]) -> None:
    """Write otherwise, in place, what urdfdom refuses without need or pinocchio reads wrongly.

    Continuous joints that are coupled, as a mimic joint and its primary, become hinges without a
    range, whose angle is one number.
    """
    for inertial in root.iterfind("link/inertial"):
        if inertial.find("inertia") is None:
            zeros = dict.fromkeys(("ixx", "ixy", "ixz", "iyy", "iyz", "izz"), "0")
            ET.SubElement(inertial, "inertia", zeros)
    for sphere in root.iterfind("link/collision/geometry/sphere"):
        if float(sphere.get("radius", "")) == 0.0:
            sphere.set("radius", str(THINNEST))
    for mesh in (*root.iterfind("link/*/geometry/mesh[@scale]"),):
        if len(scale := mesh.get("scale", "").split()) == 1:
            mesh.set("scale", " ".join(3 * scale))
    for joint in root.findall("joint"):
        if joint.get("type") == "continuous" and joint.get("name") in coupled:
            joint.set("type", "revolute")
            for limit in _limits(joint):
                limit.attrib |= {"lower": f"-{_UNBOUNDED}", "upper": _UNBOUNDED}
        for limit in joint.iterfind("limit"):
            if float(limit.get("lower", "0")) > float(limit.get("upper", "0")):
                limit.attrib |= {"lower": f"-{_UNBOUNDED}", "upper": _UNBOUNDED}
            if float(limit.get("velocity", "0")) < 0.0:
                limit.set("velocity", _UNBOUNDED)
        if joint.get("type") == "planar":
            _turn_planar(root, joint)


def _limits(joint: ET.Element) -> Iterator[ET.Element]:
    """The limits of a joint, made where it has none."""
    if joint.find("limit") is None:
        ET.SubElement(joint, "limit", {"effort": _UNBOUNDED, "velocity": _UNBOUNDED})
    yield from joint.iterfind("limit")


def _turn_planar(root: ET.Element, joint: ET.Element) -> None:
    """Turn a planar joint, which moves along x and y of its frame, so that its axis is z.

    The link behind it keeps its frame, by a fixed joint.
    """
    axis, child = joint.find("axis"), joint.find("child")
    normal = np.array((_AXIS if axis is None else axis.get("xyz", _AXIS)).split(), dtype=float)
    if child is None or (not normal[:2].any() and normal[2] > 0.0):
        return
    turn = pin.Quaternion.FromTwoVectors(np.array([0.0, 0.0, 1.0]), normal).toRotationMatrix()
    origin = joint.find("origin")
    if origin is None:
        origin = ET.SubElement(joint, "origin")
    placed = _rotation(origin) @ turn
    origin.attrib.pop("quat_xyzw", None)
    origin.set("rpy", _words(pin.rpy.matrixToRpy(placed)))
    names, name = {element.get("name") for element in root}, f"{joint.get('name')}_plane"
    while name in names:
        name += "_"
    ET.SubElement(root, "link", {"name": name})
    fixed = ET.SubElement(root, "joint", {"name": name, "type": "fixed"})
    ET.SubElement(fixed, "origin", {"rpy": _words(pin.rpy.matrixToRpy(turn.T))})
    ET.SubElement(fixed, "parent", {"link": name})
    ET.SubElement(fixed, "child", {"link": child.get("link", "")})
    child.set("link", name)


def _rotation(origin: ET.Element) -> np.ndarray:
    """Rotation matrix of an origin, (3, 3)."""
    if (quaternion := origin.get("quat_xyzw")) is not None:
        coefficients = np.array(quaternion.split(), dtype=float)
        turned: np.ndarray = pin.Quaternion(coefficients).normalized().toRotationMatrix()
    else:
        angles = np.array(origin.get("rpy", "0 0 0").split(), dtype=float)
        turned = pin.rpy.rpyToMatrix(angles)
    return turned


def _words(values: np.ndarray) -> str:
    return " ".join(map(repr, map(float, values)))
