"""Small linear algebra with the trajectories in the last axis.

XLA makes one vector loop of such elementwise sums, where a product of thousands of small matrices,
batch first, would be thousands of calls.
"""

from __future__ import annotations

from functools import reduce
from operator import add

import jax
import jax.numpy as jnp
import numpy as np

Lanes = jax.Array


def matmul(A: Lanes, B: Lanes) -> Lanes:
    """A B; shapes (..., p, q, K), (..., q, r, K) to (..., p, r, K); q is small."""
    return total(A[..., :, i, None, :] * B[..., None, i, :, :] for i in range(A.shape[-2]))


def times(A: Lanes, b: Lanes) -> Lanes:
    """A b; shapes (..., p, q, K), (..., q, K) to (..., p, K)."""
    return total(A[..., :, i, :] * b[..., None, i, :] for i in range(A.shape[-2]))


def dot(a: Lanes, b: Lanes) -> Lanes:
    """A . b; shapes (..., q, K) twice to (..., K)."""
    return total(a[..., i, :] * b[..., i, :] for i in range(a.shape[-2]))


def cross(a: Lanes, b: Lanes) -> Lanes:
    """A x b; shapes (..., 3, K) twice."""
    (a0, a1, a2), (b0, b1, b2) = ([x[..., i, :] for i in range(3)] for x in (a, b))
    return jnp.stack([a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0], axis=-2)


def skew(a: Lanes) -> Lanes:
    """Matrices [a]_x with [a]_x b = a x b; shape (..., 3, K) to (..., 3, 3, K)."""
    x, y, z = (a[..., i, :] for i in range(3))
    o = jnp.zeros_like(x)
    rows = ((o, -z, y), (z, o, -x), (-y, x, o))
    return jnp.stack([jnp.stack(row, axis=-2) for row in rows], axis=-3)


def outer(a: Lanes, b: Lanes) -> Lanes:
    """A b'; shapes (..., p, K), (..., q, K) to (..., p, q, K)."""
    return a[..., :, None, :] * b[..., None, :, :]


def combine(table: np.ndarray, lanes: Lanes) -> Lanes:
    """Sums of rows with constant weights; shapes (m, n), (n, ..., K) to (m, ..., K)."""
    return jnp.tensordot(table.astype(lanes.dtype), lanes, 1, precision="highest")


def total(terms: object) -> Lanes:
    """The sum of some arrays."""
    return reduce(add, terms)  # type: ignore[call-overload]
