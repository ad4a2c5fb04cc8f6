"""Files of compiled kernels: those that a wheel carries, and others in a folder of the user's own.

A kernel contains the machine code of those that it calls. The kernels are therefore kept in a
folder whose name is a digest of the sources of all of them, of the versions of Python and Numba,
and of the target; see `target_of`. Where the sources are plays no role: installations of equal ones
share their kernels.

What is read is executed. A file of the user's is read only where nobody else can have written it,
one of a wheel only where nobody can but who can write the sources beside it, and each is used only
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

from nmdp_pin._kernels.compiler.processor import Target

SOURCES = Path(__file__).parents[1]
SHIPPED = SOURCES / "compiled"  # which `tools/wheel.py` fills
KEPT = 8  # folders of 3 to 20 MB each; those that were used last
_DIGEST = hashlib.sha256().digest_size  # [bytes]
_OTHERS = stat.S_IWGRP | stat.S_IWOTH


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
    sources = SOURCES.stat()
    shipped = _content(SHIPPED / _key(target)[:16] / name, sources.st_uid, ~sources.st_mode)
    if (found := _checked(target, name, shipped)) is not None:
        return found
    folder = kernel_folder(target)
    with suppress(OSError):
        os.utime(folder)  # used last
    return _checked(target, name, _content(folder / name, os.geteuid()))


def _content(path: Path, owner: int, others: int = _OTHERS) -> bytes:
    """The content of a file; none where more than its owner can have written it.

    Args:
        path: the file.
        owner: who may own the file and its folder.
        others: bits of modes of which neither may have those that let others write.
    """
    try:
        if not _is_safe(path.parent.stat(), owner, others):
            return b""
        with path.open("rb") as file:
            return file.read() if _is_safe(os.fstat(file.fileno()), owner, others) else b""
    except OSError:
        return b""


def _is_safe(status: os.stat_result, owner: int, others: int = _OTHERS) -> bool:
    """Whether nobody but an owner, and root, can have written a file or to a folder."""
    return status.st_uid == owner and not status.st_mode & others & _OTHERS


def _checked(target: Target, name: str, content: bytes) -> bytes | None:
    """What a file keeps, if the digest before it is right."""
    found = content[_DIGEST:]
    return found if content[:_DIGEST] == _digest_of(target, name, found) else None


def write(target: Target, name: str, content: bytes) -> None:
    """Keep the content of a file, unless the sources have changed since they were imported."""
    folder = kernel_folder(target)
    try:
        if digest(SOURCES) != _IMPORTED:
            return
        _make(folder)
        if not _is_safe(folder.stat(), os.geteuid()):
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
def announce() -> None:
    """Log, once, that what is not kept is compiled, which takes long."""
    logging.getLogger("nmdp_pin").warning(
        "nmdp-pin compiles the kernels of a method, once per installation; this takes up to a "
        "minute"
    )


@functools.cache
def _warn_once(folder: Path, reason: str) -> None:
    """Log that nothing is kept in a folder."""
    logging.getLogger("nmdp_pin").warning(
        "nmdp-pin cannot keep kernels in %s: %s; each process compiles them anew, unless "
        "NUMBA_CACHE_DIR is a folder of your own",
        folder,
        reason,
    )
