"""The live viewer: a robot in the browser, in real time, while it is simulated."""

from __future__ import annotations

import time
import webbrowser
from collections.abc import Callable
from types import TracebackType
from typing import Protocol, Self

import numpy as np

from nmdp_pin.errors import ViewerError
from nmdp_pin.integrators.integrator import StepResult
from nmdp_pin.robot import Robot
from nmdp_pin.terrain import Terrain
from nmdp_pin.viz.live_window import LiveWindow
from nmdp_pin.viz.scene import Scene

DRAWING_SHARE = 0.1
"""Drawing takes at most this share of the time."""

_LATE = 0.25  # a simulation that is later than this does not try to catch up [s]


class MeshcatViewer:
    """A robot and its terrain in a page of the browser; a context manager.

    Args:
        robot: the robot.
        terrain: the ground, None for none.
        port: of the page on this machine; None: the first free one from 7000.
        zmq_url: address of a meshcat server that runs already; None starts one.
        open_browser: opens the page.
        follow: the camera keeps beside the robot.

    Raises:
        ViewerError: the port is in use, or there is no server at `zmq_url`.
    """

    def __init__(
        self,
        robot: Robot,
        terrain: Terrain | None,
        *,
        port: int | None = None,
        zmq_url: str | None = None,
        open_browser: bool = False,
        follow: bool = True,
    ) -> None:
        self._shown: dict[str, np.ndarray] = {}
        self._window = LiveWindow(port=port, zmq_url=zmq_url)
        try:
            self._scene = Scene(self._window, robot, terrain, follow=follow)
            self._window.flush()
        except BaseException:
            self._window.close()
            raise
        if open_browser:
            webbrowser.open(self.url)

    @property
    def url(self) -> str:
        """Address of the page."""
        return self._window.url

    def draw(self, q: np.ndarray, contact_force: np.ndarray | None = None) -> bool:
        """Show a configuration; never waits.

        Args:
            q: configuration, shape (nq,).
            contact_force: forces on the robot, world frame [N], shape (n_contacts, 3); None: none.

        Returns:
            False when the page still works on an earlier frame, and this one was left out.
        """
        if self._window.busy:
            return False
        placements = self._scene.placements(q, contact_force)
        # Most contact points of a robot with many rest.
        moved = {
            p: m for p, m in placements.items() if not np.array_equal(m, self._shown.get(p, 0.0))
        }
        self._window.move(moved)
        self._shown = placements
        return True

    def flush(self) -> None:
        """Wait until the page's server has taken all that was drawn.

        Raises:
            ViewerError: it does not answer.
        """
        self._window.flush()

    def close(self) -> None:
        """End the page's server."""
        self._window.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class Canvas(Protocol):
    """What a live view draws on."""

    def draw(self, q: np.ndarray, contact_force: np.ndarray | None = None) -> bool:
        """Show a configuration; False when it was left out."""

    def flush(self) -> None:
        """Wait until all is shown."""


class LiveView:
    """Shows a simulation at the pace of the clock while it runs.

    Holds the simulation back where it is ahead of the clock; where it is behind, it leaves out
    frames, so that drawing takes a tenth of the time at most.

    Args:
        viewer: where to draw.
        speed: simulated seconds a second.
        max_rate: frames a second, at most.
        clock: the time [s].
        sleep: waits for so long [s].

    Raises:
        ViewerError: `speed` or `max_rate` is not positive.
    """

    def __init__(
        self,
        viewer: Canvas,
        *,
        speed: float = 1.0,
        max_rate: float = 30.0,
        clock: Callable[[], float] = time.perf_counter,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        for name, value in (("speed", speed), ("max_rate", max_rate)):
            if not 0.0 < value < np.inf:
                raise ViewerError(f"{name} must be a positive number; {value} was given")
        self._viewer, self._speed, self._period = viewer, speed, 1.0 / max_rate
        self._clock, self._sleep = clock, sleep
        self._start: float | None = None  # clock time of the simulated time 0
        self._next_frame = -np.inf
        self._cost = 0.0
        self._last: StepResult | None = None

    def update(self, result: StepResult) -> None:
        """Show the end of a step, or leave it out, and wait until it is due.

        Args:
            result: what the step left.
        """
        self._last = result
        due = result.state.t / self._speed
        now = self._clock()
        if self._start is None or now - self._start - due > _LATE:
            self._start = now - due
        if now >= self._next_frame:
            self._draw(result, now)
        ahead = self._start + due - self._clock()
        if ahead > 0.0:
            self._sleep(ahead)

    def finish(self) -> None:
        """Show the last step, even if it was left out before."""
        if self._last is not None:
            self._viewer.flush()
            self._viewer.draw(self._last.state.q, self._last.contact_forces)
            self._viewer.flush()

    def _draw(self, result: StepResult, now: float) -> None:
        drawn = self._viewer.draw(result.state.q, result.contact_forces)
        if drawn:
            # A mean of the last few frames, for a single slow one must not stop the picture.
            cost = self._clock() - now
            self._cost = cost if self._cost == 0.0 else 0.8 * self._cost + 0.2 * cost
        self._next_frame = now + max(self._period, self._cost / DRAWING_SHARE)
