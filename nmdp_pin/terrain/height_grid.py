"""Which cells of a regular grid of heights can be nearest to points, found by indexing."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pinocchio as pin

_BEYOND = 1.0 + 1e-9  # of a distance, so that what lies at it counts as within it
_ROUNDING = 1e-13  # [-] of coordinates relative to the size of the field
_WINDOW = 16  # cells along an axis; a point that looks over more of them is left out
_BOTH_WAYS = np.array([-1.0, 1.0])[:, None, None]


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
        corners = np.stack([a, b, c, d]).reshape(4, -1)
        self._lows, self._highs = corners.min(axis=0), corners.max(axis=0)

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

        Returns:
            Indices of the points for which they are found, ascending: those inside that do not
            look over too many cells; which of these a pair is of, ascending, shape (k,); and the
            triangle of the pair, shape (k,).
        """
        local, distance, inside = reach
        ends = (local[:2] + _BOTH_WAYS * distance) / self._steps + self._middle
        low, high = np.minimum(np.maximum(ends, 0.0), self._last).astype(int)
        wide = (high - low).max(axis=0) + 1
        found = (inside & (wide <= _WINDOW)).nonzero()[0]
        cells = low.take(found, axis=1)[:, :, None] + np.arange(wide[found].max(initial=0))
        x, y, z = local.take(found, axis=1)
        # Squared distances to the cells' boxes along x and y, shape (2, n, wide).
        gap = cells * self._steps[:, None] - (np.stack([x, y]) + self._half)[:, :, None]
        gap = np.maximum(np.maximum(gap, -self._steps[:, None] - gap), 0.0)
        gap *= gap
        gap[cells > high.take(found, axis=1)[:, :, None]] = np.inf
        distance = distance.take(found)
        left = (distance * distance)[:, None, None] - gap[1, :, :, None] - gap[0, :, None, :]
        rows, dj, di = (left >= 0.0).nonzero()
        k = cells[1, rows, dj] * self._columns + cells[0, rows, di]
        z = z.take(rows)
        up = np.maximum(np.maximum(self._lows.take(k) - z, z - self._highs.take(k)), 0.0)
        kept = (up * up <= left[rows, dj, di]).nonzero()[0]
        k = k.take(kept).repeat(2)
        k[1::2] += self._n_cells
        return found, rows.take(kept).repeat(2), k
