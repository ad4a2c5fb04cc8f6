"""Factors of many small symmetric matrices, by products of blocks.

jaxlib's own batched Cholesky and triangular solves wait, on a processor, inside its pool of threads
for other tasks of the same pool: as many of them at a time as there are threads, and the program
stands still for ever (jaxlib 0.10.2, two cores). Products of blocks run on any device.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp

from nmdp_pin.batch.lanes import Lanes, total

_BLOCK = 4  # size of the matrices that are factored entry by entry


def inverse_factor(A: Lanes) -> Lanes:
    """L^-1 with A = L L', L lower triangular; NaN where A is not positive definite.

    Args:
        A: symmetric matrices, batch first, of which the lower triangle is read, (K, n, n).
    """
    n = A.shape[-1]
    if n <= _BLOCK:
        return _entry_by_entry(A)
    half = _BLOCK * ((n + 2 * _BLOCK - 1) // (2 * _BLOCK))
    X = inverse_factor(A[:, :half, :half])
    below = product(A[:, half:, :half], X, transposed=True)  # L_21 = A_21 L_11'^-1
    Y = inverse_factor(A[:, half:, half:] - product(below, below, transposed=True))
    corner = -product(Y, product(below, X))
    upper = jnp.zeros((len(A), half, n - half), A.dtype)
    rows = [jnp.concatenate([X, upper], axis=2), jnp.concatenate([corner, Y], axis=2)]
    return jnp.concatenate(rows, axis=1)


def product(A: Lanes, B: Lanes, *, transposed: bool = False) -> Lanes:
    """A B, or A B', batch first."""
    return jnp.matmul(A, jnp.swapaxes(B, 1, 2) if transposed else B, precision=_EXACT)


def _entry_by_entry(A: Lanes) -> Lanes:
    """`inverse_factor` of very small matrices."""
    n = A.shape[-1]
    L: dict[tuple[int, int], Lanes] = {}
    X: dict[tuple[int, int], Lanes] = {}
    for i in range(n):
        for j in range(i + 1):
            rest = A[:, i, j]
            if j:
                rest = rest - total(L[i, k] * L[j, k] for k in range(j))
            L[i, j] = rest * X[j, j] if j < i else jnp.sqrt(rest)
        X[i, i] = 1.0 / L[i, i]
        for j in range(i):
            X[i, j] = -X[i, i] * total(L[i, k] * X[k, j] for k in range(j, i))
    zero = jnp.zeros_like(A[:, 0, 0])
    rows = [jnp.stack([X.get((i, j), zero) for j in range(n)], axis=1) for i in range(n)]
    return jnp.stack(rows, axis=1)


_EXACT = jax.lax.Precision.HIGHEST
