"""Executor with a pool of processes on this machine."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import shutil
import signal
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from nmdp_pin.errors import ExecutorError
from nmdp_pin.executors.executor import Executor, Function, check_count, done
from nmdp_pin.executors.one_thread import one_thread
from nmdp_pin.executors.shared import key_of, read_once

_LAST_BREATH = 0.1  # [s] a process that is killed closes its pipes one after the other


@dataclass(frozen=True)
class _Call:
    """Task, its index, and the number of processes that died."""

    place: int
    task: Any
    lost: int = 0


class Processes(Executor):
    """Executor with a pool of processes of one thread each.

    Tasks of a process that dies are repeated. The processes import this package anew, so a script
    needs `if __name__ == "__main__":`.

    Args:
        workers: number of processes; None: one a core.
        retries: largest number of repetitions of a task whose process died.

    Raises:
        ExecutorError: a number is out of range.
    """

    def __init__(self, workers: int | None = None, *, retries: int = 3) -> None:
        workers = _cores() if workers is None else workers
        check_count("workers", workers, 1)
        check_count("retries", retries, 0)
        self._workers, self.retries = workers, retries
        self._pool: ProcessPoolExecutor | None = None
        self._lifeline: Connection | None = None
        self._folder: TemporaryDirectory[str] | None = None

    @property
    def workers(self) -> int:
        """Number of processes."""
        return self._workers

    def map(
        self, function: Function, shared: Any, tasks: Iterable[Any]
    ) -> Iterator[tuple[int, Any]]:
        """Run the tasks and yield the index of each with its result, as they finish.

        Raises:
            ExecutorError: processes died over a task more often than `retries`.
        """
        path = self._keep(shared)
        source = (_Call(place, task) for place, task in enumerate(tasks))
        again: deque[_Call] = deque()
        pending: dict[Future[Any], _Call] = {}
        try:
            while True:
                while len(pending) < 2 * self.workers:
                    call = again.popleft() if again else next(source, None)
                    if call is None:
                        break
                    pending[self._submit(function, path, call.task)] = call
                if not pending:
                    return
                for future in wait(pending, return_when=FIRST_COMPLETED).done:
                    call = pending.pop(future)
                    try:
                        result = future.result()
                    except BrokenProcessPool as error:
                        again.append(self._once_more(call, error))
                    else:
                        yield call.place, result
        finally:
            for future in pending:
                future.cancel()

    def close(self, *, at_once: bool = False) -> None:
        """End the processes; `at_once` interrupts their tasks."""
        if at_once and self._lifeline is not None:
            self._lifeline.close()
        self._end_pool()
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    def _keep(self, shared: Any) -> str:
        """File of the shared data, read once by each process."""
        content = pickle.dumps(shared)
        path = Path(self._shared_folder()) / key_of(content)
        if not path.exists():
            path.write_bytes(content)
        return str(path)

    def _shared_folder(self) -> str:
        """Folder of the shared data."""
        if self._folder is None:
            self._folder = TemporaryDirectory(prefix="nmdp-pin-")
        return self._folder.name

    def _submit(self, function: Function, path: str, task: Any) -> Future[Any]:
        pool = self._pool or self._start_pool()
        try:
            with one_thread():  # a process may be started by this
                return pool.submit(_call, function, path, task)
        except BrokenProcessPool:
            self._end_pool()
            return self._submit(function, path, task)

    def _once_more(self, call: _Call, error: BrokenProcessPool) -> _Call:
        if call.lost >= self.retries:
            raise ExecutorError(
                f"processes died {call.lost + 1} times over task {call.place} (out of memory, or "
                "killed): use fewer workers, smaller chunks, or more retries. A script that uses "
                'processes needs `if __name__ == "__main__":` around what it does'
            ) from error
        return _Call(call.place, call.task, call.lost + 1)

    def _start_pool(self) -> ProcessPoolExecutor:
        context = multiprocessing.get_context("spawn")
        theirs, self._lifeline = context.Pipe(duplex=False)
        self._pool = ProcessPoolExecutor(
            self.workers,
            context,
            initializer=_prepare,
            initargs=(theirs, self._shared_folder()),
        )
        return self._pool

    def _end_pool(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None
        if self._lifeline is not None:
            self._lifeline.close()
            self._lifeline = None


def _cores() -> int:
    return os.cpu_count() or 1


def _prepare(lifeline: Connection, folder: str) -> None:
    """Set up a process, which ignores Ctrl-C and ends with its parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_die_with_parent, args=(lifeline, folder), daemon=True).start()


def _die_with_parent(lifeline: Connection, folder: str) -> None:
    """Wait until the parent closes the pipe."""
    lifeline.poll(None)
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join(_LAST_BREATH)
        if not parent.is_alive():  # it was killed, and cannot remove its folder
            shutil.rmtree(folder, ignore_errors=True)
    os._exit(1)


def _call(function: Function, path: str, task: Any) -> Any:
    try:
        return done(function, read_once(path, Path(path).read_bytes), task)
    except Exception as error:
        try:
            pickle.loads(pickle.dumps(error))
        except Exception:  # it would end the process that receives it
            raise ExecutorError(f"a task failed: {type(error).__name__}: {error}") from None
        raise
