"""Files that a run leaves: written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from nmdp_pin.errors import RecordingError


def check_writable(path: str | os.PathLike[str]) -> None:
    """Check that a file can be written at `path`, before hours of work depend on it.

    Leaves nothing behind and does not touch a file that is already there.

    Args:
        path: where the file is to be written.

    Raises:
        RecordingError: the folder does not exist or cannot be written to, or `path` is a folder.
    """
    target = Path(path)
    if target.is_dir():
        raise RecordingError(f"cannot write {target}: it is a folder; give the name of a file")
    if not target.parent.is_dir():
        raise RecordingError(
            f"cannot write {target}: there is no folder '{target.parent}'; create it first"
        )
    scratch = _scratch_path(target)
    try:
        # Asking the file system is the only sure test: permission bits do not tell of a
        # read-only mount, and mean nothing to the superuser.
        with scratch.open("xb"):
            pass
        scratch.unlink()
    except OSError as error:
        raise RecordingError(f"cannot write {target}: {error.strerror or error}") from error


def write_whole(path: str | os.PathLike[str], write: Callable[[BinaryIO], None]) -> None:
    """Write a file so that it is never seen half-written.

    The bytes go to a file beside `path`, which takes its name at the end.

    Args:
        path: the file to write; one that exists is replaced.
        write: writes the content to the open binary file that it is given.

    Raises:
        RecordingError: the folder does not exist or cannot be written to, or the disk is full.
    """
    check_writable(path)
    target = Path(path)
    scratch = _scratch_path(target)
    try:
        with scratch.open("xb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(scratch, target)
    except OSError as error:
        raise RecordingError(f"cannot write {target}: {error.strerror or error}") from error
    finally:
        scratch.unlink(missing_ok=True)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text in UTF-8, as `write_whole` does.

    Raises:
        RecordingError: the folder does not exist or cannot be written to, or the disk is full.
    """

    def write(file: BinaryIO) -> None:
        file.write(text.encode())

    write_whole(path, write)


def _scratch_path(target: Path) -> Path:
    """A name beside `target` that no other process uses."""
    return target.with_name(f".{target.name}.{os.getpid()}.tmp")
