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
from nmdp_pin._kernels.compiler.record import vector
from nmdp_pin._kernels.solver.force_sets import INTERVAL, SIMPLEX, ForceSets, interval_row, project


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
    """The natural map at a point, and its derivatives on the pieces there.

    Args:
        Phi: the map, shape (n,).
        X: derivatives by the forces, shape (blocks, m, m).
        Y: derivatives by the motions, shape (blocks, m, m).
        z: derivatives by the depths, shape (blocks, m).
        piece: the pieces, shape (blocks,).
    """

    Phi: Array
    X: Array
    Y: Array
    z: Array
    piece: Array


@jit
def new_pieces(n: int, blocks: int, m: int) -> MapPieces:
    """Memory for the map of n coordinates in blocks of up to m."""
    return MapPieces(
        np.empty(n),
        np.empty((blocks, m, m)),
        np.empty((blocks, m, m)),
        np.empty((blocks, m)),
        np.empty(blocks, np.int64),
    )


@jit
def _load(vi: AffineVI, b: int, f: Array) -> float:
    """Load of a block: its last coordinate, or the sum of its weights."""
    end, total = vi.sets.first[b + 1], 0.0
    for e in range(vi.sets.first[b] if vi.sets.kind[b] == SIMPLEX else end - 1, end):
        total += f[e]
    return total


@jit
def natural_map(
    vi: AffineVI, f0: Array, f: Array, dq: Array, roughly: bool, at: MapPieces
) -> tuple[float, bool]:
    """Write the natural map at forces and a motion; its square [m^2], and whether it is small."""
    square, near, F, held = 0.0, True, vector(vi.motion.shape[1]), vi.proximal[0]
    for b in range(vi.n_dofs.size):
        begin, end = vi.sets.first[b], vi.sets.first[b + 1]
        depth, m = vi.depth[b], end - begin
        more = _load(vi, b, f) - _load(vi, b, f0)
        for e in range(m):
            F[e] = vi.motion[b, e] + vi.of_load[b, e] * more
            F[e] += held / vi.sets.rho[b] * (f[begin + e] - vi.held[begin + e])
        for s in range(vi.n_dofs[b]):
            x = dq[vi.dofs[b, s]]
            depth += vi.of_depth[b, s] * x
            for e in range(m):
                F[e] += vi.J_motion[b, e, s] * x
        if vi.sets.kind[b] == INTERVAL:  # of which there are many
            row = interval_row(vi.sets, b, f[begin], F[0], depth)
            at.piece[b], at.Phi[begin], at.X[b, 0, 0], at.Y[b, 0, 0], at.z[b, 0] = row
        else:
            Phi, X, Y, z = at.Phi[begin:end], at.X[b], at.Y[b], at.z[b]
            at.piece[b] = project(vi.sets, b, f[begin:end], F[:m], depth, Phi, X, Y, z)
        for e in range(begin, end):
            square += (vi.length[b] * at.Phi[e]) ** 2
            near = near and abs(at.Phi[e]) <= (vi.rough[e] if roughly else vi.enough[b])
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
