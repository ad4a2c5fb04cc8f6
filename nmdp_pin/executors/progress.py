"""Progress of many tasks on a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

Progress = Callable[[int, int], None]
"""Called with how much is done and how much there is."""


@contextmanager
def shown(progress: bool | Progress, what: str, total: int) -> Iterator[Progress]:
    """Callback for the numbers of done and of all tasks.

    Args:
        progress: True draws a bar on standard error where that is a terminal, False shows nothing;
            a function is called.
        what: is counted, such as "runs".
        total: number of tasks.
    """
    if callable(progress):
        yield progress
        return
    if not progress:
        yield lambda done, total: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.progress import Progress as Bar

    console = Console(stderr=True)
    columns = (BarColumn(), MofNCompleteColumn(), TextColumn(what))
    clocks = (TimeElapsedColumn(), TimeRemainingColumn())
    with Bar(*columns, *clocks, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=total)
        yield lambda done, total: bar.update(task, completed=done, total=total)
