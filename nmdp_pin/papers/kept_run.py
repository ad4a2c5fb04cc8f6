"""A run that was made, and the recording that keeps it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from nmdp_pin._runs.recording import Recording
from nmdp_pin._runs.run_store import Summary
from nmdp_pin._state.status import Status
from nmdp_pin.papers.run_spec import RunSpec


@dataclass(frozen=True)
class KeptRun:
    """A run and the recording that keeps it.

    Args:
        spec: which run.
        path: its recording (.npz).
        summary: how it ended.
    """

    spec: RunSpec
    path: Path
    summary: Summary

    @property
    def end(self) -> float:
        """Time of the last step that converged [s]."""
        return float(self.summary["t"])

    @property
    def failure(self) -> str:
        """Why it ended before its duration; "" where it did not."""
        status = Status[self.summary["status"].upper()]
        return "" if status.ok else status.value

    @property
    def buried(self) -> float:
        """How deep a body was under the ground [m]."""
        return float(self.summary["buried"])

    @property
    def meaningful(self) -> bool:
        """Whether it reached its end with all bodies above the ground."""
        return not self.failure and self.buried == 0.0

    def recording(self) -> Recording:
        """The run itself, read anew each time: a whole evaluation would not fit in memory."""
        return Recording.load(self.path)
