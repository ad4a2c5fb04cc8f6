"""A meshcat window whose server listens on this machine only."""

from __future__ import annotations

import contextlib
import io
import select
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import meshcat

from nmdp_pin.errors import ViewerError

_SERVER = Path(__file__).with_name("meshcat_server.py")


class MeshcatWindow(contextlib.AbstractContextManager["MeshcatWindow"]):
    """A meshcat server and its visualizer; a context manager.

    Args:
        port: port of the page; None: the first free one from 7000.

    Attributes:
        visualizer: the visualizer.

    Raises:
        ViewerError: the port is in use or invalid, or the server does not start.
    """

    def __init__(self, port: int | None = None) -> None:
        if port is not None and not (isinstance(port, int) and 1 <= port <= 65535):
            raise ViewerError(f"a port is a number from 1 to 65535; {port!r} was given")
        # -P: none of the modules beside the program hides another; a session of its own: Ctrl-C
        # in the terminal is for the run.
        self._process = subprocess.Popen(
            [sys.executable, "-P", str(_SERVER), *([] if port is None else [str(port)])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )
        assert self._process.stdout is not None  # noqa: S101  a pipe, as above
        self._said = self._process.stdout
        self.visualizer: Any = None
        commands, page = self._said.readline().strip(), self._said.readline().strip()
        if not page:
            self.close()
            where = "" if port is None else f" at port {port}"
            raise ViewerError(
                f"meshcat's server does not start{where}: {commands or 'it says nothing'}. "
                "Give another port, or none to take the first that is free"
            )
        # meshcat prints the address of the page, and forgets to close its first connection.
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)
            self.visualizer = meshcat.Visualizer(zmq_url=commands)

    def wait_for_page(self, timeout: float | None = None) -> bool:
        """Wait until a page was opened [s]; whether one was."""
        return bool(select.select([self._said], [], [], timeout)[0])

    def wait(self) -> None:
        """Wait until the server ends or the program is interrupted."""
        self._process.wait()

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """End the server; open pages keep what they show."""
        if self.visualizer is not None:
            self.visualizer.window.zmq_socket.close()
        self._process.kill()
        self._process.communicate()
