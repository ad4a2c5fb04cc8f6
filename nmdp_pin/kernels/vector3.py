"""Vectors of three numbers as tuples, which need no memory allocation."""

from __future__ import annotations

import math

import numpy as np

from nmdp_pin.kernels.jit import jit

Vector3 = tuple[float, float, float]


@jit
def dot(a: Vector3 | np.ndarray, b: Vector3 | np.ndarray) -> float:
    """Scalar product."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@jit
def minus(a: Vector3, b: Vector3) -> Vector3:
    """The difference a - b."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@jit
def ahead(a: Vector3, t: float, b: Vector3) -> Vector3:
    """The sum a + t b."""
    return a[0] + t * b[0], a[1] + t * b[1], a[2] + t * b[2]


@jit
def length(a: Vector3) -> float:
    """Euclidean norm."""
    return math.sqrt(dot(a, a))


@jit
def scaled(a: Vector3, t: float) -> Vector3:
    """The product t a."""
    return t * a[0], t * a[1], t * a[2]
