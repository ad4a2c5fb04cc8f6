"""Executor with threads of this process."""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from typing import Any

from nmdp_pin.executors.executor import Executor, Function, check_count, done

_AHEAD = 2  # tasks under way for each worker


class Threads(Executor):
    """Executor with threads, each with its own copy of the shared data.

    Compiled steps, which hold no lock, run in parallel; other Python code does not.

    Args:
        workers: number of threads.

    Raises:
        ExecutorError: `workers` is no number of threads.
    """

    def __init__(self, workers: int) -> None:
        check_count("workers", workers, 1)
        self._workers = workers
        self._pool = ThreadPoolExecutor(workers)

    @property
    def workers(self) -> int:
        """Number of tasks that run at a time."""
        return self._workers

    def map(
        self, function: Function, shared: Any, tasks: Iterable[Any]
    ) -> Iterator[tuple[int, Any]]:
        """Run the tasks and yield the index of each with its result, in their order."""
        content, copies = pickle.dumps(shared), SimpleQueue[Any]()
        for _ in range(self._workers):
            copies.put(None)

        def run(task: Any) -> Any:
            own = copies.get()
            own = pickle.loads(content) if own is None else own
            try:
                return done(function, own, task)
            finally:
                copies.put(own)

        under_way: deque[tuple[int, Future[Any]]] = deque()
        try:
            for place, task in enumerate(tasks):
                if len(under_way) >= _AHEAD * self._workers:
                    first, future = under_way.popleft()
                    yield first, future.result()
                under_way.append((place, self._pool.submit(run, task)))
            while under_way:
                first, future = under_way.popleft()
                yield first, future.result()
        finally:
            for _, future in under_way:
                future.cancel()

    def close(self, *, at_once: bool = False) -> None:
        """End the threads."""
        self._pool.shutdown(wait=not at_once, cancel_futures=at_once)
