"""Planned runs: a scenario, and the key under which the run is stored."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nmdp_pin.runs.code_version import code_version


@dataclass(frozen=True, eq=False)
class PlannedRun:
    """Planned run.

    Args:
        name: name in messages and of the file of the recording.
        scenario: scenario with all defaults, as JSON data.
        repeat: index among equal runs that are made to compare processor times; 0: a single run,
            whose recording has wall times.
    """

    name: str
    scenario: dict[str, Any]
    repeat: int = 0

    @functools.cached_property
    def scenario_hash(self) -> str:
        """Digest of the scenario and of its files."""
        texts = {value for _, value in leaves("", self.scenario) if isinstance(value, str)}
        paths = sorted(text for text in texts if Path(text).is_absolute())
        files = {text: _file_digest(Path(text)) for text in paths if Path(text).is_file()}
        content = json.dumps([self.scenario, files], sort_keys=True)
        return hashlib.sha256(content.encode()).hexdigest()[:16]

    @property
    def key(self) -> str:
        """Key of the run: scenario, code, and its index among equal runs."""
        return f"{self.scenario_hash}-{code_version()}-{self.repeat}"


def leaves(where: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Dotted keys of JSON data with their values."""
    if not isinstance(value, dict | list):
        yield where, value
        return
    entries = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in entries:
        yield from leaves(f"{where}.{key}".lstrip("."), inner)


def _file_digest(path: Path) -> str:
    found = path.stat()
    return _digest_of(path, found.st_mtime_ns, found.st_size)


@functools.lru_cache(maxsize=1024)
def _digest_of(path: Path, changed: int, size: int) -> str:
    """Digest of a file's content; read anew where the file was changed."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]
