"""Meshes of a robot: where their files are, which way up they are, and which are far off."""

import os
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote

import coal
import numpy as np
import pinocchio as pin

from nmdp_pin._files.input_file import open_input
from nmdp_pin._files.limited_process import within_limits
from nmdp_pin._terrain.shape import LARGEST, box_around
from nmdp_pin._words import one_line
from nmdp_pin.errors import RobotError

Missing = tuple[tuple[str, str], ...]
"""Link and file name of each mesh that was not found."""

_SCHEMES = ("package://", "model://")
_MOST_BYTES = 2**29  # of a mesh
_Y_UP = "<up_axis>Y_UP</up_axis>"
# Boxes of the hierarchy over a mesh: those around what is only looked at are made in half the time.
_BOXES = {pin.COLLISION: coal.BV_OBBRSS, pin.VISUAL: coal.BV_OBB}
_HEADER = 65_536  # [bytes] of a COLLADA file in which its <asset> is looked for
_TURN = pin.SE3(pin.rpy.rpyToMatrix(0.5 * np.pi, 0.0, 0.0), np.zeros(3))
_CLEARLY = 0.6  # of the distance as the files are, below which they are meant to be turned
_FAR = 0.5  # of the diagonal of a body's geometry


def locate_meshes(
    root: ET.Element, urdf: Path, kind: str, package_dirs: Sequence[Path]
) -> tuple[Missing, list[str]]:
    """Write the paths of the meshes of a URDF in place; those that were not found are removed.

    `package://name/rest` is looked up as `name/rest` in `package_dirs`, then in the folders of
    ROS_PACKAGE_PATH, then in the folders above the URDF, up to the one that holds its package;
    other names start at the URDF's folder. Visual meshes that must not be read are removed as
    well, with a sentence each.

    Raises:
        RobotError: a collision mesh must not be read.
    """
    missing, lost, folders = [], [], _folders(urdf.absolute(), package_dirs)
    for link in root.findall("link"):
        for holder in link.findall(kind):
            mesh = holder.find("geometry/mesh")
            if mesh is None:
                continue
            name = mesh.get("filename", "")
            try:
                found = _find(name, urdf.absolute(), folders)
                if found is not None:
                    open_input(found, "mesh", largest=_MOST_BYTES, error=RobotError).close()
                    mesh.set("filename", str(found))
                    continue
                missing.append((link.get("name", ""), name))
            except RobotError as error:
                if kind != "visual":
                    raise
                lost.append(_left_out(name, error))
            link.remove(holder)
    return tuple(missing), lost


def _left_out(name: str, why: object) -> str:
    return f"visual mesh '{name}' is left out: {why}"


def _folders(urdf: Path, package_dirs: Sequence[Path]) -> list[Path]:
    """Folders in which packages are looked for."""
    ros = [Path(f) for f in os.environ.get("ROS_PACKAGE_PATH", "").split(os.pathsep) if f]
    marked = (folder for folder in urdf.parents if (folder / "package.xml").is_file())
    top = next(marked, urdf.parent.parent).parent
    above = [f for f in urdf.parents if f.is_relative_to(top) and f != Path(f.anchor)]
    return [folder.absolute() for folder in (*package_dirs, *ros)] + above


def _find(name: str, urdf: Path, folders: Sequence[Path]) -> Path | None:
    """File of a mesh, None if it is missing."""
    scheme = next((s for s in _SCHEMES if name.startswith(s)), "")
    if scheme:
        package, _, rest = name.removeprefix(scheme).lstrip("/").partition("/")
        homes = [h for f in folders for h in (f / package, f) if h.name == package]
    else:
        homes, rest = [urdf.parent], name.removeprefix("file://")
    for home in homes:
        path = Path(os.path.normpath(home / rest))
        if not os.path.isfile(path):  # also of names that no file can have
            continue
        if not any(path.is_relative_to(folder) for folder in folders):
            raise RobotError(
                f"lies outside the folders of packages ({', '.join(map(str, folders))}); move it "
                "there, or name a folder above it in package_dirs",
                file=str(urdf),
                element=f"mesh '{name}'",
            )
        return path
    plain = unquote(name)  # a blank may be written as %20
    return _find(plain, urdf, folders) if plain != name else None


def read_geometry(
    model: pin.Model, parts: Sequence[tuple[str, pin.GeometryType]]
) -> list[pin.GeometryModel]:
    """Geometry of URDFs, of one kind each; that of an empty text is empty.

    Raises:
        ValueError: pinocchio cannot read it, or not within limits.
    """
    if not any("<mesh" in text for text, _ in parts):
        return [_geometry(model, *part) for part in parts]
    with tempfile.TemporaryDirectory(prefix="nmdp-pin-") as folder:
        files = [str(Path(folder, str(k))) for k in range(len(parts))]
        within_limits(_save, model, parts, files)
        read = [pin.GeometryModel() for _ in parts]
        for geometry, file in zip(read, files, strict=True):
            geometry.loadFromBinary(file)
    return read


def _save(
    model: pin.Model, parts: Sequence[tuple[str, pin.GeometryType]], files: Sequence[str]
) -> None:
    """Write geometry as pinocchio has it in memory, without meshes to read."""
    for part, file in zip(parts, files, strict=True):
        _geometry(model, *part).saveToBinary(file)


def _geometry(model: pin.Model, text: str, kind: pin.GeometryType) -> pin.GeometryModel:
    if not text:
        return pin.GeometryModel()
    loader = coal.CachedMeshLoader(_BOXES[kind])
    return pin.buildGeomFromUrdfString(model, text, kind, mesh_loader=loader)


def leave_out_meshes(root: ET.Element) -> list[str]:
    """Remove each `<visual>` whose mesh coal cannot read, in place, and say why."""
    lost = []
    for link in root.iterfind("link"):
        for holder in link.findall("visual"):
            mesh = holder.find("geometry/mesh")
            name = "" if mesh is None else mesh.get("filename", "")
            try:
                if mesh is not None:
                    within_limits(_load, name)
            except ValueError as error:
                link.remove(holder)
                lost.append(_left_out(name, what_coal_says(error)))
    return lost


def _load(name: str) -> None:
    coal.MeshLoader().load(name, np.ones(3))


def what_coal_says(error: Exception) -> str:
    """The message of an error of coal or pinocchio, in one line, without the place in its code."""
    return one_line(str(error).partition("message:")[2] or error)


def refuse_shapeless(geometry: pin.GeometryModel, kind: str, urdf: Path) -> list[str]:
    """Remove visual meshes without vertices, or with vertices that are no places, and say so.

    Raises:
        RobotError: a collision mesh is such a one.
    """
    lost = []
    for item in list(geometry.geometryObjects):
        if isinstance(item.geometry, coal.BVHModelBase):
            vertices = np.array(item.geometry.vertices()).reshape(-1, 3)
            if not (len(vertices) and np.abs(vertices).max() <= LARGEST):
                what = f"has no vertices, or others than numbers of at most {LARGEST:g} m"
                if kind != "visual":
                    raise RobotError(what, file=str(urdf), element=f"mesh '{item.meshPath}'")
                lost.append(_left_out(item.meshPath, what))
                geometry.removeGeometryObject(item.name)
    return lost


def turn_y_up(model: pin.Model, geometry: pin.GeometryModel) -> tuple[str, ...]:
    """Turn COLLADA meshes that say Y_UP where that brings them to their masses, in place.

    Programs differ: RViz reads the numbers of such a file as they are, Gazebo and OpenSceneGraph
    turn its y axis up. Descriptions are made with one of them in mind. All meshes of a robot are
    read in the same way, the one in which their centres are near the links' centres of mass.
    """
    turned = [g for g in geometry.geometryObjects if _says_y_up(g.meshPath)]
    heavy = [g for g in turned if model.inertias[g.parentJoint].mass > 0.0]
    if not heavy:
        return ()
    levers = np.array([model.inertias[g.parentJoint].lever for g in heavy])
    before, after = (
        float(np.linalg.norm(np.mean(boxes, axis=1) - levers, axis=1).mean())
        for turn in (pin.SE3.Identity(), _TURN)
        for boxes in [[box_around(g.geometry, g.placement * turn) for g in heavy]]
    )
    if not after < _CLEARLY * before:
        return ()
    for item in turned:
        item.placement = item.placement * _TURN
    return (
        f"{len(turned)} COLLADA meshes that say Y_UP are turned, so that z is up: their centres "
        f"are then {after:.3f} m from the centres of mass, not {before:.3f} m",
    )


def far_off(model: pin.Model, geometry: pin.GeometryModel) -> tuple[str, ...]:
    """A sentence on bodies with meshes whose centre of mass is far outside their geometry."""
    found = []
    for joint in sorted({int(g.parentJoint) for g in geometry.geometryObjects}):
        inertia = model.inertias[joint]
        own = [g for g in geometry.geometryObjects if g.parentJoint == joint]
        if not any(isinstance(g.geometry, coal.BVHModelBase | coal.ConvexBase) for g in own):
            continue  # primitives may stand for feet alone
        boxes = np.array([box_around(g.geometry, g.placement) for g in own])
        low, high = boxes[:, 0].min(axis=0), boxes[:, 1].max(axis=0)
        away = float(np.linalg.norm(inertia.lever - np.clip(inertia.lever, low, high)))
        if inertia.mass > 0.0 and away > _FAR * np.linalg.norm(high - low):
            found.append(f"{model.frames[own[0].parentFrame].name} ({away:.2g} m)")
    if not found:
        return ()
    return (
        "centres of mass far outside the collision geometry of their links, one of which may be "
        f"misplaced: {', '.join(found)}",
    )


def _says_y_up(path: str) -> bool:
    if not path.lower().endswith(".dae"):
        return False
    with Path(path).open("rb") as file:
        return _Y_UP in "".join(file.read(_HEADER).decode(errors="replace").split())
