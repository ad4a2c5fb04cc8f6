"""Journal: an append-only file of chunks with checksums, readable after any interruption."""

import fcntl
import hashlib
import os
import struct
import sys
from contextlib import AbstractContextManager, suppress
from pathlib import Path

from nmdp_pin._files.input_file import open_input
from nmdp_pin._options import check_part
from nmdp_pin.errors import RecordingError

MAGIC = b"nmdp-pin journal 1\n"
"""Beginning of every journal."""

_LONGEST = 2**30  # [bytes] of a chunk
_HEAD = struct.Struct("<Q16s")  # length and checksum of a chunk


def journal_path(path: str | os.PathLike[str]) -> Path:
    """Path of the journal of an unfinished file."""
    check_part("the name of a file", path, (str, os.PathLike), RecordingError)
    return Path(f"{os.fspath(path)}.unfinished")


class Journal(AbstractContextManager["Journal"]):
    """Journal, locked for this process; `chunks` is what was in the file when it was opened.

    A file that is there is continued, without a chunk that is not whole.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._failed: OSError | None = None
        try:
            self._file = open(path, "a+b", buffering=0)  # noqa: SIM115
        except OSError as error:
            raise RecordingError(f"cannot write {path}: {error.strerror or error}") from error
        try:
            self._lock()
            self.chunks = read_chunks(path, "journal")
            size = os.fstat(self._file.fileno()).st_size
            if size < len(MAGIC):
                self._end = 0
                self._file.truncate(0)
                self._write(MAGIC)
            else:
                self._end = len(MAGIC) + sum(_HEAD.size + len(chunk) for chunk in self.chunks)
                if size > self._end:
                    self._file.truncate(self._end)
        except BaseException:
            self._file.close()
            raise

    def append(self, content: bytes, *, sync: bool = True) -> None:
        """Write a chunk, and wait until it is on disk, or leave that to the system."""
        self._write(_HEAD.pack(len(content), _digest(self._end, content)) + content, sync=sync)

    def sync(self) -> None:
        """Wait until what was written is on disk; an error is that of the next `append`."""
        try:
            os.fsync(self._file.fileno())
        except OSError as error:
            self._failed = error

    def clear(self) -> None:
        """Remove all chunks."""
        self._file.truncate(len(MAGIC))
        self._end, self.chunks = len(MAGIC), []

    @property
    def empty(self) -> bool:
        """Whether the file holds no chunk."""
        return self._end <= len(MAGIC)

    def close(self, *, remove: bool = False) -> None:
        """Close the file."""
        if remove:
            self.path.unlink(missing_ok=True)
        self._file.close()

    def _lock(self) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            told = f"another process is writing {self.path}: wait for it to end"
            raise RecordingError(told) from error

    def __exit__(self, *error: object) -> None:
        self.close()

    def _write(self, content: bytes, *, sync: bool = True) -> None:
        """Write all of the bytes or, where an error or a signal interrupts, all or none."""
        rest = memoryview(content)
        try:
            if self._failed is not None:
                raise self._failed
            while rest:
                rest = rest[self._file.write(rest) :]
            if sync:
                os.fsync(self._file.fileno())
        except BaseException as error:
            if sync and not rest and not isinstance(error, OSError):  # others may have read it
                self._end += len(content)
                raise
            with suppress(OSError):
                self._file.truncate(self._end)
            if isinstance(error, OSError):
                told = f"cannot write {self.path}: {error.strerror or error}"
                raise RecordingError(told) from error
            raise
        self._end += len(content)


def read_chunks(path: str | os.PathLike[str], what: str) -> list[bytes]:
    """Complete chunks of a journal, which may be growing."""
    with open_input(path, what, largest=sys.maxsize) as file:  # chunk by chunk
        begin = file.read(len(MAGIC))
        if not MAGIC.startswith(begin):
            raise RecordingError(
                f"{path} is not a journal of nmdp-pin: remove it, or give another name"
            )
        chunks, end = [], len(MAGIC)
        while len(head := file.read(_HEAD.size)) == _HEAD.size:
            length, digest = _HEAD.unpack(head)
            chunk = file.read(min(length, _LONGEST))
            if len(chunk) < length or digest != _digest(end, chunk):
                break
            chunks.append(chunk)
            end += _HEAD.size + length
        return chunks


def _digest(place: int, content: bytes) -> bytes:
    """Checksum of a chunk at its place in the file."""
    return hashlib.blake2b(struct.pack("<Q", place) + content, digest_size=16).digest()
