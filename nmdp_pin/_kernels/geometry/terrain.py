"""Query of a terrain at points: the nearest of planes, primitives and triangle meshes.

The shapes are rows of two tables, in the order in which they count where they tie.

`kinds`, integers, shape (n, 3): the kind, the index of the shape in the terrain, and of a mesh its
index among the meshes.

`shapes`, shape (n, 17): position (3) and rotation, row by row (9), of the shape's frame, three
sizes, friction, and the rounding of coordinates [m]. The sizes are the half extents of a
primitive [m], or the offset n.x of a plane [m], whose normal n is the z axis of its frame, and two
zeros. The vertices of meshes are in the frame of the terrain.
"""

from __future__ import annotations

import math

import numpy as np

from nmdp_pin._kernels.algebra.vector3 import Vector3, dot
from nmdp_pin._kernels.compiler.jit import Array, jit
from nmdp_pin._kernels.geometry.primitives import (
    primitive_distance,
    primitive_hessian,
    primitive_normal,
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
        kinds: as in the module's description.
        shapes: as in the module's description.
        triangles: the meshes.
        points: points in the world [m], shape (n, 3).
        distance: output [m], shape (n,).
        normal: output, shape (n, 3).
        curvature: output [1/m], shape (n, 3, 3).
        friction: output, shape (n,).
        shape: output, integers, shape (n,).
    """
    hessian, other = np.empty((3, 3)), np.empty((3, 3))
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
            if kinds[s, 0] != MESH:
                continue
            m = kinds[s, 2]
            apart = box_gap(triangles, triangles.trees[m, 0] + 1, p, p)
            if apart > 0.0 and apart >= least * abs(least):
                continue
            phi, own, own_bends = _mesh_surface(triangles, m, p, shapes[s, 16], other)
            if phi < least:
                nearest, least, n, bends = s, phi, own, own_bends
                hessian, other = other, hessian
        distance[k], friction[k], shape[k] = least, 0.0, -1
        normal[k, 0], normal[k, 1], normal[k, 2] = n
        if nearest >= 0:
            friction[k], shape[k] = shapes[nearest, 15], kinds[nearest, 1]
        if bends and kinds[nearest, 0] == MESH:
            curvature[k] = hessian
        elif bends:
            turn_tensor(shapes, nearest, hessian, curvature, k)
        bent |= bends
    return bent


@jit
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
        if kinds[s, 0] == MESH:
            continue
        phi = shape_distance(kinds, shapes, s, p)
        if phi < least:
            nearest, least = s, phi
    return nearest, least


@jit
def shape_distance(kinds: Array, shapes: Array, s: int, p: Vector3) -> float:
    """Signed distance to a plane or primitive [m]."""
    if kinds[s, 0] == PLANE:
        return dot(p, (shapes[s, 5], shapes[s, 8], shapes[s, 11])) - shapes[s, 12]
    return primitive_distance(kinds[s, 0], seen_from(shapes, s, p), _sizes(shapes, s))


@jit
def describe(
    kinds: Array, shapes: Array, s: int, p: Vector3, distance: float, hessian: Array
) -> tuple[Vector3, bool]:
    """Normal of a plane or primitive, and whether there is a Hessian, written in its own frame.

    Args:
        kinds: as in the module's description.
        shapes: as in the module's description.
        s: row of the shape.
        p: point [m].
        distance: signed distance of the point [m].
        hessian: output where there is a Hessian [1/m], shape (3, 3).
    """
    if kinds[s, 0] == PLANE:
        return (shapes[s, 5], shapes[s, 8], shapes[s, 11]), False
    local, half = seen_from(shapes, s, p), _sizes(shapes, s)
    own = primitive_normal(kinds[s, 0], local, half, distance)
    bends = primitive_hessian(kinds[s, 0], local, half, own, hessian)
    return _in_world(shapes, s, own), bends


@jit
def _sizes(shapes: Array, s: int) -> Vector3:
    """The three sizes of a shape [m]."""
    return shapes[s, 12], shapes[s, 13], shapes[s, 14]


@jit
def tip_sine(shapes: Array, s: int) -> float:
    """Sine of half the angle of the tip of a cone."""
    sine: float = shapes[s, 12] / math.hypot(shapes[s, 12], 2.0 * shapes[s, 14])
    return sine


@jit
def seen_from(shapes: Array, s: int, p: Vector3) -> Vector3:
    """A point of the world in the frame of a shape [m]."""
    x, y, z = p[0] - shapes[s, 0], p[1] - shapes[s, 1], p[2] - shapes[s, 2]
    return (
        shapes[s, 3] * x + shapes[s, 6] * y + shapes[s, 9] * z,
        shapes[s, 4] * x + shapes[s, 7] * y + shapes[s, 10] * z,
        shapes[s, 5] * x + shapes[s, 8] * y + shapes[s, 11] * z,
    )


@jit
def _in_world(shapes: Array, s: int, own: Vector3) -> Vector3:
    """World components of a direction in a shape's frame."""
    return (
        dot((shapes[s, 3], shapes[s, 4], shapes[s, 5]), own),
        dot((shapes[s, 6], shapes[s, 7], shapes[s, 8]), own),
        dot((shapes[s, 9], shapes[s, 10], shapes[s, 11]), own),
    )


@jit
def turn_tensor(shapes: Array, s: int, own: Array, world: Array, k: int) -> None:
    """Write R H R' into `world[k]`, shape (3, 3)."""
    for a in range(3):
        for b in range(3):
            total = 0.0
            for i in range(3):
                for j in range(3):
                    total += shapes[s, 3 + 3 * a + i] * own[i, j] * shapes[s, 3 + 3 * b + j]
            world[k, a, b] = total
