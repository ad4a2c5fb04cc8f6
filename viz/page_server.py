"""A page shown in the browser of this machine, as for the replay of a recording."""

from __future__ import annotations

import http.server
import threading
import webbrowser
from types import TracebackType
from typing import Self

from nmdp_pin.errors import ViewerError
from nmdp_pin.recording import Recording
from nmdp_pin.robot import Robot
from nmdp_pin.terrain import Terrain
from nmdp_pin.viz.animation import animation_html

_HOST = "127.0.0.1"
_FREE_PORTS = range(7000, 8000)


class PageServer:
    """Serves one page to this machine until it is closed; a context manager.

    Args:
        page: the HTML.
        port: where to serve it; None: the first free one from 7000.

    Raises:
        ViewerError: the port is in use or none.
    """

    def __init__(self, page: str, *, port: int | None = None) -> None:
        self._server = _listen(port, _handler(page.encode("utf-8")))
        self.url = f"http://{_HOST}:{self._server.server_address[1]}/"
        """Address of the page."""
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.05,), daemon=True
        )
        self._thread.start()

    def wait(self) -> None:
        """Serve until the page is closed by another thread or the program is interrupted."""
        self._thread.join()

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def view_recording(
    recording: Recording,
    robot: Robot,
    terrain: Terrain | None,
    *,
    speed: float = 1.0,
    follow: bool = True,
    port: int | None = None,
    open_browser: bool = True,
) -> PageServer:
    """Replay a recording in the browser, with pause, speed and scrubbing.

    Args:
        recording: the run.
        robot: the robot that was recorded.
        terrain: the ground, None for none.
        speed: simulated seconds a second at which it starts to play.
        follow: the camera keeps beside the robot.
        port: where to serve the page; None: the first free one from 7000.
        open_browser: opens the page.

    Returns:
        the server of the page: `wait` on it, and close it.

    Raises:
        RecordingError: the recording is of another robot, or `speed` is not positive.
        ViewerError: the port is in use or none.
    """
    page = animation_html(recording, robot, terrain, speed=speed, follow=follow)
    server = PageServer(page, port=port)
    if open_browser:
        webbrowser.open(server.url)
    return server


def _handler(page: bytes) -> type[http.server.BaseHTTPRequestHandler]:
    class Handler(http.server.BaseHTTPRequestHandler):
        """Answers every request with the page."""

        def do_GET(self) -> None:
            found = self.path == "/"
            self.send_response(200 if found else 404)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(page) if found else 0))
            self.end_headers()
            if found:
                self.wfile.write(page)

        def log_message(self, format: str, *args: object) -> None:
            """Keep the terminal to the program."""

    return Handler


def _listen(
    port: int | None, handler: type[http.server.BaseHTTPRequestHandler]
) -> http.server.ThreadingHTTPServer:
    problem: Exception | None = None
    for candidate in _FREE_PORTS if port is None else (port,):
        try:
            return http.server.ThreadingHTTPServer((_HOST, candidate), handler)
        except (OSError, OverflowError) as error:
            problem = error
    where = f"port {port}" if port is not None else "any port from 7000"
    raise ViewerError(
        f"the page cannot be served at {where}: {problem}. "
        "Give another port, or none to take the first that is free"
    )
