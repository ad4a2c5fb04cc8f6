"""Inertia of material points, as in `nmdp_pin._kernels.step.inertia`."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

from nmdp_pin._jax.vectors import cross


def inertial_wrenches(P: Array, target: Array, moments: Array) -> Array:
    """Derivatives of the inertial potential by motions of the bodies, shape (6, n, K).

    Args:
        P: placements, shape (4, 3, n, K).
        target: placements that the bodies reach without forces, likewise.
        moments: second moments, shape (4, 4, n).
    """
    off, weights = P - target, moments[..., None]
    rows = [sum(weights[i, j] * off[j] for j in range(4)) for i in range(4)]
    return jnp.concatenate([rows[3], sum(cross(P[i], rows[i]) for i in range(4))])


def inertial_stiffness(P: Array, target: Array, moments: Array) -> Array:
    """Derivatives of `inertial_wrenches` by motions of the bodies, shape (6, 6, n, K).

    [[m 1, -[c]], [[c_hat], tr(Y) 1 - Y]]; see the kernel of this name.
    """
    weights = moments[..., None]
    rows = [sum(weights[i, j] * target[j] for j in range(4)) for i in range(4)]
    own = sum(weights[3, j] * P[j] for j in range(4))
    Y = [[sum(P[i][j] * rows[i][a] for i in range(4)) for a in range(3)] for j in range(3)]
    trace = Y[0][0] + Y[1][1] + Y[2][2]
    zero = jnp.zeros_like(trace)
    mass = weights[3, 3] + zero
    c, d = own, rows[3]
    upper = [
        [mass, zero, zero, zero, c[2], -c[1]],
        [zero, mass, zero, -c[2], zero, c[0]],
        [zero, zero, mass, c[1], -c[0], zero],
    ]
    lower = [[zero, -d[2], d[1]], [d[2], zero, -d[0]], [-d[1], d[0], zero]]
    whole = upper + [
        [*lower[i], *((trace if i == j else zero) - Y[i][j] for j in range(3))] for i in range(3)
    ]
    return jnp.stack([jnp.stack(row) for row in whole])
