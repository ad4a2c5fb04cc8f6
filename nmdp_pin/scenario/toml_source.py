"""Sources of scenarios: bundled and other TOML files, with overrides from the command line."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from nmdp_pin.errors import ScenarioError
from nmdp_pin.files.input_file import from_toml, not_a_file
from nmdp_pin.options import unknown

_WORD = re.compile(r"[A-Za-z./~][\w./~-]*")  # what an override may hold without quotes


def bundled_scenarios() -> dict[str, str]:
    """Summary of each bundled scenario (the first line of its file), by name."""
    return {name: _summary(path) for name, path in sorted(_bundled_files().items())}


def find_scenario(source: str | os.PathLike[str]) -> Path:
    """Path of a bundled scenario, or of a file.

    Raises:
        ScenarioError: the source is neither a bundled name nor a file.
    """
    bundled = _bundled_files()
    text = os.fspath(source)
    if text in bundled:
        return bundled[text]
    path = Path(text)
    if path.is_file():
        return path
    if path.suffix == ".toml" or len(path.parts) > 1:
        raise ScenarioError(not_a_file(path), file=text)
    raise ScenarioError(
        f"{unknown(text, 'a bundled scenario', bundled)}; or give a .toml file, a robot's name "
        "(nmdp-pin robots), or a robot's file (.urdf, .xml, robot.toml)"
    )


def apply_override(table: dict[str, Any], override: str, *, file: str = "") -> None:
    """Set one value of a table in place.

    Args:
        table: content of a scenario file.
        override: such as "integrator.dt=0.01" or "terrain.shapes.0.friction=0.4"; "*" stands for
            all entries of a list. The value is TOML; a single word needs no quotes.
        file: name of the file in messages.

    Raises:
        ScenarioError: "=" is missing, the value is no TOML, or the path leads through something
            other than tables and lists.
    """
    path, equals, text = override.partition("=")
    keys = [key.strip() for key in path.split(".")]
    if not equals or not all(keys):
        raise ScenarioError(
            f"the override '{override}' must look like key.path=value, such as integrator.dt=0.01"
        )
    value = _toml_value(text.strip(), override)
    places: list[Any] = [table]
    for depth, key in enumerate(keys):
        where = ".".join(keys[: depth + 1])
        last = depth == len(keys) - 1
        places = [
            inner for place in places for inner in _entered(place, key, value, last, file, where)
        ]


def _entered(place: Any, key: str, value: Any, last: bool, file: str, where: str) -> Sequence[Any]:
    """Entry of a key of an override; set to the value where the path ends."""
    above = where.rpartition(".")[0]
    if key == "*":
        if not isinstance(place, list) or not place:
            raise ScenarioError(
                f"'*' stands for the entries of a list, but '{above}' is none",
                file=file,
                key=where,
            )
        return [_list_entry(place, str(k), value, last, file, where) for k in range(len(place))]
    if isinstance(place, list):
        return [_list_entry(place, key, value, last, file, where)]
    if not isinstance(place, dict):
        raise ScenarioError(
            f"cannot be set, because '{above}' is neither a table nor a list",
            file=file,
            key=where,
        )
    if last:
        place[key] = value
    return [place.setdefault(key, {})]


def _list_entry(place: list[Any], key: str, value: Any, last: bool, file: str, where: str) -> Any:
    """Entry of a list by its number, set to the value where the path ends."""
    if not key.isdecimal() or int(key) >= len(place):
        raise ScenarioError(
            f"'{key}' is not an entry of this list; allowed: 0 to {len(place) - 1}",
            file=file,
            key=where,
        )
    if last:
        place[int(key)] = value
    return place[int(key)]


def _toml_value(text: str, override: str) -> Any:
    """The value of an override."""
    try:
        parsed = from_toml(f"value = {text}")
    except ValueError as error:
        if _WORD.fullmatch(text):
            return text
        raise ScenarioError(
            f"the value of the override '{override}' is not TOML: {error}"
        ) from error
    if list(parsed) != ["value"]:
        raise ScenarioError(f"the override '{override}' must hold one value")
    return parsed["value"]


def _bundled_files() -> dict[str, Path]:
    """Paths of the bundled scenarios by name."""
    folder = Path(str(resources.files("nmdp_pin.scenarios")))
    return {path.stem: path for path in folder.glob("*.toml")}


def _summary(path: Path) -> str:
    """The comment in the first line of a scenario file."""
    with path.open(encoding="utf-8") as file:
        return file.readline().lstrip("#").strip()
