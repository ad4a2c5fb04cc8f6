"""A server of one page for the user of this machine alone: it answers, and takes nothing."""

from __future__ import annotations

import hmac
import http.server
import secrets
import socket
import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, suppress
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from nmdp_pin.errors import ViewerError

HOST = "127.0.0.1"

MAX_CONNECTIONS = 32
"""Open at a time; further ones are closed at once."""

PATIENCE = 20.0
"""Time after which a reader that takes no more, or says nothing, is let go [s]."""

_FREE_PORTS = range(7000, 8000)
_HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}

Answer = Callable[[Mapping[str, str]], tuple[str, bytes]]
"""What a request is answered with: type of content and content, from the words of its query."""


class PageServer(AbstractContextManager["PageServer"]):
    """Serves to programs of this machine that know the address; a context manager.

    The address holds a random token, so that other users of the machine and pages of other sites
    cannot read; the Host of a request must be this server's own, so that no other name leads
    here. Requests carry no data: there is no way to send anything into the page.

    Args:
        answers: name behind the token → what it is answered with; "" is the page itself. Called
            from threads of the server.
        port: port; None: the first free one from 7000.

    Attributes:
        url: address of the page.

    Raises:
        ViewerError: the port is in use or none.
    """

    def __init__(self, answers: Mapping[str, Answer], *, port: int | None = None) -> None:
        if port is not None and not 1 <= port <= 65535:
            raise ViewerError(f"a port is a number from 1 to 65535; {port} was given")
        token = secrets.token_urlsafe(16)
        self._server = _listen(port)
        port = self._server.server_address[1]
        self._server.served = _Served(
            answers, f"/{token}/", (f"{HOST}:{port}", f"localhost:{port}")
        )
        self.url = f"http://{HOST}:{port}/{token}/"
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.05,), daemon=True
        )
        self._thread.start()

    def wait(self) -> None:
        """Serve until the page is closed by another thread or the program is interrupted."""
        self._thread.join()

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Served:
    """Content and access rules of a server."""

    def __init__(self, answers: Mapping[str, Answer], prefix: str, hosts: tuple[str, ...]) -> None:
        self._answers, self._prefix, self._hosts = answers, prefix, hosts

    def reply(self, host: str, target: str) -> tuple[int, str, bytes]:
        """Status, type of content and content for a request."""
        if host not in self._hosts:
            return 421, "text/plain", b"this server has another name"
        url = urlsplit(target)
        known = url.path[: len(self._prefix)].encode("utf-8", "replace")
        if not hmac.compare_digest(known, self._prefix.encode()):
            return 403, "text/plain", b"open the address that nmdp-pin printed"
        answer = self._answers.get(url.path[len(self._prefix) :])
        if answer is None:
            return 404, "text/plain", b"there is nothing of this name"
        return 200, *answer(dict(parse_qsl(url.query, max_num_fields=8)))


class _Server(http.server.ThreadingHTTPServer):
    """A bounded number of connections, each in a thread that ends with the program."""

    daemon_threads = True
    block_on_close = False
    allow_reuse_address = False
    served: _Served

    def __init__(self, address: tuple[str, int]) -> None:
        self._open: set[socket.socket] = set()
        super().__init__(address, _Handler)  # closes itself where the port is in use

    def verify_request(self, request: Any, client_address: Any) -> bool:
        """Take a connection if there is room for it."""
        if len(self._open) >= MAX_CONNECTIONS:
            return False
        self._open.add(request)
        return True

    def shutdown_request(self, request: Any) -> None:
        """Close a connection and give its place back."""
        self._open.discard(request)
        super().shutdown_request(request)

    def server_close(self) -> None:
        """Stop listening, and end the connections that are open."""
        super().server_close()
        for connection in list(self._open):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Nothing: a reader that went away is no event."""


class _Handler(http.server.BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    timeout = PATIENCE

    def do_GET(self) -> None:
        try:
            status, kind, body = self.server.served.reply(self.headers.get("Host", ""), self.path)
        except ValueError:  # of a query or an address that is none
            status, kind, body = 400, "text/plain", b"this request cannot be read"
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Keep the terminal to the program."""


def _listen(port: int | None) -> _Server:
    problem: Exception | None = None
    for candidate in _FREE_PORTS if port is None else (port,):
        try:
            return _Server((HOST, candidate))
        except (OSError, OverflowError) as error:
            problem = error
    where = f"port {port}" if port is not None else "any port from 7000"
    raise ViewerError(
        f"the page cannot be served at {where}: {problem}. "
        "Give another port, or none to take the first that is free"
    )
