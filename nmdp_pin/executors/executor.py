"""The contract of executors: one function, many tasks, results as they come."""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterable, Iterator
from numbers import Integral
from types import TracebackType
from typing import Any

from nmdp_pin.errors import ExecutorError, NmdpError

Function = Callable[[Any, Any], Any]
"""Of what all tasks share and of one task; pure, as a task may be done twice."""


class Executor(abc.ABC):
    """Does many tasks, with the same results wherever they are done.

    A context manager; what it holds (processes, a cluster) stays for the next call until then.
    """

    @property
    @abc.abstractmethod
    def workers(self) -> int:
        """Number of tasks that run at a time."""

    @abc.abstractmethod
    def map(
        self, function: Function, shared: Any, tasks: Iterable[Any]
    ) -> Iterator[tuple[int, Any]]:
        """Do the tasks, and yield the place of each with its result, in any order.

        Tasks are taken from the iterable as there is room for them: at most two a worker are under
        way, so that neither they nor their results fill the memory.

        Args:
            function: called as function(shared, task); importable by its name elsewhere.
            shared: the same for all tasks; sent to a worker once, however many tasks it gets.
            tasks: second arguments of the function.

        Raises:
            ExecutorError: a task's worker died again and again.
            NmdpError: whatever the function raises.
        """

    @abc.abstractmethod
    def close(self, *, at_once: bool = False) -> None:
        """Give back what is held.

        Args:
            at_once: do not wait for tasks that are under way.
        """

    def __enter__(self) -> Executor:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close(at_once=error is not None)


def done(function: Function, shared: Any, task: Any) -> Any:
    """The result of one task; whatever executor does it.

    Raises:
        ExecutorError: the task called `sys.exit`, which ends neither its worker nor the program.
    """
    try:
        return function(shared, task)
    except SystemExit as error:
        raise ExecutorError(
            f"a task called sys.exit({error.code!r}) instead of returning"
        ) from error


def check_count(
    name: str, value: object, least: int, error: type[NmdpError] = ExecutorError
) -> None:
    """Check a number of things.

    Raises:
        ExecutorError: or `error`; it is no whole number, or too small.
    """
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise error(f"{name} must be a whole number >= {least}, got {value!r}")
