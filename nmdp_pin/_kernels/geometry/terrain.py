"""Query of a terrain at points: the nearest of planes, primitives and triangle meshes.

The shapes are rows of the two tables of `shape_table`.
"""

from __future__ import annotations

import math

from nmdp_pin._kernels.algebra.linear import copy_matrix
from nmdp_pin._kernels.algebra.vector3 import Vector3, dot
from nmdp_pin._kernels.compiler.jit import Array, deferred, jit
from nmdp_pin._kernels.compiler.record import matrix
from nmdp_pin._kernels.geometry.primitives import (
    primitive_distance,
    primitive_hessian,
    primitive_normal,
)
from nmdp_pin._kernels.geometry.shape_table import (
    COORDINATE_ERROR,
    FRICTION,
    INDEX,
    KIND,
    OF_MESH,
    ROTATION,
    SIZES,
    axis_of,
    seen_from,
    sizes_of,
)
from nmdp_pin._kernels.geometry.triangles import (
    Triangles,
    box_gap,
    descend_to_minimum,
    describe_minimum,
    nearest_face,
)

PLANE, MESH = 0, 7  # the kinds beside those of `primitives`
_LOST = 1e9  # [m] |x| + |y| + |z| beyond which coordinates no longer resolve a micrometre


@jit
def query(
    kinds: Array,
    shapes: Array,
    triangles: Triangles,
    points: Array,
    distance: Array,
    normal: Array,
    curvature: Array,
    friction: Array,
    shape: Array,
) -> bool:
    """Write the results of `Terrain.query`; True where some curvature is not zero.

    Where there is no shape the distance is infinite, the normal and the friction 0, the shape -1.

    Args:
        kinds: as in `shape_table`.
        shapes: as in `shape_table`.
        triangles: the meshes.
        points: points in the world [m], shape (n, 3).
        distance: output [m], shape (n,).
        normal: output, shape (n, 3).
        curvature: output [1/m], shape (n, 3, 3).
        friction: output, shape (n,).
        shape: output, integers, shape (n,).
    """
    hessian, other = matrix(3, 3), matrix(3, 3)
    bent = False
    for k in range(len(points)):
        p = (points[k, 0], points[k, 1], points[k, 2])
        curvature[k] = 0.0
        if not abs(p[0]) + abs(p[1]) + abs(p[2]) < _LOST:
            distance[k], friction[k], shape[k] = math.nan, math.nan, -1
            normal[k, 0] = normal[k, 1] = normal[k, 2] = math.nan
            curvature[k] = math.nan
            continue
        nearest, least = _nearest_simple(kinds, shapes, p)
        n, bends = (0.0, 0.0, 0.0), False
        if nearest >= 0:
            n, bends = describe(kinds, shapes, nearest, p, least, hessian)
        for s in range(len(kinds)):
            if kinds[s, KIND] != MESH:
                continue
            m = kinds[s, OF_MESH]
            apart = box_gap(triangles, triangles.trees[m, 0] + 1, p, p)
            if apart > 0.0 and apart >= least * abs(least):
                continue
            phi, own, own_bends = _mesh_surface(triangles, m, p, shapes[s, COORDINATE_ERROR], other)
            if phi < least:
                nearest, least, n, bends = s, phi, own, own_bends
                hessian, other = other, hessian
        distance[k], friction[k], shape[k] = least, 0.0, -1
        normal[k, 0], normal[k, 1], normal[k, 2] = n
        if nearest >= 0:
            friction[k], shape[k] = shapes[nearest, FRICTION], kinds[nearest, INDEX]
        if bends and kinds[nearest, KIND] == MESH:
            copy_matrix(hessian, curvature[k])
        elif bends:
            turn_tensor(shapes, nearest, hessian, curvature, k)
        bent |= bends
    return bent


@deferred
def _mesh_surface(
    triangles: Triangles, m: int, p: Vector3, rounding: float, hessian: Array
) -> tuple[float, Vector3, bool]:
    """Signed distance to a mesh, its gradient, and whether there is a Hessian."""
    t, feature, foot = descend_to_minimum(triangles, nearest_face(triangles, m, p), p)
    return describe_minimum(triangles, t, feature, foot, p, rounding, hessian)


@jit
def _nearest_simple(kinds: Array, shapes: Array, p: Vector3) -> tuple[int, float]:
    """The first of the nearest planes and primitives, -1 where there is none; its distance [m]."""
    nearest, least = -1, math.inf
    for s in range(len(kinds)):
        if kinds[s, KIND] == MESH:
            continue
        phi = shape_distance(kinds, shapes, s, p)
        if phi < least:
            nearest, least = s, phi
    return nearest, least


@jit
def shape_distance(kinds: Array, shapes: Array, s: int, p: Vector3) -> float:
    """Signed distance to a plane or primitive [m]."""
    if kinds[s, KIND] == PLANE:
        value: float = dot(p, axis_of(shapes, s, 2)) - shapes[s, SIZES]
        return value
    return primitive_distance(kinds[s, KIND], seen_from(shapes, s, p), sizes_of(shapes, s))


@jit
def describe(
    kinds: Array, shapes: Array, s: int, p: Vector3, distance: float, hessian: Array
) -> tuple[Vector3, bool]:
    """Normal of a plane or primitive, and whether there is a Hessian, written in its own frame.

    Args:
        kinds: as in `shape_table`.
        shapes: as in `shape_table`.
        s: row of the shape.
        p: point [m].
        distance: signed distance of the point [m].
        hessian: output where there is a Hessian [1/m], shape (3, 3).
    """
    if kinds[s, KIND] == PLANE:
        return axis_of(shapes, s, 2), False
    local, half = seen_from(shapes, s, p), sizes_of(shapes, s)
    own = primitive_normal(kinds[s, KIND], local, half, distance)
    bends = primitive_hessian(kinds[s, KIND], local, half, own, hessian)
    return _in_world(shapes, s, own), bends


@jit
def _in_world(shapes: Array, s: int, own: Vector3) -> Vector3:
    """World components of a direction in a shape's frame."""
    x, y, z = axis_of(shapes, s, 0), axis_of(shapes, s, 1), axis_of(shapes, s, 2)
    return (
        dot((x[0], y[0], z[0]), own),
        dot((x[1], y[1], z[1]), own),
        dot((x[2], y[2], z[2]), own),
    )


@jit
def turn_tensor(shapes: Array, s: int, own: Array, world: Array, k: int) -> None:
    """Write R H R' into `world[k]`, shape (3, 3)."""
    for a in range(3):
        for b in range(3):
            total = 0.0
            for i in range(3):
                for j in range(3):
                    left, right = ROTATION + 3 * a + i, ROTATION + 3 * b + j
                    total += shapes[s, left] * own[i, j] * shapes[s, right]
            world[k, a, b] = total
