"""What spheres touch of a height field: the nearest of its faces, edges and corners.

A sphere looks at the faces of a window of the grid around it, and touches where one is at a local
minimum of the distance, as in the kernels' `triangles`; inside the ground at the nearest alone.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from nmdp_pin._jax.scene import MINIMA, DeviceScene
from nmdp_pin._jax.surfaces import Surface
from nmdp_pin._jax.vectors import cross, dot

_SAME = 1e-7  # [m] between points that count as one, as in the kernels
_FLAT = 1e-9  # [-] deviation from a normal up to which an offset counts as parallel to it
_FACE, _EDGE, _CORNER, _FEATURES = 0, 1, 4, 7  # of triangles, edges and corners with their numbers


@functools.cache
def _faces(nx: int, ny: int) -> tuple[np.ndarray, np.ndarray]:
    """Corners of the faces of a grid, (3, f), and faces that share their features, (f, 7, 6)."""
    index = np.arange(nx * ny).reshape(ny, nx)
    a, b, c, d = index[:-1, :-1], index[:-1, 1:], index[1:, 1:], index[1:, :-1]
    corners = np.stack([np.stack([a, b, c]), np.stack([a, c, d])], axis=-1).reshape(3, -1)
    of_faces = [set(face) for face in corners.T.tolist()]
    beside = np.tile(np.arange(len(of_faces))[:, None, None], (1, _FEATURES, 6))
    for f, face in enumerate(corners.T.tolist()):
        for feature in range(_EDGE, _FEATURES):
            k = feature - (_EDGE if feature < _CORNER else _CORNER)
            shared = {face[k], face[(k + 1) % 3]} if feature < _CORNER else {face[k]}
            sharing = [g for g, other in enumerate(of_faces) if shared <= other]
            beside[f, feature, : len(sharing)] = sharing
    return corners, beside


def _window(scene: DeviceScene, p: Array) -> tuple[Array, Array]:
    """Samples around points, shape (3, v, m, K), and how high points are above the ground [m].

    Beside the field they are infinitely high.
    """
    (nx, ny), heights, grid = scene.structure.window, scene.heights, scene.grid
    cells, first = [], []
    for i, (count, whole) in enumerate(zip((nx, ny), heights.shape[::-1], strict=True)):
        x = (p[i] - grid[0, i]) / grid[1, i]
        cell = jnp.clip(jnp.floor(jnp.where(jnp.isfinite(x), x, 0.0)), 0, whole - 2)
        cells.append((x - cell, cell.astype(jnp.int32), (x < 0.0) | (x > whole - 1)))
        first.append(jnp.clip(cells[i][1] - (count // 2 - 1), 0, whole - count))
    columns = first[0] + np.arange(nx)[:, None, None]
    rows = first[1] + np.arange(ny)[:, None, None]
    z = heights[rows[:, None], columns[None]] + grid[0, 2]
    x = jnp.broadcast_to(grid[0, 0] + columns * grid[1, 0], z.shape)
    y = jnp.broadcast_to((grid[0, 1] + rows * grid[1, 1])[:, None], z.shape)
    (s, i, left), (t, j, beyond) = cells
    a, b, c, d = (heights[j + dj, i + di] for dj, di in ((0, 0), (0, 1), (1, 1), (1, 0)))
    over = jnp.where(s >= t, a + s * (b - a) + t * (c - b), a + t * (d - a) + s * (c - d))
    above = jnp.where(left | beyond, jnp.inf, p[2] - over - grid[0, 2])
    return jnp.stack([x, y, z]).reshape(3, nx * ny, *p.shape[1:]), above


def _closest(corners: Sequence[Array], n: Array, p: Array) -> tuple[Array, Array, Array]:
    """Squared distances of points from triangles, features, and closest points.

    Args:
        corners: the three corners, shapes (3, f, m, K).
        n: unit normals, likewise.
        p: points, shape (3, 1, m, K).
    """
    foot = p - dot(p - corners[0], n) * n
    above, feature = dot(p - foot, p - foot), jnp.zeros(foot.shape[1:], jnp.int32)
    edges = [corners[(k + 1) % 3] - corners[k] for k in range(3)]
    over = True
    for start, edge in zip(corners, edges, strict=True):
        over = over & (dot(n, cross(edge, foot - start)) >= 0.0)
    least = jnp.where(over, above, jnp.inf)
    for k, (start, edge) in enumerate(zip(corners, edges, strict=True)):
        s = jnp.clip(dot(p - start, edge) / dot(edge, edge), 0.0, 1.0)
        on_edge = jnp.where(s == 1.0, corners[(k + 1) % 3], start + s * edge)
        squared = dot(p - on_edge, p - on_edge)
        nearer = ~over & (squared < least)
        own = jnp.where(
            s == 1.0, _CORNER + (k + 1) % 3, jnp.where(s == 0.0, _CORNER + k, _EDGE + k)
        )
        least, foot = jnp.where(nearer, squared, least), jnp.where(nearer, on_edge, foot)
        feature = jnp.where(nearer, own, feature)
    return least, feature, foot


def field_surfaces(scene: DeviceScene, p: Array) -> Surface:
    """The `MINIMA` nearest places, one after the other: m spheres give `MINIMA` m surfaces.

    Args:
        scene: what all steps share.
        p: centres [m], shape (3, m, K).
    """
    p = lax.stop_gradient(p)
    samples, above = _window(scene, p)
    index, beside = _faces(*scene.structure.window)
    corners = [samples[:, index[k]] for k in range(3)]
    n = cross(corners[1] - corners[0], corners[2] - corners[0])
    n = n / jnp.sqrt(dot(n, n))
    squared, feature, foot = _closest(corners, n, p[:, None])
    sharing = jnp.asarray(beside)[np.arange(len(beside))[:, None, None], feature]
    around = squared
    for k in range(beside.shape[2]):
        around = jnp.minimum(around, jnp.take_along_axis(squared, sharing[..., k], 0))
    left, found = squared <= around * (1.0 + _FLAT), []
    for slot in range(MINIMA):
        chosen = jnp.argmin(jnp.where(left, squared, jnp.inf), axis=0)[None]
        point, normal, *kept = (_taken(x, chosen) for x in (foot, n, *corners))
        there, which = (jnp.take_along_axis(x, chosen, 0)[0] for x in (left, feature))
        left = left & (jnp.abs(foot - point[:, None]).max(0) > _SAME)
        if slot == 0:
            left = left & (above > 0.0)
        found.append(_described(p, above, point, normal, kept, which, there))
    return Surface(*(jnp.concatenate(parts, axis=-2) for parts in zip(*found, strict=True)))


def _taken(vectors: Array, chosen: Array) -> Array:
    """Vectors of chosen faces, shapes (3, f, m, K) and (1, m, K)."""
    return jnp.take_along_axis(vectors, chosen[None], 1)[:, 0]


def _described(
    p: Array,
    above: Array,
    foot: Array,
    n: Array,
    corners: Sequence[Array],
    feature: Array,
    there: Array,
) -> Surface:
    """The plane of a face, the line of an edge or a corner; of none a plane far below."""
    gap, along = p - foot, jnp.zeros_like(p)
    for k in range(3):
        edge = corners[(k + 1) % 3] - corners[k]
        along = jnp.where(feature == _EDGE + k, edge / jnp.sqrt(dot(edge, edge)), along)
    height = dot(gap, n)
    rounding = 8.0 * jnp.finfo(p.dtype).eps * (jnp.abs(p).max(0) + jnp.abs(foot).max(0))
    off = jnp.abs(gap - height * n).max(0)
    flat = (feature == _FACE) | (off <= _FLAT * jnp.abs(height) + rounding) | ~there
    level = jnp.where(there, dot(n, corners[0]), -jnp.inf)
    bend = jnp.where(flat, 0.0, jnp.where(above > 0.0, 1.0, -1.0))
    return Surface(n, jnp.where(flat, level, 0.0), foot, along, bend)
