"""The frames of a run while it grows: as many as fit, in order, for any number of readers."""

from __future__ import annotations

import threading
from dataclasses import dataclass

import numpy as np

from nmdp_pin.errors import ViewerError

MAX_BYTES = 64 * 1024 * 1024
"""Memory that the frames take at most; where they would take more every second one is dropped."""

MAX_RATE = 60.0
"""Frames a second of simulated time, at most; pages interpolate between them."""

CHUNK = 1024 * 1024
"""Bytes of frames in one answer, at most, but for a single frame."""

_HEADER = np.dtype("<u4")


@dataclass(frozen=True, eq=False)
class Frames:
    """Consecutive frames.

    Args:
        edition: edition of the timeline; in another one all frames are others.
        first: index of the first frame.
        complete: no frames will follow.
        values: single precision, shape (n, frame_size).
    """

    edition: int
    first: int
    complete: bool
    values: np.ndarray

    def packed(self) -> bytes:
        """Edition, index, number and completeness as four whole numbers, then the values."""
        numbers = (self.edition, self.first, len(self.values), int(self.complete))
        return np.array(numbers, _HEADER).tobytes() + self.values.astype("<f4").tobytes()


class Timeline:
    """Frames by time, written by one thread and read by others.

    Args:
        frame_size: numbers in a frame; the first one is its time [s].
        max_bytes: memory for frames.
        max_rate: frames a second of simulated time, at most.
    """

    def __init__(
        self, frame_size: int, *, max_bytes: int = MAX_BYTES, max_rate: float = MAX_RATE
    ) -> None:
        if not 0.0 < max_rate < np.inf:
            raise ViewerError(f"max_rate must be a positive number; {max_rate} was given")
        self._capacity = max(max_bytes // (4 * frame_size), 4)
        self._frames = np.zeros((min(256, self._capacity), frame_size), dtype=np.float32)
        self._n, self._edition = 0, 0
        self._gap = self._shortest = (1.0 - 1e-6) / max_rate
        self._complete = False
        self._changed = threading.Condition()

    def due(self, t: float) -> bool:
        """Whether a frame at time t [s] is far enough from the last, or earlier, to be kept."""
        if self._n == 0 or self._complete:
            return True
        last = float(self._frames[self._n - 1, 0])
        return t < last or t - last >= self._gap

    def append(self, frame: np.ndarray) -> None:
        """Add a frame; one that is earlier than the last begins a new timeline."""
        with self._changed:
            if self._complete or (self._n and frame[0] < self._frames[self._n - 1, 0]):
                self._n, self._edition, self._gap = 0, self._edition + 1, self._shortest
                self._complete = False
            if self._n == self._capacity:
                self._thin()
            if self._n == len(self._frames):
                room = min(2 * self._n, self._capacity) - self._n
                self._frames = np.pad(self._frames, ((0, room), (0, 0)))
            self._frames[self._n] = frame
            self._n += 1
            self._changed.notify_all()

    def finish(self) -> None:
        """Say that no frames follow."""
        with self._changed:
            self._complete = True
            self._changed.notify_all()

    def after(self, edition: int, first: int, timeout: float = 0.0) -> Frames:
        """Frames that a reader lacks; of another edition from the beginning.

        Args:
            edition: the reader's.
            first: index of the first frame that it lacks.
            timeout: how long to wait where there is none yet [s].
        """
        with self._changed:
            if not self._complete and edition == self._edition and first >= self._n:
                self._changed.wait(timeout)
            if edition != self._edition or not 0 <= first <= self._n:
                first = 0
            count = max(CHUNK // self._frames[0].nbytes, 1)
            end = min(first + count, self._n)
            values = self._frames[first:end].copy()
            return Frames(self._edition, first, self._complete and end == self._n, values)

    def _thin(self) -> None:
        """Drop every second frame; the gap that frames must have doubles."""
        kept = self._frames[: self._n : 2].copy()
        self._frames[: len(kept)] = kept
        self._n, self._edition, self._gap = len(kept), self._edition + 1, 2.0 * self._gap
