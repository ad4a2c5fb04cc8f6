"""Piecewise cubic curves."""

from __future__ import annotations

from nmdp_pin._kernels.compiler.jit import Array, jit


@jit
def cubic(
    breaks: Array, coefficients: Array, t: float, q_index: Array, v_index: Array, q: Array, v: Array
) -> None:
    """Write the values at t of n curves and their slopes.

    Args:
        breaks: ends of the pieces, ascending, shape (m + 1,).
        coefficients: coefficients of the pieces, highest power first, shape (4, m, n).
        t: argument; beyond the breaks the first or the last piece continues.
        q_index: indices of the values in q, shape (n,).
        v_index: indices of the slopes in v, shape (n,).
        q: output.
        v: output.
    """
    piece = 0
    while piece < coefficients.shape[1] - 1 and breaks[piece + 1] <= t:
        piece += 1
    x = t - breaks[piece]
    for j in range(q_index.size):
        a, b = coefficients[0, piece, j], coefficients[1, piece, j]
        c, d = coefficients[2, piece, j], coefficients[3, piece, j]
        q[q_index[j]] = ((a * x + b) * x + c) * x + d
        v[v_index[j]] = (3.0 * a * x + 2.0 * b) * x + c
