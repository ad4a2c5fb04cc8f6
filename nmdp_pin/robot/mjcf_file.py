"""An MJCF file as MuJoCo compiles it, in a child process: a bad one ends the child alone."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from nmdp_pin.errors import MissingExtra, RobotError
from nmdp_pin.robot.mesh_files import inside_package
from nmdp_pin.robot.mesh_trial import MEMORY, SECONDS
from nmdp_pin.robot.xml_file import read_xml

_COMPILED = "model.mjb"
_CHILD = f"""
import resource, sys
import mujoco
resource.setrlimit(resource.RLIMIT_AS, ({MEMORY}, {MEMORY}))
resource.setrlimit(resource.RLIMIT_CPU, ({SECONDS}, {SECONDS}))
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
try:
    model = mujoco.MjModel.from_xml_string(sys.stdin.buffer.read().decode())
    mujoco.mj_saveModel(model, "{_COMPILED}", None)
except Exception as error:
    sys.stdout.buffer.write(str(error).encode(errors="replace") or b"without a message")
"""
# Lines of what was rewritten, not of the file.
_LINE = re.compile(r",? *\bline \d+(, column \d+)?")


def compile_mjcf(path: Path, package_dirs: Sequence[Path]) -> Any:
    """MuJoCo's model (`mujoco.MjModel`) of an MJCF file, without its textures and skins.

    Args:
        path: the file.
        package_dirs: folders in which its files may lie, besides its package.

    Raises:
        RobotError: it cannot be read, reads files outside its package, or MuJoCo refuses it.
        MissingExtra: mujoco is not installed.
    """
    if find_spec("mujoco") is None:
        raise MissingExtra("mujoco", "mjcf")
    root = _whole(path, package_dirs)
    _place_files(root, path, package_dirs)
    with tempfile.TemporaryDirectory(prefix="nmdp-mjcf-") as folder:
        try:
            child = subprocess.run(
                [sys.executable, "-c", _CHILD],
                cwd=folder,  # MuJoCo writes a log there
                input=ET.tostring(root, encoding="utf-8"),
                capture_output=True,
                check=False,
                timeout=10 * SECONDS,
            )
            said = child.stdout.decode(errors="replace")
        except subprocess.TimeoutExpired:
            said = ""
        if said:
            said = " ".join(_LINE.sub("", said).split())
            raise RobotError(f"MuJoCo refuses it: {said}", file=str(path))
        compiled = Path(folder) / _COMPILED
        if not compiled.exists():
            limits = f"{MEMORY >> 30} GiB of memory and {SECONDS} s"
            raise RobotError(f"takes more than {limits}, or makes MuJoCo crash", file=str(path))
        return importlib.import_module("mujoco").MjModel.from_binary_path(str(compiled))


def _whole(path: Path, package_dirs: Sequence[Path]) -> ET.Element:
    """The file with those that it includes, whose paths are relative to it."""
    root, seen = read_xml(path), {path.resolve()}
    if root.tag != "mujoco":
        raise RobotError(
            f"starts with <{root.tag}>; an MJCF file starts with <mujoco>", file=str(path)
        )

    def include(parent: ET.Element) -> None:
        for child in list(parent):
            if child.tag == "include":
                found = _file(path, Path(), child, package_dirs)
                if found.resolve() in seen:
                    raise RobotError("is included twice", file=str(path), element=str(found))
                seen.add(found.resolve())
                more = read_xml(found)
                include(more)
                place = list(parent).index(child)
                parent[place : place + 1] = list(more)
            else:
                include(child)

    include(root)
    return root


def _place_files(root: ET.Element, path: Path, package_dirs: Sequence[Path]) -> None:
    """Give meshes and height fields their whole paths, and remove what it only looks like.

    Raises:
        RobotError: a file that is missing or outside the package, or an element that reads another.
    """
    settings: dict[str, str] = {}
    for compiler in root.iterfind("compiler"):
        settings |= compiler.attrib
        for key in ("assetdir", "meshdir", "strippath"):
            compiler.attrib.pop(key, None)
    for size in root.iterfind("size"):  # of the memory of MuJoCo's simulations
        for key in ("memory", "njmax", "nconmax", "nstack"):
            size.attrib.pop(key, None)
    folder = Path(settings.get("meshdir", settings.get("assetdir", "")))
    for part in (*root.findall("asset"), *root.findall("deformable")):
        for element in [e for e in part if e.tag in ("texture", "skin")]:
            part.remove(element)
    for material in root.iter("material"):
        material.attrib.pop("texture", None)
        for layer in material.findall("layer"):
            material.remove(layer)
    for element in root.iter():
        if not any(key.startswith("file") for key in element.attrib):
            continue
        if element.tag not in ("mesh", "hfield"):
            raise RobotError(
                f"<{element.tag}> reads another file, which is not supported; put the files "
                "together first",
                file=str(path),
                element=element.get("name", ""),
            )
        name = element.get("file", "")
        if settings.get("strippath") == "true":
            element.set("file", re.split(r"[/\\]", name)[-1])
        element.set("name", element.get("name") or Path(name).stem)
        element.set("file", str(_file(path, folder, element, package_dirs).resolve()))


def _file(path: Path, folder: Path, element: ET.Element, package_dirs: Sequence[Path]) -> Path:
    """The file that an element names.

    Raises:
        RobotError: it is missing, or outside the package.
    """
    name = element.get("file", "")
    where = f"{element.tag} '{name}'"
    try:
        found = inside_package(path, folder / name, where, package_dirs)
    except (OSError, ValueError):  # a name that the system refuses
        found = None
    if found is None:
        raise RobotError("was not found", file=str(path), element=where)
    return found
