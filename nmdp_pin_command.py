"""The command `nmdp-pin`, which is outside the package so that Ctrl-C can end its imports."""

import os
import signal
from types import FrameType


def main() -> None:
    """Run the command line; Ctrl-C ends it with one line already while it is imported."""
    before = signal.signal(signal.SIGINT, _stop)
    from nmdp_pin._cli import main as run

    signal.signal(signal.SIGINT, before)
    run()


def _stop(number: int, frame: FrameType | None) -> None:
    os.write(2, b"stopped\n")
    os._exit(128 + number)  # at once: libraries that are being imported take exceptions for theirs
