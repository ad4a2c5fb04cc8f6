"""Sets of forces: projections onto them, and derivatives of what these leave.

The coordinates f of a block are the force of a contact in its frame, two tangents and the normal,
the force of a joint, or the weights of the vertices of a wrench space. With F the motion along
them and rho the stiffness of the block in its step, f solves f' F(f' - f) >= 0 over its set where
the natural map

    Phi = f - P(f - rho F)

vanishes. `project` writes it with matrices of its derivative, dPhi = X df + Y dF + z dd, of the
piece on which the point is. The bound k d^p of a contact enters in compliance form: d is its depth,
and of its tangent at the depth that the force says, compliance * f + offset = d, the row is

    c (compliance f + offset - d),        c = rho / (1 + rho compliance),

which is of the size of the forces of the step however hard the ground is, and d = 0 where it is
rigid. The pieces follow from the same row: beyond the bound is what the projection onto the cone
exceeds it by.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from nmdp_pin._kernels.compiler.jit import Array, jit
from nmdp_pin._kernels.compiler.record import vector

# Kinds of sets: round and polyhedral cones truncated at k d^p, weights w >= 0 with sum(w) <= 1,
# and an interval that widens beyond the stops of a joint.
ROUND_CONE, POLYHEDRAL_CONE, SIMPLEX, INTERVAL = range(4)

# Pieces of a cone: no force, inside, on its side, at its bound, and on the rim of that.
APEX, INSIDE, SIDE, BOUND, BOUND_RIM = range(5)
_SHARE = 0.1  # of rho in the map of an interval without stops
SECTORS = 8  # piece of a polyhedron: that above and SECTORS times the number of its side or edge


class ForceSets(NamedTuple):
    """Sets of n blocks, each of up to m coordinates.

    Args:
        kind: kinds, shape (n,).
        first: first coordinate of each block, shape (n + 1,).
        rho: stiffnesses of the blocks in the step: force by motion [N/m], shape (n,).
        friction: friction coefficients of contacts; dry friction of joints [N m, N], shape (n,).
        compliance: of the tangents at the bounds of contacts [m/N], shape (n,).
        offset: of the same [m], shape (n,).
        stops: of joints stiffness of the stops, and distances beyond the lower and the upper one
            [N m/rad, rad, rad], shape (n, 3).
        sides: sides of the polyhedra.
        angle: angle of their first edge [rad].
        reach: length of their edges over that of the round cone, from the axis.
    """

    kind: Array
    first: Array
    rho: Array
    friction: Array
    compliance: Array
    offset: Array
    stops: Array
    sides: int
    angle: float
    reach: float


@jit
def new_sets(blocks: int, sides: int, angle: float, reach: float) -> ForceSets:
    """Memory for sets, without coordinates, bounds and stops."""
    return ForceSets(
        kind=np.zeros(blocks, np.int64),
        first=np.zeros(blocks + 1, np.int64),
        rho=np.ones(blocks),
        friction=np.zeros(blocks),
        compliance=np.zeros(blocks),
        offset=np.zeros(blocks),
        stops=np.zeros((blocks, 3)),
        sides=sides,
        angle=angle,
        reach=reach,
    )


@jit
def bound_row(sets: ForceSets, b: int, load: float, depth: float) -> tuple[float, float, float]:
    """The row of a bound, and its derivatives by the load and by the depth; see the module."""
    c = sets.rho[b] / (1.0 + sets.rho[b] * sets.compliance[b])
    share = c * sets.compliance[b]
    return share * load + c * (sets.offset[b] - depth), share, -c


@jit
def project(
    sets: ForceSets,
    b: int,
    f: Array,
    F: Array,
    depth: float,
    Phi: Array,
    X: Array,
    Y: Array,
    z: Array,
) -> int:
    """Natural map of block b, its derivatives, and the piece; see the module.

    Args:
        sets: the sets.
        b: index of the block.
        f: coordinates of the block, shape (m,).
        F: motions along them, shape (m,).
        depth: depth of a contact, motion of a joint since its distances were taken [m, rad].
        Phi: output, shape (m,).
        X: output, shape (>= m, >= m).
        Y: output, shape (>= m, >= m).
        z: output, shape (>= m,).
    """
    m = Phi.size
    for i in range(m):
        z[i] = 0.0
        for j in range(m):
            X[i, j] = Y[i, j] = 0.0
    kind = sets.kind[b]
    if kind == SIMPLEX:
        return _project_simplex(sets.rho[b], f, F, Phi, X, Y)
    if kind == INTERVAL:
        piece, Phi[0], X[0, 0], Y[0, 0], z[0] = interval_row(sets, b, f[0], F[0], depth)
        return piece
    rho, y, P = sets.rho[b], vector(3), vector(3)
    for i in range(3):
        y[i] = f[i] - rho * F[i]
    if kind == ROUND_CONE:
        piece = _project_cone(sets.friction[b], y, P, X)
    else:
        piece = _project_pyramid(sets, sets.friction[b], y, P, X)
    row, of_load, of_depth = bound_row(sets, b, f[2], depth)
    if piece % SECTORS != APEX and P[2] - f[2] + row > 0.0:
        if f[2] - row <= 0.0:  # there is nothing to press on
            piece = APEX
        else:
            for i in range(3):
                for j in range(3):
                    X[i, j] = 0.0
            Phi[2], X[2, 2], z[2] = row, of_load, of_depth
            if kind == ROUND_CONE:
                return BOUND + _project_disc(sets.friction[b], rho, f, F, y, Phi, X, Y)
            return BOUND + _project_polygon(sets, b, f, F, y, Phi, X, Y)
    if piece % SECTORS == APEX:
        for i in range(3):
            Phi[i] = f[i]
            for j in range(3):
                X[i, j] = 1.0 if i == j else 0.0
        return APEX
    if piece % SECTORS == INSIDE:
        for i in range(3):
            Phi[i] = rho * F[i]
            X[i, 0] = X[i, 1] = X[i, 2] = 0.0
            Y[i, i] = rho
        return INSIDE
    for i in range(3):  # X holds the derivative of the projection
        Phi[i] = f[i] - P[i]
        for j in range(3):
            Y[i, j] = rho * X[i, j]
            X[i, j] = (1.0 if i == j else 0.0) - X[i, j]
    return piece


@jit
def _project_cone(mu: float, y: Array, P: Array, D: Array) -> int:
    """Projection of y onto |f_t| <= mu f_n, with its derivative D on the side; the piece."""
    across = math.sqrt(y[0] * y[0] + y[1] * y[1])
    if y[2] <= -mu * across:
        P[0] = P[1] = P[2] = 0.0
        return APEX
    if across <= mu * y[2]:
        P[0], P[1], P[2] = y[0], y[1], y[2]
        return INSIDE
    share = 1.0 / (1.0 + mu * mu)
    normal = share * (mu * across + y[2])
    x0, x1 = y[0] / across, y[1] / across
    P[0], P[1], P[2] = mu * normal * x0, mu * normal * x1, normal
    turned, along = mu * normal / across, mu * mu * share - mu * normal / across
    D[0, 0], D[0, 1] = turned + along * x0 * x0, along * x0 * x1
    D[1, 0], D[1, 1] = along * x1 * x0, turned + along * x1 * x1
    D[0, 2] = D[2, 0] = mu * share * x0
    D[1, 2] = D[2, 1] = mu * share * x1
    D[2, 2] = share
    return SIDE


@jit
def _project_disc(
    mu: float, rho: float, f: Array, F: Array, y: Array, Phi: Array, X: Array, Y: Array
) -> int:
    """Rows of the friction at the bound: within |f_t| <= mu f_n, f_n being held; 1 on the rim.

    Where f_n < 0 there is none, but derivatives are those of f_n > 0, where solutions are.
    """
    across, limit = math.sqrt(y[0] * y[0] + y[1] * y[1]), mu * max(f[2], 0.0)
    if across <= limit:
        for i in range(2):
            Phi[i], Y[i, i] = rho * F[i], rho
        return 0
    turned = limit / across
    for i in range(2):
        Phi[i], X[i, 2] = f[i] - turned * y[i], -mu * y[i] / across
        for j in range(2):
            kept = (1.0 if i == j else 0.0) - y[i] * y[j] / (across * across)
            X[i, j] = (1.0 if i == j else 0.0) - turned * kept
            Y[i, j] = rho * turned * kept
    return 1


@jit
def _sector(sets: ForceSets, y: Array) -> tuple[int, float, float, float, float]:
    """Side of the polygon towards which y lies: its number, normal (x, y), and y's components."""
    width = 2.0 * math.pi / sets.sides
    number = math.floor((math.atan2(y[1], y[0]) - sets.angle) / width) % sets.sides
    middle = sets.angle + (number + 0.5) * width
    x0, x1 = math.cos(middle), math.sin(middle)
    return number, x0, x1, x0 * y[0] + x1 * y[1], x0 * y[1] - x1 * y[0]


@jit
def _project_pyramid(sets: ForceSets, mu: float, y: Array, P: Array, D: Array) -> int:
    """Projection of y onto the cone with edges (mu t_j, 1), with its derivative D; the piece.

    By symmetry it lies in the sector of y, where the side is c f_n in the direction b of its
    normal, and its edges are where the direction e across it is -s f_n and s f_n.
    """
    number, x0, x1, b, e = _sector(sets, y)
    half, n = math.pi / sets.sides, y[2]
    c, s = sets.reach * mu * math.cos(half), sets.reach * mu * math.sin(half)
    if b <= c * n and n >= 0.0:
        P[0], P[1], P[2] = y[0], y[1], n
        return INSIDE
    size = (n + c * b) / (1.0 + c * c)  # on the plane of the side
    if size > 0.0 and abs(e) <= s * size:
        P[0], P[1], P[2] = c * size * x0 - e * x1, c * size * x1 + e * x0, size
        share = 1.0 / (1.0 + c * c)
        _outer(c * x0, c * x1, 1.0, share, D)
        D[0, 0] += x1 * x1
        D[0, 1] -= x0 * x1
        D[1, 0] -= x0 * x1
        D[1, 1] += x0 * x0
        return SIDE + SECTORS * (2 * number + 1)
    e_edge, edge = (s, (number + 1) % sets.sides) if e > 0.0 else (-s, number)
    a0, a1 = c * x0 - e_edge * x1, c * x1 + e_edge * x0
    share = 1.0 / (1.0 + a0 * a0 + a1 * a1)
    size = share * (a0 * y[0] + a1 * y[1] + n)
    if size <= 0.0:
        P[0] = P[1] = P[2] = 0.0
        return APEX
    P[0], P[1], P[2] = a0 * size, a1 * size, size
    _outer(a0, a1, 1.0, share, D)
    return SIDE + SECTORS * (2 * edge + 2)


@jit
def _outer(a: float, b: float, c: float, share: float, D: Array) -> None:
    """D = share (a, b, c) (a, b, c)'."""
    D[0, 0], D[0, 1], D[0, 2] = share * a * a, share * a * b, share * a * c
    D[1, 0], D[1, 1], D[1, 2] = share * b * a, share * b * b, share * b * c
    D[2, 0], D[2, 1], D[2, 2] = share * c * a, share * c * b, share * c * c


@jit
def _project_polygon(
    sets: ForceSets, b: int, f: Array, F: Array, y: Array, Phi: Array, X: Array, Y: Array
) -> int:
    """As `_project_disc`, of the polygon; what it returns tells its sides and corners apart."""
    rho, mu = sets.rho[b], sets.friction[b]
    number, x0, x1, along, across = _sector(sets, y)
    half, n = math.pi / sets.sides, max(f[2], 0.0)
    c, s = sets.reach * mu * math.cos(half), sets.reach * mu * math.sin(half)
    if along <= c * n:
        for i in range(2):
            Phi[i], Y[i, i] = rho * F[i], rho
        return 0
    X[0, 0] = X[1, 1] = 1.0
    if abs(across) <= s * n:  # on the side: across it friction is free
        Phi[0] = f[0] - (c * n * x0 - across * x1)
        Phi[1] = f[1] - (c * n * x1 + across * x0)
        X[0, 2], X[1, 2] = -c * x0, -c * x1
        Y[0, 0], Y[0, 1] = rho * x1 * x1, -rho * x0 * x1
        Y[1, 0], Y[1, 1] = -rho * x0 * x1, rho * x0 * x0
        X[0, 0] -= x1 * x1
        X[0, 1] += x0 * x1
        X[1, 0] += x0 * x1
        X[1, 1] -= x0 * x0
        return 1 + SECTORS * (2 * number + 1)
    edge, e = ((number + 1) % sets.sides, s) if across > 0.0 else (number, -s)
    a0, a1 = c * x0 - e * x1, c * x1 + e * x0
    Phi[0], Phi[1] = f[0] - a0 * n, f[1] - a1 * n
    X[0, 2], X[1, 2] = -a0, -a1
    return 1 + SECTORS * (2 * edge + 2)


@jit
def interval_row(
    sets: ForceSets, b: int, f: float, F: float, moved: float
) -> tuple[int, float, float, float, float]:
    """Natural map of a joint's force, within [-r - k above, r + k below]: see `project`.

    That is of dry friction r and stops of stiffness k. The bounds are those of contacts with
    compliance 1 / k, in the direction out of a stop. Where there are no stops, the map is that with
    a share of rho, over the share: beside motors at their limits, to which a limb may give way,
    Newton's method then finds the pieces of a solution more often.

    Returns:
        The piece, the map, and its derivatives by f, F and the motion.
    """
    r, k = sets.friction[b], sets.stops[b, 0]
    part = 1.0 if k > 0.0 else _SHARE
    rho = part * sets.rho[b]
    share, c = rho / (rho + k), rho * k / (rho + k)
    for side in range(2):
        sign = 1.0 - 2.0 * side
        excess = sign * f - r
        row = share * excess - c * (sets.stops[b, 1 + side] - sign * moved)
        if min(row, excess) - sign * rho * F > 0.0:  # the bound is the larger of both
            if excess - row > 0.0:
                return 2 + side, sign * row, share, 0.0, c
            return 4 + side, (f - sign * r) / part, 1.0 / part, 0.0, 0.0
    return INSIDE, sets.rho[b] * F, 0.0, sets.rho[b], 0.0


@jit
def _project_simplex(rho: float, f: Array, F: Array, Phi: Array, X: Array, Y: Array) -> int:
    """Projection onto w >= 0, sum(w) <= 1, and derivatives of what it leaves; bits of the face."""
    m, total = f.size, 0.0
    y = vector(m)
    for e in range(m):
        y[e] = f[e] - rho * F[e]
        total += max(y[e], 0.0)
    tight, top, tau = total > 1.0, 0.0, 0.0
    if tight:
        top, tau = _threshold(y)
    count, face = 0, 1 if tight else 0
    for e in range(m):
        if y[e] - top > tau:
            count += 1
            face += 2 << (e % 60)
        Phi[e] = f[e] - max(y[e] - top - tau, 0.0)
    for e in range(m):
        X[e, e] = 1.0
        if not y[e] - top > tau:
            continue
        X[e, e], Y[e, e] = 0.0, rho
        if tight:
            for d in range(m):
                if y[d] - top > tau:
                    X[e, d] += 1.0 / count
                    Y[e, d] -= rho / count
    return face


@jit
def _threshold(y: Array) -> tuple[float, float]:
    """What is subtracted from y in its projection, where sum(max(y, 0)) > 1.

    That is the threshold tau with sum(max(y - tau, 0)) = 1, in two parts: the largest entry of y
    and the rest. Beside entries of 1e16 and more, which weights of a contact have that can give
    next to nothing, one is lost.
    """
    m = y.size
    ordered = vector(m)
    for e in range(m):  # ascending, by insertion
        value, place = y[e], e
        while place > 0 and ordered[place - 1] > value:
            ordered[place] = ordered[place - 1]
            place -= 1
        ordered[place] = value
    top, total, tau = ordered[m - 1], 0.0, 0.0
    for e in range(m):
        value = ordered[m - 1 - e]
        total += value - top
        threshold = (total - 1.0) / (e + 1)
        if value - top > threshold:
            tau = threshold
    return top, tau
