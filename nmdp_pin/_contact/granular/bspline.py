"""Cubic B-splines on uniform nodes, exact for cubics, from samples at the nodes."""

import numpy as np

_CORRECTION = np.array([-1.0, 8.0, -1.0]) / 6.0


def coefficients(samples: np.ndarray, axis: int) -> np.ndarray:
    """Coefficients that reproduce cubics, from samples at the nodes along an axis.

    Local: c_i = (-f_{i-1} + 8 f_i - f_{i+1}) / 6, so a kink is felt two nodes far. The first and
    last coefficient are the samples themselves.
    """
    f = np.moveaxis(samples, axis, 0)
    c = f.copy()
    before, here, after = _CORRECTION
    c[1:-1] = before * f[:-2] + here * f[1:-1] + after * f[2:]
    return np.moveaxis(c, 0, axis)


def basis(x: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The four basis functions that are not zero at x.

    Args:
        x: in units of the spacing, node 0 at 0, within [1, n - 2]; shape (k,).
        n: number of coefficients.

    Returns:
        Indices of four coefficients, their weights, and the derivatives of these, each (k, 4).
    """
    # fmin and fmax pass over NaN, which is then in the weights
    first = np.fmin(np.fmax(np.floor(x), 1.0), n - 3.0).astype(int) - 1
    t = x - (first + 1)
    s = 1.0 - t
    value = np.empty((len(x), 4))
    value[:, 0], value[:, 3] = s**3 / 6.0, t**3 / 6.0
    value[:, 1] = 2.0 / 3.0 - t * t * (1.0 - 0.5 * t)
    value[:, 2] = 2.0 / 3.0 - s * s * (1.0 - 0.5 * s)
    slope = np.empty((len(x), 4))
    slope[:, 0], slope[:, 3] = -0.5 * s * s, 0.5 * t * t
    slope[:, 1], slope[:, 2] = t * (1.5 * t - 2.0), -s * (1.5 * s - 2.0)
    return first[:, None] + np.arange(4), value, slope
