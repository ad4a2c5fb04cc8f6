"""A quantity of a run against time, and several of them on a common time grid."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from nmdp_pin._runs.recording import Recording
from nmdp_pin._runs.run_summary import height, tilt

_ROUNDING = 1e-9  # of the duration: sums of steps end that close to it


@dataclass(frozen=True, eq=False)
class Curve:
    """A quantity against time.

    Args:
        t: ascending times [s], shape (n,).
        y: the quantity there, shape (n,).
    """

    t: np.ndarray
    y: np.ndarray

    def on(self, grid: np.ndarray) -> np.ndarray:
        """Values at the times of a grid, linear in between and NaN beyond the curve's ends.

        Args:
            grid: times [s], shape (m,).

        Returns:
            Shape (m,).
        """
        slack = _ROUNDING * max(float(self.t[-1]), 1.0)
        y = np.interp(grid, self.t, self.y)
        return np.where((grid < self.t[0] - slack) | (grid > self.t[-1] + slack), np.nan, y)


@dataclass(frozen=True)
class Quantity:
    """A quantity read from a run.

    Args:
        name: with its unit, as on an axis.
        of: reads it, shape (n,) from a recording of n rows.
    """

    name: str
    of: Callable[[Recording], np.ndarray]

    def curve(self, recording: Recording) -> Curve:
        """The quantity of a run up to the last step that converged."""
        good = recording.status == 0
        return Curve(recording.t[good], self.of(recording)[good])


def _advance(recording: Recording) -> np.ndarray:
    """Way of the base along x since the start [m]: what the gaits' speeds are about."""
    result: np.ndarray = recording.base_position[:, 0] - recording.base_position[0, 0]
    return result


TILT = Quantity("torso tilt [°]", tilt)
HEIGHT = Quantity("torso height [m]", height)
DISTANCE = Quantity("distance [m]", _advance)


def time_grid(step: float, duration: float) -> np.ndarray:
    """Times 0, step, 2 step, ... up to the duration [s]."""
    return step * np.arange(int(np.floor(duration / step + _ROUNDING)) + 1)
