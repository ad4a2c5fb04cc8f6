"""Which cells of a regular grid of heights can be nearest to points, found by indexing."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pinocchio as pin

_BEYOND = 1.0 + 1e-9  # of a distance, so that what lies at it counts as within it
_ROUNDING = 1e-13  # [-] of coordinates relative to the size of the field
_WINDOW = 128  # cells along an axis; a point that looks over more of them is left out
_MANY = 40  # cells; a point that cannot tell which of more is nearest is left out
_BOTH_WAYS = np.array([-1.0, 1.0])[:, None, None]
_QUARTERS = np.array([[[0, 1, 0, 1]], [[0, 0, 1, 1]]])


class Reach(NamedTuple):
    """How far from points the surface of the block can be.

    Args:
        local: coordinates of the points in the grid's frame, shape (3, n).
        distance: to the ground above or below the point, or below the border next to it, which is
            never less than to the nearest point of the surface [m], shape (n,).
        inside: the walls and the bottom are further off than that, shape (n,).
    """

    local: np.ndarray
    distance: np.ndarray
    inside: np.ndarray


class _Blocks(NamedTuple):
    """The bounding boxes of blocks of cells; beyond the field they are empty.

    Args:
        size: of a block along x and y [m], shape (2, 1).
        columns: number of blocks along x.
        lows: of all blocks, the lowest height [m], shape (rows * columns,).
        highs: the highest [m], likewise.
    """

    size: np.ndarray
    columns: int
    lows: np.ndarray
    highs: np.ndarray


class HeightGrid:
    """The top of a height field: two triangles a cell, split along (j, i) to (j + 1, i + 1).

    With c the number of cells, cell k = j (nx - 1) + i has the triangles k (beside row j) and
    c + k (beside column i).

    Args:
        samples: heights [m], shape (ny, nx); sample (j, i) is that of column i and row j.
        steps: distance between samples along x and y [m].
        base: height of the bottom [m].
        placement: of the grid's frame, which is at its centre, in the world.
    """

    def __init__(
        self, samples: np.ndarray, steps: tuple[float, float], base: float, placement: pin.SE3
    ) -> None:
        ny, nx = samples.shape
        self._steps, self._base = np.array(steps)[:, None], base
        self._last = np.array([[nx - 2], [ny - 2]])
        self._middle = 0.5 * (self._last + 1.0)
        self._half = self._middle * self._steps
        self._columns = nx - 1
        self._n_cells = (nx - 1) * (ny - 1)
        self._rotation, self._origin = placement.rotation, placement.translation
        size = max(np.abs(samples).max(), abs(base), self._half.max())
        self._rounding = _ROUNDING * float(size + np.abs(self._origin).max())
        a, b, c, d = samples[:-1, :-1], samples[:-1, 1:], samples[1:, 1:], samples[1:, :-1]
        # Height = (1, u, v) . plane, u and v being the place in the cell from 0 to 1.
        planes = np.array([[a, b - a, c - b], [a, c - d, d - a]])
        self._planes = planes.transpose(1, 0, 2, 3).reshape(3, -1)
        corners = np.stack([a, b, c, d])
        self._levels = _levels(self._steps, corners.min(axis=0), corners.max(axis=0))

    def reach(self, points: np.ndarray) -> Reach:
        """How far the block's surface can be from points in the world, shape (n, 3)."""
        local = np.ascontiguousarray(((points - self._origin) @ self._rotation).T)
        place = local[:2] / self._steps + self._middle
        on = np.minimum(np.maximum(place, 0.0), self._last + 1.0)
        cell = np.minimum(on.astype(int), self._last)
        u, v = on - cell
        k = cell[1] * self._columns + cell[0] + self._n_cells * (v > u)
        height, along_x, along_y = self._planes.take(k, axis=1)
        gap = np.empty_like(local)
        gap[:2] = (place - on) * self._steps
        gap[2] = local[2] - (height + along_x * u + along_y * v)
        gap *= gap
        distance = np.sqrt(gap.sum(axis=0)) * _BEYOND + self._rounding
        within = (self._half - np.abs(local[:2])).min(axis=0)
        return Reach(local, distance, np.minimum(within, local[2] - self._base) > distance)

    def near(self, reach: Reach) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The triangles that can be nearest, those whose cell's bounding box is within reach.

        Blocks of cells that are out of reach are left out, then quarters of those that are not,
        down to single cells.

        Returns:
            Indices of the points for which they are found, ascending: those inside for which it is
            worth it; which of these a pair is of, ascending, shape (k,); and the triangle of the
            pair, shape (k,).
        """
        local, distance, inside = reach
        ends = (local[:2] + _BOTH_WAYS * distance) / self._steps + self._middle
        low, high = np.minimum(np.maximum(ends, 0.0), self._last).astype(int)
        wide = (high - low).max(axis=0)
        found = (inside & (wide < _WINDOW)).nonzero()[0]
        # From a level on at which each looks over at most four blocks along an axis, or five.
        level = max(int(wide[found].max(initial=0)).bit_length() - 2, 0)
        first = low.take(found, axis=1) >> level
        more = (high.take(found, axis=1) >> level) - first
        ahead = np.arange(more.max(initial=0) + 1) <= more[:, :, None]
        rows, y, x = (ahead[1, :, :, None] & ahead[0, :, None, :]).nonzero()
        place = first.take(rows, axis=1) + np.stack([x, y])
        here, squared = local.take(found, axis=1), distance.take(found) ** 2
        here[:2] += self._half
        for blocks in self._levels[level::-1]:
            if blocks is not self._levels[level]:
                place = (2 * place[:, :, None] + _QUARTERS).reshape(2, -1)
                rows = rows.repeat(4)
            kept = _within(blocks, place, here.take(rows, axis=1), squared.take(rows))
            place, rows = place.take(kept, axis=1), rows.take(kept)
            count = np.bincount(rows, minlength=len(found))
            if len(found) and count.max() > _MANY:
                few = (count <= _MANY)[rows].nonzero()[0]
                place, rows = place.take(few, axis=1), rows.take(few)
        some = np.bincount(rows, minlength=len(found)) > 0
        if not some.all():
            found, rows = found[some], (some.cumsum() - 1)[rows]
        k = (place[1] * self._columns + place[0]).repeat(2)
        k[1::2] += self._n_cells
        return found, rows.repeat(2), k


def _levels(steps: np.ndarray, lows: np.ndarray, highs: np.ndarray) -> list[_Blocks]:
    """Single cells, blocks of two by two, of four by four, and so on up to one that holds all.

    Args:
        steps: size of a cell [m], shape (2, 1).
        lows: of the cells, the lowest heights [m], shape (rows, columns).
        highs: the highest [m], likewise.
    """
    levels, size = [], steps
    while True:
        beyond = [(0, n % 2) for n in lows.shape]
        lows = np.pad(lows, beyond, constant_values=np.inf)
        highs = np.pad(highs, beyond, constant_values=-np.inf)
        levels.append(_Blocks(size, lows.shape[1], lows.ravel(), highs.ravel()))
        if lows.size <= 4:
            return levels
        ny, nx = lows.shape
        quarters = (ny // 2, 2, nx // 2, 2)
        lows = lows.reshape(quarters).min(axis=(1, 3))
        highs = highs.reshape(quarters).max(axis=(1, 3))
        size = 2.0 * size


def _within(
    blocks: _Blocks, place: np.ndarray, points: np.ndarray, squared: np.ndarray
) -> np.ndarray:
    """Indices of the blocks whose bounding boxes are within reach of points.

    Args:
        blocks: all of a level.
        place: column and row of some of them, shape (2, k).
        points: seen from the field's first corner [m], shape (3, k).
        squared: reach of the points, squared [m^2], shape (k,).
    """
    k = place[1] * blocks.columns + place[0]
    gap = np.empty_like(points)
    begin = place * blocks.size - points[:2]
    np.maximum(begin, -blocks.size - begin, out=gap[:2])
    np.maximum(blocks.lows.take(k) - points[2], points[2] - blocks.highs.take(k), out=gap[2])
    np.maximum(gap, 0.0, out=gap)
    gap *= gap
    return (gap.sum(axis=0) <= squared).nonzero()[0]
