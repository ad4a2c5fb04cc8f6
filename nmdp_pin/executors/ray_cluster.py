"""Executor on a Ray cluster, of one machine or of many."""

from __future__ import annotations

import os
import secrets
import socket
import sys
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from nmdp_pin.errors import ExecutorError, MissingExtra, NmdpError
from nmdp_pin.executors.executor import Executor, Function, check_count, done
from nmdp_pin.executors.shared import key_of, read_once

_PATIENCE = 10.0  # [s] for a cluster to answer


class RayCluster(Executor):
    """Executor on Ray (extra `ray`).

    Tasks of lost workers and machines are repeated elsewhere. If Ray is already running in this
    process, it is used and left running.

    Args:
        address: address of a cluster for `ray.init`; "local" starts Ray on this machine; None: the
            cluster named by RAY_ADDRESS, else "local".
        workers: number of tasks at a time; None: number of cores of the cluster.
        retries: largest number of repetitions of a task whose worker died.
        runtime_env: environment of the workers for `ray.init`, such as {"pip": ["nmdp-pin"]} where
            the machines lack this package.

    Raises:
        MissingExtra: Ray is not installed.
        ExecutorError: the cluster does not exist, or a number is out of range.
    """

    def __init__(
        self,
        address: str | None = None,
        *,
        workers: int | None = None,
        retries: int = 3,
        runtime_env: dict[str, Any] | None = None,
    ) -> None:
        if workers is not None:
            check_count("workers", workers, 1)
        check_count("retries", retries, 0)
        self._workers = workers
        address = address or os.environ.get("RAY_ADDRESS") or "local"
        if address == "local" and "ray" not in sys.modules:
            # Read when Ray is loaded: only holders of the token may give it tasks. Where a script
            # loaded it before, what it starts would ask for a token that it does not have itself.
            os.environ.setdefault("RAY_AUTH_MODE", "token")
            os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
        self._ray = _ray()
        self._own = not self._ray.is_initialized()
        if self._own:
            self._start(address, runtime_env)
        self._task = self._ray.remote(max_retries=retries, num_cpus=1)(_call)

    @property
    def workers(self) -> int:
        """Number of tasks that run at a time."""
        cores = self._ray.cluster_resources().get("CPU", 1.0)
        return self._workers or max(int(cores), 1)

    def map(
        self, function: Function, shared: Any, tasks: Iterable[Any]
    ) -> Iterator[tuple[int, Any]]:
        """Run the tasks and yield the index of each with its result, as they finish.

        Raises:
            ExecutorError: workers died over a task more often than `retries`, or Ray failed.
        """
        # Not pickle: workers cannot import what is defined in a script or a notebook.
        content = self._ray.cloudpickle.dumps((function, shared))
        key = key_of(content)
        kept = self._ray.put(np.frombuffer(content, np.uint8))  # one copy a machine
        source = enumerate(tasks)
        pending: dict[Any, int] = {}
        try:
            while True:
                room = 2 * self.workers  # asked for each time: a cluster may grow meanwhile
                while len(pending) < room and (entry := next(source, None)):
                    place, task = entry
                    pending[self._task.remote(key, kept, task)] = place
                if not pending:
                    return
                for done in self._ray.wait(list(pending), num_returns=1)[0]:
                    yield pending.pop(done), self._result(done)
        finally:
            for reference in pending:
                self._ray.cancel(reference, force=True)

    def close(self, *, at_once: bool = False) -> None:
        """Disconnect from the cluster, and end it if it was started here."""
        if self._own and self._ray.is_initialized():
            self._ray.shutdown()

    def _start(self, address: str, runtime_env: dict[str, Any] | None) -> None:
        options: dict[str, Any] = {"runtime_env": runtime_env}
        if address == "local":
            options |= {"num_cpus": self._workers, "include_dashboard": False}
            # Usage reports of Ray are off.
            os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        try:
            _knock(address)
            self._ray.init(address, log_to_driver=False, logging_level="ERROR", **options)
        except (OSError, ValueError, RuntimeError) as error:
            raise ExecutorError(
                f"there is no Ray cluster at '{address}': {error}. Start one with "
                '`ray start --head`, or use the address "local"'
            ) from error

    def _result(self, reference: Any) -> Any:
        exceptions = self._ray.exceptions
        try:
            return self._ray.get(reference)
        except exceptions.RayTaskError as error:
            if isinstance(error.cause, NmdpError):
                raise error.cause from None
            raise
        except exceptions.RayError as error:
            raise ExecutorError(
                f"Ray gave up on a task: {error}. Use fewer workers, smaller chunks, or more "
                "retries"
            ) from error


def _ray() -> Any:
    """The package, loaded when it is needed."""
    try:
        import ray
    except ImportError as error:
        raise MissingExtra("ray", "ray") from error
    return ray


def _knock(address: str) -> None:
    """Check in seconds that the address answers, for which Ray takes minutes."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if colon and port.isdecimal():
        socket.create_connection((host.strip("[]"), int(port)), timeout=_PATIENCE).close()


def _call(key: str, content: np.ndarray, task: Any) -> Any:
    """One task in a worker."""
    function, shared = read_once(key, content.tobytes)
    return done(function, shared, task)
