"""Closed triangle meshes: distance, its local minima, normal and curvature.

The closest point of a face lies on a feature of it: FACE, EDGE + k or CORNER + k; edge k runs from
corner k to corner k + 1. It is a local minimum of the distance to the mesh unless a face that
shares the feature is nearer.
"""

from __future__ import annotations

import math

import numpy as np

from nmdp_pin._kernels.algebra.vector3 import (
    Vector3,
    axpy,
    dot,
    largest_difference,
    length,
    minus,
    scaled,
)
from nmdp_pin._kernels.compiler.jit import Array, jit
from nmdp_pin._kernels.compiler.record import indices, matrix, record

FACE, EDGE, CORNER = 0, 1, 4
LEAF = 4  # faces of a leaf
SAME = 1e-7  # [m] between points that count as one
_PARALLEL = 1e-9  # [-] deviation from a normal up to which an offset counts as parallel to it
DEPTH = 64  # of a tree


@record(frozen=True)
class Triangles:
    """Meshes, all in one table, with the trees of boxes by which they are searched.

    The tree of a mesh has a power of two of leaves, with `LEAF` faces each; node i has the nodes
    2 i and 2 i + 1 below it, and 1 is the root.

    Args:
        vertices: vertices [m], shape (v, 3).
        corners: indices of the corners, anticlockwise from outside, shape (f, 3).
        normals: outward unit normals, shape (f, 3).
        pseudonormals: sums of the normals around the vertices, weighted by the angles there,
            shape (v, 3).
        across: faces beyond the edges, shape (f, 3).
        first: where the faces around a vertex begin in `fans`, shape (v + 1,).
        fans: faces around the vertices, shape (3 f,).
        boxes: lower and upper corners of the nodes' boxes [m], shape (k, 6).
        order: faces of the leaves, -1: none, shape (l,).
        trees: first box, number of leaves and first entry in `order` of each mesh, shape (m, 3).
        ridges: both ends, then both faces, of the convex edges, which have the directions of the
            products of the normals, shape (r, 4).
        ridge_of: ridges at the edges of the faces, -1: none, shape (f, 3).
        peaks: whether vertices are ends of ridges, shape (v,).
    """

    vertices: Array
    corners: Array
    normals: Array
    pseudonormals: Array
    across: Array
    first: Array
    fans: Array
    boxes: Array
    order: Array
    trees: Array
    ridges: Array
    ridge_of: Array
    peaks: Array


@jit
def _corner(mesh: Triangles, t: int, k: int) -> Vector3:
    v = mesh.corners[t, k]
    return mesh.vertices[v, 0], mesh.vertices[v, 1], mesh.vertices[v, 2]


@jit
def _normal(mesh: Triangles, t: int) -> Vector3:
    return mesh.normals[t, 0], mesh.normals[t, 1], mesh.normals[t, 2]


@jit
def closest_point(mesh: Triangles, t: int, p: Vector3) -> tuple[float, int, Vector3]:
    """Squared distance to a face [m^2], the feature of the closest point, and the point."""
    a, n = _corner(mesh, t, 0), _normal(mesh, t)
    b, c = _corner(mesh, t, 1), _corner(mesh, t, 2)
    above = dot(minus(p, a), n)
    foot = axpy(p, -above, n)
    if _left(a, b, n, foot) and _left(b, c, n, foot) and _left(c, a, n, foot):
        return above * above, FACE, foot
    least, feature = math.inf, FACE
    for k in range(3):
        start, end = (a, b) if k == 0 else ((b, c) if k == 1 else (c, a))
        edge = minus(end, start)
        s = min(max(dot(minus(p, start), edge) / dot(edge, edge), 0.0), 1.0)
        on_edge = end if s == 1.0 else axpy(start, s, edge)
        gap = minus(p, on_edge)
        squared = dot(gap, gap)
        if squared < least:
            least, foot = squared, on_edge
            feature = CORNER + k if s == 0.0 else CORNER + (k + 1) % 3 if s == 1.0 else EDGE + k
    return least, feature, foot


@jit
def _left(a: Vector3, b: Vector3, n: Vector3, x: Vector3) -> bool:
    """Whether a point of a plane lies to the left of the line from a to b, or on it."""
    e, r = minus(b, a), minus(x, a)
    side = (
        n[0] * (e[1] * r[2] - e[2] * r[1])
        + n[1] * (e[2] * r[0] - e[0] * r[2])
        + n[2] * (e[0] * r[1] - e[1] * r[0])
    )
    return side >= 0.0


@jit
def _beside(mesh: Triangles, t: int, feature: int, k: int) -> int:
    """Face number k of those that share a feature of face t, itself among them; -1: no more."""
    if feature == FACE:
        return -1
    if feature < CORNER:
        return mesh.across[t, feature - EDGE] if k == 0 else -1
    v = mesh.corners[t, feature - CORNER]
    at = mesh.first[v] + k
    return mesh.fans[at] if at < mesh.first[v + 1] else -1


@jit
def descend_to_minimum(mesh: Triangles, t: int, p: Vector3) -> tuple[int, int, Vector3]:
    """The local minimum of the distance that is reached from a face.

    Args:
        mesh: meshes.
        t: face to begin with.
        p: point [m].

    Returns:
        Its face, feature and point.
    """
    squared, feature, foot = closest_point(mesh, t, p)
    best = t
    while True:
        k, t = 0, best
        u = _beside(mesh, t, feature, k)
        shared = feature
        while u >= 0:
            other = closest_point(mesh, u, p)
            if other[0] < squared:
                squared, feature, foot = other
                best = u
            k += 1
            u = _beside(mesh, t, shared, k)
        if best == t:
            return t, feature, foot


@jit
def describe_minimum(
    mesh: Triangles,
    t: int,
    feature: int,
    foot: Vector3,
    p: Vector3,
    rounding: float,
    hessian: Array,
) -> tuple[float, Vector3, bool]:
    """Signed distance [m] at a local minimum, its gradient, and whether there is a Hessian.

    Over a face it is taken from the plane: exact in sign, and smooth at 0. At an edge the face that
    is seen more squarely tells the sign, at a vertex the weighted sum of the normals around it
    (Baerentzen and Aanaes 2005).

    Args:
        mesh: meshes.
        t: face.
        feature: feature of the face.
        foot: closest point [m].
        p: point [m].
        rounding: rounding error of coordinates [m].
        hessian: output where there is a Hessian [1/m], shape (3, 3).
    """
    gap, n, face, k = minus(p, foot), _normal(mesh, t), t, 0
    height = dot(gap, n)
    u = _beside(mesh, t, feature, k)
    while u >= 0:
        other = dot(gap, _normal(mesh, u))
        if abs(other) > abs(height):
            height, n, face = other, _normal(mesh, u), u
        k += 1
        u = _beside(mesh, t, feature, k)
    off = minus(gap, scaled(n, height))
    sideways = max(abs(off[0]), abs(off[1]), abs(off[2]))
    if feature == FACE or sideways <= _PARALLEL * abs(height) + rounding:
        return dot(minus(p, _corner(mesh, face, 0)), n), n, False
    along = (0.0, 0.0, 0.0)
    if feature < CORNER:
        edge = minus(_corner(mesh, t, feature % 3), _corner(mesh, t, feature - EDGE))
        along = scaled(edge, 1.0 / length(edge))
    else:
        along = _straight(mesh, t, feature, gap, rounding)
        v = mesh.corners[t, feature - CORNER]
        height = dot(
            gap, (mesh.pseudonormals[v, 0], mesh.pseudonormals[v, 1], mesh.pseudonormals[v, 2])
        )
    phi = math.copysign(length(gap), height)
    n = scaled(gap, 1.0 / phi)
    for i in range(3):
        for j in range(3):
            kept = 1.0 if i == j else 0.0
            hessian[i, j] = (kept - n[i] * n[j] - along[i] * along[j]) / phi
    return phi, n, True


@jit
def _straight(mesh: Triangles, t: int, feature: int, gap: Vector3, rounding: float) -> Vector3:
    """Direction in which the mesh is straight at a corner seen along `gap` [m], else 0.

    It is that of an edge normal to `gap`: on a straight ridge the distance is not curved along
    the ridge, right above a vertex as beside it.
    """
    v = mesh.corners[t, feature - CORNER]
    here = _corner(mesh, t, feature - CORNER)
    allowed, best, k = _PARALLEL * length(gap) + rounding, (0.0, 0.0, 0.0), 0
    u = _beside(mesh, t, feature, k)
    while u >= 0:
        for i in range(3):
            if mesh.corners[u, i] == v:
                edge = minus(_corner(mesh, u, (i + 1) % 3), here)
                slant = abs(dot(edge, gap)) / length(edge)
                if slant <= allowed:
                    allowed, best = slant, scaled(edge, 1.0 / length(edge))
        k += 1
        u = _beside(mesh, t, feature, k)
    return best


@jit
def box_gap(mesh: Triangles, node: int, low: Vector3 | Array, high: Vector3 | Array) -> float:
    """Squared distance between the box of a node and another one [m^2]."""
    total = 0.0
    for i in range(3):
        off = max(mesh.boxes[node, i] - high[i], low[i] - mesh.boxes[node, 3 + i], 0.0)
        total += off * off
    return total


@jit
def next_leaf(
    mesh: Triangles,
    m: int,
    low: Vector3 | Array,
    high: Vector3 | Array,
    limit: float,
    stack: Array,
    n: int,
) -> tuple[int, int]:
    """Go on to the next leaf of mesh m near a box, the nearer one of two branches first.

    Args:
        mesh: meshes.
        m: index of the mesh.
        low: lower corner of the box [m].
        high: upper corner of the box [m].
        limit: squared distance from the box up to which leaves are near [m^2].
        stack: nodes that are not visited yet; the root before the first leaf, shape (`DEPTH`,).
        n: number of these.

    Returns:
        The leaf's first entry in `order`, -1: there is no more; and the number of nodes left.
    """
    root, leaves = mesh.trees[m, 0], mesh.trees[m, 1]
    while n > 0:
        n -= 1
        node = stack[n]
        if box_gap(mesh, root + node, low, high) > limit:
            continue
        if node >= leaves:
            return mesh.trees[m, 2] + LEAF * (node - leaves), n
        left = box_gap(mesh, root + 2 * node, low, high)
        right = box_gap(mesh, root + 2 * node + 1, low, high)
        stack[n], stack[n + 1] = 2 * node + (left <= right), 2 * node + (left > right)
        n += 2
    return -1, n


@jit
def nearest_face(mesh: Triangles, m: int, p: Vector3) -> int:
    """The nearest face of mesh m, the first one of several equally near."""
    stack, best, least = indices(DEPTH), -1, math.inf
    stack[0] = 1
    leaf, left = next_leaf(mesh, m, p, p, least, stack, 1)
    while leaf >= 0:
        for k in range(leaf, leaf + LEAF):
            t = mesh.order[k]
            if t >= 0:
                squared = closest_point(mesh, t, p)[0]
                if squared < least or (squared == least and t < best):
                    least, best = squared, t
        leaf, left = next_leaf(mesh, m, p, p, least, stack, left)
    return best


@jit
def local_minima(
    mesh: Triangles, m: int, p: Vector3, limit: float, rounding: float, found: Array
) -> int:
    """Faces of the local minima of the distance to mesh m, nearest first; their number.

    Inside it is the nearest face alone, however deep the point is.

    Args:
        mesh: meshes.
        m: index of the mesh.
        p: point [m].
        limit: largest distance of a minimum [m].
        rounding: rounding error of coordinates [m].
        found: output, shape (s,); no more than s are found.
    """
    if not box_gap(mesh, mesh.trees[m, 0] + 1, p, p) <= limit * limit:
        return 0
    hessian, most = matrix(3, 3), len(found)
    t, feature, foot = descend_to_minimum(mesh, nearest_face(mesh, m, p), p)
    phi = describe_minimum(mesh, t, feature, foot, p, rounding, hessian)[0]
    if phi > limit:
        return 0
    found[0] = t
    if phi < 0.0 or most == 1:
        return 1
    stack, feet, squares = indices(DEPTH), np.empty((most, 3)), np.empty(most)
    stack[0], count, within = 1, 0, limit * limit
    leaf, left = next_leaf(mesh, m, p, p, within, stack, 1)
    while leaf >= 0:
        for k in range(leaf, leaf + LEAF):
            t = mesh.order[k]
            if t < 0:
                continue
            squared, feature, foot = closest_point(mesh, t, p)
            if squared > within or not _is_minimum(mesh, t, feature, squared, p):
                continue
            if describe_minimum(mesh, t, feature, foot, p, rounding, hessian)[0] < 0.0:
                continue
            known = False
            for i in range(count):
                known |= largest_difference(feet[i], foot) <= SAME
            if known or (count == most and squared >= squares[count - 1]):
                continue
            count = min(count + 1, most)
            i = count - 1
            while i > 0 and squared < squares[i - 1]:
                found[i], squares[i] = found[i - 1], squares[i - 1]
                feet[i] = feet[i - 1]
                i -= 1
            found[i], squares[i] = t, squared
            feet[i, 0], feet[i, 1], feet[i, 2] = foot
        leaf, left = next_leaf(mesh, m, p, p, within, stack, left)
    return count


@jit
def _is_minimum(mesh: Triangles, t: int, feature: int, squared: float, p: Vector3) -> bool:
    """Whether no face that shares the feature is nearer."""
    k = 0
    u = _beside(mesh, t, feature, k)
    while u >= 0:
        if closest_point(mesh, u, p)[0] < squared:
            return False
        k += 1
        u = _beside(mesh, t, feature, k)
    return True
