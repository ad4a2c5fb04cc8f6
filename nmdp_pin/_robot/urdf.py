"""Description of a robot from a URDF, which pinocchio reads after it is checked."""

import copy
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pinocchio as pin

from nmdp_pin._files.input_file import read_xml
from nmdp_pin._robot.joint_limits import Mimic
from nmdp_pin._robot.meshes import (
    far_off,
    leave_out_meshes,
    locate_meshes,
    read_geometry,
    refuse_shapeless,
    turn_y_up,
    what_coal_says,
)
from nmdp_pin._robot.model import MAX_LINKS, MAX_MOVING, Description
from nmdp_pin._robot.urdf_form import conform
from nmdp_pin._robot.urdf_problems import (
    EXTENSION,
    LIMITED,
    NUMBERS,
    SOLIDS,
    VERSIONS,
    find_problems,
    leave_out_looks,
    numbers,
)
from nmdp_pin.errors import RobotError

# The largest description of example-robot-data has 0.2 MB.
_LARGEST = 5_000_000  # [bytes]
_SHOWN = 10  # problems in one message
_KINDS = {"collision": pin.COLLISION, "visual": pin.VISUAL}
# Elements that pinocchio needs, by their place.
_KEPT = {
    ".": ("link", "joint", "material"),
    "link": ("inertial", "visual", "collision", EXTENSION),
    "joint": ("origin", "parent", "child", "axis", "limit", "dynamics", "mimic"),
    "link/inertial": ("origin", "mass", "inertia"),
    "link/visual": ("origin", "geometry", "material"),
    "link/collision": ("origin", "geometry", "material"),
    "link/visual/geometry": SOLIDS,
}
# Attributes that are no numbers: their blanks count.
_WORDS = ("name", "filename", "link", "type", "version", "joint")


def describe_urdf(path: Path, package_dirs: Sequence[Path], *, visuals: bool) -> Description:
    """Description of a URDF."""
    root = read_urdf(path)
    unread, lost = _strip(root), leave_out_looks(root)
    problems = find_problems(root)
    fatal = [problem for problem in problems if problem.fatal]
    if fatal:
        message = "; ".join([fatal[0].message, *map(str, fatal[1:_SHOWN])])
        raise RobotError(message, file=str(path), element=fatal[0].element)
    warnings = tuple(map(str, problems))
    hinges = [j.get("name", "") for j in root.iterfind("joint") if j.get("type") != "fixed"]
    mimics = _take_mimics(root)
    conform(root, {name for m in mimics for name in (m.joint, m.primary)})
    if left := [part for part in unread if part.startswith("<xacro:")]:
        warnings += (f"xacro left over, which may be parts of it; run xacro: {', '.join(left)}",)
    solid = "collision" if root.find("link/collision") is not None else "visual"
    seen = solid == "visual" and (lost or root.find("link/visual") is not None)
    solids = copy.deepcopy(root)
    missing, gone = locate_meshes(solids, path, solid, package_dirs)
    missing_looks, unseen = locate_meshes(root, path, "visual", package_dirs)
    documents = [(solid, solids), ("visual", root)] if visuals else [(solid, solids)]
    try:
        model = pin.buildModelFromXML(_with_only(solid, solids))
        (shapes, *looks), odd = _geometry(model, documents, path)
    except (ValueError, RuntimeError, MemoryError) as error:
        what = f"pinocchio cannot read it: {what_coal_says(error)}"
        raise RobotError(what, file=str(path)) from error
    if seen:
        warnings += ("it has no collision geometry: it touches with what it looks like",)
        warnings += (*lost, *gone, *odd[0])
    notes = turn_y_up(model, shapes)
    if unread:
        parts = ", ".join(f"{part} ({count})" for part, count in unread.items())
        notes += (f"parts of the URDF that are not read: {parts}",)
    if not seen:
        notes += (*lost, *unseen, *(text for said in odd[1:] for text in said))
    for looking in looks:
        turn_y_up(model, looking)
    return Description(
        path,
        root.get("name", ""),
        model,
        looks[0] if looks else None,
        shapes,
        hinges=hinges,
        base="fixed" if is_held(root) else None,
        mimics=mimics,
        notes=notes,
        warnings=warnings + far_off(model, shapes),
        missing_visuals=missing_looks,
        missing_collisions=missing if solid == "collision" else (),
    )


def _geometry(
    model: pin.Model, documents: Sequence[tuple[str, ET.Element]], path: Path
) -> tuple[list[pin.GeometryModel], list[list[str]]]:
    """Geometry of documents of a kind each, and sentences on visual meshes that cannot be read."""

    def read() -> list[pin.GeometryModel]:
        parts = [(_with_only(kind, root), _KINDS[kind]) for kind, root in documents]
        return read_geometry(model, parts)

    lost: list[list[str]] = [[] for _ in documents]
    try:
        found = read()
    except (ValueError, RuntimeError, MemoryError):
        lost = [leave_out_meshes(root) if kind == "visual" else [] for kind, root in documents]
        if not any(lost):
            raise
        found = read()
    for (kind, _), geometry, said in zip(documents, found, lost, strict=True):
        said += refuse_shapeless(geometry, kind, path)
    return found, lost


def read_urdf(path: Path) -> ET.Element:
    """The `<robot>` element of a URDF."""
    root = read_xml(path, "robot description", largest=_LARGEST)
    links, moving = root.findall("link"), root.findall("joint")
    moving = [joint for joint in moving if joint.get("type") != "fixed"]
    faults = {
        f"starts with <{root.tag}>; a URDF starts with <robot>. MJCF is read from files whose "
        "name ends in .xml or .mjcf; SDF must be converted to URDF first": root.tag != "robot",
        "is a xacro file; run xacro on it first": _is_xacro(root),
        f"has {len(links)} links; at most {MAX_LINKS} are read": len(links) > MAX_LINKS,
        f"has {len(moving)} joints that move; at most {MAX_MOVING} are read": len(moving)
        > MAX_MOVING,
    }
    for fault, there in faults.items():
        if there:
            raise RobotError(fault, file=str(path))
    root.set("name", root.get("name") or path.stem)
    return root


def _is_xacro(root: ET.Element) -> bool:
    """Whether xacro has not been run on a file, rather than left something over."""
    if not any(element.tag.startswith("xacro:") for element in root.iter()):
        return False
    texts = (text for element in root.iter() for text in element.attrib.values())
    return root.find("link") is None or any("${" in text or "$(" in text for text in texts)


def is_held(root: ET.Element) -> bool:
    """Whether the root link is `world`, the name in ROS of what does not move."""
    return any(link.get("name") == "world" for link in _roots(root))


def has_mass(root: ET.Element) -> bool:
    """Whether the root link is known to have some."""
    masses = [link.find("inertial/mass") for link in _roots(root)]
    return all(sum(numbers(mass, "value")) > 0.0 for mass in masses)


def _roots(root: ET.Element) -> list[ET.Element]:
    """The links that are no child of a joint."""
    children = {child.get("link") for child in root.iterfind("joint/child")}
    return [link for link in root.iterfind("link") if link.get("name") not in children]


def _take_mimics(root: ET.Element) -> tuple[Mimic, ...]:
    """Remove and return what joints copy."""
    found = []
    for joint in root.iterfind("joint"):
        for mimic in joint.findall("mimic"):
            joint.remove(mimic)
            primary, name = mimic.get("joint", ""), joint.get("name", "")
            factor, offset = mimic.get("multiplier", "1"), mimic.get("offset", "0")
            found.append(Mimic(name, primary, float(factor), float(offset)))
    return tuple(found)


def _strip(root: ET.Element) -> Counter[str]:
    """Reduce the document to what pinocchio reads, without what confuses urdfdom.

    Returns the numbers of elements and attributes that are left out.
    """
    unread: Counter[str] = Counter()
    for place, kept in _KEPT.items():
        for parent in root.findall(place):
            unread.update(f"<{child.tag}>" for child in parent if child.tag not in kept)
            read = [child for child in parent if child.tag in kept]
            # a <visual> may name a material of the <robot>
            parent[:] = [c for c in read if place == "link/visual" or not _blank(c)]
    for k, visual in enumerate(root.iterfind("link/visual")):
        for material in visual.findall("material"):
            if not material.get("name") and _blank(material):
                visual.remove(material)
            else:
                material.set("name", material.get("name") or f"nameless_{k}")
    if root.get("version", VERSIONS[0]) in VERSIONS:
        # the last has capsules, and limits without default
        root.set("version", VERSIONS[-1])
        for joint in root.iterfind("joint"):
            for limit in joint.findall("limit") if joint.get("type") in LIMITED else ():
                for key in ("lower", "upper"):
                    limit.set(key, limit.get(key, "0"))
    root.attrib = {key: text for key, text in root.items() if key in _WORDS}
    for element in root.iter():
        known = (*_WORDS, *NUMBERS.get(element.tag, ()))
        for key, text in element.items():
            if key not in known:
                unread[f"<{element.tag} {key}>"] += 1
            if key not in _WORDS:
                element.set(key, " ".join(text.split()))
    return unread


def _with_only(kind: str, root: ET.Element) -> str:
    """The document as text, without the other kind of geometry."""
    for link in root.iterfind("link"):
        link[:] = [part for part in link if part.tag in ("inertial", kind, EXTENSION)]
    return ET.tostring(root, encoding="unicode")


def _blank(element: ET.Element) -> bool:
    """Whether an element is empty and confuses urdfdom: `<dynamics/>`, `<material name="x"/>`."""
    if element.tag == "material":
        return element.find("color[@rgba]") is None and element.find("texture") is None
    return element.tag == "dynamics" and not element.attrib
