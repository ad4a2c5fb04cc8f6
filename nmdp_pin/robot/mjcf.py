"""Reading an MJCF file: checked and rewritten here, parsed by pinocchio."""

from __future__ import annotations

import os
import tempfile
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pinocchio as pin

from nmdp_pin.errors import RobotError
from nmdp_pin.robot.description import Description
from nmdp_pin.robot.mesh_files import inside_package
from nmdp_pin.robot.mesh_trial import try_meshes
from nmdp_pin.robot.settings import Base
from nmdp_pin.robot.xml_file import read_xml

# Sections that change the motion and are not simulated.
_LEFT_OUT = ("equality", "tendon", "keyframe", "deformable")


def read_mjcf(path: Path, *, visuals: bool) -> Description:
    """Description of an MJCF file.

    A free joint of the root body becomes a floating base. The joints of a body that has several
    become a chain of bodies. Geometry of the world itself is left out.

    Args:
        path: the file.
        visuals: whether what it looks like is read too.

    Raises:
        RobotError: the file cannot be read, or holds what is not supported; says what.
    """
    root = read_xml(path)
    file = str(path)
    if root.tag != "mujoco":
        raise RobotError(f"starts with <{root.tag}>; an MJCF file starts with <mujoco>", file=file)
    _refuse(root, file)
    _place_meshes(root, path)
    warnings = [f"its <{tag}> is not simulated" for tag in _LEFT_OUT if root.find(tag) is not None]
    for tag in _LEFT_OUT:
        for element in root.findall(tag):
            root.remove(element)
    world = root.find("worldbody")
    if world is None or world.find("body") is None:
        raise RobotError("has no <body> in its <worldbody>", file=file)
    if any(joint.get("stiffness", "0") != "0" for joint in root.iter("joint")):
        warnings.append("the springs of its joints (stiffness) are not simulated")
    floor = world.findall("geom")
    if floor:
        warnings.append(
            f"{len(floor)} <geom> of the world left out; the ground is the scenario's terrain"
        )
    for geom in floor:
        world.remove(geom)
    base, pose = _free_base(world, file)
    for body in list(world.iter("body")):
        _one_joint_a_body(body)
    model, visual, collision = _build(root, file, visuals=visuals)
    _scale_mass(root, model, file)
    if pose is not None:
        pose = pin.SE3(pin.Quaternion(*pose[3:]).normalized(), pose[:3])
    motors = [joint for m in root.iterfind("actuator/*") if (joint := m.get("joint"))]
    hinges = list(model.names)[1:]
    return Description(
        path,
        root.get("model") or path.stem,
        model,
        visual,
        collision,
        hinges=hinges,
        motors=[name for name in hinges if name in motors]
        if root.find("actuator/*") is not None
        else None,
        base=base,
        root=pose or pin.SE3.Identity(),
        warnings=tuple(warnings),
    )


def _refuse(root: ET.Element, file: str) -> None:
    """Refuse elements that Pinocchio's parser would drop from masses or joints."""
    for tag, why in (
        ("include", "put the files together first"),
        ("attach", "put the models together first"),
        ("replicate", "write the copies out first"),
        ("composite", "write its bodies out first"),
        ("flexcomp", "soft bodies are not simulated"),
    ):
        if next(root.iter(tag), None) is not None:
            raise RobotError(f"holds <{tag}>, which is not read; {why}", file=file)
    for joint in root.iter("joint"):
        if joint.get("type", "hinge") not in ("hinge", "slide", "ball", "free"):
            raise RobotError(
                f"has the type '{joint.get('type')}'; allowed: hinge, slide, ball, free",
                file=file,
                element=f"joint '{joint.get('name', '')}'",
            )


def _place_meshes(root: ET.Element, path: Path) -> None:
    """Resolve and check the paths of meshes.

    Raises:
        RobotError: a mesh outside the package of the file, or one that is not there.
    """
    compiler = root.find("compiler")
    folder = Path()
    if compiler is not None:
        folder = Path(compiler.attrib.pop("meshdir", compiler.attrib.pop("assetdir", ".")))
        compiler.attrib.pop("assetdir", None)
    found_meshes = []
    for mesh in root.iterfind("asset/mesh"):
        name = mesh.get("file")
        if name is None:
            continue
        found = inside_package(path, folder / name, f"mesh '{name}'")
        if found is None:
            raise RobotError("was not found", file=str(path), element=f"mesh '{name}'")
        mesh.set("name", mesh.get("name") or Path(name).stem)
        mesh.set("file", str(found))
        found_meshes.append(found)
    try_meshes(found_meshes, str(path))
    for asset in root.findall("asset"):
        for kind in ("texture", "hfield", "skin"):
            for element in asset.findall(kind):
                asset.remove(element)
        for material in asset.findall("material"):
            material.attrib.pop("texture", None)


def _free_base(world: ET.Element, file: str) -> tuple[Base, np.ndarray | None]:
    """Remove the free joint of the root body; returns the base and its pose (x y z, w x y z)."""
    bodies = world.findall("body")
    free = [
        (body, joint)
        for body in bodies
        for joint in [*body.findall("freejoint"), *body.findall("joint")]
        if joint.tag == "freejoint" or joint.get("type") == "free"
    ]
    if len(bodies) > 1:
        raise RobotError(
            f"has {len(bodies)} bodies in its <worldbody>; give a file with one robot, and objects "
            "as [[objects]] of the scenario",
            file=file,
        )
    if not free:
        return "fixed", None
    body, joint = free[0]
    body.remove(joint)
    position = _vector(body.attrib.pop("pos", "0 0 0"), 3, file, body)
    if any(key in body.attrib for key in ("euler", "axisangle", "xyaxes", "zaxis")):
        raise RobotError(
            "the orientation of a free body must be a quat",
            file=file,
            element=f"body '{body.get('name', '')}'",
        )
    return "free-flyer", np.concatenate(
        [position, _vector(body.attrib.pop("quat", "1 0 0 0"), 4, file, body)]
    )


def _vector(text: str, size: int, file: str, body: ET.Element) -> np.ndarray:
    try:
        values = np.array([float(part) for part in text.split()])
    except ValueError:
        values = np.zeros(0)
    if values.shape != (size,) or not np.isfinite(values).all() or (size == 4 and not values.any()):
        raise RobotError(
            f"'{text}' must hold {size} finite numbers",
            file=file,
            element=f"body '{body.get('name', '')}'",
        )
    return values


def _one_joint_a_body(body: ET.Element) -> None:
    """Move all joints of a body except the last to massless bodies, in place.

    Pinocchio makes one joint of them otherwise, whose axes turn each other.
    """
    joints = body.findall("joint")
    if len(joints) < 2:
        return
    own = ET.Element("body", {"name": body.get("name", "")})
    for child in list(body):
        if child not in joints[:-1]:
            body.remove(child)
            own.append(child)
    name = body.get("name", "")
    body.set("name", f"{name}/{joints[0].get('name', '0')}")
    inner = body
    for joint in joints[1:-1]:
        body.remove(joint)
        between = ET.SubElement(inner, "body", {"name": f"{name}/{joint.get('name', '')}"})
        between.append(joint)
        inner = between
    inner.append(own)


def _build(
    root: ET.Element, file: str, *, visuals: bool
) -> tuple[pin.Model, pin.GeometryModel | None, pin.GeometryModel]:
    """Pinocchio's models of the rewritten file."""
    text = ET.tostring(root)
    # Pinocchio leaves geometry that touches nothing out of the masses; MuJoCo counts it.
    for geom in root.iter("geom"):
        geom.set("contype", "1")
        geom.set("conaffinity", "1")
    solid = ET.tostring(root)
    with tempfile.TemporaryDirectory(prefix="nmdp-mjcf-") as folder:
        first, second = os.path.join(folder, "solid.xml"), os.path.join(folder, "looks.xml")
        Path(first).write_bytes(solid)
        Path(second).write_bytes(text)
        try:
            model = pin.buildModelFromMJCF(first)
            collision = pin.buildGeomFromMJCF(model, second, pin.COLLISION)
            visual = pin.buildGeomFromMJCF(model, second, pin.VISUAL) if visuals else None
        except (ValueError, RuntimeError, KeyError, IndexError) as error:
            raise RobotError(f"pinocchio cannot read it: {error}", file=file) from error
    return model, visual, collision


def _scale_mass(root: ET.Element, model: pin.Model, file: str) -> None:
    """Scale all inertias to the total mass that the file asks for, in place."""
    compiler = root.find("compiler")
    text = None if compiler is None else compiler.get("settotalmass")
    if text is None:
        return
    try:
        wanted = float(text)
    except ValueError:
        wanted = -1.0
    total = sum(inertia.mass for inertia in model.inertias)
    if not (0.0 < wanted < np.inf and total > 0.0):
        raise RobotError(f"settotalmass = '{text}' must be > 0 kg", file=file, element="compiler")
    for k, inertia in enumerate(model.inertias):
        scale = wanted / total
        model.inertias[k] = pin.Inertia(
            scale * inertia.mass, inertia.lever, scale * inertia.inertia
        )
