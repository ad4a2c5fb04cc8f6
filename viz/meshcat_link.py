"""Commands to a meshcat server, which are not waited for."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import umsgpack
import zmq

_FLOAT32 = 0x17  # type of an array in the messages of meshcat's page


class MeshcatLink:
    """A connection to the server of a meshcat window, beside the window's own.

    A `meshcat.Visualizer` waits for the answer to each command, 0.1 ms or more; here answers are
    counted.

    Args:
        window: the window of a `meshcat.Visualizer`.
    """

    def __init__(self, window: Any) -> None:
        self._socket = window.context.socket(zmq.DEALER)
        self._socket.set_hwm(0)
        self._socket.linger = 0
        self._socket.connect(window.zmq_url)
        self._unanswered = 0
        self._transforms: dict[str, bytes] = {}

    def send(self, kind: str, path: str, **content: Any) -> None:
        """Send a command, such as "set_object", for a path of the scene."""
        data = umsgpack.packb({"type": kind, "path": path, **content})
        self._send(kind, path, data)

    def send_transform(self, path: str, matrix: np.ndarray) -> None:
        """Place a node; matrix: in its parent's frame, shape (4, 4), single precision."""
        start = self._transforms.get(path)
        if start is None:
            array = umsgpack.Ext(_FLOAT32, bytes(64))
            command = {"type": "set_transform", "path": path, "matrix": array}
            start = self._transforms[path] = umsgpack.packb(command)[:-64]
        self._send("set_transform", path, start + matrix.tobytes("F"))

    def unanswered(self) -> int:
        """How many commands the server has not answered yet."""
        while self._unanswered and self._socket.poll(0):
            self._socket.recv_multipart()
            self._unanswered -= 1
        return self._unanswered

    def flush(self, timeout: float) -> bool:
        """Wait until all commands are answered, at most `timeout` [s]; whether they are."""
        end = time.monotonic() + timeout
        while self.unanswered():
            left = end - time.monotonic()
            if left <= 0.0:
                return False
            self._socket.poll(1e3 * left)
        return True

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()

    def _send(self, kind: str, path: str, data: bytes) -> None:
        self._socket.send_multipart([b"", kind.encode(), path.encode(), data])
        self._unanswered += 1
