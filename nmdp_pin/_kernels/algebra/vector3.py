"""Vectors of three numbers: tuples, which need no memory, and arrays.

A placement is stored as (4, 3): the columns of the rotation, then the origin.
"""

from __future__ import annotations

import math

from nmdp_pin._kernels.compiler.jit import Array, jit

Vector3 = tuple[float, float, float]


@jit
def dot(a: Vector3 | Array, b: Vector3 | Array) -> float:
    """Scalar product."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@jit
def minus(a: Vector3 | Array, b: Vector3 | Array) -> Vector3:
    """The difference a - b."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@jit
def axpy(a: Vector3, t: float, b: Vector3) -> Vector3:
    """The sum a + t b."""
    return a[0] + t * b[0], a[1] + t * b[1], a[2] + t * b[2]


@jit
def cross(a: Vector3, b: Vector3) -> Vector3:
    """The vector product of a and b."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@jit
def length(a: Vector3) -> float:
    """Euclidean norm."""
    return math.sqrt(dot(a, a))


@jit
def scaled(a: Vector3, t: float) -> Vector3:
    """The product t a."""
    return t * a[0], t * a[1], t * a[2]


@jit
def times(A: Array, x: Vector3) -> Vector3:
    """The product of a matrix, shape (3, 3), and a vector."""
    return dot(A[0], x), dot(A[1], x), dot(A[2], x)


@jit
def largest_difference(a: Vector3 | Array, b: Vector3) -> float:
    """Largest difference of the coordinates of two points."""
    value: float = max(abs(a[0] - b[0]), abs(a[1] - b[1]), abs(a[2] - b[2]))
    return value


@jit
def cross_into(a: Array, b: Array, out: Array) -> None:
    """Write the cross product a x b."""
    out[0] = a[1] * b[2] - a[2] * b[1]
    out[1] = a[2] * b[0] - a[0] * b[2]
    out[2] = a[0] * b[1] - a[1] * b[0]


@jit
def rotate(M: Array, a: Array, out: Array) -> None:
    """Write R a, with the rotation of a placement."""
    for j in range(3):
        out[j] = M[0, j] * a[0] + M[1, j] * a[1] + M[2, j] * a[2]


@jit
def rotate_back(M: Array, a: Array, out: Array) -> None:
    """Write R' a, with the rotation of a placement."""
    for j in range(3):
        out[j] = M[j, 0] * a[0] + M[j, 1] * a[1] + M[j, 2] * a[2]


@jit
def place(M: Array, a: Array, out: Array) -> None:
    """Write the point R a + p."""
    for j in range(3):
        out[j] = M[3, j] + M[0, j] * a[0] + M[1, j] * a[1] + M[2, j] * a[2]


@jit
def compose(A: Array, B: Array, C: Array) -> None:
    """C = A B of placements."""
    for i in range(4):
        x, y, z = B[i, 0], B[i, 1], B[i, 2]
        for j in range(3):
            C[i, j] = x * A[0, j] + y * A[1, j] + z * A[2, j]
    for j in range(3):
        C[3, j] += A[3, j]


@jit
def relative(A: Array, B: Array, C: Array) -> None:
    """C = A^-1 B of placements; B need not be rigid."""
    for r in range(4):
        x, y, z = B[r, 0], B[r, 1], B[r, 2]
        if r == 3:
            x, y, z = x - A[3, 0], y - A[3, 1], z - A[3, 2]
        for a in range(3):
            C[r, a] = A[a, 0] * x + A[a, 1] * y + A[a, 2] * z
