"""The surface of the shape that a candidate touches, and the points of swept spheres nearest to it.

A disc or an ellipsoid is the set of points c + sum_j u_j e_j, |u| <= 1, with its two or three
semi-axes e_j. The point that is nearest to a shape, or deepest in it, has |u| = 1, and is where
u has the direction of -g, g_j = n . e_j being the slopes of the signed distance: where the part of
g that is tangent to the unit sphere is 0. Newton's method finds it by the matrix

    K = P (e_j . H e_k) P + |g . u| 1,    P = 1 - u u',

with the curvature H of the shape, and K also gives the derivatives of the point.
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
    place,
    rotate,
    rotate_back,
    scaled,
)
from nmdp_pin._kernels.compiler.jit import Array, jit
from nmdp_pin._kernels.geometry.contacts import REACH, ContactFrames, ContactPairs, Contacts
from nmdp_pin._kernels.geometry.polytopes import BORDER, RESTING, moved, polytope, row_of
from nmdp_pin._kernels.geometry.primitives import BOX, CONE, CYLINDER, revolved_hessian
from nmdp_pin._kernels.geometry.rims import is_rim, least_height
from nmdp_pin._kernels.geometry.terrain import (
    MESH,
    describe,
    seen_from,
    shape_distance,
    turn_tensor,
)
from nmdp_pin._kernels.geometry.triangles import (
    SAME,
    descend_to_minimum,
    describe_minimum,
    nearest_face,
)

# Bits of `faces`, shifted by the axis: of a face that it is before, of one in the direction of its
# axis, and of one that its rim or tip cannot touch.
_BEFORE, _AHEAD, _CLOSED = 1, 8, 64
_ENDS, _ALL = 2, 7  # the axis of the ends of cylinders and cones, and bits of all three axes
_LEAVING = 0.03  # [-] cosine to which a normal may lead out of a rim's own flat end
_INSTEAD = 0.1  # of the radius, by which a face may be deeper than one that does not touch the rim
_WITHIN = 0.1  # of the size of a polytope, how deep it may be in the face from which it comes
_WORSE = 3.0  # how many times as deep a solid has to be in another face, to come from this one
_LYING = 0.95  # [-] cosine of the largest angle between a flat end and a face on which it lies
_STANDING = 0.05  # [-] sine of the angle between disc and surface below which no point is nearest
_AIMED = 1e-13  # [-] slope of the distance, relative to the first semi-axis, that counts as none
_LOOSE = 1e-6  # [-] likewise, beyond which the distance has no least where faces meet
_STEPS, _NEAR = 30, 1e-3  # steps down the slopes to such a point, and the last one [-]
_TURNS = 20  # largest number of Newton steps to a support point, or halves of them


@jit
def surface_at(
    candidates: ContactPairs, contacts: Contacts, k: int, p: Vector3, minimum: bool
) -> tuple[float, Vector3]:
    """Signed distance of a point to the shape of a candidate [m], and its gradient.

    The nearest face of a mesh becomes that of the candidate; with `minimum`, the one at the local
    minimum of the distance that is reached from its face.
    """
    row, hessian = candidates.rows[k], np.empty((3, 3))
    if candidates.kinds[row, 0] == MESH:
        mesh = candidates.triangles
        face = contacts.faces[k] if minimum else nearest_face(mesh, candidates.kinds[row, 2], p)
        face, feature, foot = descend_to_minimum(mesh, face, p)
        contacts.faces[k] = face
        rounding = candidates.shapes[row, 16]
        phi, normal, _ = describe_minimum(mesh, face, feature, foot, p, rounding, hessian)
        return phi, normal
    phi, normal, _ = surface_of(candidates, contacts, k, p, hessian)
    return phi, normal


@jit
def has_faces(candidates: ContactPairs, row: int) -> bool:
    """Whether a shape is a box, a cylinder or a cone."""
    pointed: bool = candidates.pointed[row] and candidates.kinds[row, 0] != MESH
    return pointed


@jit
def _face(candidates: ContactPairs, row: int, j: int, p: Vector3) -> tuple[Vector3, float]:
    """Normal of the face of a shape along its axis j on the side of a point; height over it [m].

    The first face of a cylinder or cone is its side, the third an end; there is no second one.
    """
    shapes, local = candidates.shapes, seen_from(candidates.shapes, row, p)
    kind, axis = candidates.kinds[row, 0], _axis_of(shapes, row, j)
    if kind == BOX or j == 2:
        sign = 1.0 if local[j] >= 0.0 and kind != CONE else -1.0
        return scaled(axis, sign), sign * local[j] - shapes[row, 12 + j]
    if j == 1:
        return axis, -math.inf
    rho, up, height = math.hypot(local[0], local[1]), _axis_of(shapes, row, 2), shapes[row, 14]
    out = scaled(axpy(minus(p, row_of(shapes, row)), -local[2], up), 1.0 / max(rho, SAME))
    if kind == CYLINDER:
        return out, rho - shapes[row, 12]
    slant = math.hypot(shapes[row, 12], 2.0 * height)
    across, along = 2.0 * height / slant, shapes[row, 12] / slant
    return axpy(scaled(out, across), along, up), across * rho + along * (local[2] - height)


@jit
def _axis_of(shapes: Array, row: int, j: int) -> Vector3:
    """Axis j of the frame of a shape."""
    return shapes[row, 3 + j], shapes[row, 6 + j], shapes[row, 9 + j]


@jit
def seen_faces(candidates: ContactPairs, k: int, p: Vector3, M: Array) -> int:
    """Faces of a shape before which candidate k is, or the one that is the nearest way out.

    With them are the signs of the axes, and those along which faces are that its rim or tip cannot
    touch, because their normals are none of its own.

    Args:
        candidates: pairs that may touch.
        k: candidate.
        p: centre of its sphere, or of what it is swept over, in the frame of the shape's body [m].
        M: placement of its body, shape (4, 3).
    """
    row, faces, nearest, most, side = candidates.rows[k], 0, 0, -math.inf, 0.0
    out, E = np.empty(3), _turned_axes(candidates, k, M)
    rotate(M, candidates.facing[k], out)
    limit = (candidates.facing[k, 3] + _LEAVING) * length((out[0], out[1], out[2]))
    for j in range(3):
        n, height = _face(candidates, row, j, p)
        beyond = height - length(_slopes(E, n))  # of the nearest of a disc or an ellipsoid
        side = height if j == 0 else side
        if dot(n, _axis_of(candidates.shapes, row, j)) >= 0.0:
            faces |= _AHEAD << j
        if dot(n, out) > limit and beyond <= BORDER:
            faces |= _CLOSED << j
            beyond -= max(_INSTEAD * length(row_of(E, 0)), RESTING)
        if beyond > 0.0:
            faces |= _BEFORE << j
        if beyond > most:
            most, nearest = beyond, j
    if candidates.kinds[row, 0] == BOX and most < -RESTING and is_swept(candidates, k):
        j = _below(candidates, row, p, E, (out[0], out[1], out[2]), most)
        if j >= 0:
            nearest, faces = j, faces & ~(_AHEAD << j)
            if dot(_axis_of(candidates.shapes, row, j), (out[0], out[1], out[2])) < 0.0:
                faces |= _AHEAD << j
    piece = candidates.pieces[k]
    if piece >= 0 and side <= BORDER:
        up, rim = faces & (_AHEAD << _ENDS) > 0, is_rim(candidates.polytopes, piece)
        way, upper, deep, instead = _way_out(candidates, k, p, M, nearest, up)
        if rim:
            comes = most < -RESTING and instead > _WORSE * deep
        else:  # inside, or past the other end
            comes = most <= BORDER or (way == _ENDS and upper != up)
        if comes and deep <= _WITHIN * candidates.polytopes.sizes[piece]:
            closed = faces & _CLOSED * _ALL if rim else _CLOSED << _ENDS - way
            nearest, faces = way, closed | (_AHEAD << _ENDS if upper else 0)
    return (faces & ~(_CLOSED << nearest)) | _BEFORE << nearest


@jit
def _way_out(
    candidates: ContactPairs, k: int, p: Vector3, M: Array, axis: int, up: bool
) -> tuple[int, bool, float, float]:
    """The face of a cylinder or cone from which a piece comes, and whether it is the upper end.

    It is the one that the polytope or solid, of which candidate k is a corner, rim or tip, is least
    deep in: a corner may be nearer to the side of a disc on which the polytope lies. Its depths in
    that face and in the given one follow [m].
    """
    row, shapes, polytopes = candidates.rows[k], candidates.shapes, candidates.polytopes
    most, given, nearest, upper, piece = -math.inf, 0.0, 0, False, candidates.pieces[k]
    there, rim = moved(polytope(polytopes, piece), M), is_rim(polytopes, piece)
    along, local = _axis_of(shapes, row, 2), seen_from(shapes, row, p)
    for face in range(2 if candidates.kinds[row, 0] == CONE else 3):
        if face == 0:
            n, beyond = _face(candidates, row, 0, p)
        else:
            sign = -1.0 if face == 1 else 1.0
            n, beyond = scaled(along, sign), sign * local[2] - shapes[row, 14]
        if rim:
            beyond += least_height(candidates, piece, there, n) - dot(n, p)
        else:
            least = 0.0
            for v in range(len(there.vertices)):
                least = min(least, dot(n, minus(row_of(there.vertices, v), p)))
            beyond += least
        if min(face, 1) * 2 == axis and (face == 0 or (face == 2) == up):
            given = beyond
        if beyond > most:
            most, nearest, upper = beyond, min(face, 1) * 2, face == 2
    return nearest, upper, -most, -given


@jit
def _below(
    candidates: ContactPairs, row: int, p: Vector3, E: Array, out: Vector3, most: float
) -> int:
    """Axis of the face of a box against which a disc lies, across an edge of it; -1: none.

    The flat end is not as deep in the part of the box beside the disc as the disc is in all faces.

    Args:
        candidates: pairs that may touch.
        row: row of the box.
        p: centre of the disc [m].
        E: its semi-axes [m], shape (3, 3).
        out: direction out of it, of any length, 0 of ellipsoids.
        most: how far it is before the box, less than 0 [m].
    """
    shapes, size, face, before = candidates.shapes, length(out), -1, 0.0
    local = seen_from(shapes, row, p)
    for j in range(3):
        axis, half = _axis_of(shapes, row, j), shapes[row, 12 + j]
        along, reach = dot(out, axis), length(_slopes(E, axis))
        if abs(along) > _LYING * size:
            face, reach = j, math.inf
        low, high = max(-half, local[j] - reach), min(half, local[j] + reach)
        before += min(along * (low - local[j]), along * (high - local[j]))
    return face if before > (most + RESTING) * size else -1


@jit
def _felt(
    candidates: ContactPairs, contacts: Contacts, k: int, p: Vector3
) -> tuple[Vector3, int, float]:
    """What candidate k feels of a shape at a point: the point, or the axis and height of a face.

    Behind the middle of a box, the sides around it are felt where the point is in the middle.
    """
    shapes, row, faces = candidates.shapes, candidates.rows[k], contacts.faces[k]
    local, inside, axis, most = seen_from(shapes, row, p), True, -1, -math.inf
    kind, rho = candidates.kinds[row, 0], math.hypot(local[0], local[1])
    for j in range(3):
        if kind != BOX and j < 2:
            beyond = -math.inf if j == 1 else rho - shapes[row, 12]
            if faces & (_BEFORE << j):
                _, beyond = _face(candidates, row, j, p)
            elif faces & (_CLOSED << j) and beyond <= 2.0 * BORDER:
                beyond = -shapes[row, 12]
        else:
            along, back = _axis_of(shapes, row, j), -local[j] if kind != CONE else 0.0
            sign = 1.0 if faces & (_AHEAD << j) else -1.0
            beyond = abs(local[j]) - shapes[row, 12 + j]
            if faces & (_CLOSED << j) and beyond <= 2.0 * BORDER:
                p, beyond = axpy(p, back, along), -shapes[row, 12 + j]
            if faces & (_BEFORE << j):
                beyond = sign * local[j] - shapes[row, 12 + j]
                if sign * local[j] < 0.0:
                    p = axpy(p, back, along)
        if faces & (_BEFORE << j) and beyond > most:
            most, axis = beyond, j
        inside = inside and beyond <= 0.0
    return p, axis if inside else -1, most


@jit
def distance_to(candidates: ContactPairs, contacts: Contacts, k: int, p: Vector3) -> float:
    """Signed distance of a point to the shape of candidate k, without meshes [m]."""
    row = candidates.rows[k]
    if has_faces(candidates, row) and contacts.faces[k] >= 0:
        p, axis, depth = _felt(candidates, contacts, k, p)
        if axis >= 0:
            return depth
    return shape_distance(candidates.kinds, candidates.shapes, row, p)


@jit
def surface_of(
    candidates: ContactPairs, contacts: Contacts, k: int, p: Vector3, hessian: Array
) -> tuple[float, Vector3, bool]:
    """Signed distance [m] and normal of the shape of candidate k at a point, and whether it bends.

    Without meshes; `hessian` is written as by `describe`.
    """
    row, shapes = candidates.rows[k], candidates.shapes
    if has_faces(candidates, row) and contacts.faces[k] >= 0:
        x = p
        p, axis, depth = _felt(candidates, contacts, k, p)
        if axis == 0 and candidates.kinds[row, 0] != BOX:
            normal, _ = _face(candidates, row, 0, x)
            own = seen_from(shapes, row, axpy(row_of(shapes, row), 1.0, normal))
            revolved_hessian(seen_from(shapes, row, x), own, math.inf, hessian)
            return depth, normal, True
        if axis >= 0:
            sign = 1.0 if contacts.faces[k] & (_AHEAD << axis) else -1.0
            return depth, scaled(_axis_of(shapes, row, axis), sign), False
    phi = shape_distance(candidates.kinds, shapes, row, p)
    normal, bends = describe(candidates.kinds, shapes, row, p, phi, hessian)
    return phi, normal, bends


@jit
def is_swept(candidates: ContactPairs, k: int) -> bool:
    """Whether the sphere of a candidate is swept over a disc or an ellipsoid."""
    e = candidates.semi_axes[k, 0]
    return e[0] != 0.0 or e[1] != 0.0 or e[2] != 0.0


@jit
def _is_disc(candidates: ContactPairs, k: int) -> bool:
    """Whether a candidate has two semi-axes only."""
    e = candidates.semi_axes[k, 2]
    return e[0] == 0.0 and e[1] == 0.0 and e[2] == 0.0


@jit
def _turned_axes(candidates: ContactPairs, k: int, M: Array) -> Array:
    """Semi-axes of a candidate at a placement of its body, shape (3, 3)."""
    E = np.empty((3, 3))
    for j in range(3):
        rotate(M, candidates.semi_axes[k, j], E[j])
    return E


@jit
def _slopes(E: Array, n: Vector3) -> Vector3:
    """The slopes n . e_j."""
    return dot(n, E[0]), dot(n, E[1]), dot(n, E[2])


@jit
def _arm(E: Array, u: Vector3) -> Vector3:
    """The vector sum_j u_j e_j."""
    along = axpy(scaled(row_of(E, 0), u[0]), u[1], row_of(E, 1))
    return axpy(along, u[2], row_of(E, 2))


@jit
def support_point(
    candidates: ContactPairs, contacts: Contacts, k: int, M: Array, minimum: bool
) -> float:
    """Choose the point of a disc or ellipsoid for candidate k at a placement; its distance [m].

    With `minimum` it is that of the local minimum of the distance to a mesh; see `surface_at`.
    """
    c, x, slope = np.empty(3), np.empty(3), 0.0
    place(M, candidates.local[k], c)
    E, middle = _turned_axes(candidates, k, M), (c[0], c[1], c[2])
    size, disc = length(row_of(E, 0)), _is_disc(candidates, k)
    u = (1.0, 0.0, 0.0)  # without a nearest point, the first semi-axis is chosen
    _, n = surface_at(candidates, contacts, k, middle, minimum)
    share, least = 1.0, math.inf
    for _ in range(_STEPS):
        g = _slopes(E, n)
        slope = length(g)
        if slope <= SAME * size:
            break
        v = scaled(g, -1.0 / slope)
        if least < math.inf:
            v = axpy(scaled(u, 1.0 - share), share, v)
            if length(minus(v, u)) <= _NEAR or length(v) <= _NEAR:
                break
            v = scaled(v, 1.0 / length(v))
        phi, normal = surface_at(candidates, contacts, k, axpy(middle, 1.0, _arm(E, v)), minimum)
        if phi < least:
            u, n, least, share = v, normal, phi, min(2.0 * share, 1.0)
        else:
            share *= 0.5
    if has_faces(candidates, candidates.rows[k]):
        u, slope = _before_a_face(candidates, contacts, k, E, middle, u, slope)
    for _ in range(candidates.slots[k] if disc else 0):
        u = (-u[1], u[0], 0.0)
    arm = _arm(E, u)
    for j in range(3):
        x[j] = arm[j]
    rotate_back(M, x, contacts.held[k])
    for j in range(3):
        contacts.held[k, j] += candidates.local[k, j]
    nearest = candidates.slots[k] == 0 and slope > _STANDING * size
    contacts.rolls[k] = candidates.rolling and (nearest or not disc)
    return surface_at(candidates, contacts, k, axpy(middle, 1.0, arm), minimum)[0]


@jit
def _before_a_face(
    candidates: ContactPairs,
    contacts: Contacts,
    k: int,
    E: Array,
    middle: Vector3,
    u: Vector3,
    slope: float,
) -> tuple[Vector3, float]:
    """The nearest of a point of a disc or ellipsoid and those farthest into flat faces.

    With it goes the slope |g| by which it was found. From a middle beside a face Newton's method
    would go to another one.
    """
    row, shapes, faces = candidates.rows[k], candidates.shapes, contacts.faces[k]
    least, _ = surface_at(candidates, contacts, k, axpy(middle, 1.0, _arm(E, u)), False)
    for j in range(0 if candidates.kinds[row, 0] == BOX else 2, 3):
        g = _slopes(E, _axis_of(shapes, row, j))
        if faces & (_BEFORE << j) and length(g) > SAME * length(row_of(E, 0)):
            v = scaled(g, (-1.0 if faces & (_AHEAD << j) else 1.0) / length(g))
            phi, _ = surface_at(candidates, contacts, k, axpy(middle, 1.0, _arm(E, v)), False)
            if phi < least:
                least, u, slope = phi, v, length(g)
    return u, slope


@jit
def place_support_point(
    candidates: ContactPairs, contacts: Contacts, at: ContactFrames, i: int
) -> None:
    """Contact i at its support point, found by Newton's method from the point that is held."""
    c, M, centre = contacts.index[i], at.placements[i], at.centre[i]
    row, own, E = candidates.rows[c], np.empty((3, 3)), _turned_axes(candidates, c, M)
    held, H = row_of(at.centre, i), at.curvature[i]
    place(M, candidates.local[c], centre)
    middle = row_of(at.centre, i)
    u = _slopes(E, minus(held, middle))
    u0, size = dot(E[0], E[0]), length(row_of(E, 0))
    u = (u[0] / u0, u[1] / dot(E[1], E[1]), u[2] / max(dot(E[2], E[2]), _AIMED * u0))
    if has_faces(candidates, row):
        u, _ = _before_a_face(candidates, contacts, c, E, middle, u, 0.0)
    phi, n, bends, before, start, step = 0.0, u, False, math.inf, u, u
    for turn in range(_TURNS):
        x = axpy(middle, 1.0, _arm(E, u))
        if candidates.kinds[row, 0] == MESH:
            face, feature, foot = descend_to_minimum(candidates.triangles, contacts.faces[c], x)
            phi, n, bends = describe_minimum(
                candidates.triangles, face, feature, foot, x, candidates.shapes[row, 16], H
            )
        else:
            phi, n, bends = surface_of(candidates, contacts, c, x, own)
            if bends:
                turn_tensor(candidates.shapes, row, own, at.curvature, i)
        if phi > before + _AIMED * size and turn < _TURNS - 1:  # too far: back half the way
            step = scaled(step, 0.5)
            u = axpy(start, -1.0, step)
            u = scaled(u, 1.0 / length(u))
            continue
        g = _slopes(E, n)
        tangent = axpy(g, -dot(g, u), u)
        if length(tangent) <= _AIMED * size or turn == _TURNS - 1:
            break
        before, start, step = phi, u, axpy(u, 1.0 / length(g), g)
        if bends:
            step = _turned(E, H, u, g, tangent)
            before = phi
        u = axpy(u, -1.0, step)
        u = scaled(u, 1.0 / length(u))
    r, arm = candidates.radii[c], _arm(E, u)
    at.depth[i], at.curved[i] = r - phi, bends
    if candidates.pointed[row]:  # not at an edge, a rim or a tip, which touch by themselves
        g = _slopes(E, n)
        if length(axpy(g, -dot(g, u), u)) > _LOOSE * size:
            at.depth[i], at.on_internal_edge[i] = -REACH, True
    for j in range(3):
        at.normal[i, j] = n[j]
        at.arm[i, j] = arm[j] - r * n[j]


@jit
def _turned(E: Array, H: Array, u: Vector3, g: Vector3, b: Vector3) -> Vector3:
    """Solution of K x = b of the module's description, b being tangent to the unit sphere at u."""
    K, HE = np.empty((3, 3)), np.empty((3, 3))
    for k in range(3):
        e = times(H, row_of(E, k))
        e = axpy(e, -u[k], times(H, _arm(E, u)))  # H e_k, without its part along u
        HE[k, 0], HE[k, 1], HE[k, 2] = e
    for j in range(3):
        e = axpy(row_of(E, j), -u[j], _arm(E, u))
        for k in range(3):
            K[j, k] = dot(e, HE[k])
        K[j, j] += abs(dot(g, u)) + _AIMED * length(row_of(E, 0))
    x, y, z = row_of(K, 0), row_of(K, 1), row_of(K, 2)
    yz = cross(y, z)
    total = axpy(scaled(yz, b[0]), b[1], cross(z, x))
    return scaled(axpy(total, b[2], cross(x, y)), 1.0 / dot(x, yz))


@jit
def times(A: Array, x: Vector3) -> Vector3:
    """The product of a matrix, shape (3, 3), and a vector."""
    return dot(A[0], x), dot(A[1], x), dot(A[2], x)


@jit
def support_rates(
    candidates: ContactPairs, contacts: Contacts, at: ContactFrames, i: int, N: Array, L: Array
) -> None:
    """Derivatives of normal and arm of a contact at a support point by a motion, shapes (3, 6).

    A motion (dx, dphi) moves the point of the body by y = dx + dphi x sum_j u_j e_j and changes the
    slopes by dg_j = e_j . (n x dphi + H y); then du = -K^-1 P dg, dn = H (y + sum_j du_j e_j), and
    the arm changes by dphi x sum_j u_j e_j + sum_j du_j e_j - r dn.
    """
    c, bends = contacts.index[i], at.curved[i]
    r, E, none = candidates.radii[c], _turned_axes(candidates, c, at.placements[i]), (0.0, 0.0, 0.0)
    n = row_of(at.normal, i)
    arm, g = axpy(row_of(at.arm, i), r, n), _slopes(E, n)
    u = scaled(g, -1.0 / length(g))
    for k in range(6):
        dx = (1.0 if k == 0 else 0.0, 1.0 if k == 1 else 0.0, 1.0 if k == 2 else 0.0)
        turn = (1.0 if k == 3 else 0.0, 1.0 if k == 4 else 0.0, 1.0 if k == 5 else 0.0)
        swing = cross(turn, arm)
        y, change = axpy(dx, 1.0, swing), cross(n, turn)
        if bends:
            change = axpy(change, 1.0, times(at.curvature[i], y))
        dg = _slopes(E, change)
        dg = axpy(dg, -dot(dg, u), u)
        du = _turned(E, at.curvature[i], u, g, dg) if bends else scaled(dg, 1.0 / length(g))
        slide = scaled(_arm(E, du), -1.0)
        dn = times(at.curvature[i], axpy(y, 1.0, slide)) if bends else none
        for j in range(3):
            N[j, k] = dn[j]
            L[j, k] = swing[j] + slide[j] - r * dn[j]
