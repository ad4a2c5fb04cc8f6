"""Blocks of candidates with the same bodies, and bounds by which they are known to be apart."""

import functools
import itertools
from collections.abc import Mapping

import numpy as np

from nmdp_pin._kernels.geometry.contacts import POLYTOPES
from nmdp_pin._terrain import Plane, Terrain
from nmdp_pin._terrain.shape import box_around

_UNBOUNDED = np.array([[0.0] * 3, [np.inf] * 3])  # a box


def blocks_of(bodies: np.ndarray, end: int) -> np.ndarray:
    """Where blocks with the same bodies begin, the first of polytopes, and the end, (g + 1,)."""
    changes = np.flatnonzero(np.diff(bodies, axis=0).any(axis=1)) + 1
    first = [0, *changes.tolist()] if len(bodies) else []
    polytopes = [len(bodies)] if len(bodies) < end else []
    return np.array([*first, *polytopes, end], np.int64)


def balls_around(blocks: np.ndarray, local: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Balls around the points of blocks, shape (g, 4).

    Args:
        blocks: where they begin, shape (g + 1,).
        local: centres of the candidates [m], shape (k, 3).
        sizes: how far their spheres reach from the centres [m], shape (k,).
    """
    found = np.zeros((len(blocks) - 1, 4))
    for g, (begin, end) in enumerate(itertools.pairwise(blocks.tolist())):
        centre = local[begin:end].mean(axis=0)
        gaps = np.linalg.norm(local[begin:end] - centre, axis=1) + sizes[begin:end]
        found[g] = *centre, gaps.max()
    return found


def boxes_around(
    blocks: np.ndarray,
    bodies: np.ndarray,
    kinds: np.ndarray,
    surfaces: Mapping[int, Terrain],
) -> np.ndarray:
    """Boxes around the shapes of blocks, without bounds for polytopes, shape (g, 2, 3).

    Args:
        blocks: where they begin, shape (g + 1,).
        bodies: bodies of the candidates, shape (k, 2).
        kinds: kinds of the candidates, shape (k,).
        surfaces: surfaces by body.
    """
    around = functools.cache(lambda body: _box_around(surfaces[body]))
    found = np.tile(_UNBOUNDED, (len(blocks) - 1, 1, 1))
    for g, begin in enumerate(blocks[:-1].tolist()):
        if kinds[begin] != POLYTOPES:
            found[g] = around(int(bodies[begin, 1]))
    return found


def _box_around(surface: Terrain) -> np.ndarray:
    """Centre and half lengths of a box around shapes, inf where there are planes, shape (2, 3)."""
    if any(isinstance(shape, Plane) for shape in surface.shapes):
        return _UNBOUNDED
    boxes = [box_around(shape.collision_geometry(), shape.placement) for shape in surface.shapes]
    low, high = np.min([a for a, _ in boxes], axis=0), np.max([b for _, b in boxes], axis=0)
    return np.array([0.5 * (low + high), 0.5 * (high - low)])
