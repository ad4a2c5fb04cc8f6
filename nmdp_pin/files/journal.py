"""Journal: an append-only file of chunks with checksums, readable after any interruption."""

from __future__ import annotations

import fcntl
import hashlib
import os
import struct
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from nmdp_pin.closing import Closing
from nmdp_pin.errors import NmdpError, RecordingError
from nmdp_pin.files.input_file import open_input

MAGIC = b"nmdp-pin journal 1\n"
"""Beginning of every journal."""

_LARGEST = 2**50  # [bytes]: read chunk by chunk, so that only whole ones take memory
_LONGEST = 2**30  # [bytes] of a chunk
_LENGTH = struct.Struct("<Q")
_DIGEST_SIZE = 16  # [bytes]


def journal_path(path: str | os.PathLike[str]) -> Path:
    """Path of the journal of an unfinished file."""
    return Path(f"{os.fspath(path)}.unfinished")


class Journal(Closing):
    """Journal, locked for this process.

    Args:
        path: path of the file; one that is there is continued, without a chunk that is not whole.
        error: type of the errors.

    Attributes:
        path: path of the file.
        chunks: what was in the file when it was opened.

    Raises:
        NmdpError: an error of the type `error`: the file cannot be written, is no journal, or is
            being written by another process.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, error: type[NmdpError] = RecordingError
    ) -> None:
        self.path, self._error = Path(path), error
        try:
            self._file = open(path, "a+b", buffering=0)  # noqa: SIM115
        except OSError as cause:
            raise error(f"cannot write {path}: {cause.strerror or cause}") from cause
        try:
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as cause:
                raise error(f"another process is writing {path}: wait for it to end") from cause
            with open_input(path, "journal", largest=_LARGEST, error=error) as file:
                self.chunks, self._end = _chunks(file, path, error)
            if self._end < os.fstat(self._file.fileno()).st_size:
                self._file.truncate(self._end)
            if self._end == 0:
                self._write(MAGIC)
        except BaseException:
            self._file.close()
            raise

    def append(self, content: bytes) -> None:
        """Write a chunk to disk.

        Raises:
            NmdpError: the disk is full; the journal is as it was before.
        """
        begin = _LENGTH.pack(len(content))
        self._write(begin + _digest(self._end, content) + content)

    def clear(self) -> None:
        """Remove all chunks."""
        self._file.truncate(len(MAGIC))
        self._end, self.chunks = len(MAGIC), []

    @property
    def empty(self) -> bool:
        """Whether the file holds no chunk."""
        return os.fstat(self._file.fileno()).st_size <= len(MAGIC)

    def close(self, *, remove: bool = False) -> None:
        """Close the file.

        Args:
            remove: what it holds is kept elsewhere.
        """
        if remove:
            self.path.unlink(missing_ok=True)
        self._file.close()

    def _write(self, content: bytes) -> None:
        """Write all of the bytes or, where an error or a signal interrupts, none."""
        try:
            rest = memoryview(content)
            while rest:
                rest = rest[self._file.write(rest) or 0 :]
            os.fsync(self._file.fileno())
        except BaseException as cause:
            with suppress(OSError):
                self._file.truncate(self._end)
            if isinstance(cause, OSError):
                reason = cause.strerror or cause
                raise self._error(f"cannot write {self.path}: {reason}") from cause
            raise
        self._end += len(content)


def read_chunks(
    path: str | os.PathLike[str], what: str, *, error: type[NmdpError] = RecordingError
) -> list[bytes]:
    """Complete chunks of a journal, which may be growing.

    Raises:
        NmdpError: an error of the type `error`: the file does not exist, or is no journal.
    """
    with open_input(path, what, largest=_LARGEST, error=error) as file:
        return _chunks(file, path, error)[0]


def _chunks(
    file: BinaryIO, path: str | os.PathLike[str], error: type[NmdpError]
) -> tuple[list[bytes], int]:
    """Complete chunks, and the position of their end."""
    begin = file.read(len(MAGIC))
    if begin != MAGIC:
        if MAGIC.startswith(begin):
            return [], 0
        raise error(f"{path} is not a journal of nmdp-pin: remove it, or give another name")
    chunks, end = [], len(MAGIC)
    while len(head := file.read(_LENGTH.size + _DIGEST_SIZE)) == _LENGTH.size + _DIGEST_SIZE:
        (length,) = _LENGTH.unpack_from(head)
        chunk = file.read(min(length, _LONGEST))
        if len(chunk) < length or head[_LENGTH.size :] != _digest(end, chunk):
            break
        chunks.append(chunk)
        end += len(head) + length
    return chunks, end


def _digest(place: int, content: bytes) -> bytes:
    """Checksum of a chunk at its place in the file."""
    return hashlib.blake2b(_LENGTH.pack(place) + content, digest_size=_DIGEST_SIZE).digest()
