"""Triangles of a grid of heights: their corners, planes and closest points.

The corners of cell (j, i) are a, b, c, d, anticlockwise from sample (j, i). Triangle
j (nx - 1) + i is (a, b, c), beside row j; (a, c, d), beside column i, follows all of these.
`grid` holds nx, ny and the index of the first height, `size` the distances dx, dy of samples [m].
Points are relative to the sample (0, 0) at height 0 [m].
"""

from __future__ import annotations

import math

import numpy as np

from nmdp_pin.kernels.jit import jit
from nmdp_pin.kernels.vector3 import Vector3, ahead, dot, minus

Grid = tuple[int, int, int, int]

# The feature on which a closest point lies is FACE, EDGE + k or CORNER + k; edge k runs from
# corner k to corner k + 1.
FACE, EDGE, CORNER = 0, 1, 4


@jit
def triangle_at(grid: Grid, size: Vector3, x: float, y: float) -> int:
    """The triangle above or below a point, or that of the nearest cell."""
    columns, rows = grid[0] - 1, grid[1] - 1
    u, v = x / size[0], y / size[1]
    i, j = int(min(max(u, 0.0), columns - 1.0)), int(min(max(v, 0.0), rows - 1.0))
    return j * columns + i + (columns * rows if v - j > u - i else 0)


@jit
def triangle_cell(grid: Grid, triangle: int) -> tuple[int, int, bool]:
    """Row and column of a triangle's cell, and whether it is (a, c, d)."""
    columns, rows = grid[0] - 1, grid[1] - 1
    upper = triangle >= columns * rows
    cell = triangle - columns * rows if upper else triangle
    j = cell // columns
    return j, cell - j * columns, upper


@jit
def triangle_corners(
    grid: Grid, size: Vector3, heights: np.ndarray, triangle: int
) -> tuple[Vector3, Vector3, Vector3]:
    """The three corners [m]."""
    j, i, upper = triangle_cell(grid, triangle)
    nx = grid[0]
    a = grid[2] + j * nx + i
    west, east, south, north = i * size[0], (i + 1) * size[0], j * size[1], (j + 1) * size[1]
    first, opposite = (west, south, heights[a]), (east, north, heights[a + nx + 1])
    if upper:
        return first, opposite, (west, north, heights[a + nx])
    return first, (east, south, heights[a + 1]), opposite


@jit
def triangle_slope(
    size: Vector3, corners: tuple[Vector3, Vector3, Vector3], upper: bool
) -> tuple[float, float]:
    """Derivatives of the height of a triangle's plane along x and y [-]."""
    a, b, c = corners[0][2], corners[1][2], corners[2][2]
    if upper:
        return (b - c) / size[0], (c - a) / size[1]
    return (b - a) / size[0], (c - b) / size[1]


@jit
def height_above(
    grid: Grid, size: Vector3, heights: np.ndarray, triangle: int, p: Vector3
) -> float:
    """Height of a point above a triangle's plane, along z [m]."""
    corners = triangle_corners(grid, size, heights, triangle)
    upper = triangle >= (grid[0] - 1) * (grid[1] - 1)
    along_x, along_y = triangle_slope(size, corners, upper)
    first = corners[0]
    return p[2] - (first[2] + along_x * (p[0] - first[0]) + along_y * (p[1] - first[1]))


@jit
def closest_on_triangle(
    grid: Grid, size: Vector3, heights: np.ndarray, triangle: int, p: Vector3
) -> tuple[float, int, Vector3]:
    """Squared distance to a triangle [m^2], the closest point, and the feature on which it lies."""
    corners = triangle_corners(grid, size, heights, triangle)
    upper = triangle >= (grid[0] - 1) * (grid[1] - 1)
    along_x, along_y = triangle_slope(size, corners, upper)
    first = corners[0]
    above = p[2] - (first[2] + along_x * (p[0] - first[0]) + along_y * (p[1] - first[1]))
    share = above / (1.0 + along_x * along_x + along_y * along_y)
    foot = (p[0] + share * along_x, p[1] + share * along_y, p[2] - share)
    u, v = (foot[0] - first[0]) / size[0], (foot[1] - first[1]) / size[1]
    low, high = (u, v) if upper else (v, u)
    if 0.0 <= low <= high <= 1.0:
        return above * share, FACE, foot
    least, feature = math.inf, FACE
    for k in range(3):
        k1 = (k + 1) % 3
        edge = minus(corners[k1], corners[k])
        t = min(max(dot(minus(p, corners[k]), edge) / dot(edge, edge), 0.0), 1.0)
        on_edge = ahead(corners[k], t, edge)
        gap = minus(p, on_edge)
        squared = dot(gap, gap)
        if squared < least:
            least, foot = squared, on_edge
            feature = CORNER + k if t == 0.0 else CORNER + k1 if t == 1.0 else EDGE + k
    return least, feature, foot
