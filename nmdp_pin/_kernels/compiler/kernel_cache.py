"""Files of compiled kernels, in a folder of the user's own.

A kernel contains the machine code of those that it calls. The kernels are therefore kept in a
folder whose name is a digest of the sources of all of them, of the versions of Python and Numba,
and of the target: the host with all its features, or what NUMBA_CPU_NAME and NUMBA_CPU_FEATURES
name, such as `x86-64-v3` and no feature, whose code runs on other hosts too. Where the sources are
plays no role: installations of equal ones share their kernels.

What is read is executed. A file is read only where nobody else can have written it, and used only
where the digest at its beginning, of its place and its content, is right; any other is compiled
anew and replaced.
"""

from __future__ import annotations

import functools
import hashlib
import logging
import os
import shutil
import stat
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import numba

SOURCES = Path(__file__).parents[1]
KEPT = 8  # folders of 3 to 20 MB each; those that were used last
_DIGEST = hashlib.sha256().digest_size  # [bytes]

Target = tuple[str, ...]
"""Triple, processor, and features that are used beside those that its name implies."""


def digest(sources: Path) -> str:
    """Digest of the names and contents of the Python files of a folder."""
    result = hashlib.sha256()
    for path in sorted(sources.rglob("*.py")):
        result.update(path.relative_to(sources).as_posix().encode())
        result.update(path.read_bytes())
    return result.hexdigest()


_IMPORTED = digest(SOURCES)


@functools.cache
def _key(target: Target) -> str:
    """Digest of all that the machine code of the kernels depends on."""
    python = sys.implementation.cache_tag, sys.abiflags
    return hashlib.sha256(repr((_IMPORTED, numba.__version__, python, target)).encode()).hexdigest()


def kernel_folder(target: Target) -> Path:
    """The folder of the kernels, in NUMBA_CACHE_DIR or the user's cache; it need not exist."""
    config: Any = numba.config  # whose attributes are set when it is imported
    given = os.environ.get("XDG_CACHE_HOME", "")
    user = Path(given) if os.path.isabs(given) else Path.home() / ".cache"
    root = Path(config.CACHE_DIR) if config.CACHE_DIR else user
    return root / "nmdp-pin" / ("" if config.CACHE_DIR else "kernels") / _key(target)[:16]


def read(target: Target, name: str) -> bytes | None:
    """The content of a file; None where there is none that may be used."""
    folder = kernel_folder(target)
    try:
        if not _is_own(folder.stat()):
            return None
        with (folder / name).open("rb") as file:
            content = file.read() if _is_own(os.fstat(file.fileno())) else b""
    except OSError:
        return None
    with suppress(OSError):
        os.utime(folder)  # used last
    found = content[_DIGEST:]
    return found if content[:_DIGEST] == _digest_of(target, name, found) else None


def write(target: Target, name: str, content: bytes) -> None:
    """Keep the content of a file, unless the sources have changed since they were imported."""
    folder = kernel_folder(target)
    try:
        if digest(SOURCES) != _IMPORTED:
            return
        _make(folder)
        if not _is_own(folder.stat()):
            raise PermissionError(0, "another user owns it or may write to it")
        handle, passing = tempfile.mkstemp(dir=folder)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(_digest_of(target, name, content) + content)
            os.replace(passing, folder / name)
        except OSError:
            os.unlink(passing)
            raise
    except OSError as error:
        _warn_once(folder, str(error.strerror))


def _is_own(status: os.stat_result) -> bool:
    """Whether nobody but the user, and root, can have written a file or to a folder."""
    others = stat.S_IWGRP | stat.S_IWOTH
    return status.st_uid == os.geteuid() and not status.st_mode & others


def _digest_of(target: Target, name: str, content: bytes) -> bytes:
    return hashlib.sha256(f"{_key(target)}/{name}\n".encode() + content).digest()


def _make(folder: Path) -> None:
    """Make a folder, and remove those beside it that were not used for longest."""
    if folder.exists():
        return
    for each in (*reversed(folder.parents), folder):
        each.mkdir(mode=0o700, exist_ok=True)
    with suppress(OSError):  # another process removes the same
        found = [(each.lstat(), each) for each in folder.parent.iterdir()]
        own = [(of.st_mtime, each) for of, each in found if of.st_uid == os.geteuid()]
        for _, old in sorted(own)[:-KEPT]:
            shutil.rmtree(old, ignore_errors=True)  # not what a link leads to


@functools.cache
def _warn_once(folder: Path, reason: str) -> None:
    """Log that nothing is kept in a folder."""
    logging.getLogger("nmdp_pin").warning(
        "nmdp-pin cannot keep kernels in %s: %s; each process compiles them anew, unless "
        "NUMBA_CACHE_DIR is a folder of your own",
        folder,
        reason,
    )
