"""The lock of what kernels of one simulator write, which one thread runs at a time."""

from __future__ import annotations

import threading
from types import TracebackType


class KernelLock:
    """A lock whose block raises what a signal raised in it, such as `KeyboardInterrupt`.

    Where a kernel calls Python, such an exception reaches the kernel's caller as the cause of a
    `SystemError`.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._lock.release()
        if isinstance(error, SystemError) and error.__cause__ is not None:
            raise error.__cause__ from None
