"""Directions spread over the sphere."""

import itertools

import numpy as np


def sphere_directions(refinement: int) -> np.ndarray:
    """Unit vectors over the sphere: the grid of an octahedron with 2^refinement parts an edge.

    Symmetric under reflection in each axis and under exchange of the axes; each refinement holds
    the one before. 6, 18, 66, 258, 1026 vectors for 0 to 4, shape (4^(refinement + 1) + 2, 3).
    """
    n = 2**refinement
    grid = itertools.product(range(-n, n + 1), repeat=3)
    points = np.array([p for p in grid if sum(map(abs, p)) == n], dtype=float)
    result: np.ndarray = points / np.linalg.norm(points, axis=1, keepdims=True)
    return result
