"""Natural maps of cones that are smoothed, for derivatives that average over their pieces."""

from __future__ import annotations

import math

from nmdp_pin._kernels.compiler.jit import Array, jit
from nmdp_pin._kernels.compiler.record import matrix, vector
from nmdp_pin._kernels.solver.force_sets import ForceSets

_ROUNDING = 1e-12  # share of a force that is none
_LEAST_FRICTION = 1e-6  # of a cone that is smoothed


@jit
def smooth(
    sets: ForceSets, b: int, f: Array, F: Array, kappa: float, Phi: Array, X: Array, Y: Array
) -> None:
    """Natural map of a round cone where the product of force and motion is kappa^2 instead of 0.

    In coordinates g = (f_t, mu f_n) the cone is |g_t| <= g_n, and y = g - rho F' has the spectral
    values y_n -+ |y_t|, whose positive parts (y + sqrt(y^2 + 4 kappa^2)) / 2 are smooth.

    Args:
        sets: the sets.
        b: index of the block.
        f: force, shape (3,).
        F: motions, shape (3,).
        kappa: force up to which forces are known [N].
        Phi: output, shape (3,).
        X: output, shape (3, 3).
        Y: output, shape (3, 3).
    """
    rho, mu = sets.rho[b], max(sets.friction[b], _LEAST_FRICTION)
    scale, y, D = vector(3), vector(3), matrix(3, 3)
    scale[0] = scale[1] = 1.0
    scale[2] = mu
    for i in range(3):
        y[i] = scale[i] * f[i] - rho * F[i] / scale[i]
    across = math.sqrt(y[0] * y[0] + y[1] * y[1])
    t0, t1 = (y[0] / across, y[1] / across) if across > 0.0 else (1.0, 0.0)
    low, high = y[2] - across, y[2] + across
    of_low = math.sqrt(low * low + 4.0 * kappa * kappa)
    of_high = math.sqrt(high * high + 4.0 * kappa * kappa)
    less, more = 0.5 * (low + of_low), 0.5 * (high + of_high)
    a, c = 0.5 * (1.0 + low / of_low), 0.5 * (1.0 + high / of_high)
    mean, half = 0.5 * (a + c), 0.5 * (c - a)
    turned = (more - less) / (2.0 * across) if across > _ROUNDING * abs(y[2]) else mean
    D[0, 0], D[0, 1] = turned + (mean - turned) * t0 * t0, (mean - turned) * t0 * t1
    D[1, 0], D[1, 1] = D[0, 1], turned + (mean - turned) * t1 * t1
    D[0, 2] = D[2, 0] = half * t0
    D[1, 2] = D[2, 1] = half * t1
    D[2, 2] = mean
    Phi[0] = f[0] - 0.5 * (more - less) * t0
    Phi[1] = f[1] - 0.5 * (more - less) * t1
    Phi[2] = mu * f[2] - 0.5 * (more + less)
    for i in range(3):
        for j in range(3):
            X[i, j] = ((1.0 if i == j else 0.0) - D[i, j]) * scale[j]
            Y[i, j] = rho * D[i, j] / scale[j]


@jit
def smooth_disc(
    sets: ForceSets, b: int, f: Array, F: Array, kappa: float, Phi: Array, X: Array, Y: Array
) -> None:
    """Rows of the friction at a bound, as `smooth`: the excess |y_t| - mu f_n has a smooth part.

    Args:
        sets: the sets.
        b: index of the block.
        f: force, shape (3,).
        F: motions, shape (3,).
        kappa: force up to which forces are known [N].
        Phi: output, of which the first two are written, shape (3,).
        X: output, of which two rows are written, shape (3, 3).
        Y: output, likewise, shape (3, 3).
    """
    rho, mu = sets.rho[b], sets.friction[b]
    y0, y1 = f[0] - rho * F[0], f[1] - rho * F[1]
    across = math.sqrt(y0 * y0 + y1 * y1)
    if across <= _ROUNDING * mu * f[2]:
        return
    excess, t0, t1 = across - mu * f[2], y0 / across, y1 / across
    root = math.sqrt(excess * excess + 4.0 * kappa * kappa)
    kept, share = across - 0.5 * (excess + root), 0.5 * (1.0 + excess / root)
    turned = kept / across
    along = 1.0 - share - turned
    D00, D01, D11 = turned + along * t0 * t0, along * t0 * t1, turned + along * t1 * t1
    Phi[0], Phi[1] = f[0] - kept * t0, f[1] - kept * t1
    X[0, 0], X[0, 1], X[0, 2] = 1.0 - D00, -D01, -mu * share * t0
    X[1, 0], X[1, 1], X[1, 2] = -D01, 1.0 - D11, -mu * share * t1
    Y[0, 0], Y[0, 1], Y[1, 0], Y[1, 1] = rho * D00, rho * D01, rho * D01, rho * D11
