"""Rows of a sweep that is under way, each on disk as soon as its run is done."""

from __future__ import annotations

import fcntl
import json
import os
from pathlib import Path
from types import TracebackType
from typing import Any

from nmdp_pin.errors import SweepError


class Journal:
    """A file beside the table, one line of JSON a row, that one sweep at a time may write.

    Args:
        table: path of the table that the sweep makes in the end.

    Attributes:
        path: of the journal.
        rows: those that are in it.

    Raises:
        SweepError: it cannot be written, is not one, or another sweep is writing it.
    """

    def __init__(self, table: Path) -> None:
        self.path = table.with_name(f"{table.name}.unfinished")
        self.rows: list[dict[str, Any]] = []

    def __enter__(self) -> Journal:
        try:
            self._file = self.path.open("a+b")
        except OSError as error:
            raise SweepError(f"cannot write {self.path}: {error.strerror or error}") from error
        try:
            self._lock()
            self._read()
        except BaseException:
            self._file.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not self.rows:
            self.path.unlink(missing_ok=True)  # nothing to go on from
        self._file.close()

    def append(self, row: dict[str, Any]) -> None:
        """Keep a row, on disk when this returns.

        Raises:
            SweepError: the disk is full.
        """
        try:
            self._file.write(json.dumps(row).encode() + b"\n")
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise SweepError(f"cannot write {self.path}: {error.strerror or error}") from error
        self.rows.append(row)

    def remove(self) -> None:
        """All rows are in the table."""
        self.path.unlink(missing_ok=True)

    def _lock(self) -> None:
        """The lock goes with the process, however it ends."""
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise SweepError(
                f"another sweep is writing {self.path}: wait for it, or give another --out"
            ) from error

    def _read(self) -> None:
        """The rows; what a kill left of a last line is cut off."""
        self._file.seek(0)
        content = self._file.read()
        whole = content[: content.rfind(b"\n") + 1]
        self._file.truncate(len(whole))
        try:
            self.rows = [dict(json.loads(line)) for line in whole.splitlines()]
        except (ValueError, TypeError) as error:
            raise SweepError(
                f"{self.path} is not what a sweep left ({error}): remove it, or give another --out"
            ) from error
