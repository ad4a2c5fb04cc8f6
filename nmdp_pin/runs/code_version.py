"""A fingerprint of what a run is computed with, so that old results are not taken for new ones."""

from __future__ import annotations

import ast
import functools
import hashlib
from collections.abc import Iterator
from importlib import metadata, resources
from pathlib import Path

# They draw, report, write and plan: no number depends on them. Robots are read below, and the
# scenario of a run is kept with it.
_APART = frozenset(
    {
        "cli",
        "viz",
        "experiments",
        "robots",
        "scenarios",
        "sweep",
        "files",
        "parallel.py",
        "ray_cluster.py",
        "rollout.py",
        "errors.py",
        "__main__.py",
    }
)
_PACKAGES = ("pin", "coal", "proxsuite", "daqp", "numpy", "scipy")


@functools.cache
def code_version() -> str:
    """Fingerprint of the package: code, robots, and numerical dependencies.

    Comments, docstrings and layout do not count.
    """
    digest = hashlib.sha256()
    for name in _PACKAGES:
        digest.update(f"{name} {_version(name)}\n".encode())
    for name, content in _sources():
        digest.update(f"{name} {len(content)}\n".encode() + content)
    return digest.hexdigest()[:16]


def _sources() -> Iterator[tuple[str, bytes]]:
    """Names and contents of all files that a run depends on, in a fixed order."""
    package = Path(str(resources.files("nmdp_pin")))
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package).parts
        if parts[0] not in _APART:
            yield "/".join(parts), _bare(path.read_text(encoding="utf-8")).encode()
    robots = Path(str(resources.files("nmdp_pin.robots")))
    for path in sorted([*robots.rglob("*.toml"), *robots.rglob("*.urdf")]):
        yield path.relative_to(robots).as_posix(), path.read_bytes()


def _bare(source: str) -> str:
    """Python code without comments, docstrings and layout."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            continue
        if ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:]
    return ast.unparse(tree)


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "absent"
