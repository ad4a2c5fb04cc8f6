"""A method that a thread calls again and again."""

import threading
import weakref
from collections.abc import Callable
from types import MethodType
from typing import cast


class Repetition:
    """Calls of a method by a thread, until `close` or the end of its object.

    Args:
        method: a bound method that raises nothing; its object is not kept alive.
        interval: time between two calls [s].
    """

    def __init__(self, method: Callable[[], None], interval: float) -> None:
        self._ended = threading.Event()
        call = weakref.WeakMethod(cast(MethodType, method))
        # A daemon: it keeps no program from ending.
        self._thread = threading.Thread(target=self._repeat, args=(call, interval), daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the calls, and wait for one that is under way."""
        self._ended.set()
        self._thread.join()

    def _repeat(self, call: weakref.WeakMethod[Callable[[], None]], interval: float) -> None:
        while not self._ended.wait(interval) and _called(call):
            pass


def _called(call: weakref.WeakMethod[Callable[[], None]]) -> bool:
    """Whether the object is still there and its method was called."""
    method = call()
    if method is None:
        return False
    method()
    return True
