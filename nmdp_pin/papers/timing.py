"""Computing times of a run, from repetitions made in turn with other runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nmdp_pin.papers.figure import Runs
from nmdp_pin.papers.run_spec import RunSpec


@dataclass(frozen=True, eq=False)
class Timing:
    """Computing time of a run (of the processor, in one thread) and what it was spent on.

    Args:
        walls: times of each step, the median over the repeats [s], shape (n,).
        totals: times of each repeat, over its steps [s], shape (repeats,).
        iterations: iterations of the solver in each step, shape (n,).
        evaluations: evaluations of its function in each step, shape (n,).
        halvings: sub-steps beyond the first in each step, shape (n,).
        end: time of the last step that converged [s].
        failure: why the run ended before its duration; "" where it did not.
    """

    walls: np.ndarray
    totals: np.ndarray
    iterations: np.ndarray
    evaluations: np.ndarray
    halvings: np.ndarray
    end: float
    failure: str

    @property
    def total(self) -> float:
        """Median over the repeats [s]."""
        return float(np.median(self.totals))

    @property
    def of_iteration(self) -> float:
        """Time of one iteration [s]; NaN without iterations."""
        n = int(self.iterations.sum())
        return self.total / n if n else float("nan")

    def of(self, seconds: float) -> float:
        """Median time for so many simulated seconds [s]; NaN for a run that failed."""
        return self.total * seconds / self.end if not self.failure else float("nan")

    def range_of(self, seconds: float) -> tuple[float, float]:
        """Least and most of the repeats, likewise [s]."""
        share = self.of(seconds) / self.total
        return share * float(self.totals.min()), share * float(self.totals.max())


def timing(runs: Runs, repeats: Sequence[RunSpec]) -> Timing:
    """The timing of equal runs; all but their computing times repeat to the bit.

    Args:
        runs: holds them.
        repeats: the runs, at least one.
    """
    kept = [runs[spec] for spec in repeats]
    recordings = [run.recording() for run in kept]
    walls = np.array([recording.wall_time[1:] for recording in recordings])  # row 0 is no step
    first = recordings[0]
    return Timing(
        walls=np.median(walls, axis=0),
        totals=walls.sum(axis=1),
        iterations=first.iterations[1:],
        evaluations=first.evaluations[1:],
        halvings=first.halvings[1:],
        end=kept[0].end,
        failure=kept[0].failure,
    )
