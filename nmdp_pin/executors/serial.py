"""Tasks done one after the other, where they are asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from nmdp_pin.executors.executor import Executor, Function, done


class Serial(Executor):
    """Does the tasks in this thread, in their order."""

    @property
    def workers(self) -> int:
        """One."""
        return 1

    def map(
        self, function: Function, shared: Any, tasks: Iterable[Any]
    ) -> Iterator[tuple[int, Any]]:
        """Do the tasks, and yield the place of each with its result."""
        for place, task in enumerate(tasks):
            yield place, done(function, shared, task)

    def close(self, *, at_once: bool = False) -> None:
        """Nothing is held."""
