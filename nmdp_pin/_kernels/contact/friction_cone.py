"""Friction cones whose size grows with the penetration: frames, bounds, and vertices."""

from __future__ import annotations

import math

from nmdp_pin._kernels.algebra.linear import clear_matrix
from nmdp_pin._kernels.compiler.jit import Array, jit
from nmdp_pin._kernels.compiler.record import matrix, record, zero_matrix, zero_vector

_TOUCH = 1e-300  # [m^p]; below it d^p underflows
_CEILING = -0.5  # z of the normal below which the tangents are built from the other pole


@record
class Cone:
    """Forces R (f_t, f_n) with |f_t| <= mu f_n <= mu k d^p, R e_z being the normal.

    Pairs of bodies have the stiffness k and the friction mu (`ContactFrames`). Of its polyhedron
    the vertices are v_j = k (d^p + zeta) R (mu t_j + e_z).

    Args:
        tangents: t_j in the plane, shape (2, m).
        power: p.
        zeta: force without contact, of vertices [m^p].
        sides: sides of the polyhedron, 0: the cone is round.
        angle: angle of t_0 [rad].
        reach: length of the t_j.
    """

    tangents: Array
    power: int
    zeta: float
    sides: int
    angle: float
    reach: float


@jit
def largest_force(cone: Cone, stiffness: float, depth: float) -> float:
    """The largest force k d^p, inf of rigid cones that touch [N]."""
    if depth <= 0.0:
        return 0.0
    return stiffness * depth**cone.power if stiffness < math.inf else math.inf


@jit
def depth_of_force(cone: Cone, stiffness: float, force: float) -> float:
    """The depth d with k d^p = force, 0 where there is none [m]."""
    if force <= 0.0 or not stiffness < math.inf:
        return 0.0
    value: float = (force / stiffness) ** (1.0 / cone.power)
    return value


@jit
def tangent_frame(normal: Array, R: Array) -> None:
    """Write the least rotation R from the nearer pole with R e_z = n, shape (3, 3)."""
    n0, n1, n2 = normal[0], normal[1], normal[2]
    sign = -1.0 if n2 < _CEILING else 1.0
    a = 1.0 / (1.0 + sign * n2)
    bisector = n2 + sign
    R[0, 0], R[0, 1], R[0, 2] = 1.0 - a * n0 * n0, -sign * a * n1 * n0, n0
    R[1, 0], R[1, 1], R[1, 2] = -a * n0 * n1, sign * (1.0 - a * n1 * n1), n1
    R[2, 0], R[2, 1], R[2, 2] = -a * n0 * bisector, -sign * a * n1 * bisector, n2


@jit
def cone_vertices(
    cone: Cone, stiffness: float, depth: float, normal: Array, mu: float, V: Array
) -> bool:
    """Vertices of one contact, shape (3, m); False where they are zero.

    Args:
        cone: parameters.
        stiffness: k [N/m^p].
        depth: penetration, negative when apart [m].
        normal: normal of the surface, shape (3,).
        mu: friction coefficient.
        V: output [N], shape (3, m).
    """
    size = stiffness * (max(depth, 0.0) ** cone.power + cone.zeta)
    if size == 0.0:
        clear_matrix(V)
        return False
    R = matrix(3, 3)
    tangent_frame(normal, R)
    for j in range(V.shape[1]):
        x, y = mu * cone.tangents[0, j], mu * cone.tangents[1, j]
        for a in range(3):
            V[a, j] = size * (R[a, 0] * x + R[a, 1] * y + R[a, 2])
    return True


@jit
def cone_derivative(
    cone: Cone,
    stiffness: float,
    depth: float,
    normal: Array,
    mu: float,
    w: Array,
    force: Array,
    of_depth: Array,
    N: Array,
    D: Array,
) -> None:
    """Derivative of f = V w = k (d^p + zeta) R s of one contact, s the weighted mean of the edges.

    The depth gives p d^(p-1) / (d^p + zeta) f dd', the frame k (d^p + zeta) d(R s)/dn dn, where
    R s = s_z n + s_t - a (n . s_t) b, b = n + sign e_z and a = 1 / (1 + sign n_z).

    Args:
        cone: parameters.
        stiffness: as in `cone_vertices`.
        depth: as in `cone_vertices`.
        normal: as in `cone_vertices`.
        mu: as in `cone_vertices`.
        w: weights, shape (m,).
        force: V w, shape (3,).
        of_depth: dd by a motion of the body, shape (6,).
        N: dn by a motion of the body [1/m], shape (3, 6).
        D: output [N/m], shape (3, 6).
    """
    least = _TOUCH ** (1.0 / cone.power)
    slope = 0.0
    if depth > least:
        size = depth**cone.power
        slope = cone.power * (size / (size + cone.zeta)) / depth
    for a in range(3):
        for b in range(6):
            D[a, b] = slope * force[a] * of_depth[b]
    if not (depth > 0.0 or cone.zeta > 0.0):
        return
    s0, s1, s2 = 0.0, 0.0, 0.0
    for j in range(len(w)):
        s0 += mu * cone.tangents[0, j] * w[j]
        s1 += mu * cone.tangents[1, j] * w[j]
        s2 += w[j]
    magnitude = stiffness * (max(depth, 0.0) ** cone.power + cone.zeta)
    add_frame_derivative(normal, magnitude * s0, magnitude * s1, magnitude * s2, N, D)


@jit
def add_frame_derivative(
    normal: Array, s0: float, s1: float, s2: float, N: Array, D: Array
) -> None:
    """Add the derivative of R s by a motion of the body to D, shape (3, 6).

    Args:
        normal: normal of the surface, shape (3,).
        s0: first component of s in the frame.
        s1: second one.
        s2: along the normal.
        N: dn by a motion of the body [1/m], shape (3, 6).
        D: output.
    """
    sign = -1.0 if normal[2] < _CEILING else 1.0
    inverse = 1.0 / (1.0 + sign * normal[2])
    s1 *= sign
    along = normal[0] * s0 + normal[1] * s1
    for b in range(6):
        n0, n1, n2 = N[0, b], N[1, b], N[2, b]
        if n0 == 0.0 and n1 == 0.0 and n2 == 0.0:
            continue
        share = -inverse * (s0 * n0 + s1 * n1) + sign * inverse**2 * along * n2
        kept = s2 - inverse * along
        D[0, b] += kept * n0 + share * normal[0]
        D[1, b] += kept * n1 + share * normal[1]
        D[2, b] += kept * n2 + share * (normal[2] + sign)


@jit
def all_vertices(
    cone: Cone, stiffness: float, depth: Array, normal: Array, mu: Array, V: Array
) -> None:
    """`cone_vertices` of n contacts of one stiffness, V of shape (n, 3, m)."""
    for i in range(len(depth)):
        cone_vertices(cone, stiffness, depth[i], normal[i], mu[i], V[i])


@jit
def all_derivatives(
    cone: Cone,
    stiffness: float,
    depth: Array,
    normal: Array,
    curvature: Array,
    mu: Array,
    w: Array,
    force: Array,
    D: Array,
) -> None:
    """`cone_derivative` of n spheres, of which D, shape (n, 3, 3), is the part of translations.

    Args:
        cone: parameters.
        stiffness: k [N/m^p].
        depth: penetrations, shape (n,).
        normal: normals, shape (n, 3).
        curvature: derivatives of the normals, or (0, 3, 3) where the surfaces are flat.
        mu: friction coefficients, shape (n,).
        w: weights, shape (n, m).
        force: V w, shape (n, 3).
        D: output, shape (n, 3, 3).
    """
    of_depth, N, own = zero_vector(6), zero_matrix(3, 6), matrix(3, 6)
    for i in range(len(depth)):
        for a in range(3):
            of_depth[a] = -normal[i, a]
            for b in range(3):
                N[a, b] = curvature[i, a, b] if curvature.shape[0] else 0.0
        cone_derivative(
            cone, stiffness, depth[i], normal[i], mu[i], w[i], force[i], of_depth, N, own
        )
        for a in range(3):
            for b in range(3):
                D[i, a, b] = own[a, b]
