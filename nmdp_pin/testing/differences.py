"""Derivatives by central differences, and how near a derivative comes to them."""

from collections.abc import Callable

import numpy as np

# The truncation error falls with the square of the step, the rounding error grows with its
# inverse. At 2e-6 rad both stay below 1e-7 for depths from a millimetre on.
STEP = 2e-6
DERIVATIVE = 1e-6  # relative error of a derivative against central differences
_SMALL = 1e-4  # rows below this share of the largest are compared with it


def central_differences(
    function: Callable[[np.ndarray], np.ndarray], dimension: int, step: float = STEP
) -> np.ndarray:
    """Derivative of function(dx) at dx = 0; the last axis is that of dx."""
    columns = []
    for direction in step * np.eye(dimension):
        columns.append((function(direction) - function(-direction)) / (2.0 * step))
    return np.stack(columns, axis=-1)


def assert_same(found: np.ndarray, expected: np.ndarray, tolerance: float = DERIVATIVE) -> None:
    """Each row agrees relative to its own largest entry, or to 1e-4 of the largest of all.

    Raises:
        AssertionError: it does not, or there is nothing to compare.
    """
    assert found.shape == expected.shape, f"shape {found.shape}, expected {expected.shape}"
    assert np.isfinite(found).all(), "the derivative is not finite"
    rows = np.abs(expected).reshape(-1, expected.shape[-1]).max(axis=1, initial=0.0)
    assert rows.max(initial=0.0) > 0.0, "a derivative that is zero everywhere tests nothing"
    scale = np.maximum(rows, _SMALL * rows.max())[:, None]
    error = np.abs(found - expected).reshape(len(rows), -1) / scale
    assert error.max() <= tolerance, f"relative error {error.max():.2e} > {tolerance:g}"
