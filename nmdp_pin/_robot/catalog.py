"""Sources of robots: bundled ones, example-robot-data, and files."""

import difflib
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from nmdp_pin._options import check_part, check_parts
from nmdp_pin._robot.settings import RobotSettings, read_settings
from nmdp_pin._robot.urdf import has_mass, is_held, read_urdf
from nmdp_pin.errors import RobotError

# A name, or the path of a .urdf, an MJCF file or a robot.toml.
RobotSource = str | os.PathLike[str]
SETTINGS_FILE = "robot.toml"
# Endings of files in MuJoCo's format; all others are read as URDF.
MJCF = (".xml", ".mjcf")
# Descriptions that cannot be read, and what to do.
_UNREADABLE = {
    ".sdf": "is an SDF file, which this build of pinocchio has no parser for; convert it to URDF",
    ".xacro": "is a xacro file; run xacro on it first: xacro robot.urdf.xacro > robot.urdf",
}
_DESCRIPTIONS = (".urdf", *MJCF, *_UNREADABLE)
# Entries of example-robot-data that move only some joints of their URDF; the others are locked.
_MOVING = {
    "talos_legs": [f"leg_{side}_{k}_joint" for side in ("left", "right") for k in range(1, 7)]
}
_BUNDLED = Path(str(resources.files("nmdp_pin.robots")))


@dataclass(frozen=True, eq=False)
class RobotFiles:
    """Files of a robot."""

    name: str  # in scenarios; empty for a bare file, which names itself
    urdf: Path  # or the MJCF file
    settings: RobotSettings  # of the robot.toml, or the defaults of a foreign robot
    settings_file: str = ""  # the robot.toml; foreign robots have none
    package_dirs: tuple[Path, ...] = ()
    srdf: Path | None = None  # None: neither is given
    posture: str = ""  # in the SRDF, the standing one
    base_rotation: np.ndarray = field(default_factory=lambda: np.eye(3))  # of the root link


def bundled_robots() -> list[str]:
    """Names of the bundled robots."""
    return sorted(entry.parent.name for entry in _BUNDLED.glob(f"*/{SETTINGS_FILE}"))


def example_robots() -> list[str]:
    """Names of the robots of example-robot-data that are described in URDF."""
    return sorted(name for name, entry in _example_table().items() if not entry.sdf_filename)


def is_robot(source: RobotSource) -> bool:
    """Whether a text is the name of a robot or looks like the path of its description."""
    check_part("a robot", source, (str, os.PathLike), RobotError)
    text = os.fspath(source)
    named = text in bundled_robots() or text in _example_table()
    return named or Path(text).name == SETTINGS_FILE or text.endswith(_DESCRIPTIONS)


def is_mjcf(source: RobotSource) -> bool:
    """Whether a source is an MJCF file."""
    return Path(os.fspath(source)).suffix in MJCF


def stands_at_zero(source: RobotSource, base: str | None = None) -> bool:
    """Whether a robot, before it is loaded, is known to stand with its lowest point at z = 0.

    A foreign robot with a base that moves is put there. A URDF has one by default, if its root link
    is not held and has a mass.
    """
    files = find_robot(source)
    if files.settings_file or base is not None:
        return not files.settings_file and base != "fixed"
    if files.settings.base == "fixed" or files.urdf.suffix != ".urdf":
        return False
    root = read_urdf(files.urdf)
    return has_mass(root) and not is_held(root)


def find_robot(
    source: RobotSource,
    *,
    variant: str | None = None,
    package_dirs: Sequence[str | os.PathLike[str]] = (),
) -> RobotFiles:
    """Find the files of a robot."""
    check_part("a robot", source, (str, os.PathLike), RobotError)
    folders = check_parts("package_dirs", package_dirs, (str, os.PathLike), RobotError)
    dirs = tuple(Path(folder) for folder in folders)
    text = os.fspath(source)
    path = Path(os.path.expanduser(text))
    known = [*bundled_robots(), *example_robots()]
    if isinstance(source, str) and text in known[: len(bundled_robots())]:
        path = _BUNDLED / text / SETTINGS_FILE
    elif isinstance(source, str) and text in _example_table():
        files = _from_example(text, dirs)
    elif path.suffix in _UNREADABLE:
        raise RobotError(_UNREADABLE[path.suffix], file=text)
    elif isinstance(source, str) and not path.suffix and os.sep not in text:
        close = difflib.get_close_matches(text, known, n=3, cutoff=0.5)
        hint = f" Did you mean {' or '.join(close)}?" if close else ""
        raise RobotError(
            f"unknown robot '{text}'.{hint} Bundled: {', '.join(bundled_robots())}. "
            f"Of example-robot-data: {', '.join(example_robots())}. "
            "Or give the path of a .urdf file."
        )
    else:
        files = RobotFiles("", path, RobotSettings(), package_dirs=dirs)
    check_part("variant", variant or "", str, RobotError)
    if path.suffix == ".toml":
        settings, name = read_settings(path), path.parent.name
        urdf = path.parent / settings.variants.get(variant or "", settings.urdf)
        files = RobotFiles(name, urdf, settings, str(path), dirs)
    if variant is not None and variant not in files.settings.variants:
        name, allowed = files.name or text, ", ".join(sorted(files.settings.variants)) or "none"
        raise RobotError(f"unknown variant '{variant}' of {name}; known: {allowed}", file=name)
    return files


def _example_table() -> dict[str, Any]:
    from example_robot_data.robots_loader import ROBOTS

    return dict(ROBOTS)


def _from_example(name: str, dirs: tuple[Path, ...]) -> RobotFiles:
    """Files of an entry of example-robot-data, from its table.

    Its loader builds every mesh and prints; the table is enough.
    """
    from example_robot_data.utils import getModelPath

    entry = _example_table()[name]
    if entry.sdf_filename:
        what = (
            f"is described by an SDF file ({entry.sdf_filename}), and only URDF and MJCF are read"
        )
        raise RobotError(what, file=name)
    folder = Path(getModelPath(entry.path)).resolve()
    srdf = folder / entry.path / entry.srdf_subpath / entry.srdf_filename
    return RobotFiles(
        name,
        folder / entry.path / entry.urdf_subpath / entry.urdf_filename,
        RobotSettings(base="free-flyer" if entry.free_flyer else "fixed", driven=_MOVING.get(name)),
        package_dirs=(*dirs, folder.parent.parent),
        srdf=srdf if entry.srdf_filename else None,
        posture=entry.ref_posture or "",
        base_rotation=np.array(getattr(entry, "freeflyer_ori", np.eye(3)), dtype=float),
    )
