"""The process that serves the live page: meshcat's server, for this machine only.

Run as a script, with the port of the page as its argument (0: the first free one from 7000).
It says on its standard output where it is, as JSON, and ends when its standard input does, so
that it never outlives the program that started it.
"""

from __future__ import annotations

import functools
import json
import sys
from typing import Any

import tornado.web
import zmq
from meshcat.servers.zmqserver import ZMQWebSocketBridge

HOST = "127.0.0.1"


class LocalBridge(ZMQWebSocketBridge):
    """Meshcat's bridge; its page is not offered to the network."""

    def make_app(self) -> tornado.web.Application:
        """The web application, bound to this machine."""
        app: Any = super().make_app()
        app.listen = functools.partial(app.listen, address=HOST)
        return app


def main(port: int) -> None:
    """Serve until the standard input ends."""
    try:
        # The system chooses the port for the commands, so that it cannot be in use.
        bridge = LocalBridge(zmq_url=f"tcp://{HOST}:*", host=HOST, port=port or None)
    except (OSError, OverflowError) as error:
        print(json.dumps({"error": str(error)}), flush=True)
        return
    endpoint = bridge.zmq_socket.getsockopt(zmq.LAST_ENDPOINT).decode().rstrip("\x00")
    print(json.dumps({"zmq_url": endpoint, "web_url": bridge.web_url}), flush=True)
    bridge.ioloop.add_handler(
        sys.stdin.fileno(), lambda *_: bridge.ioloop.stop(), bridge.ioloop.READ
    )
    bridge.run()


if __name__ == "__main__":
    main(int(sys.argv[1]))
