"""Gaits: joint positions at knots, with a part that repeats."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from nmdp_pin.errors import ControlError


@dataclass(frozen=True, eq=False)
class Gait:
    """Knots of a reference motion.

    Args:
        name: name in scenarios.
        joints: names of the moving joints, (n_joints,).
        times: times of the knots, increasing from 0 [s], shape (n_knots,).
        positions: joint positions at the knots [rad or m], shape (n_knots, n_joints).
        loop: (start, end) [s]; the part between is repeated. None: the last knot is held.

    Raises:
        ControlError: knots are unsorted or not finite, shapes differ, or the loop is out of range.
    """

    name: str
    joints: tuple[str, ...]
    times: np.ndarray
    positions: np.ndarray
    loop: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        try:
            for name in ("times", "positions"):
                object.__setattr__(self, name, np.asarray(getattr(self, name), dtype=float))
            fault = next(self._faults(), None)
        except (TypeError, ValueError):
            fault = (
                "times and positions must be tables of numbers, each row of positions as long as "
                f"the list of joints ({len(self.joints)})"
            )
        if fault:
            raise ControlError(f"gait '{self.name}': {fault}")

    def phase(self, t: float) -> float:
        """Time along the knots at time t [s]: looped, or held at the last knot."""
        times, loop = self.times, self.loop
        if loop is None:
            return float(np.clip(t, times[0], times[-1]))
        start, end = loop
        return max(t, float(times[0])) if t <= end else start + (t - start) % (end - start)

    def _faults(self) -> Iterator[str]:
        times, positions = self.times, self.positions
        if times.ndim != 1 or times.size < 2:
            yield f"at least two knots are needed, {times.size} given"
        if not (np.isfinite(times).all() and np.isfinite(positions).all()):
            yield "knots must be finite numbers"
        for k in np.flatnonzero(np.diff(times) <= 0.0).tolist():
            yield (
                f"knot times must increase, but knot {k + 1} ({times[k + 1]:g} s) does not come "
                f"after knot {k} ({times[k]:g} s)"
            )
        shape = (times.size, len(self.joints))
        if positions.shape != shape:
            yield f"positions have shape {positions.shape}, expected {shape} (knots, joints)"
        if len(set(self.joints)) != len(self.joints):
            yield f"a joint is named twice in {list(self.joints)}"
        start, end = self.loop or (times[0], times[-1])
        if not times[0] <= start < end <= times[-1]:
            ends = f"{times[0]:g} to {times[-1]:g} s"
            yield f"loop ({start:g}, {end:g}) s must lie inside the knots, {ends}"
