"""Derivatives of natural maps of force sets (`force_sets`) on their pieces.

With f the coordinates of a block, F the motions along them and d its depth,
dPhi = X df + Y dF + z dd.
"""

from __future__ import annotations

import math

from nmdp_pin._kernels.compiler.jit import Array, jit
from nmdp_pin._kernels.compiler.record import vector
from nmdp_pin._kernels.solver.force_sets import (
    APEX,
    BOUND,
    INSIDE,
    INTERVAL,
    LIMIT,
    ROUND_CONE,
    SECTORS,
    SHARE,
    SIDE,
    SIMPLEX,
    ForceSets,
    bound_row,
    lower_weights,
    sector,
)


@jit
def derive_block(
    sets: ForceSets, b: int, f: Array, F: Array, piece: int, X: Array, Y: Array, z: Array
) -> None:
    """Write the derivatives of the natural map of block b on a piece.

    Args:
        sets: the sets.
        b: index of the block.
        f: coordinates of the blocks, shape (n,).
        F: motions along them, shape (n,).
        piece: what `map_block` returned there.
        X: output, shape (m, m).
        Y: output, shape (m, m).
        z: output, shape (m,).
    """
    m, kind, begin, rho = z.size, sets.kind[b], sets.first[b], sets.rho[b]
    for i in range(m):
        z[i] = 0.0
        for j in range(m):
            X[i, j] = Y[i, j] = 0.0
    if kind == SIMPLEX:
        _derive_simplex(sets, b, f, F, X, Y)
        return
    if kind == INTERVAL:
        X[0, 0], Y[0, 0], z[0] = interval_derivatives(sets, b, piece)
        return
    part = piece % SECTORS
    if part == APEX:
        for i in range(3):
            X[i, i] = 1.0
        return
    if part == INSIDE:
        for i in range(3):
            Y[i, i] = rho
        return
    mu, load = sets.friction[b], f[begin + 2]
    y0, y1, y2 = f[begin] - rho * F[begin], f[begin + 1] - rho * F[begin + 1], 0.0
    if part == SIDE:
        y2 = load - rho * F[begin + 2]
        if kind == ROUND_CONE:
            _derive_cone(mu, y0, y1, y2, X)
        else:
            _derive_pyramid(sets, mu, y0, y1, piece, X)
        for i in range(3):  # X holds the derivative of the projection
            for j in range(3):
                Y[i, j] = rho * X[i, j]
                X[i, j] = (1.0 if i == j else 0.0) - X[i, j]
        return
    _, X[2, 2], z[2] = bound_row(sets, b, load, 0.0)
    if part == BOUND:
        Y[0, 0] = Y[1, 1] = rho
    elif kind == ROUND_CONE:
        _derive_disc(mu, rho, load, y0, y1, X, Y)
    else:
        _derive_polygon(sets, mu, rho, y0, y1, piece, X, Y)


@jit
def interval_derivatives(sets: ForceSets, b: int, piece: int) -> tuple[float, float, float]:
    """Derivatives of the map of a joint's force by it, its motion and its displacement."""
    if piece == INSIDE:
        return 0.0, sets.rho[b], 0.0
    k = sets.stops[b, 0]
    part = 1.0 if k > 0.0 else SHARE
    if piece >= LIMIT:
        return 1.0 / part, 0.0, 0.0
    rho = part * sets.rho[b]
    return rho / (rho + k), 0.0, rho * k / (rho + k)


@jit
def _derive_cone(mu: float, y0: float, y1: float, y2: float, D: Array) -> None:
    """Write the derivative of the projection of y onto the side of |f_t| <= mu f_n."""
    across = math.sqrt(y0 * y0 + y1 * y1)
    share = 1.0 / (1.0 + mu * mu)
    normal = share * (mu * across + y2)
    x0, x1 = y0 / across, y1 / across
    turned, along = mu * normal / across, mu * mu * share - mu * normal / across
    D[0, 0], D[0, 1] = turned + along * x0 * x0, along * x0 * x1
    D[1, 0], D[1, 1] = along * x1 * x0, turned + along * x1 * x1
    D[0, 2] = D[2, 0] = mu * share * x0
    D[1, 2] = D[2, 1] = mu * share * x1
    D[2, 2] = share


@jit
def _derive_disc(
    mu: float, rho: float, load: float, y0: float, y1: float, X: Array, Y: Array
) -> None:
    """Write the rows of the friction on the rim of |f_t| <= mu f_n, f_n being at its bound.

    Where f_n < 0 there is none, but derivatives are those of f_n > 0, where solutions are.
    """
    across = math.sqrt(y0 * y0 + y1 * y1)
    turned = mu * max(load, 0.0) / across
    for i in range(2):
        yi = y0 if i == 0 else y1
        X[i, 2] = -mu * yi / across
        for j in range(2):
            kept = (1.0 if i == j else 0.0) - yi * (y0 if j == 0 else y1) / (across * across)
            X[i, j] = (1.0 if i == j else 0.0) - turned * kept
            Y[i, j] = rho * turned * kept


@jit
def _friction_at_corner(
    sets: ForceSets, mu: float, y0: float, y1: float, piece: int
) -> tuple[float, float]:
    """Friction of a unit load at the corner of the polygon whose piece it is."""
    number, x0, x1, _, _ = sector(sets, y0, y1)
    half = math.pi / sets.sides
    c, s = sets.reach * mu * math.cos(half), sets.reach * mu * math.sin(half)
    e = -s if piece // SECTORS == 2 * number + 2 else s
    return c * x0 - e * x1, c * x1 + e * x0


@jit
def _derive_pyramid(sets: ForceSets, mu: float, y0: float, y1: float, piece: int, D: Array) -> None:
    """Write the derivative of the projection of y onto a side or an edge of the pyramid."""
    if piece // SECTORS % 2 == 0:
        a0, a1 = _friction_at_corner(sets, mu, y0, y1, piece)
        _outer(a0, a1, 1.0, 1.0 / (1.0 + a0 * a0 + a1 * a1), D)
        return
    _, x0, x1, _, _ = sector(sets, y0, y1)
    c = sets.reach * mu * math.cos(math.pi / sets.sides)
    _outer(c * x0, c * x1, 1.0, 1.0 / (1.0 + c * c), D)
    D[0, 0] += x1 * x1
    D[0, 1] -= x0 * x1
    D[1, 0] -= x0 * x1
    D[1, 1] += x0 * x0


@jit
def _outer(a: float, b: float, c: float, share: float, D: Array) -> None:
    """D = share (a, b, c) (a, b, c)'."""
    D[0, 0], D[0, 1], D[0, 2] = share * a * a, share * a * b, share * a * c
    D[1, 0], D[1, 1], D[1, 2] = share * b * a, share * b * b, share * b * c
    D[2, 0], D[2, 1], D[2, 2] = share * c * a, share * c * b, share * c * c


@jit
def _derive_polygon(
    sets: ForceSets,
    mu: float,
    rho: float,
    y0: float,
    y1: float,
    piece: int,
    X: Array,
    Y: Array,
) -> None:
    """As `_derive_disc`, on a side or a corner of the polygon; along a side friction is free."""
    X[0, 0] = X[1, 1] = 1.0
    if piece // SECTORS % 2 == 0:
        a0, a1 = _friction_at_corner(sets, mu, y0, y1, piece)
        X[0, 2], X[1, 2] = -a0, -a1
        return
    _, x0, x1, _, _ = sector(sets, y0, y1)
    c = sets.reach * mu * math.cos(math.pi / sets.sides)
    X[0, 2], X[1, 2] = -c * x0, -c * x1
    Y[0, 0], Y[0, 1] = rho * x1 * x1, -rho * x0 * x1
    Y[1, 0], Y[1, 1] = -rho * x0 * x1, rho * x0 * x0
    X[0, 0] -= x1 * x1
    X[0, 1] += x0 * x1
    X[1, 0] += x0 * x1
    X[1, 1] -= x0 * x0


@jit
def _derive_simplex(sets: ForceSets, b: int, f: Array, F: Array, X: Array, Y: Array) -> None:
    """Write derivatives of what the projection onto w >= 0, sum(w) <= 1 leaves."""
    m, count = len(X), 0
    y = vector(m)
    tight, top, tau = lower_weights(sets, b, f, F, y)
    for e in range(m):
        count += y[e] - top > tau
    for e in range(m):
        X[e, e] = 1.0
        if not y[e] - top > tau:
            continue
        X[e, e], Y[e, e] = 0.0, sets.rho[b]
        if tight:
            for d in range(m):
                if y[d] - top > tau:
                    X[e, d] += 1.0 / count
                    Y[e, d] -= sets.rho[b] / count
