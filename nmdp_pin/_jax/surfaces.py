"""What contact spheres may touch: planes, boxes, balls and capsules, as in the kernels' `terrain`.

Wherever a sphere is, it touches a plane, a line or a point, which is found first (`Surface`).
Distances from these have derivatives that need no case of the whole shape. Balls and capsules are
boxes with no or with one size, rounded by their radius. `shapes` has the rows of
`DeviceScene.shapes` of each sphere first, then the spheres, then K. A box is felt on the sides on
which a step begins: `sides` holds their bits, see `begun_sides`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import jax.numpy as jnp
from jax import Array

from nmdp_pin._jax.scene import BOX, CAPSULE, PLANE
from nmdp_pin._jax.vectors import Components, dot, length

_BEFORE, _AHEAD = 1, 8  # bits of `sides`, shifted by the axis


class Surface(NamedTuple):
    """Planes, lines and points; of planes alone the last three are None.

    Attributes:
        normal: normals of planes; elsewhere those of points at no distance, shape (3, m, K or 1).
        level: n . x of planes; radii around lines and points [m], shape (m, K or 1).
        anchor: points on lines, and points [m], shape (3, m, K).
        along: directions of lines; of others 0, shape (3, m, K).
        bend: 0 of planes, 1 of lines and points, -1 where these are seen from inside, (m, K).
    """

    normal: Array
    level: Array
    anchor: Array | None
    along: Array | None
    bend: Array | None


def distance_to(surface: Surface, p: Components) -> tuple[Array, Array]:
    """Signed distances of points, shape (m, K), and normals, shape (3, m, K)."""
    normal, flat = surface.normal, dot(surface.normal, p)
    if surface.bend is None or surface.anchor is None or surface.along is None:
        return flat - surface.level, normal
    off = jnp.stack([p[i] - surface.anchor[i] for i in range(3)])
    off = off - dot(off, surface.along) * surface.along
    r = length(off)
    round_, safe = (surface.bend != 0.0) & (r > 0.0), jnp.where(r > 0.0, r, 1.0)
    phi = jnp.where(surface.bend != 0.0, surface.bend * r, flat) - surface.level
    return phi, jnp.where(round_, surface.bend * off / safe, normal)


def _axes(shapes: Array) -> list[list[Array]]:
    """Axes of the shapes' frames."""
    return [[shapes[4 + 3 * i + j] for i in range(3)] for j in range(3)]


def _local(shapes: Array, p: Components) -> list[Array]:
    """Points in the shapes' frames."""
    off = [p[i] - shapes[1 + i] for i in range(3)]
    return [dot(axis, off) for axis in _axes(shapes)]


def _turned(shapes: Array, x: Sequence[Array]) -> Array:
    """Directions of the shapes' frames, shape (3, m, K)."""
    axes = _axes(shapes)
    return jnp.stack([sum(axes[j][i] * x[j] for j in range(3)) for i in range(3)])


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


def surface_at(planes: bool, shapes: Array, sides: Array, p: Array) -> Surface:
    """What spheres touch of their shapes.

    Args:
        planes: whether the shapes are planes alone.
        shapes: shapes, one for each sphere, shape (17, m, 1).
        sides: result of `begun_sides` at the start of the step, shape (m, K).
        p: centres [m], shape (3, m, K).
    """
    up = jnp.stack([shapes[6 + 3 * i] for i in range(3)])
    if planes:
        return Surface(up, shapes[13], None, None, None)
    plane, solid = shapes[0] == PLANE, _on_box(shapes, sides, _local(shapes, p))
    level = jnp.where(plane, shapes[13], solid.level)
    bend = jnp.where(plane, 0.0, solid.bend)
    return solid._replace(normal=jnp.where(plane, up, solid.normal), level=level, bend=bend)


def _on_box(shapes: Array, sides: Array, x: Sequence[Array]) -> Surface:
    """Faces, edges and corners of boxes on the sides that are felt, and of rounded ones."""
    box, capsule = shapes[0] == BOX, shapes[0] == CAPSULE
    straight = jnp.where(capsule, shapes[15] - shapes[13], 0.0)  # half of the axis of a capsule
    half = [jnp.where(box, shapes[13 + j], straight if j == 2 else 0.0) for j in range(3)]
    most, axis, inside = -jnp.inf + jnp.zeros_like(x[0]), jnp.zeros(x[0].shape, int), box
    sign, outside = [], []
    for j in range(3):
        before = ((sides & (_BEFORE << j)) != 0) & box
        ahead = jnp.where((sides & (_AHEAD << j)) != 0, 1.0, -1.0)
        sign.append(jnp.where(before, ahead, jnp.where(x[j] >= 0.0, 1.0, -1.0)))
        beyond = sign[j] * x[j] - half[j]
        deeper = before & (beyond > most)
        most, axis = jnp.where(deeper, beyond, most), jnp.where(deeper, j, axis)
        # no side of the axis of a round shape, but its ends
        outside.append((beyond > 0.0) | (~box & ~(capsule & (j == 2))))
        inside = inside & ~outside[j]
    count = sum(out.astype(int) for out in outside)
    flat = inside | (box & (count == 1))
    chosen = [jnp.where(inside, axis == j, outside[j]) for j in range(3)]
    toward = [jnp.where(chosen[j], sign[j], 0.0) for j in range(3)]
    sideways = [jnp.where(capsule, -1.0, 1.0), 0.0, 0.0]  # from the axis itself
    normal = [jnp.where(box, toward[j], sideways[j]) for j in range(3)]
    anchor = [jnp.where(chosen[j], sign[j] * half[j], x[j]) for j in range(3)]
    anchor_in_world = _turned(shapes, anchor) + jnp.stack([shapes[1 + i] for i in range(3)])
    line = ~flat & (count == 2)
    normals, radius = _turned(shapes, normal), jnp.where(box, 0.0, shapes[13])
    return Surface(
        normal=normals,
        level=jnp.where(flat, dot(normals, anchor_in_world), radius),
        anchor=anchor_in_world,
        along=_turned(shapes, [jnp.where(line & ~chosen[j], 1.0, 0.0) for j in range(3)]),
        bend=jnp.where(flat, 0.0, 1.0),
    )
