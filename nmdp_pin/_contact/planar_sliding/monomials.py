"""Monomials of one degree in three variables, with their derivatives."""

import functools
import itertools

import numpy as np


@functools.cache
def exponents(degree: int) -> np.ndarray:
    """Powers of the variables in each monomial, those of the first falling, shape (k, 3)."""
    powers = itertools.product(range(degree, -1, -1), repeat=3)
    return np.array([p for p in powers if sum(p) == degree])


def monomials(points: np.ndarray, degree: int) -> np.ndarray:
    """Their values at points of shape (..., 3), shape (..., k)."""
    points = np.asarray(points, dtype=float)
    table = np.ones((degree + 1, *points.shape))  # powers by products: far cheaper than **
    for power in range(degree):
        table[power + 1] = table[power] * points
    a, b, c = exponents(degree).T
    result: np.ndarray = np.moveaxis(table[a, ..., 0] * table[b, ..., 1] * table[c, ..., 2], 0, -1)
    return result


@functools.cache
def lowering(degree: int) -> np.ndarray:
    """Derivatives of the monomials, in monomials of one degree less, shape (3, k, k')."""
    place = {tuple(p): i for i, p in enumerate(exponents(degree - 1).tolist())}
    result = np.zeros((3, len(exponents(degree)), len(place)))
    for (k, p), i in itertools.product(enumerate(exponents(degree).tolist()), range(3)):
        if p[i] > 0:
            lower = (*p[:i], p[i] - 1, *p[i + 1 :])
            result[i, k, place[lower]] = p[i]
    return result


def derivatives(points: np.ndarray, degree: int) -> np.ndarray:
    """Derivatives with respect to the variables, shape (..., 3, k)."""
    result: np.ndarray = np.einsum(
        "...l,ikl->...ik", monomials(points, degree - 1), lowering(degree)
    )
    return result
