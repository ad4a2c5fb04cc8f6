"""What a batch of trajectories leaves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nmdp_pin.status import Status


@dataclass(frozen=True, eq=False)
class BatchResult:
    """K trajectories of T steps.

    A trajectory that failed stays where its last good step left it.

    Args:
        q: configurations, the starts first, shape (K, T + 1, nq).
        v: velocities, likewise, shape (K, T + 1, nv).
        statuses: how each trajectory ended, (K,).
        iterations: of the optimiser, of each step; 0 for steps not made, shape (K, T).
        steps: how many steps each trajectory made, shape (K,).
        sweeps: of each chunk: evaluations of all its trajectories at a time, shape (n_chunks,).
        chunk: how many trajectories advanced together.
    """

    q: np.ndarray
    v: np.ndarray
    statuses: tuple[Status, ...]
    iterations: np.ndarray
    steps: np.ndarray
    sweeps: np.ndarray
    chunk: int

    @property
    def ok(self) -> np.ndarray:
        """Which trajectories made all their steps, shape (K,)."""
        return np.array([status.ok for status in self.statuses])

    @property
    def utilisation(self) -> float:
        """Share of the evaluations that were of use: the others were of trajectories at rest."""
        return float(self._evaluations().sum() / (self.sweeps.sum() * self.chunk))

    @property
    def lock_step_utilisation(self) -> float:
        """The same, if at the end of every step all of a chunk waited for its slowest."""
        made = self._evaluations()
        starts = range(0, len(made), self.chunk)
        sweeps = sum(made[i : i + self.chunk].max(axis=0).sum() for i in starts)
        return float(made.sum() / (sweeps * self.chunk))

    def _evaluations(self) -> np.ndarray:
        """Of each step: one at its start and one an iteration, shape (K, T)."""
        made = np.arange(self.iterations.shape[1]) < self.steps[:, None]
        return np.where(made, self.iterations + 1, 0)
