"""JSON text, of limited depth where it is read."""

from __future__ import annotations

import json
from typing import Any

from nmdp_pin.errors import RecordingError

DEEPEST = 32
"""Largest depth of lists and dictionaries in one another that is read."""


def to_json(value: Any) -> str:
    """JSON text of a value.

    Raises:
        RecordingError: it is not JSON data.
    """
    try:
        return json.dumps(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise RecordingError(
            f"the meta data of a recording must be JSON data (numbers, strings, lists, "
            f"dictionaries): {error}"
        ) from error


def from_json(text: str | bytes) -> Any:
    """Value of a JSON text.

    Raises:
        ValueError: it is not JSON, or nested more deeply than `DEEPEST`.
    """
    try:
        value = json.loads(text)
    except RecursionError as error:
        raise ValueError(f"it is nested more deeply than {DEEPEST}") from error
    level = [value]
    for _ in range(DEEPEST + 1):
        lists = [entry for entry in level if isinstance(entry, dict | list)]
        if not lists:
            return value
        level = [v for each in lists for v in (each.values() if isinstance(each, dict) else each)]
    raise ValueError(f"it is nested more deeply than {DEEPEST}")
