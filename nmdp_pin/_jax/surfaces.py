"""Distances to planes, boxes, balls and capsules, as in the kernels' `terrain` and `primitives`.

`shapes` has the rows of `DeviceScene.shapes` of each sphere first, then the spheres, then K. A box
is felt on the sides on which a step begins: `sides` holds their bits, see `touched_surface`.
"""

from __future__ import annotations

from collections.abc import Sequence

import jax.numpy as jnp
from jax import Array

from nmdp_pin._jax.scene import BOX, CAPSULE, SPHERE
from nmdp_pin._jax.vectors import Components, dot, length

_BEFORE, _AHEAD = 1, 8  # bits of `sides`, shifted by the axis


def _axes(shapes: Array) -> list[Components]:
    """Axes of the shapes' frames."""
    return [[shapes[4 + 3 * i + j] for i in range(3)] for j in range(3)]


def _local(shapes: Array, p: Components) -> list[Array]:
    """Points in the shapes' frames."""
    off = [p[i] - shapes[1 + i] for i in range(3)]
    return [dot(axis, off) for axis in _axes(shapes)]


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


def surface(kinds: Sequence[int], shapes: Array, sides: Array, p: Array) -> tuple[Array, Array]:
    """Signed distances to the surfaces that spheres may touch [m], (m, K), and normals, (3, m, K).

    Args:
        kinds: kinds of the shapes that there are.
        shapes: shapes, one for each sphere, shape (17, m, K or 1).
        sides: result of `begun_sides` at the start of the step, shape (m, K).
        p: centres [m], shape (3, m, K).
    """
    normal = jnp.stack([shapes[6 + 3 * i] + jnp.zeros_like(p[0]) for i in range(3)])
    distance = dot(normal, p) - shapes[13]
    for kind in kinds:
        if kind not in (BOX, SPHERE, CAPSULE):
            continue
        x, axes = _local(shapes, p), _axes(shapes)
        phi, n = _box(shapes, sides, x) if kind == BOX else _round(kind, shapes, x)
        turned = jnp.stack([sum(axes[j][i] * n[j] for j in range(3)) for i in range(3)])
        own = shapes[0] == kind
        distance, normal = jnp.where(own, phi, distance), jnp.where(own, turned, normal)
    return distance, normal


def _round(kind: int, shapes: Array, x: Sequence[Array]) -> tuple[Array, list[Array]]:
    """Distance and normal of balls or capsules, in their own frames."""
    straight = shapes[15] - shapes[13] if kind == CAPSULE else jnp.zeros_like(shapes[13])
    arm = [x[0], x[1], x[2] - jnp.clip(x[2], -straight, straight)]
    r = length(arm)
    away, safe = r > 0.0, jnp.where(r > 0.0, r, 1.0)
    alone = -1.0 if kind == CAPSULE else 1.0
    n = [jnp.where(away, arm[i] / safe, alone if i == 0 else 0.0) for i in range(3)]
    return r - shapes[13], n


def _box(shapes: Array, sides: Array, x: Sequence[Array]) -> tuple[Array, list[Array]]:
    """Distance and normal of boxes, in their own frames, on the sides that are felt."""
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
    phi = length(outer)
    away, safe = phi > 0.0, jnp.where(phi > 0.0, phi, 1.0)
    n = []
    for j in range(3):
        up = jnp.where(felt[j] >= 0.0, 1.0, -1.0)
        side = jnp.where(axis == j, signs[j], 0.0)
        n.append(jnp.where(inside, side, jnp.where(away, up * outer[j] / safe, side)))
    return jnp.where(inside, most, phi), n
