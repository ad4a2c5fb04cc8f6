"""Backward differences of first and second order over steps of unequal length."""

from __future__ import annotations

from typing import NamedTuple

# A step that grows by more than 1 + sqrt(2) makes the second difference unstable; 2 is safe, and
# what a step after a halved one needs.
LARGEST_GROWTH = 2.0


class BackwardDifference(NamedTuple):
    """y' = rate * ((y - y0) - carry * (y0 - y_before)).

    Args:
        rate: [1/s].
        carry: share of the difference before [-]; 0 makes it backward Euler's.
    """

    rate: float
    carry: float

    @classmethod
    def first(cls, h: float) -> BackwardDifference:
        """Of first order over a step of length h [s]."""
        return cls(1.0 / h, 0.0)

    @classmethod
    def second(cls, h: float, h_before: float) -> BackwardDifference:
        """Of second order (BDF2): (3 y - 4 y0 + y_before) / 2h where both steps are h [s]."""
        ratio = h / h_before
        lead = (1.0 + 2.0 * ratio) / (1.0 + ratio)
        lag = ratio**2 / (1.0 + ratio)
        return cls(lead / h, lag / lead)
