"""Distances to planes, boxes, balls and capsules, as in the kernels' `terrain` and `primitives`.

`shapes` has the rows of `DeviceScene.shapes` of each sphere first, then the spheres, then K. A box
is felt on the sides on which a step begins: `sides` holds their bits, see `touched_surface`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import jax.numpy as jnp
from jax import Array

from nmdp_pin._jax.scene import BOX, CAPSULE, PLANE, SPHERE
from nmdp_pin._jax.vectors import Components, dot

_CLOSEST = 1e-12  # [m] radius below which the curvature at an edge no longer grows
_BEFORE, _AHEAD = 1, 8  # bits of `sides`, shifted by the axis


class Surface(NamedTuple):
    """Surfaces at points.

    Args:
        distance: signed distances [m], shape (m, K).
        normal: gradients, shape (3, m, K).
        curvature: derivatives of the normals [1/m], shape (3, 3, m, K); None: all are planes.
    """

    distance: Array
    normal: Array
    curvature: Array | None


def _axes(shapes: Array) -> list[Components]:
    """Axes of the shapes' frames."""
    return [[shapes[4 + 3 * i + j] for i in range(3)] for j in range(3)]


def _local(shapes: Array, p: Components) -> list[Array]:
    """Points in the shapes' frames."""
    off = [p[i] - shapes[1 + i] for i in range(3)]
    return [dot(axis, off) for axis in _axes(shapes)]


def _length(x: Sequence[Array]) -> Array:
    """Length of a vector, whose derivative at 0 is 0."""
    square = dot(x, x)
    return jnp.where(square > 0.0, jnp.sqrt(jnp.where(square > 0.0, square, 1.0)), 0.0)


def begun_sides(shapes: Array, p: Components) -> Array:
    """Sides of boxes before which points are, or the one that is the nearest way out."""
    x = _local(shapes, p)
    heights = jnp.stack([jnp.abs(x[j]) - shapes[13 + j] for j in range(3)])
    nearest = jnp.argmax(heights, axis=0)
    sides = _BEFORE << nearest
    for j in range(3):
        sides |= jnp.where(heights[j] > 0.0, _BEFORE << j, 0)
        sides |= jnp.where(x[j] >= 0.0, _AHEAD << j, 0)
    return sides


def surface(kinds: Sequence[int], shapes: Array, sides: Array, p: Array, bends: bool) -> Surface:
    """The surfaces that spheres may touch, at their centres.

    Args:
        kinds: kinds of the shapes that there are.
        shapes: shapes, one for each sphere, shape (17, m, K or 1).
        sides: result of `begun_sides` at the start of the step, shape (m, K).
        p: centres [m], shape (3, m, K).
        bends: whether the curvature is wanted.
    """
    normal = [shapes[6 + 3 * i] + jnp.zeros_like(p[0]) for i in range(3)]
    distance = dot(normal, p) - shapes[13]
    H = [[jnp.zeros_like(distance)] * 3 for _ in range(3)]
    for kind in kinds:
        if kind not in (BOX, SPHERE, CAPSULE):
            continue
        own = shapes[0] == kind
        x = _local(shapes, p)
        found = _box(shapes, sides, x, bends) if kind == BOX else _round(kind, shapes, x, bends)
        phi, n, hessian = found
        axes = _axes(shapes)
        distance = jnp.where(own, phi, distance)
        turned = [sum(axes[j][i] * n[j] for j in range(3)) for i in range(3)]
        normal = [jnp.where(own, turned[i], normal[i]) for i in range(3)]
        for i in range(3 if bends else 0):
            half = [sum(axes[a][i] * hessian[a][b] for a in range(3)) for b in range(3)]
            for j in range(3):
                H[i][j] = jnp.where(own, sum(half[b] * axes[b][j] for b in range(3)), H[i][j])
    curved = bends and any(kind != PLANE for kind in kinds)
    curvature = jnp.stack([jnp.stack(row) for row in H]) if curved else None
    return Surface(distance, jnp.stack(normal), curvature)


def _round(
    kind: int, shapes: Array, x: Sequence[Array], bends: bool
) -> tuple[Array, list[Array], list[list[Array]]]:
    """Distance, normal and Hessian of balls or capsules, in their own frames."""
    straight = shapes[15] - shapes[13] if kind == CAPSULE else jnp.zeros_like(shapes[13])
    arm = [x[0], x[1], x[2] - jnp.clip(x[2], -straight, straight)]
    r = _length(arm)
    away, safe = r > 0.0, jnp.where(r > 0.0, r, 1.0)
    alone = -1.0 if kind == CAPSULE else 1.0
    n = [jnp.where(away, arm[i] / safe, alone if i == 0 else 0.0) for i in range(3)]
    hessian = []
    for i in range(3 if bends else 0):
        below = jnp.maximum(r, _CLOSEST)
        hessian.append([((1.0 if i == j else 0.0) - n[i] * n[j]) / below for j in range(3)])
    if bends and kind == CAPSULE:
        hessian[2][2] = jnp.where(jnp.abs(x[2]) < straight, 0.0, hessian[2][2])
    return r - shapes[13], n, hessian


def _box(
    shapes: Array, sides: Array, x: Sequence[Array], bends: bool
) -> tuple[Array, list[Array], list[list[Array]]]:
    """Distance, normal and Hessian of boxes, in their own frames, on the sides that are felt."""
    half = [shapes[13 + j] for j in range(3)]
    most, axis, inside = -jnp.inf + jnp.zeros_like(x[0]), jnp.zeros(x[0].shape, int), True
    felt, signs = [], []
    for j in range(3):
        before = (sides & (_BEFORE << j)) != 0
        sign = jnp.where((sides & (_AHEAD << j)) != 0, 1.0, -1.0)
        beyond = jnp.where(before, sign * x[j], jnp.abs(x[j])) - half[j]
        felt.append(jnp.where(before & (sign * x[j] < 0.0), 0.0, x[j]))
        signs.append(sign)
        deeper = before & (beyond > most)
        most, axis = jnp.where(deeper, beyond, most), jnp.where(deeper, j, axis)
        inside = inside & (beyond <= 0.0)
    outer = [jnp.maximum(jnp.abs(felt[j]) - half[j], 0.0) for j in range(3)]
    phi = _length(outer)
    away, safe = phi > 0.0, jnp.where(phi > 0.0, phi, 1.0)
    n = []
    for j in range(3):
        up = jnp.where(felt[j] >= 0.0, 1.0, -1.0)
        side = jnp.where(axis == j, signs[j], 0.0)
        n.append(jnp.where(inside, side, jnp.where(away, up * outer[j] / safe, side)))
    edge = ~inside & (sum((part > 0.0).astype(int) for part in outer) >= 2)
    hessian = []
    for i in range(3 if bends else 0):
        own = (outer[i] > 0.0).astype(x[0].dtype)
        row = [
            ((own if i == j else 0.0) - n[i] * n[j]) / jnp.maximum(safe, _CLOSEST) for j in range(3)
        ]
        hessian.append([jnp.where(edge, entry, 0.0) for entry in row])
    return jnp.where(inside, most, phi), n, hessian
