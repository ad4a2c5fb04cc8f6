"""Spheres that are swept over discs and ellipsoids, and the points where these touch planes.

A disc or an ellipsoid is the set of points c + sum_j u_j e_j, |u| <= 1, with its two or three
semi-axes e_j. The point that is deepest in a plane with the normal n is where u = -g / |g|, with
g_j = n . e_j. Points on other shapes are those of `support_points`.
"""

from __future__ import annotations

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
from nmdp_pin._kernels.compiler.jit import Array, deferred, jit
from nmdp_pin._kernels.compiler.record import matrix, vector
from nmdp_pin._kernels.geometry.contacts import (
    DISC,
    ELLIPSOID_SURFACE,
    ContactFrames,
    ContactPairs,
    Contacts,
)
from nmdp_pin._kernels.geometry.polytopes import row_of
from nmdp_pin._kernels.geometry.shape_table import KIND, SIZES, axis_of
from nmdp_pin._kernels.geometry.terrain import PLANE
from nmdp_pin._kernels.geometry.triangles import SAME

STANDING = 0.05  # [-] sine of the angle between disc and surface below which no point is nearest
AIMED = 1e-13  # [-] slope of the distance, relative to the first semi-axis, that counts as none


@jit
def is_on_plane(candidates: ContactPairs, k: int) -> bool:
    """Whether a candidate touches a plane."""
    holds: bool = candidates.kinds[candidates.rows[k], KIND] == PLANE
    return holds


@jit
def is_swept(candidates: ContactPairs, k: int) -> bool:
    """Whether the sphere of a candidate is swept over a disc or an ellipsoid."""
    kind = candidates.contact_kinds[k]
    holds: bool = kind == DISC or kind == ELLIPSOID_SURFACE
    return holds


@jit
def turn_axes(candidates: ContactPairs, k: int, M: Array, E: Array) -> None:
    """Write the semi-axes of a candidate at a placement of its body, shape (3, 3)."""
    for j in range(3):
        rotate(M, candidates.semi_axes[k, j], E[j])


@jit
def slopes_along(E: Array, n: Vector3) -> Vector3:
    """The slopes n . e_j."""
    return dot(n, E[0]), dot(n, E[1]), dot(n, E[2])


@jit
def arm_of(E: Array, u: Vector3) -> Vector3:
    """The vector sum_j u_j e_j."""
    along = axpy(scaled(row_of(E, 0), u[0]), u[1], row_of(E, 1))
    return axpy(along, u[2], row_of(E, 2))


@jit
def direction_of(E: Array, arm: Vector3) -> Vector3:
    """The coefficients u_j of a vector sum_j u_j e_j."""
    u, least = slopes_along(E, arm), AIMED * dot(E[0], E[0])
    return (
        u[0] / max(dot(E[0], E[0]), least),
        u[1] / max(dot(E[1], E[1]), least),
        u[2] / max(dot(E[2], E[2]), least),
    )


@jit
def turned_to_slot(candidates: ContactPairs, k: int, u: Vector3) -> Vector3:
    """The direction u of a disc's contact, as many quarter turns from the nearest one."""
    for _ in range(candidates.slots[k] if candidates.contact_kinds[k] == DISC else 0):
        u = (-u[1], u[0], 0.0)
    return u


@jit
def hold_point(
    candidates: ContactPairs, contacts: Contacts, k: int, M: Array, arm: Vector3
) -> None:
    """Hold the point of candidate k that an arm leads to at a placement of its body."""
    x = vector(3)
    for j in range(3):
        x[j] = arm[j]
    rotate_back(M, x, contacts.held[k])
    for j in range(3):
        contacts.held[k, j] += candidates.local[k, j]


@jit
def support_on_plane(candidates: ContactPairs, contacts: Contacts, k: int, M: Array) -> float:
    """Choose the point of a disc or ellipsoid for a plane at a placement; its distance [m]."""
    c, E, row = vector(3), matrix(3, 3), candidates.rows[k]
    place(M, candidates.local[k], c)
    turn_axes(candidates, k, M, E)
    n = axis_of(candidates.shapes, row, 2)
    g, size = slopes_along(E, n), length(row_of(E, 0))
    slope, u = length(g), (1.0, 0.0, 0.0)  # without a nearest point, it is the first semi-axis
    if slope > SAME * size:
        u = scaled(g, -1.0 / slope)
    arm = arm_of(E, turned_to_slot(candidates, k, u))
    hold_point(candidates, contacts, k, M, arm)
    nearest = candidates.slots[k] == 0 and slope > STANDING * size
    contacts.rolls[k] = contacts.rolling and (nearest or candidates.contact_kinds[k] != DISC)
    height: float = dot(axpy((c[0], c[1], c[2]), 1.0, arm), n) - candidates.shapes[row, SIZES]
    return height


@jit
def place_on_plane(candidates: ContactPairs, contacts: Contacts, at: ContactFrames, i: int) -> None:
    """Contact i, which moves along a disc or an ellipsoid, at its point on a plane."""
    c, M, centre = contacts.index[i], at.placements[i], at.centre[i]
    row, r, E = candidates.rows[c], candidates.radii[c], matrix(3, 3)
    turn_axes(candidates, c, M, E)
    held = row_of(at.centre, i)
    place(M, candidates.local[c], centre)
    middle, n = row_of(at.centre, i), axis_of(candidates.shapes, row, 2)
    u, g = direction_of(E, minus(held, middle)), slopes_along(E, n)
    if length(axpy(g, -dot(g, u), u)) > AIMED * length(row_of(E, 0)):
        u = axpy(u, -1.0, axpy(u, 1.0 / length(g), g))
        u = scaled(u, 1.0 / length(u))
    arm = arm_of(E, u)
    at.depth[i] = r - (dot(axpy(middle, 1.0, arm), n) - candidates.shapes[row, SIZES])
    for j in range(3):
        at.normal[i, j] = n[j]
        at.arm[i, j] = arm[j] - r * n[j]


@deferred
def rates_of_flat(E: Array, arm: Vector3, n: Vector3, L: Array) -> None:
    """Derivative of the arm of a contact that moves along a flat surface, shape (3, 6).

    Args:
        E: semi-axes, shape (3, 3).
        arm: arm to the point of the disc or ellipsoid [m].
        n: normal of the surface.
        L: output; see `support_points.support_rates`.
    """
    g, u = slopes_along(E, n), direction_of(E, arm)
    for k in range(3, 6):
        turn = (1.0 if k == 3 else 0.0, 1.0 if k == 4 else 0.0, 1.0 if k == 5 else 0.0)
        swing, dg = cross(turn, arm), slopes_along(E, cross(n, turn))
        dg = axpy(dg, -dot(dg, u), u)
        du = scaled(dg, 1.0 / max(length(g), AIMED * length(row_of(E, 0))))
        slide = arm_of(E, du)
        for j in range(3):
            L[j, k] = swing[j] - slide[j]
