"""Arrays of floats from what a user gave."""

from __future__ import annotations

import numpy as np

from nmdp_pin.errors import NmdpError


def numbers(name: str, value: object, error: type[NmdpError]) -> np.ndarray:
    """Convert a value to an array of floats.

    Raises:
        NmdpError: an error of the type `error`; the value is no array of numbers.
    """
    try:
        return np.asarray(value, dtype=float)
    except (TypeError, ValueError) as cause:
        raise error(f"{name} must be an array of numbers, got {value!r}") from cause
