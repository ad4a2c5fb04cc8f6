"""Error of a run against a reference of the same model."""

from __future__ import annotations

import numpy as np

from nmdp_pin.papers.curve import Curve


def rise(curve: Curve, until: float) -> float:
    """Largest value up to a time, above the first one; NaN where the curve ends before.

    Args:
        curve: such as the height of a torso.
        until: end of the comparison [s].
    """
    at = curve.on(np.array([until]))
    if not np.isfinite(at[0]):
        return float("nan")
    # The value at `until` counts as well, or a coarse curve would end up to a step earlier.
    return float(max(curve.y[curve.t <= until].max(), at[0]) - curve.y[0])


def final(curve: Curve, until: float) -> float:
    """Value at a time, above the first one; NaN where the curve ends before.

    Args:
        curve: such as the distance that a robot has walked.
        until: end of the comparison [s].
    """
    return float(curve.on(np.array([until]))[0] - curve.y[0])


def mean_difference(curve: Curve, reference: Curve, grid: np.ndarray) -> float:
    """Mean over the grid of the distance between two curves; NaN where one of them ends before.

    Args:
        curve: curve of the run.
        reference: curve of the reference.
        grid: times [s], shape (m,).
    """
    return float(np.abs(curve.on(grid) - reference.on(grid)).mean())
