"""Frames of a run over time."""

from __future__ import annotations

import numpy as np

from nmdp_pin.viz.scene import Scene

MAX_RATE = 60.0
"""Frames a second of simulated time, at most; what shows them interpolates."""

_GAP = (1.0 - 1e-6) / MAX_RATE  # [s] between two frames, at least

MAX_BYTES = 64 * 1024 * 1024
"""Memory that frames take at most; where they would take more, every second one is dropped."""


class Frames:
    """Frames by time, at most 60 a second and of bounded memory.

    Args:
        scene: the scene whose poses they are.
        max_bytes: memory for frames.
    """

    def __init__(self, scene: Scene, *, max_bytes: int = MAX_BYTES) -> None:
        self._scene = scene
        self._capacity = max(max_bytes // (4 * scene.frame_size), 4)
        self._kept: list[np.ndarray] = []
        self._last: tuple[float, np.ndarray, np.ndarray | None] | None = None
        self._t, self._gap = -np.inf, _GAP

    def add(self, t: float, q: np.ndarray, contact_forces: np.ndarray | None = None) -> None:
        """Add a frame, or keep it in mind where it is too early for another.

        Args:
            t: time [s]; an earlier time than the last begins anew.
            q: configuration, shape (nq,).
            contact_forces: as in `Scene.frame`.
        """
        t, q, contact_forces = self._scene.checked(t, q, contact_forces)
        if t < self._t:
            self._kept, self._t, self._gap = [], -np.inf, _GAP
        if t - self._t < self._gap:
            self._last = (t, np.array(q), contact_forces) if t > self._t else None
            return
        self._t, self._last = t, None
        self._kept.append(self._scene.frame(t, q, contact_forces))
        if len(self._kept) > self._capacity:
            del self._kept[1::2]
            self._gap *= 2.0

    def values(self) -> np.ndarray:
        """All frames, the first and the last among them, shape (n, frame_size)."""
        last = [] if self._last is None else [self._scene.frame(*self._last)]
        return np.array([*self._kept, *last], dtype=np.float32)
