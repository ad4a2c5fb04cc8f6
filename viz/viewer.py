"""Live view of runs in a meshcat window, and their replay there."""

from __future__ import annotations

import time
import webbrowser
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any

import meshcat
import numpy as np

from nmdp_pin._robot import Robot
from nmdp_pin._terrain import Terrain
from nmdp_pin.errors import ViewerError
from nmdp_pin.viz.camera import DISTANCE, FIELD_OF_VIEW, free_direction
from nmdp_pin.viz.frames import Frames
from nmdp_pin.viz.meshcat_link import MeshcatLink
from nmdp_pin.viz.meshcat_scene import HIDDEN, MeshcatScene, daylight
from nmdp_pin.viz.meshcat_window import MeshcatWindow
from nmdp_pin.viz.poses import matrices
from nmdp_pin.viz.scene import Scene

FRAME_RATE = 30.0
"""Frames a second of the clock that are drawn, at most."""

PATH = "nmdp_pin"
"""Path under that of the visualizer, where everything is drawn."""

_CAMERA = "/Cameras/default/rotated/<object>"
_ANGLE = 75.0  # field of view of meshcat's camera [deg]
_SKY = [0.93, 0.95, 0.98], [0.74, 0.79, 0.85]
_SHARE = 0.1  # of the time that drawing takes from a run, at most
_PATIENCE = 60.0  # [s] for a server to take a scene or the frames of a run


class Viewer(AbstractContextManager["Viewer"]):
    """View of a run in a meshcat window.

    A run never waits for the window: frames that the server cannot take in time are left out.
    After the run meshcat's animation controls replay it. Viewers are context managers.

    Args:
        robot: the robot.
        terrain: the terrain; None: no terrain.
        visualizer: a `meshcat.Visualizer` to draw into, under its path "nmdp_pin"; its camera,
            lights and background stay as they are. None: a new window.
        kinds: look of terrain shapes, as in `Scene`.
        follow: whether the camera of a new window follows the robot.
        port: port of a new window on this machine; None: the first free one from 7000.
        open_browser: whether to open the window in the browser.

    Attributes:
        visualizer: the visualizer that is drawn into.
        url: address of the window.

    Raises:
        ViewerError: the port is in use or invalid, it is given together with a visualizer, or the
            server of the window does not answer.
    """

    def __init__(
        self,
        robot: Robot,
        terrain: Terrain | None,
        *,
        visualizer: meshcat.Visualizer | None = None,
        kinds: Mapping[int, str] | None = None,
        follow: bool = True,
        port: int | None = None,
        open_browser: bool = False,
    ) -> None:
        if visualizer is not None and port is not None:
            raise ViewerError("a port is that of a new window; a visualizer has its own")
        self._scene = Scene(robot, terrain, kinds=kinds)
        self._frames = Frames(self._scene)
        self._window = MeshcatWindow(port) if visualizer is None else None
        window: Any = self._window
        self.visualizer = visualizer or window.visualizer
        self.url = str(self.visualizer.url())
        self._root = self.visualizer.path.append(PATH).lower()
        self._world = self.visualizer.path.lower()
        world = self._world if follow and self._window is not None else None
        self._tree = MeshcatScene(self._scene, self._root, world=world)
        self._shown = np.full((len(self._tree.nodes), 10), np.nan)
        self._drawn = drawn = np.array([path not in self._tree.forces for path in self._tree.nodes])
        self._shown[~drawn, 9] = 0.0  # hidden
        self._due, self._replays, self._looks = -np.inf, False, self._window is None
        self._link = MeshcatLink(self.visualizer.window)
        self._build()
        if open_browser:
            webbrowser.open(self.url)

    def draw(self, t: float, q: np.ndarray, contact_forces: np.ndarray | None = None) -> None:
        """Show a state without waiting: at most 30 a second of the clock, in a tenth of its time.

        Args:
            t: time [s]; an earlier time than the last starts anew.
            q: configuration, shape (nq,).
            contact_forces: forces on the robot, world frame [N], shape (n_contacts, 3), or None.
        """
        self._frames.add(t, q, contact_forces)
        now = time.monotonic()
        if now < self._due:
            return
        pause = 0.0
        if not self._link.unanswered():
            self._show(self._scene.frame(t, q, contact_forces))
            pause = 1.0 / FRAME_RATE
        self._due = now + max(pause, (time.monotonic() - now) / _SHARE)

    def finish(self) -> None:
        """Show the last frame, and replay all from the first with meshcat's animation controls."""
        frames = self._frames.values()
        if not len(frames):
            return
        self._link.flush(_PATIENCE)
        self._show(frames[-1])
        self._link.send("delete", self._tree.time_path)
        clips = self._tree.clips(frames)
        self._reveal(np.isin(self._tree.nodes, [clip["path"] for clip in clips]))
        self._animate(clips)
        self._replays = True
        self._link.flush(_PATIENCE)

    def wait_for_page(self, timeout: float | None = None) -> bool:
        """Wait until a new window was opened in a browser.

        Args:
            timeout: longest wait [s]; None: no limit.

        Returns:
            Whether it was opened; of a visualizer that was handed over it is taken for granted.
        """
        return self._window is None or self._window.wait_for_page(timeout)

    def wait(self) -> None:
        """Keep a new window until the program is interrupted."""
        if self._window is not None:
            self._window.wait()

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close a new window; what was drawn into another one stays."""
        self._link.close()
        if self._window is not None:
            self._window.close()

    def _build(self) -> None:
        """Send what is there from the start: first, where to look and the light of a new window.

        A page draws after each object that it gets, the ground, which costs it most, at last.
        """
        if self._window is not None:
            for path in ("/Grid", "/Axes", "/Lights"):
                self._property(path, "visible", False)
            for key, color in zip(("top_color", "bottom_color"), _SKY, strict=True):
                self._property("/Background", key, color)
            half, wide = np.tan(np.radians([FIELD_OF_VIEW, _ANGLE]) / 2.0)
            self._property(_CAMERA, "zoom", float(wide / half))
            self._link.send("set_object", "/Daylight", object=daylight(self._scene.size))
        self._link.send("delete", self._root)
        for path in self._tree.objects:
            if path not in self._tree.forces:
                self._send(path)
        if not self._link.flush(_PATIENCE):
            self.close()
            raise ViewerError(f"the meshcat server of {self.url} does not answer")

    def _show(self, frame: np.ndarray) -> None:
        """Send what differs from the last frame that was sent."""
        if self._replays:
            self._animate([])
            self._replays = False
        if not self._looks:
            self._look(self._tree.target(frame))
            self._looks = True
        poses = self._tree.poses(frame[None])[0]
        self._reveal(poses[:, 9] > HIDDEN)
        hidden = (poses[:, 9] <= HIDDEN) & (self._shown[:, 9] <= HIDDEN)  # and were before
        changed = np.flatnonzero((poses != self._shown).any(axis=1) & ~hidden)
        for k, matrix in zip(changed, matrices(poses[changed]), strict=True):
            self._link.send_transform(self._tree.nodes[k], matrix)
        self._shown = poses
        label = self._tree.label(float(frame[0]))
        self._link.send("set_object", self._tree.time_path, object=label)

    def _reveal(self, shown: np.ndarray) -> None:
        """Send the objects of nodes that are shown first now: many points never bear a force."""
        for k in np.flatnonzero(shown & ~self._drawn):
            self._send(self._tree.nodes[k])
        self._drawn |= shown

    def _look(self, target: np.ndarray) -> None:
        """Put the camera beside the robot, around whose middle it turns."""
        distance = DISTANCE * self._scene.size
        x, y, z = distance * free_direction(self._scene.ground, target, distance)
        place = np.eye(4, dtype=np.float32)
        place[:3, 3] = -target
        self._link.send_transform(self._world, place)
        self._property(_CAMERA, "position", [x, z, -y])  # its y is up

    def _animate(self, clips: list[dict[str, Any]]) -> None:
        options = {"play": True, "repetitions": np.inf}
        self._link.send("set_animation", "", animations=clips, options=options)

    def _send(self, path: str) -> None:
        self._link.send("set_object", path, object=self._tree.objects[path])

    def _property(self, path: str, key: str, value: Any) -> None:
        self._link.send("set_property", path, property=key, value=value)
