"""Checks of the parameters of contact models."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np

from nmdp_pin.errors import ContactError


def is_number(value: Any) -> bool:
    """A finite real number."""
    return isinstance(value, Real) and bool(np.isfinite(float(value)))


def is_integer(value: Any) -> bool:
    """A whole number."""
    return isinstance(value, Integral)


def check_recovery(rate: Any) -> None:
    """Check the rate at which contacts push out.

    Raises:
        ContactError: it is not a number >= 0.
    """
    if not (is_number(rate) and rate >= 0.0):
        raise ContactError(f"recovery must be >= 0 1/s, got {rate!r}")
