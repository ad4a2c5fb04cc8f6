"""How much energy a step may gain: it tells the root that a motion leads to from far ones."""

from __future__ import annotations

from typing import Any

LARGEST_GAIN = 0.5  # of the energy that moves, in steps of backward Euler; measured: below 0.2
LEAST_GAIN = 0.01  # [m] that the robot's weight may be lifted by it


def allowed_gain(moving: Any, weight: float, share: float = LARGEST_GAIN) -> Any:
    """The largest gain that differences over large turns may add [J] (docs/choices.md, 15).

    A gain that is not a number is none that is allowed, so ask `not gain <= allowed_gain(...)`.

    Args:
        moving: energy that moves [J], a number or an array of any kind.
        weight: of the robot [N].
        share: of the energy that moves.
    """
    return share * moving + LEAST_GAIN * weight
