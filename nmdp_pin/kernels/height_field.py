"""Signed distance, normal and Hessian of a block of ground whose top is a grid of heights.

The block is closed by four vertical walls and a level bottom. In addition to `grid_triangle`,
`grid` holds as its fourth number the first row of `intervals`, and `size` as its third the height
of the bottom. `intervals` are the lowest and highest heights of blocks of cells, shape (k, 2): of
all cells row by row, then of blocks of 2 by 2 of these, of 4 by 4, and so on up to a single one.
"""

from __future__ import annotations

import numpy as np

from nmdp_pin.kernels.grid_triangle import (
    CORNER,
    FACE,
    Grid,
    closest_on_triangle,
    height_above,
    triangle_at,
    triangle_cell,
    triangle_corners,
    triangle_slope,
)
from nmdp_pin.kernels.jit import jit
from nmdp_pin.kernels.vector3 import Vector3, dot, length, minus, scaled

_PARALLEL = 1e-9  # [-] deviation from a normal up to which an offset counts as parallel to it
STACK = (128, 4)  # shape of the scratch array: four blocks on each of at most 32 levels


@jit
def field_bound(grid: Grid, size: Vector3, intervals: np.ndarray, p: Vector3) -> float:
    """Signed distance to the bounding box by its faces, never above that to the block [m]."""
    top = intervals[_block_of_all(grid)[1], 1]
    x = max(-p[0], p[0] - (grid[0] - 1) * size[0])
    y = max(-p[1], p[1] - (grid[1] - 1) * size[1])
    return max(x, y, size[2] - p[2], p[2] - top)


@jit
def field_surface(
    grid: Grid,
    size: Vector3,
    heights: np.ndarray,
    intervals: np.ndarray,
    rounding: float,
    p: Vector3,
    stack: np.ndarray,
    hessian: np.ndarray,
) -> tuple[float, Vector3, bool]:
    """Signed distance [m], its gradient, and whether there is a Hessian.

    Args:
        grid: as in the module's description.
        size: as in the module's description [m].
        heights: heights of all fields [m].
        intervals: intervals of all fields [m], shape (k, 2).
        rounding: rounding error of coordinates [m].
        p: point relative to sample (0, 0) at height 0 [m].
        stack: scratch memory, integers of shape `STACK`.
        hessian: output where there is a Hessian [1/m], shape (3, 3).
    """
    triangle = _nearest_triangle(grid, size, heights, intervals, p, stack)
    squared, feature, foot = closest_on_triangle(grid, size, heights, triangle, p)
    least, side_foot, face = _nearest_side(grid, size, heights, p, squared)
    if least < squared:
        return _side_surface(p, side_foot, face, hessian)
    return _top_surface(grid, size, heights, rounding, p, triangle, feature, foot, hessian)


@jit
def _block_of_all(grid: Grid) -> tuple[int, int]:
    """Level of the block of all cells, and its row in the intervals."""
    columns, rows = grid[0] - 1, grid[1] - 1
    level, row = 0, grid[3]
    while (max(columns, rows) - 1) >> level > 0:
        row += (((columns - 1) >> level) + 1) * (((rows - 1) >> level) + 1)
        level += 1
    return level, row


@jit
def _nearest_triangle(
    grid: Grid,
    size: Vector3,
    heights: np.ndarray,
    intervals: np.ndarray,
    p: Vector3,
    stack: np.ndarray,
) -> int:
    """The closest triangle, the first one of several equally near.

    Blocks of cells whose bounding boxes are further away than the closest triangle so far are
    skipped, from the block of all cells down to single ones. The search begins with the triangle
    above or below the point, which is near enough to skip nearly all of the others.
    """
    columns, rows = grid[0] - 1, grid[1] - 1
    best = triangle_at(grid, size, p[0], p[1])
    least = closest_on_triangle(grid, size, heights, best, p)[0]
    stack[0, 0], stack[0, 1] = _block_of_all(grid)
    stack[0, 2] = stack[0, 3] = 0
    n = 1
    while n > 0:
        n -= 1
        level, first, j, i = stack[n, 0], stack[n, 1], stack[n, 2], stack[n, 3]
        block = first + j * (((columns - 1) >> level) + 1) + i
        west, east = (i << level) * size[0], min((i + 1) << level, columns) * size[0]
        south, north = (j << level) * size[1], min((j + 1) << level, rows) * size[1]
        x = max(west - p[0], p[0] - east, 0.0)
        y = max(south - p[1], p[1] - north, 0.0)
        z = max(intervals[block, 0] - p[2], p[2] - intervals[block, 1], 0.0)
        if x * x + y * y + z * z > least:
            continue
        if level == 0:
            for half in range(2):
                triangle = j * columns + i + half * columns * rows
                squared = closest_on_triangle(grid, size, heights, triangle, p)[0]
                if squared < least or (squared == least and triangle < best):
                    least, best = squared, triangle
            continue
        level -= 1
        wide, deep = ((columns - 1) >> level) + 1, ((rows - 1) >> level) + 1
        for row in range(2 * j, min(2 * j + 2, deep)):
            for column in range(2 * i, min(2 * i + 2, wide)):
                stack[n, 0], stack[n, 1] = level, first - wide * deep
                stack[n, 2], stack[n, 3] = row, column
                n += 1
    return best


@jit
def _nearest_side(
    grid: Grid, size: Vector3, heights: np.ndarray, p: Vector3, at_most: float
) -> tuple[float, Vector3, int]:
    """The closest point of the walls and the bottom, where it is nearer than `at_most` [m^2].

    Where a wall ends at the top, the top is as near.

    Returns:
        Squared distance [m^2], the point [m], and the face: 0 to 3 are the walls at the least and
        the largest x and at the least and the largest y, 4 is the bottom.
    """
    east, north, base = (grid[0] - 1) * size[0], (grid[1] - 1) * size[1], size[2]
    x, y = min(max(p[0], 0.0), east), min(max(p[1], 0.0), north)
    least, best, face = at_most, (x, y, base), 4
    gap = minus(p, best)
    if dot(gap, gap) < least:
        least = dot(gap, gap)
    for side in range(4):
        across = p[0] if side < 2 else p[1]
        at = (0.0 if side == 0 else east) if side < 2 else (0.0 if side == 2 else north)
        if (across - at) ** 2 >= least:
            continue
        foot = (at, y, max(p[2], base)) if side < 2 else (x, at, max(p[2], base))
        triangle = triangle_at(grid, size, foot[0], foot[1])
        if height_above(grid, size, heights, triangle, (foot[0], foot[1], p[2])) > 0.0:
            continue
        gap = minus(p, foot)
        if dot(gap, gap) < least:
            least, best, face = dot(gap, gap), foot, side
    return least, best, face


@jit
def _side_surface(
    p: Vector3, foot: Vector3, face: int, hessian: np.ndarray
) -> tuple[float, Vector3, bool]:
    """Signed distance to the walls and the bottom, whose edges are those of a box."""
    gap = minus(p, foot)
    if face < 2 and gap[1] == 0.0 and gap[2] == 0.0:
        outward = 1.0 if face == 1 else -1.0
        return outward * gap[0], (outward, 0.0, 0.0), False
    if 2 <= face < 4 and gap[0] == 0.0 and gap[2] == 0.0:
        outward = 1.0 if face == 3 else -1.0
        return outward * gap[1], (0.0, outward, 0.0), False
    if face == 4 and gap[0] == 0.0 and gap[1] == 0.0:
        return -gap[2], (0.0, 0.0, -1.0), False
    phi = length(gap)
    n = scaled(gap, 1.0 / phi)
    for i in range(3):
        for j in range(3):
            hessian[i, j] = -n[i] * n[j] / phi
        if gap[i] != 0.0:
            hessian[i, i] += 1.0 / phi
    return phi, n, True


@jit
def _top_surface(
    grid: Grid,
    size: Vector3,
    heights: np.ndarray,
    rounding: float,
    p: Vector3,
    triangle: int,
    feature: int,
    foot: Vector3,
    hessian: np.ndarray,
) -> tuple[float, Vector3, bool]:
    """Signed distance to the top, whose closest point `foot` lies on a feature of a triangle.

    Over a face it is taken from the plane: exact in sign, and smooth at 0.
    """
    corners = triangle_corners(grid, size, heights, triangle)
    j, i, upper = triangle_cell(grid, triangle)
    along_x, along_y = triangle_slope(size, corners, upper)
    n = scaled((-along_x, -along_y, 1.0), 1.0 / length((along_x, along_y, 1.0)))
    gap = minus(p, foot)
    height = dot(gap, n)
    beside = minus(gap, scaled(n, height))
    sideways = max(abs(beside[0]), abs(beside[1]), abs(beside[2]))
    if feature == FACE or sideways <= _PARALLEL * abs(height) + rounding:
        return height_above(grid, size, heights, triangle, p) * n[2], n, False
    if feature < CORNER:
        edge = minus(corners[feature % 3], corners[feature - 1])
        t = scaled(edge, 1.0 / length(edge))
    else:
        corner = feature - CORNER
        j += 1 if corner == 2 or (corner == 1 and upper) else 0
        i += 1 if corner == 1 or (corner == 2 and not upper) else 0
        t = _straight(grid, size, heights, rounding, j, i, gap)
    phi = -length(gap) if _is_inside(grid, size, heights, p) else length(gap)
    n = (gap[0] / phi, gap[1] / phi, gap[2] / phi)
    for row in range(3):
        for column in range(3):
            kept = 1.0 if row == column else 0.0
            hessian[row, column] = (kept - n[row] * n[column] - t[row] * t[column]) / phi
    return phi, n, True


@jit
def _straight(
    grid: Grid,
    size: Vector3,
    heights: np.ndarray,
    rounding: float,
    j: int,
    i: int,
    gap: Vector3,
) -> Vector3:
    """Direction in which the block is straight at sample (j, i) seen along `gap` [m], else 0.

    It is that of an edge normal to `gap`: on a straight ridge the distance is not curved along
    the ridge, above a sample as beside it.
    """
    nx, ny = grid[0], grid[1]
    here = grid[2] + j * nx + i
    allowed, best = _PARALLEL * length(gap) + rounding, (0.0, 0.0, 0.0)
    if (i == 0 or i == nx - 1) and (j == 0 or j == ny - 1) and abs(gap[2]) <= allowed:
        allowed, best = abs(gap[2]), (0.0, 0.0, 1.0)
    for rows in range(-1, 2):
        for columns in range(-1, 2):
            if rows * columns < 0 or (rows == 0 and columns == 0):  # no edge goes there
                continue
            if not (0 <= i + columns < nx and 0 <= j + rows < ny):
                continue
            rise = heights[here + rows * nx + columns] - heights[here]
            edge = (columns * size[0], rows * size[1], rise)
            slant = abs(dot(edge, gap)) / length(edge)
            if slant <= allowed:
                allowed, best = slant, scaled(edge, 1.0 / length(edge))
    return best


@jit
def _is_inside(grid: Grid, size: Vector3, heights: np.ndarray, p: Vector3) -> bool:
    """Whether a point is in the block."""
    if not (0.0 <= p[0] <= (grid[0] - 1) * size[0] and 0.0 <= p[1] <= (grid[1] - 1) * size[1]):
        return False
    triangle = triangle_at(grid, size, p[0], p[1])
    return size[2] <= p[2] and height_above(grid, size, heights, triangle, p) <= 0.0
