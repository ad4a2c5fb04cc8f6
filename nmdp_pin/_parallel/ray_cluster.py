"""Ray, on this machine or on many, as the backend of joblib."""

import os
import secrets
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import joblib

from nmdp_pin.errors import MissingExtra, WorkerError

_PATIENCE = 10.0  # [s] for a cluster or a thread of Ray to answer


@contextmanager
def ray_cluster(
    address: str | None = None, *, n_jobs: int = -1, runtime_env: dict[str, Any] | None = None
) -> Iterator[None]:
    """Context in which parallel tasks run on Ray (extra `ray`).

    If Ray is already running in this process, it is used and left running.

    Args:
        address: address of a cluster for `ray.init`; "local" starts Ray on this machine; None: the
            cluster named by RAY_ADDRESS, else "local".
        n_jobs: number of tasks at a time; -1: number of cores of the cluster.
        runtime_env: environment of the workers for `ray.init`, such as {"pip": ["nmdp-pin"]} where
            the machines lack this package.

    Raises:
        MissingExtra: Ray is not installed.
        WorkerError: the cluster does not exist.
    """
    address = address or os.environ.get("RAY_ADDRESS") or "local"
    if address == "local" and "ray" not in sys.modules:
        # Read when Ray is loaded: only holders of the token may give it tasks. Where a script
        # loaded it before, what it starts would ask for a token that it does not have itself.
        os.environ.setdefault("RAY_AUTH_MODE", "token")
        os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
    try:
        import ray
        from ray.util.joblib.ray_backend import RayBackend
        from ray.util.multiprocessing.pool import ResultThread
    except ImportError as error:
        raise MissingExtra("ray", "ray") from error

    class Streaming(RayBackend):
        """Backend whose results come as they are made, so that finished runs are kept."""

        supports_return_generator = True

    starts = not ray.is_initialized()
    if starts:
        _start(ray, address, n_jobs, runtime_env)
    try:
        with joblib.parallel_config(Streaming(), n_jobs=n_jobs):
            yield
    finally:
        if starts:
            for thread in threading.enumerate():
                if isinstance(thread, ResultThread):  # would start a cluster to ask for its result
                    thread.join(_PATIENCE)
            ray.shutdown()


def _start(ray: Any, address: str, n_jobs: int, runtime_env: dict[str, Any] | None) -> None:
    options: dict[str, Any] = {"runtime_env": runtime_env}
    if address == "local":
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        options |= {"num_cpus": n_jobs if n_jobs > 0 else None, "include_dashboard": False}
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    try:
        if colon and port.isdecimal():  # Ray would wait for minutes
            socket.create_connection((host.strip("[]"), int(port)), timeout=_PATIENCE).close()
        ray.init(address, log_to_driver=False, logging_level="ERROR", **options)
    except (OSError, ValueError, RuntimeError) as error:
        raise WorkerError(
            f"there is no Ray cluster at '{address}': {error}. Start one with "
            '`ray start --head`, or use the address "local"'
        ) from error
