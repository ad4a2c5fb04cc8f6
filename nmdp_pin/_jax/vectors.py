"""Vectors and placements, whose components are the first axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import jax.numpy as jnp
from jax import Array

Components: TypeAlias = "Array | Sequence[Array]"


def dot(a: Components, b: Components) -> Array:
    """Sum of the products of three components."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def cross(a: Components, b: Components) -> Array:
    """Vector product, shape (3, ...)."""
    parts = [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ]
    return jnp.stack(parts)


def length(x: Components) -> Array:
    """Length of a vector, whose derivative at 0 is 0."""
    square = dot(x, x)
    return jnp.where(square > 0.0, jnp.sqrt(jnp.where(square > 0.0, square, 1.0)), 0.0)


def rotation(c: Array, s: Array | float, k: Array | float, u: Components) -> Array:
    """The matrix c 1 + s [u]x + k u u' by its columns, shape (3, 3, ...)."""
    x, y, z = u
    columns = [
        [c + k * x * x, k * x * y + s * z, k * x * z - s * y],
        [k * x * y - s * z, c + k * y * y, k * y * z + s * x],
        [k * x * z + s * y, k * y * z - s * x, c + k * z * z],
    ]
    return jnp.stack([jnp.stack(column) for column in columns])


def rotation_of_quaternion(q: Components) -> Array:
    """The rotation of a unit quaternion (x, y, z, w), shape (3, 3, ...)."""
    u = q[0], q[1], q[2]
    return rotation(1.0 - 2.0 * dot(u, u), 2.0 * q[3], 2.0, u)


def rotate(M: Components, x: Components) -> Array:
    """R x, of a placement, shape (>= 3, 3, ...)."""
    return M[0] * x[0] + M[1] * x[1] + M[2] * x[2]


def rotate_back(M: Components, x: Components) -> Array:
    """R' x, of a placement."""
    return jnp.stack([dot(M[0], x), dot(M[1], x), dot(M[2], x)])


def place(M: Components, x: Components) -> Array:
    """The point x of a placement, shape (4, 3, ...)."""
    return rotate(M, x) + M[3]


def compose(A: Components, B: Components) -> Array:
    """The placement A B, shapes (4, 3, ...)."""
    return jnp.stack([rotate(A, B[0]), rotate(A, B[1]), rotate(A, B[2]), place(A, B[3])])


def relative(A: Components, B: Components) -> Array:
    """The placement B as seen from the placement A."""
    off = [B[3][i] - A[3][i] for i in range(3)]
    return jnp.stack([*(rotate_back(A, B[i]) for i in range(3)), rotate_back(A, off)])
