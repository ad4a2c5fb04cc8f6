"""Convex polytopes: the features by which two of them touch.

Two polytopes a and b touch at vertices of one on faces of the other, and where edges cross. The
normal of a pair of features points out of b: it is a normal of b, the opposite of one of a, or
that of two edges. All is seen in the frame of the body of b.

A polytope may be rounded, that is, swept by a ball. One edge, rounded, is the side of a capsule or
of a cylinder, whose ends have contacts of their own. The tables of polytopes have a kind for each
row, as they hold what touches by features otherwise, too: meshes (`ridges.py`), rims (`rims.py`),
cones and ellipsoids (`sides.py`).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from nmdp_pin._kernels.algebra.vector3 import (
    Vector3,
    axpy,
    cross,
    dot,
    length,
    minus,
    place,
    rotate,
    scaled,
)
from nmdp_pin._kernels.compiler.jit import Array, jit
from nmdp_pin._kernels.compiler.record import record

# Kinds of the rows: a polytope; a mesh of the world, which need not be convex and has tables of its
# own; a rim; a cone or an ellipsoid.
FACETED, WORLD_MESH, CIRCULAR_RIM, ROUND = range(4)
# Kinds of features that touch: a vertex on a face of b, of a; edges; a vertex of b on a rounded
# edge of a; a rim and an edge of b; an edge on a cone or an ellipsoid.
NONE, ON_B, ON_A, CROSSED, ON_SIDE, CROSSED_ROUND, ON_ROUND = -1, 0, 1, 2, 3, 4, 5
FEATURE_KINDS = 7  # with NONE
RESTING = 1e-3  # [m] overlap up to which polytopes count as touching, and not as past each other
PARALLEL = 0.02  # [-] sine of the angle of two edges below which they have no normal
TILT = 0.2  # [-] sine of the angle by which a normal may leave the cone of an edge
ASIDE = 0.03  # [-] cosine by which a normal may leave the rim for the side, or the side for the rim
LEVEL = 1e-9  # [-] sine or cosine of an angle that counts as none
BORDER = 1e-4  # [m] beyond faces and edges of polytopes up to which they touch
AS_DEEP = 1.01  # [-] how much deeper than its solids a contact may be


@record(frozen=True)
class Polytopes:
    """Polytopes, in the frames of their bodies, and the pairs of them that may touch.

    Args:
        vertices: vertices [m], shape (v, 3).
        normals: outward normals of the faces, shape (f, 3).
        levels: n . x of the points of the faces [m], shape (f,).
        edges: both ends, then both faces, counted within the polytope, so that the edge has the
            direction of the product of the normals; the faces of a lone edge are -1, shape (e, 4).
        first: first vertex, face and edge of each polytope, and the ends, shape (p + 1, 3).
        centres: centres of the polytopes [m], shape (p, 3).
        sizes: largest distances of points from the centres [m], shape (p,).
        rounding: radii of the balls [m], shape (p,).
        kinds: their kinds, `FACETED` or one of the others, shape (p,).
        rows: rows of the polytopes in the table of shapes, -1: none, shape (p,).
        pairs: polytopes a and b of each pair, shape (k, 2).
        points: indices of the vertices of a and of b among the robot's contact points, -1: none.
        first_points: where in `points` those of a pair begin, shape (k, 2).
    """

    vertices: Array
    normals: Array
    levels: Array
    edges: Array
    first: Array
    centres: Array
    sizes: Array
    rounding: Array
    kinds: Array
    rows: Array
    pairs: Array
    points: Array
    first_points: Array


class Polytope(NamedTuple):
    """A polytope in some frame; fields as in `Polytopes`."""

    vertices: Array
    normals: Array
    levels: Array
    edges: Array
    rounding: float


@jit
def polytope(polytopes: Polytopes, p: int) -> Polytope:
    """Polytope p in the frame of its body."""
    begin, end = polytopes.first[p], polytopes.first[p + 1]
    return Polytope(
        polytopes.vertices[begin[0] : end[0]],
        polytopes.normals[begin[1] : end[1]],
        polytopes.levels[begin[1] : end[1]],
        polytopes.edges[begin[2] : end[2]],
        polytopes.rounding[p],
    )


@jit
def is_mesh(polytopes: Polytopes, p: int) -> bool:
    """Whether polytope p is a mesh of the world."""
    mesh: bool = polytopes.kinds[p] == WORLD_MESH
    return mesh


@jit
def is_rim(polytopes: Polytopes, p: int) -> bool:
    """Whether polytope p is a rim."""
    rim: bool = polytopes.kinds[p] == CIRCULAR_RIM
    return rim


@jit
def is_round(polytopes: Polytopes, p: int) -> bool:
    """Whether polytope p is a cone or an ellipsoid."""
    curved: bool = polytopes.kinds[p] == ROUND
    return curved


@jit
def moved(a: Polytope, M: Array) -> Polytope:
    """A polytope at the placement M, shape (4, 3)."""
    vertices, normals = np.empty(a.vertices.shape), np.empty(a.normals.shape)
    levels = np.empty(a.levels.shape)
    for i in range(len(vertices)):
        place(M, a.vertices[i], vertices[i])
    for f in range(len(normals)):
        rotate(M, a.normals[f], normals[f])
        levels[f] = a.levels[f] + dot(normals[f], M[3])
    return Polytope(vertices, normals, levels, a.edges, a.rounding)


@jit
def row_of(table: Array, i: int) -> Vector3:
    """Row i of a table of vectors."""
    return table[i, 0], table[i, 1], table[i, 2]


@jit
def edge_of(a: Polytope, i: int) -> tuple[Vector3, Vector3]:
    """First end and vector to the second end of an edge [m]."""
    start = row_of(a.vertices, a.edges[i, 0])
    return start, minus(row_of(a.vertices, a.edges[i, 1]), start)


@jit
def middle(a: Polytope) -> Vector3:
    """Mean of the vertices [m]."""
    total = (0.0, 0.0, 0.0)
    for i in range(len(a.vertices)):
        total = axpy(total, 1.0 / len(a.vertices), row_of(a.vertices, i))
    return total


@jit
def edge_distance(
    a: Polytope, i: int, b: Polytope, j: int, tilt: float, towards: Vector3
) -> tuple[Vector3, float]:
    """Normal of two edges and their distance along it [m]; inf where no normal fits both edges.

    Args:
        a: first polytope.
        i: its edge.
        b: second polytope.
        j: its edge.
        tilt: sine of the angle by which the normal may leave the cones of the edges.
        towards: direction from b to a, by which lone edges tell their sides.
    """
    p, e = edge_of(a, i)
    x, f = edge_of(b, j)
    n = cross(e, f)
    size = length(n)
    if size <= PARALLEL * length(e) * length(f):
        return n, math.inf
    n = scaled(n, 1.0 / size)
    if side_of(a, i, b, j, n, towards) < 0.0:
        n = scaled(n, -1.0)
    if tilt < 1.0 and not (in_cone(b, j, f, n, tilt) and in_cone(a, i, e, scaled(n, -1.0), tilt)):
        return n, math.inf
    return n, dot(n, minus(p, x))


@jit
def side_of(a: Polytope, i: int, b: Polytope, j: int, n: Vector3, towards: Vector3) -> float:
    """Positive where n points out of b at its edge j, or into a at its edge i if that is lone."""
    if b.edges[j, 2] >= 0:
        return dot(n, b.normals[b.edges[j, 2]]) + dot(n, b.normals[b.edges[j, 3]])
    if a.edges[i, 2] >= 0:
        return -dot(n, a.normals[a.edges[i, 2]]) - dot(n, a.normals[a.edges[i, 3]])
    return dot(n, towards)


@jit
def in_cone(a: Polytope, i: int, e: Vector3, n: Vector3, tilt: float) -> bool:
    """Whether a normal to an edge e is one of the polytope's, or nearly."""
    if a.edges[i, 2] < 0:
        return True
    g, h = row_of(a.normals, a.edges[i, 2]), row_of(a.normals, a.edges[i, 3])
    least = -tilt * length(e)
    return (
        dot(n, g) + dot(n, h) > 0.0
        and dot(cross(g, n), e) >= least
        and dot(cross(n, h), e) >= least
    )


@jit
def is_over(a: Polytope, face: int, x: Vector3, feature_margin: float) -> bool:
    """Whether a point lies over a face, up to a distance from its border [m]."""
    n = row_of(a.normals, face)
    for i in range(len(a.edges)):
        if a.edges[i, 2] != face and a.edges[i, 3] != face:
            continue
        other = row_of(a.normals, a.edges[i, 3 if a.edges[i, 2] == face else 2])
        out = axpy(other, -dot(n, other), n)
        start = row_of(a.vertices, a.edges[i, 0])
        if dot(out, minus(x, start)) > feature_margin * length(out):
            return False
    return True


@jit
def crossing(p: Vector3, e: Vector3, x: Vector3, f: Vector3) -> tuple[float, float]:
    """Where two lines p + s e and x + t f are nearest: s and t."""
    c = minus(x, p)
    ee, ef, ff = dot(e, e), dot(e, f), dot(f, f)
    ce, cf = dot(c, e), dot(c, f)
    det = ee * ff - ef * ef
    return (ce * ff - cf * ef) / det, (ce * ef - cf * ee) / det
