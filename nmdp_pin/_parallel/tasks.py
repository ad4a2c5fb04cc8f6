"""Independent tasks side by side, by joblib: threads, processes, clusters."""

import functools
import io
import os
import pickle
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, nullcontext
from multiprocessing import resource_tracker
from numbers import Integral
from typing import Any

import cloudpickle
import joblib
from joblib.parallel import get_active_backend

from nmdp_pin.errors import NmdpError, WorkerError

Progress = Callable[[int, int], None]
"""Called with how much is done and how much there is."""

Function = Callable[[Any, Any], Any]
"""Function of what all tasks share and of one task."""

_REPLACED = "A worker stopped while some jobs were given"  # since it grew by 300 MB, says joblib
_own = threading.local()  # what the tasks of a thread share


def workers(n_jobs: int | None = None) -> int:
    """Number of tasks at a time: n_jobs, else that of `joblib.parallel_config`, else 1."""
    whole = isinstance(n_jobs, Integral) and not isinstance(n_jobs, bool)
    if n_jobs is not None and not (whole and n_jobs != 0):
        raise WorkerError(
            f"n_jobs must be a whole number of tasks at a time, -1 for one a core; got {n_jobs!r}"
        )
    return int(joblib.effective_n_jobs(n_jobs))


def side_by_side(
    function: Function, shared: Any, tasks: Iterable[Any], *, n_jobs: int | None = None
) -> Iterator[tuple[int, Any]]:
    """Run tasks and yield the index of each with its result, as they finish.

    Each worker has its own copy of what the tasks share, which is pickled once; objects with a
    method `for_worker` are there what that returns. At most two tasks a worker are taken from
    the iterable at a time, which bounds the memory.

    Args:
        function: function(shared, task).
        shared: first argument of all tasks.
        tasks: second arguments of the function.
        n_jobs: number of tasks at a time, as `workers` takes it.
    """
    if workers(n_jobs) == 1:
        for place, task in enumerate(tasks):
            yield _value(_done(function, shared, place, task))
        return
    content = content_of(function, shared)
    calls = (joblib.delayed(_call)(content, os.getpid(), *task) for task in enumerate(tasks))
    streams = get_active_backend()[0].supports_return_generator
    parallel = joblib.Parallel(
        n_jobs=n_jobs,
        return_as="generator_unordered" if streams else "list",
        batch_size=1,
        max_nbytes=None,
    )
    results: Any = ()
    try:
        with _deaf() if streams else nullcontext():  # the others are waited for here
            results = parallel(calls)
        with warnings.catch_warnings():  # as an error it would end joblib's thread, and all wait
            warnings.filterwarnings("ignore", _REPLACED, UserWarning)
            yield from map(_value, results)
    except _deaths() as error:
        raise WorkerError(
            f"a worker died (out of memory, or killed): use fewer or smaller tasks. {error}"
        ) from error
    finally:
        if streams and results:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of tasks under way, which are meant to end
                results.close()


class _Pickler(cloudpickle.Pickler):  # type: ignore[misc]
    """Pickles functions and what they use; an object with `for_worker()` as what that returns."""

    def reducer_override(self, obj: Any) -> Any:
        """See `pickle.Pickler`."""
        shorten = getattr(type(obj), "for_worker", None)
        if shorten is None:
            return super().reducer_override(obj)
        return shorten(obj).__reduce_ex__(pickle.HIGHEST_PROTOCOL)


def content_of(function: Function, shared: Any) -> bytes:
    """A function and what its tasks share, as workers get them."""
    content = io.BytesIO()
    _Pickler(content).dump((function, shared))
    return content.getvalue()


@contextmanager
def _deaf() -> Iterator[None]:
    """Context in which processes are started that leave Ctrl-C to this one, which ends them."""
    resource_tracker.ensure_running()  # unblocks the signal where it is started by the first worker
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _call(content: bytes, parent: int, place: int, task: Any) -> tuple[int, Any, Any]:
    """A task in a worker."""
    if getattr(_own, "content", None) != content:
        _end_with(parent)
        _own.content, _own.loaded = content, pickle.loads(content)
    function, shared = _own.loaded
    return _done(function, shared, place, task)


def _done(function: Function, shared: Any, place: int, task: Any) -> tuple[int, Any, Any]:
    """Index of a task, its result, and its error, as a value that all backends bring back."""
    try:
        return place, function(shared, task), None
    except NmdpError as error:
        return place, None, error
    except SystemExit as error:
        told = f"a task called sys.exit({error.code!r}) instead of returning"
        return place, None, WorkerError(told)


def _value(done: tuple[int, Any, Any]) -> tuple[int, Any]:
    place, result, error = done
    if error is not None:
        raise error
    return place, result


def _deaths() -> tuple[type[Exception], ...]:
    """Errors of the backends where a worker died."""
    ray = sys.modules.get("ray")
    return (BrokenProcessPool, *(() if ray is None else (ray.exceptions.RayError,)))


@functools.cache
def _end_with(parent: int) -> None:
    """End this process soon after its parent was killed, which workers outlive by minutes."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    if os.getppid() == parent:
        threading.Thread(target=watch, daemon=True).start()


@contextmanager
def shown(progress: bool | Progress, what: str, total: int) -> Iterator[Progress]:
    """Callback for the numbers of done and of all tasks; True draws a bar on a terminal."""
    from rich import progress as bars
    from rich.console import Console

    if callable(progress):
        yield progress
        return
    console = Console(stderr=True)
    counts = bars.BarColumn(), bars.MofNCompleteColumn(), bars.TextColumn(what)
    clocks = bars.TimeElapsedColumn(), bars.TimeRemainingColumn()
    hidden = not (progress and console.is_terminal)
    with bars.Progress(*counts, *clocks, console=console, disable=hidden) as bar:
        task = bar.add_task("", total=total)
        yield lambda done, total: bar.update(task, completed=done, total=total)
