"""Sets of forces: projections onto them, and derivatives of what these leave.

The coordinates f of a block are the force of a contact in its frame, two tangents and the normal,
the force of a joint, or the weights of the vertices of a wrench space. With F the motion along
them and rho the stiffness of the block in its step, f solves f' F(f' - f) >= 0 over its set where
the natural map

    Phi = f - P(f - rho F)

vanishes. `map_block` writes it, and says on which of its smooth pieces the point is; their
derivatives are those of `map_derivatives`. The bound k d^p of a contact enters in compliance form:
d is its depth, and of its tangent at the depth that the force says, compliance * f + offset = d,
the row is

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
STOP, LIMIT = 2, 4  # pieces of an interval but its inside, each of two sides: stops, dry friction
SHARE = 0.1  # of rho in the map of an interval without stops
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
def map_block(sets: ForceSets, b: int, f: Array, F: Array, depth: float, Phi: Array) -> int:
    """Write the natural map of block b; the piece. See the module.

    Args:
        sets: the sets.
        b: index of the block.
        f: coordinates of the blocks, shape (n,).
        F: motions along them, shape (n,).
        depth: depth of a contact, motion of a joint since its distances were taken [m, rad].
        Phi: output, shape (n,).
    """
    kind, begin = sets.kind[b], sets.first[b]
    if kind == SIMPLEX:
        return _map_simplex(sets, b, f, F, Phi)
    if kind == INTERVAL:
        piece, Phi[begin] = _map_interval(sets, b, f[begin], F[begin], depth)
        return piece
    mu, rho = sets.friction[b], sets.rho[b]
    f0, f1, f2 = f[begin], f[begin + 1], f[begin + 2]
    y0, y1, y2 = f0 - rho * F[begin], f1 - rho * F[begin + 1], f2 - rho * F[begin + 2]
    if kind == ROUND_CONE:
        piece, P0, P1, P2 = _onto_cone(mu, y0, y1, y2)
    else:
        piece, P0, P1, P2 = _onto_pyramid(sets, mu, y0, y1, y2)
    row, _, _ = bound_row(sets, b, f2, depth)
    if piece % SECTORS != APEX and P2 - f2 + row > 0.0:
        if f2 - row > 0.0:
            Phi[begin + 2] = row
            if kind == ROUND_CONE:
                piece, P0, P1 = _onto_disc(mu * max(f2, 0.0), y0, y1)
            else:
                piece, P0, P1 = _onto_polygon(sets, mu, max(f2, 0.0), y0, y1)
            if piece == BOUND:
                Phi[begin], Phi[begin + 1] = rho * F[begin], rho * F[begin + 1]
            else:
                Phi[begin], Phi[begin + 1] = f0 - P0, f1 - P1
            return piece
        piece = APEX  # there is nothing to press on
    if piece % SECTORS == APEX:
        Phi[begin], Phi[begin + 1], Phi[begin + 2] = f0, f1, f2
        return APEX
    if piece % SECTORS == INSIDE:
        for e in range(begin, begin + 3):
            Phi[e] = rho * F[e]
        return INSIDE
    Phi[begin], Phi[begin + 1], Phi[begin + 2] = f0 - P0, f1 - P1, f2 - P2
    return piece


@jit
def _onto_cone(mu: float, y0: float, y1: float, y2: float) -> tuple[int, float, float, float]:
    """Projection of y onto |f_t| <= mu f_n: the piece, and the coordinates."""
    across = math.sqrt(y0 * y0 + y1 * y1)
    if y2 <= -mu * across:
        return APEX, 0.0, 0.0, 0.0
    if across <= mu * y2:
        return INSIDE, y0, y1, y2
    normal = (mu * across + y2) * (1.0 / (1.0 + mu * mu))
    return SIDE, mu * normal * (y0 / across), mu * normal * (y1 / across), normal


@jit
def _onto_disc(limit: float, y0: float, y1: float) -> tuple[int, float, float]:
    """Projection of the friction at the bound onto |f_t| <= limit, f_n being held."""
    across = math.sqrt(y0 * y0 + y1 * y1)
    if across <= limit:
        return BOUND, y0, y1
    return BOUND_RIM, limit / across * y0, limit / across * y1


@jit
def sector(sets: ForceSets, y0: float, y1: float) -> tuple[int, float, float, float, float]:
    """Side of the polygon towards which y lies: its number, normal (x, y), and y's components."""
    width = 2.0 * math.pi / sets.sides
    number = math.floor((math.atan2(y1, y0) - sets.angle) / width) % sets.sides
    middle = sets.angle + (number + 0.5) * width
    x0, x1 = math.cos(middle), math.sin(middle)
    return number, x0, x1, x0 * y0 + x1 * y1, x0 * y1 - x1 * y0


@jit
def _onto_pyramid(
    sets: ForceSets, mu: float, y0: float, y1: float, y2: float
) -> tuple[int, float, float, float]:
    """Projection of y onto the cone with edges (mu t_j, 1): the piece, and the coordinates.

    By symmetry it lies in the sector of y, where the side is c f_n in the direction b of its
    normal, and its edges are where the direction e across it is -s f_n and s f_n.
    """
    number, x0, x1, b, e = sector(sets, y0, y1)
    half = math.pi / sets.sides
    c, s = sets.reach * mu * math.cos(half), sets.reach * mu * math.sin(half)
    if b <= c * y2 and y2 >= 0.0:
        return INSIDE, y0, y1, y2
    size = (y2 + c * b) / (1.0 + c * c)  # on the plane of the side
    if size > 0.0 and abs(e) <= s * size:
        P0, P1 = c * size * x0 - e * x1, c * size * x1 + e * x0
        return SIDE + SECTORS * (2 * number + 1), P0, P1, size
    e_edge, edge = (s, (number + 1) % sets.sides) if e > 0.0 else (-s, number)
    a0, a1 = c * x0 - e_edge * x1, c * x1 + e_edge * x0
    size = 1.0 / (1.0 + a0 * a0 + a1 * a1) * (a0 * y0 + a1 * y1 + y2)
    if size <= 0.0:
        return APEX, 0.0, 0.0, 0.0
    return SIDE + SECTORS * (2 * edge + 2), a0 * size, a1 * size, size


@jit
def _onto_polygon(
    sets: ForceSets, mu: float, n: float, y0: float, y1: float
) -> tuple[int, float, float]:
    """As `_onto_disc`, onto the polygon; the piece tells its sides and corners apart."""
    number, x0, x1, along, across = sector(sets, y0, y1)
    half = math.pi / sets.sides
    c, s = sets.reach * mu * math.cos(half), sets.reach * mu * math.sin(half)
    if along <= c * n:
        return BOUND, y0, y1
    if abs(across) <= s * n:
        piece = BOUND_RIM + SECTORS * (2 * number + 1)
        return piece, c * n * x0 - across * x1, c * n * x1 + across * x0
    edge, e = ((number + 1) % sets.sides, s) if across > 0.0 else (number, -s)
    a0, a1 = c * x0 - e * x1, c * x1 + e * x0
    return BOUND_RIM + SECTORS * (2 * edge + 2), a0 * n, a1 * n


@jit
def _map_interval(sets: ForceSets, b: int, f: float, F: float, moved: float) -> tuple[int, float]:
    """The piece and the natural map of a joint's force, within [-r - k above, r + k below].

    That is of dry friction r and stops of stiffness k. The bounds are those of contacts with
    compliance 1 / k, in the direction out of a stop. Where there are no stops, the map is that with
    a share of rho, over the share: beside motors at their limits, to which a limb may give way,
    Newton's method then finds the pieces of a solution more often.
    """
    r, k = sets.friction[b], sets.stops[b, 0]
    part = 1.0 if k > 0.0 else SHARE
    rho = part * sets.rho[b]
    share, c = rho / (rho + k), rho * k / (rho + k)
    for side in range(2):
        sign = 1.0 - 2.0 * side
        excess = sign * f - r
        row = share * excess - c * (sets.stops[b, 1 + side] - sign * moved)
        if min(row, excess) - sign * rho * F > 0.0:  # the bound is the larger of both
            if excess - row > 0.0:
                return STOP + side, sign * row
            return LIMIT + side, (f - sign * r) / part
    return INSIDE, sets.rho[b] * F


@jit
def _map_simplex(sets: ForceSets, b: int, f: Array, F: Array, Phi: Array) -> int:
    """What the projection onto w >= 0, sum(w) <= 1 leaves; bits of the face."""
    begin, m = sets.first[b], sets.first[b + 1] - sets.first[b]
    y = vector(m)
    tight, top, tau = lower_weights(sets, b, f, F, y)
    face = 1 if tight else 0
    for e in range(m):
        if y[e] - top > tau:
            face += 2 << (e % 60)
        Phi[begin + e] = f[begin + e] - max(y[e] - top - tau, 0.0)
    return face


@jit
def lower_weights(
    sets: ForceSets, b: int, f: Array, F: Array, y: Array
) -> tuple[bool, float, float]:
    """Write f - rho F of a block of weights, shape (m,), and what its projection subtracts.

    Returns:
        Whether the sum of the weights is 1; and what is subtracted, in two parts.
    """
    begin, total = sets.first[b], 0.0
    for e in range(y.size):
        y[e] = f[begin + e] - sets.rho[b] * F[begin + e]
        total += max(y[e], 0.0)
    if not total > 1.0:
        return False, 0.0, 0.0
    top, tau = _threshold(y)
    return True, top, tau


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
