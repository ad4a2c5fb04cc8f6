"""TOML text, from files and from the command line."""

from __future__ import annotations

import os
import tomllib
from typing import Any

from nmdp_pin.errors import RobotError, ScenarioError
from nmdp_pin.files.input_file import read_text

_LARGEST = 2**24  # [bytes]


def from_toml(text: str) -> dict[str, Any]:
    """Tables of a TOML text.

    Raises:
        ValueError: it is not TOML, or nested too deeply.
    """
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def read_toml(
    path: str | os.PathLike[str], what: str, *, error: type[RobotError] | type[ScenarioError]
) -> dict[str, Any]:
    """Tables of a TOML file.

    Args:
        path: path of the file.
        what: it should be, for messages.
        error: type of the error.

    Raises:
        RobotError, ScenarioError: as `error` says: it cannot be read or is not TOML; the message
            gives the line.
    """
    text = read_text(path, what, largest=_LARGEST, error=error)
    try:
        return from_toml(text)
    except ValueError as cause:
        raise error(f"is not valid TOML: {cause}", file=os.fspath(path)) from cause
