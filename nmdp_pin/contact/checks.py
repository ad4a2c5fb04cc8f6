"""Checks of the parameters of contact models."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np


def is_number(value: Any) -> bool:
    """A finite real number."""
    return isinstance(value, Real) and bool(np.isfinite(float(value)))


def is_integer(value: Any) -> bool:
    """A whole number."""
    return isinstance(value, Integral)
