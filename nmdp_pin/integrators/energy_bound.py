"""Bound on the energy that a step may gain, which excludes roots far from any motion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

LEAST_GAIN = 0.01  # [m] by which the gain may lift the robot's weight
EXPLICIT = 0.02
"""Share for methods with explicit gyroscopic forces, whose gains accumulate over steps."""


@dataclass(frozen=True, kw_only=True)
class EnergyBound:
    """The acceptance check of a step's energy.

    An implicit step loses energy: in first order v' M (v - v0) is more than the change of
    v' M v / 2, and contact forces only dissipate. Large turns and steps of second order may add
    a share of the energy that moves (docs/choices.md, 15).

    Args:
        share: allowed share of the energy that moves [-].
    """

    share: float = 0.1

    def allows(self, gain: float, moving: float, weight: float) -> bool:
        """Whether a gain of energy is acceptable.

        Args:
            gain: energy gained beyond the work of the torques [J].
            moving: energy that moves: kinetic energy at the start plus work [J].
            weight: weight of the robot [N].
        """
        return bool(gain <= allowed_gain(moving, weight, self.share))


def allowed_gain(moving: Any, weight: float, share: float) -> Any:
    """The largest acceptable gain [J]."""
    return share * moving + LEAST_GAIN * weight
