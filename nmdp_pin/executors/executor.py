"""Base class of executors: one function, many tasks."""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterable, Iterator
from numbers import Integral
from typing import Any

from nmdp_pin.errors import ExecutorError, NmdpError

Function = Callable[[Any, Any], Any]
"""Of what all tasks share and of one task; pure, as a task may be done twice."""


class Executor(abc.ABC):
    """Base class of executors, context managers that run many tasks.

    Processes and clusters stay for the next call until the executor is closed.
    """

    @property
    @abc.abstractmethod
    def workers(self) -> int:
        """Number of tasks that run at a time."""

    @abc.abstractmethod
    def map(
        self, function: Function, shared: Any, tasks: Iterable[Any]
    ) -> Iterator[tuple[int, Any]]:
        """Run the tasks and yield the index of each with its result, in any order.

        At most two tasks a worker are taken from the iterable at a time, which bounds the memory.

        Args:
            function: function(shared, task), which workers can import.
            shared: first argument of all tasks, sent to each worker once.
            tasks: second arguments of the function.

        Raises:
            ExecutorError: the worker of a task died repeatedly.
            NmdpError: an error of the function.
        """

    @abc.abstractmethod
    def close(self, *, at_once: bool = False) -> None:
        """Release all resources.

        Args:
            at_once: whether to abandon running tasks.
        """

    def __enter__(self) -> Executor:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self.close(at_once=error is not None)


def done(function: Function, shared: Any, task: Any) -> Any:
    """Result of one task.

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
