"""The live page: a server process of our own, and commands that never wait for it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import umsgpack
import zmq

from nmdp_pin.errors import ViewerError

_SERVER = Path(__file__).with_name("meshcat_server.py")
_PATIENCE = 10_000  # a server that says nothing for so long is taken for dead [ms]


class LiveWindow:
    """A window in the browser, fed through meshcat's server.

    Meshcat's own client waits for the answer to each command, which takes longer than to make
    the command; this one sends, and counts the answers later.

    Args:
        port: of the page on this machine; None: the first free one from 7000.
        zmq_url: address of a meshcat server that runs already; None starts one.

    Raises:
        ViewerError: the port is in use or none, or there is no server at `zmq_url`.
    """

    def __init__(self, *, port: int | None = None, zmq_url: str | None = None) -> None:
        if port is not None and zmq_url is not None:
            raise ViewerError("give the port of a new viewer or the zmq_url of a running one")
        if port is not None and not 1 <= port <= 65535:
            raise ViewerError(f"a port is a number from 1 to 65535; {port} was given")
        self._server: subprocess.Popen[str] | None = None
        self._pending = 0
        self.url = ""
        """Address of the page."""
        if zmq_url is None:
            zmq_url = self._start_server(port)
        self.zmq_url = zmq_url
        """Address of the server, for other programs that draw into the same page."""
        self._socket = self._connect(zmq_url)
        if self._server is None:
            self.url = self._ask_url(zmq_url)

    def send(self, command: Any) -> None:
        """Send a command of meshcat, an object with the method `lower()`.

        Raises:
            ViewerError: the server does not take it.
        """
        data = command.lower()
        self._put(data["type"], data["path"], umsgpack.packb(data))

    def move(self, placements: dict[str, np.ndarray]) -> None:
        """Send transforms.

        Args:
            placements: path of the node → homogeneous transform, shape (4, 4).

        Raises:
            ViewerError: the server does not take them.
        """
        for path, matrix in placements.items():
            data = {"type": "set_transform", "path": path, "matrix": matrix.T.ravel().tolist()}
            self._put("set_transform", path, umsgpack.packb(data))

    @property
    def busy(self) -> bool:
        """True while the server works on what it was sent."""
        while self._pending and self._socket.poll(0):
            self._socket.recv_multipart()
            self._pending -= 1
        return self._pending > 0

    def flush(self) -> None:
        """Wait until the server has taken everything.

        Raises:
            ViewerError: it does not answer.
        """
        while self.busy:
            if not self._socket.poll(_PATIENCE):
                raise ViewerError(f"the viewer at {self.url} does not answer any more")

    def close(self) -> None:
        """Close the connection and end the server, if it is ours."""
        self._socket.close(linger=0)
        self._stop_server()

    def _put(self, kind: str, path: str, data: bytes) -> None:
        try:
            # A socket that need not take turns has to set the empty frame itself.
            self._socket.send_multipart([b"", kind.encode(), path.encode(), data])
        except zmq.Again as error:
            raise ViewerError(f"the viewer at {self.url} does not answer any more") from error
        self._pending += 1

    def _start_server(self, port: int | None) -> str:
        """Start a server process; the address for commands."""
        self._server = subprocess.Popen(
            # -P: the folder of the script is no place for imports.
            [sys.executable, "-P", str(_SERVER), str(port or 0)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,  # an interrupt of the program is not one of the page
        )
        line = self._server.stdout.readline() if self._server.stdout else ""
        answer = json.loads(line) if line.startswith("{") else {"error": "it did not start"}
        if "error" in answer:
            self._stop_server()
            where = f"port {port}" if port else "any port from 7000"
            raise ViewerError(
                f"the viewer cannot be served at {where}: {answer['error']}. "
                "Give another port, or none to take the first that is free"
            )
        self.url = answer["web_url"]
        return str(answer["zmq_url"])

    def _stop_server(self) -> None:
        if self._server is None:
            return
        self._server.terminate()
        self._server.wait()
        for pipe in (self._server.stdin, self._server.stdout):
            if pipe is not None:
                pipe.close()
        self._server = None

    @staticmethod
    def _connect(zmq_url: str, kind: int = zmq.DEALER) -> zmq.Socket[bytes]:
        socket: zmq.Socket[bytes] = zmq.Context.instance().socket(kind)
        socket.setsockopt(zmq.LINGER, 0)
        socket.setsockopt(zmq.SNDTIMEO, _PATIENCE)
        socket.setsockopt(zmq.RCVTIMEO, _PATIENCE)
        try:
            socket.connect(zmq_url)
        except zmq.ZMQError as error:
            socket.close()
            raise ViewerError(f"'{zmq_url}' is no address of a meshcat server") from error
        return socket

    def _ask_url(self, zmq_url: str) -> str:
        """Address of the page of a server that is not ours."""
        socket = self._connect(zmq_url, zmq.REQ)
        try:
            socket.send(b"url")
            return str(socket.recv().decode())
        except zmq.Again as error:
            self._socket.close(linger=0)
            raise ViewerError(f"there is no meshcat server at '{zmq_url}'") from error
        finally:
            socket.close(linger=0)
