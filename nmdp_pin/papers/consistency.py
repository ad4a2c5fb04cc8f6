"""Spread of runs of one motion over step sizes: the statistic of [N2] Table I."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nmdp_pin.papers.curve import Curve


@dataclass(frozen=True)
class Consistency:
    """Spread of several runs.

    Args:
        spread: mean over time of the standard deviation across the runs, in the unit of the
            curves; NaN where nowhere two runs are left.
        runs: how many there are.
        cut: how many of them end before the grid does.
    """

    spread: float
    runs: int
    cut: int


def consistency(curves: Sequence[Curve], grid: np.ndarray) -> Consistency:
    """Mean over the grid of the standard deviation across the curves.

    Each curve is interpolated linearly. The deviation is that of the whole population (divided by
    the number of runs). Where a run has ended early the deviation is that of the others, and
    times at which fewer than two are left do not count: `cut` says that there are such runs.

    Args:
        curves: one a run.
        grid: times [s], shape (m,).
    """
    values = np.array([curve.on(grid) for curve in curves]).reshape(len(curves), len(grid))
    there = np.isfinite(values)
    shared = there.sum(axis=0) >= 2
    # A run that explodes may overflow in the square: its spread is infinite, no warning.
    with np.errstate(over="ignore"):
        spreads = np.nanstd(np.where(there, values, np.nan)[:, shared], axis=0)
        spread = float(spreads.mean()) if shared.any() else float("nan")
    return Consistency(spread, len(curves), int(np.count_nonzero(~there[:, -1])))
