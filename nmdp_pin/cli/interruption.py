"""Ctrl-C and SIGTERM: what was computed is kept."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import typer

_STOPPED = 130  # what a shell expects after Ctrl-C
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interruption:
    """Context in which a first signal to stop is noted, and a second one stops at once.

    Attributes:
        exit_code: 0, or what a shell expects of a program that was stopped (130 for Ctrl-C).
    """

    def __init__(self) -> None:
        self.exit_code = 0
        self._before: dict[int, Any] = {}

    @property
    def requested(self) -> bool:
        """True once a signal came."""
        return self.exit_code != 0

    def __enter__(self) -> Interruption:
        for number in _SIGNALS:
            self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self._restore()

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.exit_code = 128 + number
        self._restore()

    def _restore(self) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)


@contextmanager
def stoppable(kept: str | os.PathLike[str]) -> Iterator[None]:
    """Context in which Ctrl-C and SIGTERM end many runs with an exit code and a message.

    Args:
        kept: file or folder that keeps them.
    """

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    except KeyboardInterrupt:
        print(
            f"stopped; the finished runs are kept in {os.fspath(kept)}: the same command goes on "
            "from there",
            file=sys.stderr,
        )
        raise typer.Exit(_STOPPED) from None
    finally:
        signal.signal(signal.SIGTERM, before)
