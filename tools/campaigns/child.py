"""Child process in which attempts are made, so that a crash, a hang or a bomb is seen."""

from __future__ import annotations

import multiprocessing
import os
import resource
import time
import traceback
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager
from multiprocessing.connection import Connection
from pathlib import Path

from nmdp_pin.errors import NmdpError

Attempt = Callable[[Path, int], str]
"""Makes the attempt of a number in a folder, and says what came of it; see `FINE`."""

FINE = ("accepted", "refused")
"""What may come of an attempt; everything else is a finding."""

_MEMORY = 8 * 2**30  # [bytes]; libraries map some of it without using it
_LONGEST = 30.0  # [s] of the processor for one attempt
_PATIENCE = 600.0  # [s] on the wall, on a machine that is busy
_TICKS = os.sysconf("SC_CLK_TCK")


class Child(AbstractContextManager["Child"]):
    """A process that makes one attempt after the other; it is started again where it dies.

    Args:
        attempt: a function of a module.
        folder: where it may write.
    """

    def __init__(self, attempt: Attempt, folder: Path) -> None:
        self._attempt, self._folder = attempt, folder
        self._process: multiprocessing.process.BaseProcess | None = None
        self._connection: Connection | None = None

    def outcome(self, number: int) -> str:
        """What came of an attempt."""
        if self._process is None:
            self._start()
        connection, process = self._connection, self._process
        if connection is None or process is None:
            return "the child did not start"
        connection.send(number)
        try:
            begin, used = time.monotonic(), _processor_time(process.pid)
            while not connection.poll(1.0):
                took = _processor_time(process.pid) - used
                if took > _LONGEST or time.monotonic() - begin > _PATIENCE:
                    self.close()
                    return f"no end within {took:.0f} s of the processor"
            return str(connection.recv())
        except EOFError:
            process.join()
            code = process.exitcode
            self.close()
            return f"the process died with exit code {code}"

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._process = None

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(
            target=_serve, args=(theirs, self._attempt, self._folder), daemon=True
        )
        self._process.start()
        theirs.close()
        if not self._connection.poll(_PATIENCE) or self._connection.recv() != "ready":
            raise RuntimeError("the child process did not start")


def _processor_time(pid: int | None) -> float:
    """Time that a process has computed [s]."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / _TICKS


def _serve(connection: Connection, attempt: Attempt, folder: Path) -> None:
    """Make the attempts that are asked for."""
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    warnings.simplefilter("ignore")
    connection.send("ready")
    while True:
        try:
            number = connection.recv()
        except EOFError:
            return
        connection.send(_said(attempt, folder, number))


def _said(attempt: Attempt, folder: Path, number: int) -> str:
    try:
        return attempt(folder, number)
    except NmdpError as error:
        return "refused" if str(error).strip() else f"{type(error).__name__} without a message"
    except BaseException as error:
        frames = traceback.extract_tb(error.__traceback__)
        ours = [frame for frame in frames if "nmdp_pin" in frame.filename] or list(frames)
        place = f"{Path(ours[-1].filename).name}:{ours[-1].lineno}" if ours else "?"
        return f"{type(error).__name__} at {place}: {str(error)[:100]}"
