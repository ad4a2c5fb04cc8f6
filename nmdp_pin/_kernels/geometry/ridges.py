"""Ridges and peaks of meshes: what touches polytopes where a mesh of the world is convex.

The corners of a polytope touch a mesh where the distance to it is least (`triangles.py`). Corners
of the mesh touch faces of the polytope and the rounded sides of capsules and cylinders, and its
edges cross those of the polytope, where the normal of such a pair is one of the mesh there.
Coplanar faces have no edge between them.
"""

from __future__ import annotations

import math

import numpy as np

from nmdp_pin._kernels.algebra.vector3 import (
    Vector3,
    axpy,
    cross,
    dot,
    length,
    minus,
    rotate,
    scaled,
)
from nmdp_pin._kernels.compiler.jit import Array, deferred, jit
from nmdp_pin._kernels.compiler.record import indices, vector
from nmdp_pin._kernels.geometry.contacts import ContactFrames, ContactPairs, Contacts
from nmdp_pin._kernels.geometry.polytopes import (
    CROSSED,
    ON_A,
    ON_SIDE,
    PARALLEL,
    TILT,
    Polytope,
    crossing,
    edge_distance,
    edge_of,
    is_mesh,
    is_over,
    middle,
    polytope,
    row_of,
)
from nmdp_pin._kernels.geometry.triangles import DEPTH, LEAF, SAME, Triangles, next_leaf


@jit
def touched_polytope(candidates: ContactPairs, pair: int) -> Polytope:
    """The second polytope of a pair; of meshes, whose corners and ridges have one table, all."""
    polytopes, mesh = candidates.polytopes, candidates.triangles
    second = polytopes.pairs[pair, 1]
    if is_mesh(polytopes, second):
        return Polytope(mesh.vertices, mesh.normals, polytopes.levels[:0], mesh.ridges, 0.0)
    return polytope(polytopes, second)


@deferred
def find_ridges(
    mesh: Triangles,
    m: int,
    before: Polytope,
    a: Polytope,
    limit: float,
    feature_margin: float,
    features: Array,
    gaps: Array,
) -> int:
    """List the ridges and peaks of a mesh that touch a polytope, or may soon; their number.

    The middle of the polytope was outside of the plane by which they touch.

    Args:
        mesh: meshes.
        m: index of the mesh.
        before: polytope at the start.
        a: polytope at the end.
        limit: largest distance of the features [m].
        feature_margin: distance from the borders of faces and the ends of edges up to which they
            touch [m].
        features: output, kinds, features of a and of the mesh, shape (k, 3).
        gaps: output, distances of the features [m], shape (k,).
    """
    low, high, stack = vector(3), vector(3), indices(DEPTH)
    for j in range(3):
        low[j], high[j] = math.inf, -math.inf
        for i in range(len(a.vertices)):
            x, y = before.vertices[i, j], a.vertices[i, j]
            low[j], high[j] = min(low[j], x, y), max(high[j], x, y)
        low[j], high[j] = low[j] - limit - a.rounding, high[j] + limit + a.rounding
    stack[0], found, centre = 1, 0, middle(before)
    leaf, left = next_leaf(mesh, m, low, high, 0.0, stack, 1)
    while leaf >= 0:
        for k in range(leaf, leaf + LEAF):
            t = mesh.order[k]
            for i in range(3 if t >= 0 else 0):
                v, r = mesh.corners[t, i], mesh.ridge_of[t, i]
                counts = mesh.peaks[v] and mesh.fans[mesh.first[v]] == t
                if counts and _is_in_box(row_of(mesh.vertices, v), low, high):
                    found = _add_peak(
                        mesh, v, before, a, centre, limit, feature_margin, features, gaps, found
                    )
                if r >= 0 and t < mesh.across[t, i]:
                    found = _add_ridge(
                        mesh, r, before, a, centre, limit, feature_margin, features, gaps, found
                    )
        leaf, left = next_leaf(mesh, m, low, high, 0.0, stack, left)
    return found


@jit
def _is_in_box(x: Vector3, low: Array, high: Array) -> bool:
    """Whether a point is in a box."""
    above, below = minus(x, low), minus(high, x)
    return min(min(above[0], above[1], above[2]), min(below[0], below[1], below[2])) >= 0.0


@jit
def _keep(kind: int, i: int, j: int, gap: float, features: Array, gaps: Array, n: int) -> int:
    """Add a feature to n of them, instead of the furthest if there are too many; their number."""
    at = n
    if n == len(gaps):
        at = 0
        for k in range(n):
            if gaps[k] > gaps[at]:
                at = k
        if gap >= gaps[at]:
            return n
    features[at, 0], features[at, 1], features[at, 2], gaps[at] = kind, i, j, gap
    return max(n, at + 1)


@jit
def _is_peak(mesh: Triangles, v: int, n: Vector3) -> bool:
    """Whether a mesh has its largest n . x at a vertex, of the points near to it, or nearly."""
    x = row_of(mesh.vertices, v)
    for k in range(mesh.first[v], mesh.first[v + 1]):
        t = mesh.fans[k]
        for i in range(3):
            if mesh.corners[t, i] == v:
                edge = minus(row_of(mesh.vertices, mesh.corners[t, (i + 1) % 3]), x)
                if dot(edge, n) > PARALLEL * length(edge):
                    return False
    return True


@jit
def _add_peak(
    mesh: Triangles,
    v: int,
    before: Polytope,
    a: Polytope,
    centre: Vector3,
    limit: float,
    feature_margin: float,
    features: Array,
    gaps: Array,
    found: int,
) -> int:
    """Add the faces through which a vertex came in, and the rounded sides that it touches."""
    x, none = row_of(mesh.vertices, v), (0.0, 0.0, 0.0)
    for f in range(len(a.normals) if a.rounding == 0.0 else 0):
        n, gap = row_of(a.normals, f), dot(a.normals[f], x) - a.levels[f]
        if gap >= limit or dot(n, minus(centre, x)) >= 0.0 or not is_over(a, f, x, feature_margin):
            continue
        u, start = _time_of_entry(dot(before.normals[f], x) - before.levels[f], gap)
        if start >= _way_over_faces(before, a, u, x, none) and _is_peak(mesh, v, scaled(n, -1.0)):
            found = _keep(ON_A, f, v, gap, features, gaps, found)
    for i in range(len(a.edges)):
        if a.edges[i, 2] >= 0:
            continue
        c, e = edge_of(a, i)
        s, n, gap = _foot_on_line(c, e, x, minus(centre, x))
        gap -= a.rounding
        c, e = edge_of(before, i)
        u, start = _time_of_entry(dot(n, minus(axpy(c, s, e), x)) - a.rounding, gap)
        beyond = max(-s, s - 1.0) * length(e)
        shallow = start >= _way_over_faces(before, a, u, x, none) - SAME
        if gap < limit and beyond <= feature_margin and shallow and _is_peak(mesh, v, n):
            found = _keep(ON_SIDE, i, v, gap, features, gaps, found)
    return found


@jit
def _foot_on_line(c: Vector3, e: Vector3, x: Vector3, up: Vector3) -> tuple[float, Vector3, float]:
    """Where a line c + s e is nearest to a point x: s, direction from the point, and distance.

    The direction is one of those along `up`, in which the distance is counted.
    """
    s = dot(minus(x, c), e) / dot(e, e)
    off = minus(axpy(c, s, e), x)
    gap = math.copysign(max(length(off), 1e-12), dot(off, up))
    return s, scaled(off, 1.0 / gap), gap


@jit
def _add_ridge(
    mesh: Triangles,
    r: int,
    before: Polytope,
    a: Polytope,
    centre: Vector3,
    limit: float,
    feature_margin: float,
    features: Array,
    gaps: Array,
    found: int,
) -> int:
    """Add the edges of a polytope that cross a ridge, by which it came in."""
    b = Polytope(mesh.vertices, mesh.normals, a.levels[:0], mesh.ridges, 0.0)
    x, f = edge_of(b, r)
    for i in range(len(a.edges)):
        p, e = edge_of(a, i)
        d, gap = edge_distance(a, i, b, r, TILT, minus(centre, x))
        gap -= a.rounding
        if not gap < limit or dot(d, minus(centre, x)) <= 0.0:
            continue
        s, t = crossing(p, e, x, f)
        q, g = edge_of(before, i)
        u, start = _time_of_entry(dot(d, minus(axpy(q, s, g), x)) - a.rounding, gap)
        p, e = axpy(p, u, minus(q, p)), axpy(e, u, minus(g, e))
        s, t = crossing(p, e, x, f)
        beyond = max(max(-s, s - 1.0) * length(e), max(-t, t - 1.0) * length(f))
        if beyond > (feature_margin if u == 0.0 else SAME):
            continue
        way_out = max(_way_over_ridge(before, a, u, b, r, x), _way_over_faces(before, a, u, x, f))
        if start >= way_out - SAME:
            found = _keep(CROSSED, i, r, gap, features, gaps, found)
    return found


@jit
def _time_of_entry(start: float, end: float) -> tuple[float, float]:
    """When a distance becomes 0, as share of the step before its end; the distance then [m].

    Where it is no less at the start that is the end, where it was less than 0 that is the start.
    """
    u = min(end / (end - start), 1.0) if end < min(start, 0.0) else 0.0
    return u, end + u * (start - end)


@jit
def _way_over_ridge(
    before: Polytope, a: Polytope, u: float, b: Polytope, r: int, x: Vector3
) -> float:
    """Larger distance of a to the planes of the two faces at ridge r, a share u before the end."""
    most = -math.inf
    for k in range(2, 4):
        if b.edges[r, k] >= 0:
            n, start, end = row_of(b.normals, b.edges[r, k]), math.inf, math.inf
            for v in range(len(a.vertices)):
                start = min(start, dot(n, minus(row_of(before.vertices, v), x)))
                end = min(end, dot(n, minus(row_of(a.vertices, v), x)))
            most = max(most, end + u * (start - end))
    return most - a.rounding


@jit
def _way_over_faces(before: Polytope, a: Polytope, u: float, x: Vector3, f: Vector3) -> float:
    """Likewise of a ridge from x to x + f to the planes of the faces, or ends, of a."""
    most = -math.inf
    for face in range(len(a.normals)):
        n = row_of(a.normals, face)
        end = dot(n, x) + min(dot(n, f), 0.0) - a.levels[face]
        n = row_of(before.normals, face)
        start = dot(n, x) + min(dot(n, f), 0.0) - before.levels[face]
        most = max(most, end + u * (start - end))
    return most


@deferred
def side_at(
    candidates: ContactPairs, contacts: Contacts, at: ContactFrames, i: int
) -> tuple[Vector3, float, Vector3, Vector3, float]:
    """Axis e of the rounded side of contact i, s, vertex x, normal and distance to c + s e.

    The centre c is the first end of the axis.
    """
    c, turned = contacts.index[i], vector(3)
    own = polytope(candidates.polytopes, candidates.polytopes.pairs[candidates.pairs[c], 0])
    rotate(at.placements[i], np.array(edge_of(own, contacts.features[c, 1])[1]), turned)
    e = (turned[0], turned[1], turned[2])
    x = row_of(candidates.triangles.vertices, contacts.features[c, 2])
    s, n, gap = _foot_on_line(row_of(at.centre, i), e, x, row_of(contacts.planes, c))
    return e, s, x, n, gap


@deferred
def side_rates(
    candidates: ContactPairs, contacts: Contacts, at: ContactFrames, i: int, N: Array, L: Array
) -> None:
    """Derivatives of normal and arm of contact i, on a rounded side, by a motion, shapes (3, 6).

    The foot y = c + s e of the vertex x, with (x - y) . e = 0, moves by dc + ds e + s de, with
    de = dphi x e; n = (y - x) / g at a distance g has dn = (1 - n n') dy / g; the arm is s e - r n.
    """
    e, s, x, n, gap = side_at(candidates, contacts, at, i)
    polytopes = candidates.polytopes
    radius = polytopes.rounding[polytopes.pairs[candidates.pairs[contacts.index[i]], 0]]
    off = minus(x, row_of(at.centre, i))
    for k in range(6):
        dc = (1.0 if k == 0 else 0.0, 1.0 if k == 1 else 0.0, 1.0 if k == 2 else 0.0)
        turn = (1.0 if k == 3 else 0.0, 1.0 if k == 4 else 0.0, 1.0 if k == 5 else 0.0)
        de = cross(turn, e)
        ds = (dot(off, de) - dot(dc, e)) / dot(e, e)
        arm = axpy(scaled(e, ds), s, de)
        dy = axpy(dc, 1.0, arm)
        dn = scaled(axpy(dy, -dot(n, dy), n), 1.0 / gap)
        for j in range(3):
            N[j, k] = dn[j]
            L[j, k] = arm[j] - radius * dn[j]
