"""The command `nmdp-pin`, which is outside the package so that Ctrl-C can end its imports."""

import atexit
import gc
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


def main() -> None:
    """Run the command line; Ctrl-C ends it with one line already while it is imported."""
    with ended_at_once():
        from nmdp_pin._cli import main as run
    atexit.register(gc.freeze)  # a search for what compilation left would take seconds at the end
    run()


@contextmanager
def ended_at_once() -> Iterator[None]:
    """Context of imports, in which Ctrl-C ends the process with one line."""
    before = signal.signal(signal.SIGINT, _stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _stop(number: int, frame: FrameType | None) -> None:
    os.write(2, b"stopped\n")
    os._exit(128 + number)  # at once: libraries that are being imported take exceptions for theirs
