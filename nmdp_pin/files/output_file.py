"""Output files, written whole or not at all."""

from __future__ import annotations

import fcntl
import glob
import os
import secrets
import stat
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

from nmdp_pin.errors import RecordingError

_STALE = 60.0  # [s] a scratch file without a writer is left by a process that was killed


def check_writable(path: str | os.PathLike[str], *, replace: bool = True) -> None:
    """Check that a file can be written at `path`, before hours of work depend on it.

    Leaves nothing behind and does not touch a file that is already there.

    Args:
        path: where the file is to be written.
        replace: whether a file that is already there may be replaced.

    Raises:
        RecordingError: the folder does not exist or cannot be written to, `path` is a folder or
            a device, or there is a file already.
    """
    target = _target(path, replace)
    scratch = _scratch_path(target)
    try:
        # Asking the file system is the only sure test: permission bits do not tell of a
        # read-only mount, and mean nothing to the superuser.
        with scratch.open("xb"):
            pass
        scratch.unlink()
    except OSError as error:
        raise RecordingError(f"cannot write {path}: {error.strerror or error}") from error


def write_whole(
    path: str | os.PathLike[str], write: Callable[[BinaryIO], Any], *, replace: bool = True
) -> None:
    """Write a file atomically.

    The bytes go to a scratch file beside `path`, which takes its name at the end. A symbolic link
    stays, and the file that it leads to is replaced; a file that is replaced keeps its mode.

    Args:
        path: the file to write.
        write: writes the content to the open binary file that it is given.
        replace: whether a file that is already there may be replaced.

    Raises:
        RecordingError: as `check_writable`, or the disk is full.
    """
    target = _target(path, replace)
    _remove_stale(target)
    scratch = _scratch_path(target)
    try:
        with scratch.open("xb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)  # tells `_remove_stale` that it is in use
            if target.exists():
                os.fchmod(file.fileno(), stat.S_IMODE(target.stat().st_mode))
            write(file)
            file.flush()
            os.fsync(file.fileno())
            os.replace(scratch, target)
    except OSError as error:
        raise RecordingError(f"cannot write {path}: {error.strerror or error}") from error
    finally:
        scratch.unlink(missing_ok=True)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text in UTF-8, as `write_whole` does.

    Raises:
        RecordingError: the folder does not exist or cannot be written to, or the disk is full.
    """
    write_whole(path, lambda file: file.write(text.encode()))


def _target(path: str | os.PathLike[str], replace: bool) -> Path:
    """Target of the write: `path` with symbolic links followed."""
    target = Path(os.path.realpath(path))
    if os.path.isdir(target):
        raise RecordingError(f"cannot write {path}: it is a folder; give the name of a file")
    if not os.path.isdir(target.parent):
        raise RecordingError(
            f"cannot write {path}: there is no folder '{target.parent}'; create it first"
        )
    if os.path.exists(target) and not os.path.isfile(target):
        raise RecordingError(f"cannot write {path}: it is a device, FIFO or socket")
    if os.path.exists(target) and not replace:
        raise RecordingError(
            f"cannot write {path}: it is there already; give another name, or --force to replace it"
        )
    return target


def _scratch_path(target: Path) -> Path:
    """A name beside `target` that nobody else uses."""
    return target.with_name(f".{target.name}.{secrets.token_hex(8)}.tmp")


def _remove_stale(target: Path) -> None:
    """Remove scratch files of `target` whose writers were killed."""
    pattern = f".{glob.escape(target.name)}.{'[0-9a-f]' * 16}.tmp"
    for scratch in target.parent.glob(pattern):
        with suppress(OSError), scratch.open("rb") as file:
            if time.time() - os.fstat(file.fileno()).st_mtime > _STALE:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                scratch.unlink()
