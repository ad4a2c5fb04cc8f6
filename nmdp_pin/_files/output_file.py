"""Output files, written whole or not at all."""

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

_STALE = 600.0  # [s] since its last change a scratch file is left by a process that was killed


def check_writable(path: str | os.PathLike[str], *, replace: bool = True) -> None:
    """Check that a file can be written at `path`, before hours of work depend on it.

    Leaves nothing behind and does not touch a file that is already there.
    """
    # Asking the file system is the only sure test: permission bits do not tell of a read-only
    # mount, and mean nothing to the superuser.
    _write(path, None, replace)


def write_whole(
    path: str | os.PathLike[str], write: Callable[[BinaryIO], Any], *, replace: bool = True
) -> None:
    """Write a file atomically.

    The bytes go to a scratch file beside `path`, which takes its name at the end. A symbolic link
    stays, and the file that it leads to is replaced; a file that is replaced keeps its mode.
    """
    _write(path, write, replace)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text in UTF-8, as `write_whole` does."""
    write_whole(path, lambda file: file.write(text.encode()))


def _write(
    path: str | os.PathLike[str], write: Callable[[BinaryIO], Any] | None, replace: bool
) -> None:
    """Write a scratch file and, unless `write` is None, give it the name."""
    target = _target(path, replace)
    scratch = target.with_name(f".{target.name}.{secrets.token_hex(8)}.tmp")
    try:
        with scratch.open("xb") as file:
            if write is None:
                return
            _remove_stale(target)
            if target.exists():
                os.fchmod(file.fileno(), stat.S_IMODE(target.stat().st_mode))
            write(file)
            file.flush()
            os.fsync(file.fileno())
            os.replace(scratch, target)
    except OSError as error:
        raise RecordingError(f"cannot write {path}: {error.strerror or error}") from error
    finally:
        with suppress(OSError):
            scratch.unlink(missing_ok=True)


def _target(path: str | os.PathLike[str], replace: bool) -> Path:
    """Target of the write: `path` with symbolic links followed."""
    target = Path(os.path.realpath(path))
    if os.path.isdir(target):
        reason = "it is a folder; give the name of a file"
    elif not os.path.isdir(target.parent):
        reason = f"there is no folder '{target.parent}'; create it first"
    elif os.path.exists(target) and not os.path.isfile(target):
        reason = "it is a device, FIFO or socket"
    elif os.path.exists(target) and not replace:
        reason = "it is there already; give another name, or --force to replace it"
    else:
        return target
    raise RecordingError(f"cannot write {path}: {reason}")


def _remove_stale(target: Path) -> None:
    """Remove scratch files of `target` whose writers were killed."""
    for scratch in target.parent.glob(f".{glob.escape(target.name)}.*.tmp"):
        with suppress(FileNotFoundError):  # another writer's, which has ended
            if time.time() - scratch.stat().st_mtime > _STALE:
                scratch.unlink()
