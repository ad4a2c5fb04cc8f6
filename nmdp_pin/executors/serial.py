"""Serial executor."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from nmdp_pin.executors.executor import Executor, Function, done


class Serial(Executor):
    """Executor that runs the tasks in this thread, in their order."""

    @property
    def workers(self) -> int:
        """1."""
        return 1

    def map(
        self, function: Function, shared: Any, tasks: Iterable[Any]
    ) -> Iterator[tuple[int, Any]]:
        """Run the tasks and yield the index of each with its result."""
        for place, task in enumerate(tasks):
            yield place, done(function, shared, task)

    def close(self, *, at_once: bool = False) -> None:
        """Nothing to release."""
