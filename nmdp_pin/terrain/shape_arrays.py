"""Shapes as the flat arrays that the kernels read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from nmdp_pin.kernels.primitives import BOX, CAPSULE, CYLINDER, SPHERE
from nmdp_pin.kernels.terrain import FIELD, PLANE, query
from nmdp_pin.terrain.height_field import HeightField
from nmdp_pin.terrain.plane import Plane
from nmdp_pin.terrain.primitives import Box, Capsule, Cylinder, Primitive, Sphere
from nmdp_pin.terrain.shape import Shape
from nmdp_pin.terrain.surface import Surface

_ROUNDING = 1e-13  # [-] of coordinates relative to the size of a height field
_KINDS: dict[type[Shape], int] = {
    Plane: PLANE,
    Box: BOX,
    Sphere: SPHERE,
    Cylinder: CYLINDER,
    Capsule: CAPSULE,
    HeightField: FIELD,
}


class ShapeArrays(NamedTuple):
    """The tables of `nmdp_pin.kernels.terrain`; only to be read.

    All are contiguous and formally writable, since numba compiles anew for read-only arrays.

    Args:
        kinds: shape (n, 6).
        shapes: shape (n, 17).
        heights: shape (h,) [m].
        intervals: shape (k, 2) [m].
    """

    kinds: np.ndarray
    shapes: np.ndarray
    heights: np.ndarray
    intervals: np.ndarray

    @property
    def tables(self) -> tuple[np.ndarray, np.ndarray, np.ndarray | None, np.ndarray]:
        """The arguments of `kernels.terrain.query`."""
        heights = self.heights if len(self.heights) else None
        return self.kinds, self.shapes, heights, self.intervals

    def query(self, points: np.ndarray) -> Surface:
        """The surface of these shapes at points, shape (n, 3), contiguous and writable."""
        n = len(points)
        distance, normal, friction = np.empty(n), np.empty((n, 3)), np.empty(n)
        curvature, shape = np.empty((n, 3, 3)), np.empty(n, dtype=np.int64)
        bent = query(*self.tables, points, distance, normal, curvature, friction, shape)
        return Surface(distance, normal, curvature if bent else None, friction, shape)


def shape_arrays(shapes: Mapping[int, Shape]) -> ShapeArrays:
    """The arrays of shapes other than meshes, by their indices in the terrain."""
    found = sorted(shapes.items(), key=lambda item: (order(item[1]), item[0]))
    kinds, rows = np.zeros((len(found), 6), dtype=np.int64), np.zeros((len(found), 17))
    heights, intervals = [np.zeros(0)], [np.zeros((0, 2))]
    for row, kind, (index, shape) in zip(rows, kinds, found, strict=True):
        M = shape.placement
        row[:3], row[3:12], row[15] = M.translation, M.rotation.ravel(), shape.friction
        kind[:2] = _KINDS[type(shape)], index
        if isinstance(shape, Plane):
            row[[5, 8, 11]], row[12] = shape.unit_normal, shape.level
        elif isinstance(shape, Primitive):
            row[12:15] = shape.half_extents
        elif isinstance(shape, HeightField):
            ny, nx = shape.samples.shape
            dx, dy = shape.steps
            corner = np.array([-0.5 * (nx - 1) * dx, -0.5 * (ny - 1) * dy, 0.0])
            row[:3] = M.act(corner)
            row[12:15] = dx, dy, shape.base
            size = max(np.abs(shape.samples).max(), abs(shape.base), np.abs(corner).max())
            row[16] = _ROUNDING * (size + np.abs(M.translation).max())
            kind[2:] = nx, ny, sum(map(len, heights)), sum(map(len, intervals))
            heights.append(shape.samples.ravel())
            intervals.append(_intervals(shape.samples))
    return ShapeArrays(kinds, rows, np.concatenate(heights), np.concatenate(intervals))


def order(shape: Shape) -> int:
    """The order in which shapes count where they tie: planes, primitives, fields, meshes."""
    kinds = (Plane, Primitive, HeightField)
    return next((k for k, kind in enumerate(kinds) if isinstance(shape, kind)), len(kinds))


def _intervals(samples: np.ndarray) -> np.ndarray:
    """Lowest and highest heights of blocks of cells, from single ones to that of all, (k, 2)."""
    corners = np.stack([samples[:-1, :-1], samples[:-1, 1:], samples[1:, 1:], samples[1:, :-1]])
    lows, highs = corners.min(axis=0), corners.max(axis=0)
    levels = [np.stack([lows, highs], axis=2).reshape(-1, 2)]
    while lows.size > 1:
        starts = [np.arange(0, n, 2) for n in lows.shape]
        lows = np.minimum.reduceat(np.minimum.reduceat(lows, starts[0]), starts[1], axis=1)
        highs = np.maximum.reduceat(np.maximum.reduceat(highs, starts[0]), starts[1], axis=1)
        levels.append(np.stack([lows, highs], axis=2).reshape(-1, 2))
    return np.concatenate(levels)
