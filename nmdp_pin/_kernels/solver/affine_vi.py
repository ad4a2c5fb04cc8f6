"""Affine variational inequalities over products of force sets, and their natural map.

Forces f of blocks cause a motion, A dq = J_force' (f - f0) - G, and the motions F along them follow
from it. The forces of the principle are zeros of the natural map of all blocks (`force_sets`).
`affine_solution` finds them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nmdp_pin._kernels.algebra.block_lu import BlockOrder
from nmdp_pin._kernels.compiler.jit import Array, jit
from nmdp_pin._kernels.solver.force_sets import SIMPLEX, ForceSets, map_block


class AffineVI(NamedTuple):
    """Find f and dq with A dq = J_force' (f - f0) - G and F' (f' - f) >= 0 for f' in the sets.

    The motions are F = motion + J_motion dq + of_load (load - load at f0), the load of a block
    being its last coordinate, of weights their sum. J_force and J_motion hold what belongs to the
    n_dofs[b] dofs that a block acts on or depends on.

    Args:
        sets: the sets.
        J_force: generalised forces of the coordinates, shape (blocks, m, k).
        J_motion: derivatives of the motions, shape (blocks, m, k).
        of_depth: derivatives of the depths, shape (blocks, k).
        motion: motions at f0, shape (blocks, m).
        depth: depths there [m, rad], shape (blocks,).
        of_load: derivatives of the motions by the loads, shape (blocks, m).
        dofs: those that each block feels, shape (blocks, k).
        n_dofs: their numbers, shape (blocks,).
        A: shape (nv, nv).
        G: shape (nv,).
        proximal: term that holds forces, F + proximal (f - held) / rho, shape (1,).
        held: forces at which it holds them, shape (n,).
        length: motion by which an entry of the map counts [m], shape (blocks,).
        enough: entries of the map that do not matter, shape (blocks,).
        rough: entries that do not matter either where forces are redundant, shape (n,).
        rounding: entries of the map that are rounding errors, shape (blocks,).
        groups: first dofs of groups, and the end, shape (t + 1,).
        coupled: which groups A or a block couples, symmetric, shape (t, t).
    """

    sets: ForceSets
    J_force: Array
    J_motion: Array
    of_depth: Array
    motion: Array
    depth: Array
    of_load: Array
    dofs: Array
    n_dofs: Array
    A: Array
    G: Array
    proximal: Array
    held: Array
    length: Array
    enough: Array
    rough: Array
    rounding: Array
    groups: Array
    coupled: Array


class MapPieces(NamedTuple):
    """The natural map at a point, and the pieces on which it is.

    Args:
        Phi: the map, shape (n,).
        F: the motions along the forces, shape (n,).
        piece: the pieces, shape (blocks,).
    """

    Phi: Array
    F: Array
    piece: Array


@jit
def new_pieces(n: int, blocks: int) -> MapPieces:
    """Memory for the map of n coordinates."""
    return MapPieces(np.empty(n), np.empty(n), np.empty(blocks, np.int64))


@jit
def _load(sets: ForceSets, b: int, f: Array) -> float:
    """Load of a block: its last coordinate, or the sum of its weights."""
    end, total = sets.first[b + 1], 0.0
    for e in range(sets.first[b] if sets.kind[b] == SIMPLEX else end - 1, end):
        total += f[e]
    return total


@jit
def _along(J: Array, dofs: Array, n: int, dq: Array, start: float) -> float:
    """What a row of n dofs moves, from a start."""
    for s in range(n):
        start += J[s] * dq[dofs[s]]
    return start


@jit
def natural_map(
    vi: AffineVI, f0: Array, f: Array, dq: Array, roughly: bool, at: MapPieces
) -> tuple[float, bool]:
    """Write the natural map at forces and a motion; its square [m^2], and whether it is small."""
    square, near, sets, Phi, F = 0.0, True, vi.sets, at.Phi, at.F
    J, motion, of_load, held = vi.J_motion, vi.motion, vi.of_load, vi.held
    for b in range(vi.n_dofs.size):
        begin, end, dofs, n = sets.first[b], sets.first[b + 1], vi.dofs[b], vi.n_dofs[b]
        more, given = _load(sets, b, f) - _load(sets, b, f0), vi.proximal[0] / sets.rho[b]
        for e in range(begin, end):
            start = motion[b, e - begin] + of_load[b, e - begin] * more + given * (f[e] - held[e])
            F[e] = _along(J[b, e - begin], dofs, n, dq, start)
        depth = _along(vi.of_depth[b], dofs, n, dq, vi.depth[b])
        at.piece[b] = map_block(sets, b, f, F, depth, Phi)
        length, enough = vi.length[b], vi.enough[b]
        for e in range(begin, end):
            square += (length * Phi[e]) ** 2
            near = near and abs(Phi[e]) <= (vi.rough[e] if roughly else enough)
    return square, near


@jit
def _subtract_inertia(
    A: Array,
    dq: Array,
    begin: int,
    end: int,
    start: int,
    stop: int,
    right: Array,
    largest: float,
) -> float:
    """Subtract A dq of some rows and columns; the largest term, or the one given."""
    for l in range(begin, end):
        for c in range(start, stop):
            term = A[l, c] * dq[c]
            right[l, 0] -= term
            largest = max(largest, abs(term))
    return largest


@jit
def unbalanced(
    vi: AffineVI, f0: Array, f: Array, dq: Array, blocks: BlockOrder, right: Array
) -> float:
    """Write J_force' (f - f0) - G - A dq, shape (nv, 1); its largest entry, over that of terms."""
    most, largest = 0.0, 0.0
    for l in range(dq.size):
        right[l, 0] = -vi.G[l]
        largest = max(largest, abs(vi.G[l]))
    if blocks.order.size == 0:
        largest = _subtract_inertia(vi.A, dq, 0, dq.size, 0, dq.size, right, largest)
    for p in range(blocks.order.size):
        g = blocks.order[p]
        begin, end = blocks.first[g], blocks.first[g + 1]
        largest = _subtract_inertia(vi.A, dq, begin, end, begin, end, right, largest)
        for x in range(blocks.counts[p]):
            h = blocks.later[p, x]
            start, stop = blocks.first[h], blocks.first[h + 1]
            largest = _subtract_inertia(vi.A, dq, begin, end, start, stop, right, largest)
            largest = _subtract_inertia(vi.A, dq, start, stop, begin, end, right, largest)
    for b in range(vi.n_dofs.size):
        begin = vi.sets.first[b]
        for e in range(vi.sets.first[b + 1] - begin):
            change = f[begin + e] - f0[begin + e]
            for s in range(vi.n_dofs[b]):
                largest = max(largest, abs(vi.J_force[b, e, s] * f[begin + e]))
            if change != 0.0:
                for s in range(vi.n_dofs[b]):
                    right[vi.dofs[b, s], 0] += vi.J_force[b, e, s] * change
    for l in range(dq.size):
        most = max(most, abs(right[l, 0]))
    return most / largest if largest > 0.0 else 0.0
