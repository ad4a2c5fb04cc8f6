"""The terrain as formulas: signed distance, normal and curvature of planes and primitives."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from nmdp_pin.batch.lanes import Lanes, dot, matmul, outer, times
from nmdp_pin.errors import BatchError
from nmdp_pin.terrain import Box, Cylinder, Plane, Shape, Sphere, Terrain

_CLOSEST = 1e-12  # [m] as in terrain/primitives.py: the curvature does not grow further


class SurfaceLanes(NamedTuple):
    """The terrain at n points of each trajectory.

    Args:
        distance: signed distance [m], shape (n, K).
        normal: outward unit normal, shape (n, 3, K).
        curvature: derivative of the normal [1/m], (n, 3, 3, K); None where it is zero anywhere.
        friction: coefficient of the nearest shape, shape (n, K) or (1, 1).
    """

    distance: Lanes
    normal: Lanes
    curvature: Lanes | None
    friction: Lanes


class Ground:
    """A terrain of planes, boxes, spheres and cylinders.

    Args:
        terrain: the static world.

    Raises:
        BatchError: a shape that has no formula.
    """

    def __init__(self, terrain: Terrain) -> None:
        for shape in terrain.shapes:
            if not isinstance(shape, Plane | Box | Sphere | Cylinder):
                raise BatchError(
                    f"a batch takes terrains of Plane, Box, Sphere and Cylinder, got "
                    f"{type(shape).__name__}; step the robot with a Simulator instead"
                )
        # planes first, as in Terrain: where two shapes are as near, the first one counts
        self._shapes = sorted(terrain.shapes, key=lambda shape: not isinstance(shape, Plane))
        self._flat = terrain.flat

    def query(self, points: Lanes) -> SurfaceLanes:
        """The nearest shape at points, shape (n, 3, K)."""
        first, *others = self._shapes
        nearest = self._measure(first, points)
        for shape in others:
            found = self._measure(shape, points)
            closer = found.distance < nearest.distance
            nearest = SurfaceLanes(
                jnp.where(closer, found.distance, nearest.distance),
                jnp.where(closer[:, None], found.normal, nearest.normal),
                None
                if found.curvature is None or nearest.curvature is None
                else jnp.where(closer[:, None, None], found.curvature, nearest.curvature),
                jnp.where(closer, found.friction, nearest.friction),
            )
        return nearest

    def _measure(self, shape: Shape, points: Lanes) -> SurfaceLanes:
        """One shape."""
        dtype = points.dtype
        friction = jnp.full((1, 1), shape.friction, dtype)
        if isinstance(shape, Plane):
            n = jnp.asarray(shape.unit_normal[:, None], dtype)
            normal = jnp.broadcast_to(n, points.shape)
            curvature = None if self._flat else outer(0.0 * normal, normal)
            return SurfaceLanes(dot(normal, points) - shape.level, normal, curvature, friction)
        M = shape.placement
        R = jnp.asarray(M.rotation[:, :, None], dtype)
        back = jnp.asarray(M.rotation.T[:, :, None], dtype)
        local = times(back, points - jnp.asarray(M.translation[:, None], dtype))
        if isinstance(shape, Sphere):
            distance, normal, hessian = _sphere(shape, local)
        elif isinstance(shape, Box):
            distance, normal, hessian = _box(shape, local)
        else:
            assert isinstance(shape, Cylinder)  # noqa: S101  checked at the start
            distance, normal, hessian = _cylinder(shape, local)
        return SurfaceLanes(distance, times(R, normal), matmul(matmul(R, hessian), back), friction)


def _sphere(shape: Sphere, x: Lanes) -> tuple[Lanes, Lanes, Lanes]:
    """Distance, normal and Hessian of the distance in the shape's frame."""
    r = jnp.maximum(jnp.sqrt(dot(x, x)), _CLOSEST)
    normal = x / r[:, None]
    hessian = (_one(x) - outer(normal, normal)) / r[:, None, None]
    return r - shape.radius, normal, hessian


def _box(shape: Box, x: Lanes) -> tuple[Lanes, Lanes, Lanes]:
    """Inside it is the nearest face that counts; over edges and vertices the distance is round."""
    gap = jnp.abs(x) - jnp.asarray(np.array(shape.half_extents)[:, None], x.dtype)
    sign = jnp.where(x < 0.0, -1.0, 1.0).astype(x.dtype)
    outside = gap > 0.0
    over = jnp.where(outside, gap, 0.0)
    any_outside = outside.any(axis=1)
    phi = jnp.sqrt(jnp.where(any_outside, dot(over, over), 1.0))
    phi = jnp.maximum(phi, _CLOSEST)
    face = (jnp.argmax(gap, axis=1)[:, None] == jnp.arange(3)[:, None]).astype(x.dtype)
    normal = sign * jnp.where(any_outside[:, None], over / phi[:, None], face)
    distance = jnp.where(any_outside, phi, gap.max(axis=1))
    bent = (outside.sum(axis=1) >= 2).astype(x.dtype) / phi
    projector = _one(x) * outside.astype(x.dtype)[:, None]
    hessian = bent[:, None, None] * (projector - outer(normal, normal))
    return distance, normal, hessian


def _cylinder(shape: Cylinder, x: Lanes) -> tuple[Lanes, Lanes, Lanes]:
    """Caps, the side, and the rim, where the distance is that to a circle."""
    radial = jnp.hypot(x[:, 0], x[:, 1])
    rho = jnp.maximum(radial, _CLOSEST)
    side, cap = radial - shape.radius, jnp.abs(x[:, 2]) - 0.5 * shape.length
    rim = (side > 0.0) & (cap > 0.0)
    phi = jnp.maximum(jnp.where(rim, jnp.hypot(side, cap), 1.0), _CLOSEST)
    up = jnp.where(x[:, 2] < 0.0, -1.0, 1.0).astype(x.dtype)
    e_n = jnp.where(rim, side / phi, (side > cap).astype(x.dtype))
    z_n = up * jnp.where(rim, cap / phi, (side <= cap).astype(x.dtype))
    o = jnp.zeros_like(rho)
    on_axis = radial == 0.0
    cosine, sine = jnp.where(on_axis, 1.0, x[:, 0] / rho), x[:, 1] / rho
    e, t = jnp.stack([cosine, sine, o], axis=1), jnp.stack([-sine, cosine, o], axis=1)
    z = jnp.stack([o, o, o + 1.0], axis=1)
    normal = e_n[:, None] * e + z_n[:, None] * z
    m = e_n[:, None] * z - z_n[:, None] * e
    hessian = (e_n / rho)[:, None, None] * outer(t, t)
    hessian += jnp.where(rim, 1.0 / phi, 0.0)[:, None, None] * outer(m, m)
    return jnp.where(rim, phi, jnp.maximum(side, cap)), normal, hessian


def _one(x: Lanes) -> Lanes:
    return jnp.eye(3, dtype=x.dtype)[:, :, None]
