"""The two tables of shapes, whose rows are in the order in which they count where they tie.

`kinds`, integers, shape (n, 3): the kind, the index of the shape in the terrain, and of a mesh its
index among the meshes.

`shapes`, shape (n, 17): position (3) and rotation, row by row (9), of the shape's frame, three
sizes, friction, and the rounding of coordinates [m]. The sizes are the half extents of a
primitive [m], or the offset n.x of a plane [m], whose normal n is the z axis of its frame, and two
zeros. The vertices of meshes are in the frame of the terrain.
"""

from __future__ import annotations

import math

from nmdp_pin._kernels.algebra.vector3 import Vector3, dot
from nmdp_pin._kernels.compiler.jit import Array, jit

KIND, INDEX, OF_MESH, KIND_COLUMNS = range(4)  # columns of `kinds`
POSITION, ROTATION, SIZES, FRICTION, COORDINATE_ERROR, SHAPE_COLUMNS = 0, 3, 12, 15, 16, 17


@jit
def axis_of(shapes: Array, s: int, j: int) -> Vector3:
    """Axis j of the frame of a shape; the last one is that of a plane's normal or a revolution."""
    return shapes[s, ROTATION + j], shapes[s, ROTATION + 3 + j], shapes[s, ROTATION + 6 + j]


@jit
def sizes_of(shapes: Array, s: int) -> Vector3:
    """The three sizes of a shape [m]."""
    return shapes[s, SIZES], shapes[s, SIZES + 1], shapes[s, SIZES + 2]


@jit
def tip_sine(shapes: Array, s: int) -> float:
    """Sine of half the angle of the tip of a cone."""
    radius, _, half = sizes_of(shapes, s)
    sine: float = radius / math.hypot(radius, 2.0 * half)
    return sine


@jit
def seen_from(shapes: Array, s: int, p: Vector3) -> Vector3:
    """A point of the world in the frame of a shape [m]."""
    off = (p[0] - shapes[s, 0], p[1] - shapes[s, 1], p[2] - shapes[s, 2])
    x, y, z = axis_of(shapes, s, 0), axis_of(shapes, s, 1), axis_of(shapes, s, 2)
    return dot(x, off), dot(y, off), dot(z, off)
