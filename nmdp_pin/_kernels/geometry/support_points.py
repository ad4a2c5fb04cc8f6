"""Points of discs and ellipsoids nearest to a shape, over which spheres are swept (`swept`).

A disc or an ellipsoid is the set of points c + sum_j u_j e_j, |u| <= 1, with its two or three
semi-axes e_j. The point that is nearest to a shape, or deepest in it, has |u| = 1, and is where
u has the direction of -g, g_j = n . e_j being the slopes of the signed distance: where the part of
g that is tangent to the unit sphere is 0. Newton's method finds it by the matrix

    K = P (e_j . H e_k) P + |g . u| 1,    P = 1 - u u',

with the curvature H of the shape, and K also gives the derivatives of the point.

A flat end that lies across a rounded shape has two such points on its rim (`rims_across`), and at
one of them g . u may be positive: the distance is the least along the rim, not of the disc, and
K = P (e_j . H e_k) P - g . u 1.
"""

from __future__ import annotations

import math

from nmdp_pin._kernels.algebra.vector3 import (
    Vector3,
    axpy,
    cross,
    dot,
    length,
    minus,
    place,
    scaled,
    times,
)
from nmdp_pin._kernels.compiler.jit import Array, deferred, jit
from nmdp_pin._kernels.compiler.record import matrix, vector
from nmdp_pin._kernels.geometry.contacts import (
    DISC,
    MOST_LOSSES,
    REACH,
    ContactFrames,
    ContactPairs,
    Contacts,
)
from nmdp_pin._kernels.geometry.polytopes import row_of
from nmdp_pin._kernels.geometry.primitives import BOX
from nmdp_pin._kernels.geometry.rims_across import (
    between,
    is_rounded,
    is_spare,
    least_of_rim,
    note_side,
)
from nmdp_pin._kernels.geometry.shape_table import COORDINATE_ERROR, KIND, axis_of
from nmdp_pin._kernels.geometry.swept import (
    AIMED,
    STANDING,
    arm_of,
    direction_of,
    hold_point,
    rates_of_flat,
    slopes_along,
    turn_axes,
    turned_to_slot,
)
from nmdp_pin._kernels.geometry.terrain import MESH, turn_tensor
from nmdp_pin._kernels.geometry.touched_surface import (
    AHEAD,
    BEFORE,
    has_faces,
    surface_at,
    surface_of,
)
from nmdp_pin._kernels.geometry.triangles import SAME, descend_to_minimum, describe_minimum

_LOOSE = 1e-6  # [-] slope as `AIMED`, beyond which the distance has no least where faces meet
_STEPS, _NEAR = 30, 1e-3  # steps down the slopes to such a point, and the last one [-]
_TURNS = 20  # largest number of Newton steps to a support point, or halves of them


@deferred
def support_point(
    candidates: ContactPairs, contacts: Contacts, k: int, M: Array, minimum: bool
) -> float:
    """Choose the point of a disc or ellipsoid for candidate k at a placement; its distance [m].

    With `minimum` it is that of the local minimum of the distance to a mesh; see `surface_at`.
    """
    c, E, slope = vector(3), matrix(3, 3), 0.0
    place(M, candidates.local[k], c)
    turn_axes(candidates, k, M, E)
    middle = (c[0], c[1], c[2])
    size, disc = length(row_of(E, 0)), candidates.contact_kinds[k] == DISC
    u = (1.0, 0.0, 0.0)  # without a nearest point, the first semi-axis is chosen
    _, n = surface_at(candidates, contacts, k, middle, minimum)
    share, least = 1.0, math.inf
    for _ in range(_STEPS):
        g = slopes_along(E, n)
        slope = length(g)
        if slope <= SAME * size:
            break
        v = scaled(g, -1.0 / slope)
        if least < math.inf:
            v = axpy(scaled(u, 1.0 - share), share, v)
            if length(minus(v, u)) <= _NEAR or length(v) <= _NEAR:
                break
            v = scaled(v, 1.0 / length(v))
        phi, normal = surface_at(candidates, contacts, k, axpy(middle, 1.0, arm_of(E, v)), minimum)
        if phi < least:
            u, n, least, share = v, normal, phi, min(2.0 * share, 1.0)
        else:
            share *= 0.5
    if has_faces(candidates, candidates.rows[k]):
        u, slope = _before_a_face(candidates, contacts, k, E, middle, u, slope)
    note_side(candidates, contacts, k, axpy(middle, 1.0, arm_of(E, u)))
    rounded, second = is_rounded(candidates, contacts, k), candidates.slots[k] > 0
    one, other, count = u, u, 0
    if rounded:
        one, other, count = least_of_rim(candidates, contacts, k, E, middle, u)
    v, found = other if second else one, count > (1 if second else 0)
    if rounded and contacts.rolling:
        u = between(one, other) if count > 1 else u
    elif found:
        u = v
    else:
        u = turned_to_slot(candidates, k, u)
    arm = arm_of(E, u)
    hold_point(candidates, contacts, k, M, arm)
    nearest = candidates.slots[k] == 0 and slope > STANDING * size
    contacts.rolls[k] = contacts.rolling and (nearest or rounded or not disc)
    if rounded and contacts.rolling:
        if not found or is_spare(candidates, contacts, k):
            return math.inf
        arm = arm_of(E, v)
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
    least, _ = surface_at(candidates, contacts, k, axpy(middle, 1.0, arm_of(E, u)), False)
    for j in range(0 if candidates.kinds[row, KIND] == BOX else 2, 3):
        g = slopes_along(E, axis_of(shapes, row, j))
        if faces & (BEFORE << j) and length(g) > SAME * length(row_of(E, 0)):
            v = scaled(g, (-1.0 if faces & (AHEAD << j) else 1.0) / length(g))
            phi, _ = surface_at(candidates, contacts, k, axpy(middle, 1.0, arm_of(E, v)), False)
            if phi < least:
                least, u, slope = phi, v, length(g)
    return u, slope


@deferred
def place_support_point(
    candidates: ContactPairs, contacts: Contacts, at: ContactFrames, i: int
) -> None:
    """Contact i at its support point, found by Newton's method from the point that is held."""
    c, M, centre = contacts.index[i], at.placements[i], at.centre[i]
    row, own, E = candidates.rows[c], matrix(3, 3), matrix(3, 3)
    turn_axes(candidates, c, M, E)
    held, H = row_of(at.centre, i), at.curvature[i]
    place(M, candidates.local[c], centre)
    middle = row_of(at.centre, i)
    u, size = direction_of(E, minus(held, middle)), length(row_of(E, 0))
    felt, second = True, candidates.slots[c] > 0
    if is_rounded(candidates, contacts, c):
        one, other, count = least_of_rim(candidates, contacts, c, E, middle, u)
        u, felt = other if second else one, count > (1 if second else 0)
    elif has_faces(candidates, row):
        u, _ = _before_a_face(candidates, contacts, c, E, middle, u, 0.0)
    phi, n, bends, before, start, step = 0.0, u, False, math.inf, u, u
    for turn in range(_TURNS):
        x = axpy(middle, 1.0, arm_of(E, u))
        if candidates.kinds[row, KIND] == MESH:
            face, feature, foot = descend_to_minimum(candidates.triangles, contacts.faces[c], x)
            phi, n, bends = describe_minimum(
                candidates.triangles,
                face,
                feature,
                foot,
                x,
                candidates.shapes[row, COORDINATE_ERROR],
                H,
            )
        else:
            phi, n, bends = surface_of(candidates, contacts, c, x, own)
            if bends:
                turn_tensor(candidates.shapes, row, own, at.curvature, i)
        if phi > before + AIMED * size and turn < _TURNS - 1:  # too far: back half the way
            step = scaled(step, 0.5)
            u = axpy(start, -1.0, step)
            u = scaled(u, 1.0 / length(u))
            continue
        g = slopes_along(E, n)
        tangent = axpy(g, -dot(g, u), u)
        if length(tangent) <= AIMED * size or turn == _TURNS - 1:
            break
        before, start, step = phi, u, axpy(u, 1.0 / length(g), g)
        if bends:
            step = _solve_on_sphere(E, H, u, g, tangent)
            before = phi
        u = axpy(u, -1.0, step)
        u = scaled(u, 1.0 / length(u))
    r, arm = candidates.radii[c], arm_of(E, u)
    at.depth[i], at.curved[i] = r - phi, bends
    if candidates.pointed[row]:  # not at an edge, a rim or a tip, which touch by themselves
        g = slopes_along(E, n)
        if length(axpy(g, -dot(g, u), u)) > _LOOSE * size:
            felt = False
    if not (felt or contacts.losses[c] >= MOST_LOSSES):
        at.depth[i], at.on_internal_edge[i] = -REACH, True
    for j in range(3):
        at.normal[i, j] = n[j]
        at.arm[i, j] = arm[j] - r * n[j]


@jit
def _solve_on_sphere(E: Array, H: Array, u: Vector3, g: Vector3, b: Vector3) -> Vector3:
    """Solution of K x = b of the module's description, b being tangent to the unit sphere at u.

    Where K is not positive, as between two places of a rim, g . u counts as if it were.
    """
    K, HE = matrix(3, 3), matrix(3, 3)
    for k in range(3):
        e = times(H, row_of(E, k))
        e = axpy(e, -u[k], times(H, arm_of(E, u)))  # H e_k, without its part along u
        HE[k, 0], HE[k, 1], HE[k, 2] = e
    for j in range(3):
        e = axpy(row_of(E, j), -u[j], arm_of(E, u))
        for k in range(3):
            K[j, k] = dot(e, HE[k])
    along = dot(g, u)
    bent = dot(b, (dot(row_of(K, 0), b), dot(row_of(K, 1), b), dot(row_of(K, 2), b)))
    pull = -along if bent > along * dot(b, b) else abs(along)
    for j in range(3):
        K[j, j] += pull + AIMED * length(row_of(E, 0))
    x, y, z = row_of(K, 0), row_of(K, 1), row_of(K, 2)
    yz = cross(y, z)
    total = axpy(scaled(yz, b[0]), b[1], cross(z, x))
    return scaled(axpy(total, b[2], cross(x, y)), 1.0 / dot(x, yz))


@deferred
def support_rates(
    candidates: ContactPairs, contacts: Contacts, at: ContactFrames, i: int, N: Array, L: Array
) -> None:
    """Derivatives of normal and arm of a contact at a support point by a motion, shapes (3, 6).

    A motion (dx, dphi) moves the point of the body by y = dx + dphi x sum_j u_j e_j and changes the
    slopes by dg_j = e_j . (n x dphi + H y); then du = -K^-1 P dg, dn = H (y + sum_j du_j e_j), and
    the arm changes by dphi x sum_j u_j e_j + sum_j du_j e_j - r dn.
    """
    c, bends = contacts.index[i], at.curved[i]
    r, E, n = candidates.radii[c], matrix(3, 3), row_of(at.normal, i)
    turn_axes(candidates, c, at.placements[i], E)
    arm = axpy(row_of(at.arm, i), r, n)
    if not bends:
        rates_of_flat(E, arm, n, L)
        return
    g, u = slopes_along(E, n), direction_of(E, arm)
    for k in range(6):
        dx = (1.0 if k == 0 else 0.0, 1.0 if k == 1 else 0.0, 1.0 if k == 2 else 0.0)
        turn = (1.0 if k == 3 else 0.0, 1.0 if k == 4 else 0.0, 1.0 if k == 5 else 0.0)
        swing = cross(turn, arm)
        y = axpy(dx, 1.0, swing)
        dg = slopes_along(E, axpy(cross(n, turn), 1.0, times(at.curvature[i], y)))
        dg = axpy(dg, -dot(dg, u), u)
        du = _solve_on_sphere(E, at.curvature[i], u, g, dg)
        slide = scaled(arm_of(E, du), -1.0)
        dn = times(at.curvature[i], axpy(y, 1.0, slide))
        for j in range(3):
            N[j, k] = dn[j]
            L[j, k] = swing[j] + slide[j] - r * dn[j]
