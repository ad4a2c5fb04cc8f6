"""Meshes from strangers, read in a child process first: a bad one ends the child, not the caller.

Mesh libraries allocate what a file asks for, and crash on some. What lies in the Python environment
(example-robot-data) is as trusted as its code, and is read at once.
"""

from __future__ import annotations

import functools
import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pinocchio as pin

from nmdp_pin.errors import RobotError

MEMORY = 2 << 30  # [bytes], address space of the child
SECONDS = 60  # of its CPU time
# coal alone is loaded, by the way that pinocchio takes.
_CHILD = f"""
import json, resource, sys
import coal, numpy
resource.setrlimit(resource.RLIMIT_AS, ({MEMORY}, {MEMORY}))
resource.setrlimit(resource.RLIMIT_CPU, ({SECONDS}, {SECONDS}))
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
for path in json.load(sys.stdin):
    try:
        mesh = coal.MeshLoader().load(path, numpy.ones(3))
        print(json.dumps("" if mesh.num_vertices else "holds no vertices"), flush=True)
    except Exception as error:
        said = str(error).partition("message:")[2] or str(error) or type(error).__name__
        print(json.dumps(" ".join(said.split())), flush=True)
"""
_ENVIRONMENT = Path(pin.__file__).resolve().parents[4]


def try_meshes(paths: Iterable[Path], file: str) -> None:
    """Read meshes in a child process with limits.

    Args:
        paths: paths of the meshes.
        file: the description that names them.

    Raises:
        RobotError: the first that cannot be read, within the limits.
    """
    unknown = []
    for path in dict.fromkeys(path.resolve() for path in paths):
        if not path.is_relative_to(_ENVIRONMENT):
            status = path.stat()
            unknown.append((str(path), status.st_size, status.st_mtime_ns))
    if not unknown:
        return
    for (name, *_), problem in zip(unknown, _problems(tuple(unknown)), strict=True):
        if problem:
            raise RobotError(f"mesh {name} cannot be read: {problem}", file=file)


@functools.lru_cache(maxsize=64)
def _problems(meshes: tuple[tuple[str, int, int], ...]) -> tuple[str, ...]:
    """Problem of each mesh, up to the first bad one; empty for good meshes.

    Args:
        meshes: path, size and time of change of each.
    """
    paths = [path for path, _, _ in meshes]
    try:
        child = subprocess.run(
            [sys.executable, "-c", _CHILD],
            input=json.dumps(paths),
            capture_output=True,
            text=True,
            check=False,
            timeout=10 * SECONDS,
        )
        said = [str(json.loads(line)) for line in child.stdout.splitlines()]
    except subprocess.TimeoutExpired:
        said = []
    limits = f"{MEMORY >> 30} GiB of memory and {SECONDS} s"
    said += [f"it takes more than {limits}, or makes the mesh library crash"]
    return tuple((said + [""] * len(paths))[: len(paths)])
