"""Commands and tasks of rollouts that end or fail; workers import them."""

import os
import signal
import sys
import time

from nmdp_pin.errors import MissingExtra

kept: list[bytes] = []


def kills(state, u, h):
    """Every process that comes here is killed."""
    os.kill(os.getpid(), signal.SIGKILL)


class TwoWords(Exception):
    """An error that cannot be pickled, as its arguments are not those of its base."""

    def __init__(self, word, other):
        super().__init__(f"{word} {other}")


def raises(shared, task):
    """Fail by an error of the user's own."""
    raise TwoWords("it", "fails")


def lacks(shared, task):
    """Fail for want of a package."""
    raise MissingExtra("onnx", "onnx")


def exits(shared, code):
    """A task that ends its process."""
    sys.exit(code)


def blocked(shared: None, task: int) -> bool:
    """Whether Ctrl-C does nothing to this process."""
    return signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ())


def grows(shared, task):
    """Keep 0.4 GB from the second task of a process on, in more than joblib's second."""
    kept.append(b"1" * 400_000_000 * (len(kept) == 1))
    time.sleep(1.1)
    return task
