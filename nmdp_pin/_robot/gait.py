"""Gaits: joint positions at knots, with a part that repeats."""

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
        where = f"gait '{self.name}'"
        try:
            times = np.asarray(self.times, dtype=float)
            positions = np.asarray(self.positions, dtype=float)
        except (TypeError, ValueError) as error:
            raise ControlError(
                f"{where}: times and positions must be tables of numbers, each row of positions "
                f"as long as the list of joints ({len(self.joints)})"
            ) from error
        object.__setattr__(self, "times", times)
        object.__setattr__(self, "positions", positions)
        if times.ndim != 1 or times.size < 2:
            raise ControlError(f"{where}: at least two knots are needed, {times.size} given")
        if not (np.all(np.isfinite(times)) and np.all(np.isfinite(positions))):
            raise ControlError(f"{where}: knots must be finite numbers")
        if np.any(np.diff(times) <= 0.0):
            k = int(np.argmax(np.diff(times) <= 0.0))
            raise ControlError(
                f"{where}: knot times must increase, but knot {k + 1} ({times[k + 1]:g} s) "
                f"does not come after knot {k} ({times[k]:g} s)"
            )
        if positions.shape != (times.size, len(self.joints)):
            raise ControlError(
                f"{where}: positions have shape {positions.shape}, expected "
                f"{(times.size, len(self.joints))} (knots, joints)"
            )
        if len(set(self.joints)) != len(self.joints):
            raise ControlError(f"{where}: a joint is named twice in {list(self.joints)}")
        if self.loop is not None:
            start, end = self.loop
            if not times[0] <= start < end <= times[-1]:
                raise ControlError(
                    f"{where}: loop ({start:g}, {end:g}) s must lie inside the knots, "
                    f"{times[0]:g} to {times[-1]:g} s"
                )
