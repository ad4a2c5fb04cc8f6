"""Sources of scenarios: TOML files, robots alone, and overrides from the command line."""

import os
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from nmdp_pin._files.input_file import DEEPEST, not_a_file, toml_value
from nmdp_pin._options import unknown
from nmdp_pin._robot import is_robot
from nmdp_pin.errors import ScenarioError

# Of a robot alone.
DURATION = 5.0  # [s]
STEP = 0.02  # [s]
STATIC_DEPTH = 0.001  # [m]
CLEARANCE = 0.01  # [m]

# Keys of which a table has one or another.
_EITHER = ({"stiffness", "static_depth"}, {"mass", "density"})


def bundled_scenarios() -> dict[str, str]:
    """Summary of each bundled scenario (the first line of its file), by name."""
    return {name: _summary(path) for name, path in sorted(_bundled_files().items())}


def find_scenario(source: str | os.PathLike[str]) -> Path:
    """Path of a bundled scenario, or of a file."""
    bundled = _bundled_files()
    text = os.fspath(source)
    if text in bundled:
        return bundled[text]
    path = Path(text)
    if os.path.isfile(path):
        return path
    if path.suffix == ".toml" or len(path.parts) > 1:
        raise ScenarioError(not_a_file(path), file=text)
    raise ScenarioError(
        f"{unknown(text, 'a bundled scenario', bundled)}; or give a .toml file, a robot's name "
        "(nmdp-pin robots), or a robot's file (.urdf, .xml, robot.toml)"
    )


def make_way(table: dict[str, Any], override: str, *, file: str = "") -> None:
    """Remove the keys of a table that stand for the same as the one that an override sets."""
    keys, _ = _parts(override)
    for place, entry in _places(table, keys, file):
        for names in _EITHER:
            if entry in names:
                for other in names - {entry}:
                    place.pop(other, None)


def apply_override(table: dict[str, Any], override: str, *, file: str = "") -> None:
    """Set one value of a table in place, such as by "terrain.shapes.0.friction=0.4".

    "*" stands for all entries of a list. The value is TOML; a single word needs no quotes.
    """
    keys, text = _parts(override)
    try:
        value = toml_value(text)
    except ValueError as error:
        raise ScenarioError(
            f"the value of the override '{override}' is no TOML: {error}"
        ) from error
    for place, entry in _places(table, keys, file):
        place[entry] = value


def _parts(override: str) -> tuple[list[str], str]:
    """The keys that lead to a value, and the text of the value."""
    path, equals, text = override.partition("=")
    keys = [key.strip() for key in path.split(".")]
    if not equals or not all(keys):
        raise ScenarioError(
            f"the override '{override}' must look like key.path=value, such as integrator.dt=0.01"
        )
    if len(keys) > DEEPEST:
        raise ScenarioError(f"the key of an override may have at most {DEEPEST} parts", key=keys[0])
    return keys, text.strip()


def _places(table: dict[str, Any], keys: Sequence[str], file: str) -> list[tuple[Any, str | int]]:
    """Tables or lists to which keys lead, with the last key; tables that are missing are made."""
    places: list[Any] = [table]
    for depth, key in enumerate(keys, 1):
        try:
            entries = [(place, entry) for place in places for entry in _entries(place, key)]
        except KeyError as error:
            sentence = error.args[0].format(above=".".join(keys[: depth - 1]))
            raise ScenarioError(sentence, file=file, key=".".join(keys[:depth])) from None
        if depth == len(keys):
            return entries
        places = [
            place.setdefault(entry, {}) if isinstance(place, dict) else place[entry]
            for place, entry in entries
        ]
    return []


def _entries(place: Any, key: str) -> Sequence[str | int]:
    """Keys or numbers of the entries for which a part of a path stands."""
    if key == "*":
        if isinstance(place, list) and place:
            return range(len(place))
        raise KeyError("'*' stands for the entries of a list, but '{above}' is none")
    if isinstance(place, dict):
        return [key]
    if not isinstance(place, list):
        raise KeyError("cannot be set, because '{above}' is neither a table nor a list")
    if not key.isdecimal() or int(key) >= len(place):
        raise KeyError(f"'{key}' is not an entry of this list; allowed: 0 to {len(place) - 1}")
    return [int(key)]


def _bundled_files() -> dict[str, Path]:
    """Paths of the bundled scenarios by name."""
    folder = Path(str(resources.files("nmdp_pin.scenarios")))
    return {path.stem: path for path in folder.glob("*.toml")}


def _summary(path: Path) -> str:
    """The comment in the first line of a scenario file."""
    with path.open(encoding="utf-8") as file:
        return file.readline().lstrip("#").strip()


def robot_table(source: str | os.PathLike[str]) -> dict[str, Any] | None:
    """Table of a scenario that has only a robot; None for other sources.

    The height of its ground is left to `ground_below`.
    """
    if not is_robot(source):
        return None
    text = os.fspath(source)
    named = Path(text).name == text and not Path(text).suffix
    described = {"urdf": os.path.abspath(os.path.expanduser(text))}
    bare = {} if text.endswith(".toml") else {"scene": True}
    return {
        "duration": DURATION,
        "robot": {"name": text} if named else described | bare,
        "terrain": {"shapes": [{"kind": "plane"}]},
        "contact": {"static_depth": STATIC_DEPTH},
        "integrator": {"dt": STEP},
        "controller": {"kind": "hold"},
    }


def ground_below(lowest: float) -> float:
    """Height of the ground of a robot alone whose lowest contact point starts at `lowest` [m].

    An arm that hangs from its fixed base gets its ground below it.
    """
    return lowest - CLEARANCE if lowest < -STATIC_DEPTH else 0.0
