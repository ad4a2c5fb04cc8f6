"""Planned runs, and the store of finished ones: a journal of their summaries."""

import ast
import functools
import hashlib
import json
from collections.abc import Iterator
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from nmdp_pin._files.input_file import from_json
from nmdp_pin._files.journal import Journal
from nmdp_pin._runs.recorder import version_of

# They draw, report, write and plan: no number depends on them. Robots are read below, and the
# scenario of a run is kept with it.
_APART = {"_cli", "viz", "robots", "scenarios", "_sweep", "_files", "__main__.py", "papers"}
_APART |= {"errors.py", "_parallel", "rollout.py", "adapters", "testing"}
_PACKAGES = ("pin", "coal", "proxsuite", "daqp", "numpy", "scipy")
Summary = dict[str, Any]
"""What is kept of a run; see `nmdp_pin._runs.run_many.summary`."""


@dataclass(frozen=True, eq=False)
class PlannedRun:
    """Planned run, one of several equal ones where processor times are compared."""

    name: str  # in messages and of the file of the recording
    scenario: dict[str, Any]  # with all defaults, as JSON data
    repeat: int = 0  # index among equal runs; 0: a single run, whose recording has wall times

    @functools.cached_property
    def scenario_hash(self) -> str:
        """Digest of the scenario and of its files."""
        texts = {value for _, value in leaves("", self.scenario) if isinstance(value, str)}
        paths = [Path(text) for text in sorted(texts) if Path(text).is_absolute()]
        files = {str(path): _file_digest(path) for path in paths if path.is_file()}
        return _short(json.dumps([self.scenario, files], sort_keys=True).encode())

    @property
    def key(self) -> str:
        """Key of the run: scenario, code, and its index among equal runs."""
        return f"{self.scenario_hash}-{code_version()}-{self.repeat}"


@functools.cache
def code_version() -> str:
    """Fingerprint of the package: code, robots, and numerical dependencies.

    Old results are not taken for those of other code. Comments, docstrings and layout do not count.
    """
    parts = [(name, version_of(name).encode()) for name in _PACKAGES]
    package = Path(str(resources.files("nmdp_pin")))
    for path in sorted(package.rglob("*.py")):
        names = path.relative_to(package).parts
        if names[0] not in _APART or names[:2] == ("papers", "methods"):
            parts.append(("/".join(names), _bare(path.read_text(encoding="utf-8")).encode()))
    robots = Path(str(resources.files("nmdp_pin.robots")))
    for path in sorted([*robots.rglob("*.toml"), *robots.rglob("*.urdf")]):
        parts.append((path.relative_to(robots).as_posix(), path.read_bytes()))
    return _short(b"".join(f"{name} {len(text)}\n".encode() + text for name, text in parts))


def leaves(where: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Dotted keys of JSON data with their values."""
    if not isinstance(value, dict | list):
        yield where, value
        return
    entries = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in entries:
        yield from leaves(f"{where}.{key}".lstrip("."), inner)


def _bare(source: str) -> str:
    """Syntax tree of Python code, without docstrings."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            node.body = [line for line in node.body if not _is_text(line)]
    return ast.dump(tree)


def _is_text(line: ast.stmt) -> bool:
    return isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant)


def _file_digest(path: Path) -> str:
    found = path.stat()
    return _digest_of(path, found.st_mtime_ns, found.st_size)


@functools.lru_cache(maxsize=1024)
def _digest_of(path: Path, changed: int, size: int) -> str:
    """Digest of a file's content; read anew where the file was changed."""
    return _short(path.read_bytes())


def _short(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


class RunStore(AbstractContextManager["RunStore"]):
    """Finished runs by scenario and code, written by one process at a time.

    Runs with a missing or damaged recording are not found. Runs that were kept survive any
    interruption. Without a folder no recordings are kept.
    """

    def __init__(self, path: Path, *, folder: Path | None = None) -> None:
        self.folder = folder
        self._journal = Journal(path)
        self._summaries: dict[str, Summary] = {}
        for chunk in self._journal.chunks:
            with suppress(ValueError, TypeError):
                self._summaries |= {key: dict(kept) for key, kept in dict(from_json(chunk)).items()}

    def find(self, run: PlannedRun) -> Summary | None:
        """Summary of a run; None if it has to be made."""
        found = self._summaries.get(run.key)
        if found is None or self.folder is None:
            return found
        kept = recording_digest(self.folder / recording_name(run))
        return found if kept is not None and found.get("recording") == kept else None

    def keep(self, run: PlannedRun, summary: Summary) -> None:
        """Write the summary of a run to disk."""
        self._journal.append(json.dumps({run.key: summary}).encode())
        self._summaries[run.key] = summary

    def close(self) -> None:
        """Close the journal; an empty one is removed."""
        self._journal.close(remove=self._journal.empty)

    def __exit__(self, *error: object) -> None:
        self.close()


def recording_name(run: PlannedRun) -> str:
    """Name of the file in which a store keeps the recording of a run."""
    return f"{run.name}.npz"


def recording_digest(path: Path) -> str | None:
    """Digest of a recording's file; None where there is none."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None
