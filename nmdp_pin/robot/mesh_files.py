"""The mesh files of a URDF: where they are, which are missing, which are refused."""

from __future__ import annotations

import copy
import os
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from nmdp_pin.errors import RobotError
from nmdp_pin.robot.urdf import Urdf

SCHEMES = ("package://", "model://")


@dataclass(frozen=True)
class Geometry:
    """The visual or collision geometry of a robot, ready for pinocchio.

    Args:
        text: the URDF with every mesh at its path and the shapes of missing meshes left out.
        missing: one entry a mesh that was not found: its link and file name.
        paths: paths of the meshes that were found.
    """

    text: str
    missing: tuple[tuple[str, str], ...]
    paths: tuple[Path, ...]


def locate_meshes(urdf: Urdf, kind: str, package_dirs: Sequence[Path]) -> Geometry:
    """Find the meshes of the `<visual>` or `<collision>` elements of a robot.

    `package://name/rest` is looked up as `name/rest` in `package_dirs`, then in the folders of
    ROS_PACKAGE_PATH, then in the folders above the URDF, up to the one that holds its package;
    other names start at the URDF's folder.

    Raises:
        RobotError: a path that climbs out of its package, or an absolute one outside all of them.
    """
    tree = copy.deepcopy(urdf.root)
    folders = search_folders(urdf.path, package_dirs)
    missing, paths = [], []
    for link in tree.findall("link"):
        for holder in list(link.iterfind(kind)):
            mesh = holder.find("geometry/mesh")
            if mesh is None:
                continue
            name = mesh.get("filename", "")
            where = f"link '{link.get('name')}': mesh '{name}'"
            found = _locate(name, urdf.path, folders, where)
            if found is None:
                link.remove(holder)
                missing.append((link.get("name", ""), name))
            else:
                mesh.set("filename", str(found))
                paths.append(found)
    return Geometry(ET.tostring(tree, encoding="unicode"), tuple(missing), tuple(paths))


def search_folders(urdf: Path, package_dirs: Sequence[Path]) -> list[Path]:
    """The folders in which packages are looked up, in order.

    Of the folders above the URDF those up to the one that holds its own package, as in a workspace.
    """
    ros = os.environ.get("ROS_PACKAGE_PATH", "").split(os.pathsep)
    listed = [*package_dirs, *(Path(folder) for folder in ros if folder)]
    return [folder.absolute() for folder in listed] + _above(urdf)


def _above(urdf: Path) -> list[Path]:
    """The folders above a URDF in which packages are looked up; never the root of the disk."""
    top = _package_root(urdf.absolute()).parent
    found = [folder for folder in urdf.absolute().parents if folder.is_relative_to(top)]
    return [folder for folder in found if folder != Path(folder.anchor)]


def _locate(name: str, urdf: Path, folders: list[Path], where: str) -> Path | None:
    """File of a mesh, None if it is missing."""
    for scheme in SCHEMES:
        if name.startswith(scheme):
            return _in_package(name.removeprefix(scheme), folders, str(urdf), where)
    given = folders[: len(folders) - len(_above(urdf))]
    return inside_package(urdf, Path(name.removeprefix("file://")), where, given)


def inside_package(
    description: Path, name: Path, where: str, folders: Sequence[Path] = ()
) -> Path | None:
    """File relative to the description of a robot; None if it is missing.

    Links are followed before it is looked where the file lies.

    Args:
        description: the URDF or MJCF file.
        name: the path that it gives.
        where: names the mesh in errors.
        folders: in which it may lie, besides the package of the description.

    Raises:
        RobotError: it lies outside all of them.
    """
    path = description.absolute().parent / name
    # A relative path may leave the folder of the description, not the package around it.
    roots = [*folders, _package_root(description.absolute())]
    if not _contained(path, roots):
        raise RobotError(
            f"{where} lies outside the robot's package ({roots[-1]}); such paths are refused. "
            "Move the mesh, or name a folder above it in package_dirs",
            file=str(description),
        )
    return path if path.is_file() else None


def _contained(path: Path, roots: Sequence[Path]) -> bool:
    """Whether a path lies in one of the folders, as written and with all links followed."""
    written, real = Path(os.path.normpath(path)), path.resolve()
    return any(
        written.is_relative_to(root) and real.is_relative_to(root.resolve()) for root in roots
    )


def _in_package(rest: str, folders: list[Path], file: str, where: str) -> Path | None:
    package, _, inner = rest.lstrip("/").partition("/")
    if package in ("", ".", "..") or os.path.normpath(inner).startswith((os.pardir, os.sep)):
        raise RobotError(f"{where} climbs out of its package; such paths are refused", file=file)
    for folder in folders:
        homes = [folder / package] if folder.name != package else [folder / package, folder]
        for home in homes:
            path = home / os.path.normpath(inner)
            if not path.is_file():
                continue
            if not _contained(path, [home]):
                raise RobotError(
                    f"{where} is a link out of its package; such links are refused", file=file
                )
            return path
    return None


def _package_root(urdf: Path) -> Path:
    """The folder that holds package.xml, else the one above the folder of the URDF."""
    marked = (folder for folder in urdf.parents if (folder / "package.xml").is_file())
    return next(marked, urdf.parent.parent)
