"""The server of the viewer's page: who may read, and what a reader can do to a run."""

from __future__ import annotations

import http.client
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from urllib.parse import urlsplit

import numpy as np
import pytest
from sample_motion import hop_result, hop_state, hopper

from nmdp_pin.errors import ViewerError
from nmdp_pin.terrain import Plane, Terrain
from nmdp_pin.viz import page_server
from nmdp_pin.viz.page_server import HOST, PageServer
from nmdp_pin.viz.viewer import Viewer

FLAT = Terrain([Plane(height=0.0)])
# A busy machine answers within this, or not at all [s].
_PATIENCE = 20.0


@pytest.fixture
def viewer() -> Iterator[Viewer]:
    with Viewer(hopper(), FLAT) as viewer:
        viewer.draw(0.0, hopper().standing)
        yield viewer


def _ask(url: str, *, method: str = "GET", **headers: str) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and content of an answer."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=_PATIENCE)
    try:
        connection.request(method, f"{parts.path}?{parts.query}", headers=headers)
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read()
    finally:
        connection.close()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def test_no_other_server_is_loaded() -> None:
    """The page has meshcat's build of three.js, and nothing of its server runs or is imported."""
    code = (
        "import sys; from nmdp_pin.viz.html_page import html_page; import nmdp_pin.viz.viewer;"
        "assert 'MeshCat' in html_page('x');"
        "print([m for m in ('meshcat', 'zmq', 'tornado', 'umsgpack') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout.strip() == "[]"


def test_page_is_there_while_the_viewer_is() -> None:
    """At the port that was asked for, and gone after it."""
    port = _free_port()
    with Viewer(hopper(), FLAT, port=port) as viewer:
        assert viewer.url.startswith(f"http://127.0.0.1:{port}/")
        status, _, page = _ask(viewer.url)
        assert (status, b"MeshCat" in page) == (200, True)
        with pytest.raises(ViewerError, match=rf"port {port}: .*in use.*another port"):
            Viewer(hopper(), FLAT, port=port)
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(viewer.url, timeout=_PATIENCE)


def test_port_in_use_moves_on_unless_it_was_asked_for() -> None:
    """Without a port, two viewers stand side by side."""
    with Viewer(hopper(), None) as one, Viewer(hopper(), None) as two:
        assert urlsplit(one.url).port != urlsplit(two.url).port


@pytest.mark.parametrize("port", [0, -1, 65536])
def test_port_must_be_one(port: int) -> None:
    """Numbers that are no ports are refused."""
    with pytest.raises(ViewerError, match="from 1 to 65535"):
        PageServer({}, port=port)


def test_only_this_machine_can_connect(viewer: Viewer) -> None:
    """The socket listens on the loopback address, not on those of the network."""
    assert viewer._server._server.server_address[0] == "127.0.0.1"


def test_without_the_token_nothing_is_shown(viewer: Viewer) -> None:
    """Neither the page nor scene nor frames; tokens of two viewers differ."""
    parts = urlsplit(viewer.url)
    root = f"http://{parts.netloc}"
    for path in ("/", "/scene", "/frames", f"/{'x' * 22}/", parts.path[:-2] + "/", "/é/"):
        with urllib.request.urlopen(viewer.url, timeout=_PATIENCE):
            pass
        assert _ask(root + urllib.parse.quote(path))[0] == 403
    with Viewer(hopper(), None) as other:
        assert urlsplit(other.url).path != parts.path


def test_other_hosts_are_refused(viewer: Viewer) -> None:
    """A name of another site that leads here gets nothing, even with the token."""
    port = urlsplit(viewer.url).port
    for host in ("evil.example", f"evil.example:{port}", "127.0.0.1", "127.0.0.1:1", ""):
        assert _ask(viewer.url, Host=host)[0] == 421
    for host in (f"127.0.0.1:{port}", f"localhost:{port}"):
        assert _ask(viewer.url, Host=host)[0] == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "PATCH"])
def test_there_is_nothing_to_send_to(viewer: Viewer, method: str) -> None:
    """The server answers questions and takes nothing."""
    assert _ask(viewer.url, method=method)[0] == 501


def test_other_sites_cannot_read_or_frame_the_page(viewer: Viewer) -> None:
    """No sharing across origins, no frames, no referrer with the token in it."""
    _, headers, _ = _ask(viewer.url)
    assert "Access-Control-Allow-Origin" not in headers
    assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["Referrer-Policy"] == "no-referrer"


@pytest.mark.parametrize(
    "query", ["edition=x", "first=1e5", "first=-5", "edition=99", "=&=&=", "a=1&" * 50]
)
def test_strange_questions_get_an_answer(viewer: Viewer, query: str) -> None:
    """Wrong numbers are refused or read from the beginning; the server goes on."""
    status, _, _ = _ask(f"{viewer.url}frames?{query}")
    assert status in (200, 400)
    assert _ask(f"{viewer.url}frames?edition=0&first=0")[0] == 200


@pytest.mark.parametrize("line", [b"\x00\xff\r\n\r\n", b"GET\r\n\r\n", b"GET " + b"a" * 70_000])
def test_broken_requests_do_not_hang_the_server(viewer: Viewer, line: bytes) -> None:
    """Bytes that are no request end their connection only."""
    parts = urlsplit(viewer.url)
    with socket.create_connection((HOST, parts.port or 0), timeout=_PATIENCE) as broken:
        broken.sendall(line)
        assert _ask(viewer.url)[0] == 200


def test_silent_connections_are_bounded(viewer: Viewer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the largest number connections are closed at once; those that say nothing, later."""
    monkeypatch.setattr(page_server._Handler, "timeout", 0.5)
    address = (HOST, urlsplit(viewer.url).port or 0)
    held = [socket.create_connection(address) for _ in range(page_server.MAX_CONNECTIONS + 8)]
    try:
        refused = 0
        for connection in held:
            connection.settimeout(_PATIENCE)
            refused += connection.recv(1) == b""
        assert refused == len(held)
        end = time.monotonic() + _PATIENCE
        while True:  # the places are given back
            try:
                assert _ask(viewer.url)[0] == 200
                break
            except (http.client.HTTPException, OSError):
                assert time.monotonic() < end
    finally:
        for connection in held:
            connection.close()


def test_reader_that_stops_holds_neither_run_nor_memory(viewer: Viewer) -> None:
    """A tab that asks and never reads: drawing goes on, and nothing is kept for it."""
    parts = urlsplit(viewer.url)
    robot = hopper()
    with socket.create_connection((HOST, parts.port or 0)) as slow:
        ask = f"GET {parts.path}scene HTTP/1.1\r\nHost: {parts.netloc}\r\n\r\n".encode()
        slow.sendall(50 * ask)
        for k in range(1, 2000):
            result = hop_result(robot, 0.02 * k)
            viewer.draw(result.state.t, result.state.q, result.contact_forces)
        answer = _ask(f"{viewer.url}frames?edition=0&first=1990")[2]
    assert np.frombuffer(answer, "<u4", 4)[2] == 10
    assert viewer._timeline._frames.nbytes < 1_000_000


def test_frames_come_as_they_are_drawn(viewer: Viewer) -> None:
    """A question that waits is answered when there is a frame, and the last is never left out."""
    robot = hopper()
    empty = _ask(f"{viewer.url}frames?edition=0&first=1")[2]
    assert list(np.frombuffer(empty, "<u4", 4)) == [0, 1, 0, 0]
    for t in (0.5, 0.501):
        viewer.draw(t, hop_state(robot, t).q)
    viewer.finish()
    answer = _ask(f"{viewer.url}frames?edition=0&first=1")[2]
    assert list(np.frombuffer(answer, "<u4", 4)) == [0, 1, 2, 1]
    values = np.frombuffer(answer, "<f4", offset=16).reshape(2, -1)
    assert values[:, 0] == pytest.approx([0.5, 0.501])


def test_waiting_for_the_page() -> None:
    """It ends when a page was opened, or after the longest wait."""
    with Viewer(hopper(), None) as viewer:
        assert not viewer.wait_for_page(0.01)
        _ask(f"{viewer.url}scene")
        assert viewer.wait_for_page(0.01)
