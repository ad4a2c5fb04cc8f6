"""Viewer of runs in the browser, live and as a replay."""

from __future__ import annotations

import threading
import webbrowser
from collections.abc import Mapping
from contextlib import AbstractContextManager

import numpy as np

from nmdp_pin.errors import ViewerError
from nmdp_pin.robot import Robot
from nmdp_pin.terrain import Terrain
from nmdp_pin.viz.html_page import html_page
from nmdp_pin.viz.page_data import packed_scene
from nmdp_pin.viz.page_server import PageServer
from nmdp_pin.viz.scene import Scene
from nmdp_pin.viz.timeline import Timeline

_WAIT = 2.0  # [s] for which a page's question for new frames is left open


class Viewer(AbstractContextManager["Viewer"]):
    """Viewer whose page plays a run at the pace of the clock, from its first frame on.

    A run never waits for the page, and the memory of the frames is bounded. Any number of pages can
    be opened at any time; each can pause, scrub and replay what has been simulated. Viewers are
    context managers.

    Args:
        robot: the robot.
        terrain: the terrain; None: no terrain.
        kinds: look of terrain shapes, as in `Scene`.
        title: title of the page; default: name of the robot.
        speed: initial speed of the page, in simulated seconds a second.
        follow: whether the camera follows the robot.
        port: port of the page on this machine; None: the first free one from 7000.
        open_browser: whether to open the page.

    Attributes:
        url: address of the page, which gives access to the run.

    Raises:
        ViewerError: the port is in use or invalid, or `speed` is not positive.
    """

    def __init__(
        self,
        robot: Robot,
        terrain: Terrain | None,
        *,
        kinds: Mapping[int, str] | None = None,
        title: str | None = None,
        speed: float = 1.0,
        follow: bool = True,
        port: int | None = None,
        open_browser: bool = False,
    ) -> None:
        if not 0.0 < speed < np.inf:
            raise ViewerError(f"the speed must be a positive number; {speed} was given")
        self._scene = Scene(robot, terrain, kinds=kinds)
        self._timeline = Timeline(self._scene.frame_size)
        self._left_out: tuple[float, np.ndarray, np.ndarray | None] | None = None
        self._opened = threading.Event()
        title = title or f"{robot.name} · nmdp-pin"
        page = html_page(title).encode()
        scene = packed_scene(self._scene, title=title, speed=speed, follow=follow)

        def answer_scene(query: Mapping[str, str]) -> tuple[str, bytes]:
            self._opened.set()
            return "application/octet-stream", scene

        def answer_frames(query: Mapping[str, str]) -> tuple[str, bytes]:
            edition, first = int(query.get("edition", "0")), int(query.get("first", "0"))
            frames = self._timeline.after(edition, first, _WAIT)
            return "application/octet-stream", frames.packed()

        self._server = PageServer(
            {
                "": lambda query: ("text/html; charset=utf-8", page),
                "scene": answer_scene,
                "frames": answer_frames,
            },
            port=port,
        )
        self.url = self._server.url
        if open_browser:
            webbrowser.open(self.url)

    def draw(self, t: float, q: np.ndarray, contact_force: np.ndarray | None = None) -> None:
        """Add a frame without waiting; at most 60 a second of simulated time are kept.

        Args:
            t: time [s]; an earlier time than the last starts anew.
            q: configuration, shape (nq,).
            contact_force: forces on the robot, world frame [N], shape (n_contacts, 3), or None.
        """
        if self._timeline.due(t):
            self._timeline.append(self._scene.frame(t, q, contact_force))
            self._left_out = None
        else:
            self._left_out = t, np.array(q), contact_force

    def finish(self) -> None:
        """Show the last frame and turn pages into replays."""
        if self._left_out is not None:
            self._timeline.append(self._scene.frame(*self._left_out))
            self._left_out = None
        self._timeline.finish()

    def wait_for_page(self, timeout: float | None = None) -> bool:
        """Wait until a page was opened.

        Args:
            timeout: longest wait [s]; None: no limit.

        Returns:
            Whether a page was opened.
        """
        return self._opened.wait(timeout)

    def wait(self) -> None:
        """Serve until the program is interrupted."""
        self._server.wait()

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop the server; open pages keep their frames."""
        self._timeline.finish()
        self._server.close()
