"""Input files: regular files of a limited size."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import BinaryIO

from nmdp_pin.errors import NmdpError, RecordingError

LARGEST = 2**31
"""Largest file that is opened where no smaller limit is given [bytes]."""


def not_a_file(path: Path) -> str:
    """Reason why a path is not the one of a regular file."""
    if path.is_dir():
        return "is a folder, not a file"
    return "is not a regular file" if path.exists() else "there is no such file"


def open_input(
    path: str | os.PathLike[str],
    what: str,
    *,
    largest: int = LARGEST,
    error: type[NmdpError] = RecordingError,
) -> BinaryIO:
    """Open a file for reading, without blocking on a FIFO.

    Args:
        path: path of the file.
        what: it should be, for messages.
        largest: size that is accepted [bytes].
        error: type of the error.

    Raises:
        NmdpError: an error of the type `error`: the file does not exist, cannot be read, is no
            regular file, or is larger than `largest`.
    """
    name = os.fspath(path)
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError) as cause:
        raise error(f"there is no {what} '{name}'") from cause
    except (OSError, ValueError) as cause:  # ValueError: a null character in the name
        raise error(f"'{name}' cannot be read: {cause}") from cause
    found = os.fstat(handle)
    if stat.S_ISREG(found.st_mode) and found.st_size <= largest:
        return os.fdopen(handle, "rb")
    os.close(handle)
    if stat.S_ISDIR(found.st_mode):
        raise error(f"'{name}' is a folder; a {what} is a file")
    if not stat.S_ISREG(found.st_mode):
        raise error(f"'{name}' is not a regular file")
    raise error(f"'{name}' has {found.st_size} bytes; a {what} may have at most {largest}")


def read_input(
    path: str | os.PathLike[str],
    what: str,
    *,
    largest: int = LARGEST,
    error: type[NmdpError] = RecordingError,
) -> bytes:
    """Content of a file; arguments and errors are those of `open_input`."""
    with open_input(path, what, largest=largest, error=error) as file:
        try:
            return file.read(largest + 1)[:largest]
        except OSError as cause:
            raise error(f"'{os.fspath(path)}' cannot be read: {cause}") from cause


def read_text(
    path: str | os.PathLike[str],
    what: str,
    *,
    largest: int = LARGEST,
    error: type[NmdpError] = RecordingError,
) -> str:
    """Text of a file in UTF-8, with or without a byte order mark; as `open_input` otherwise."""
    try:
        return read_input(path, what, largest=largest, error=error).decode("utf-8-sig")
    except UnicodeDecodeError as cause:
        raise error(f"'{os.fspath(path)}' is not text in UTF-8") from cause
