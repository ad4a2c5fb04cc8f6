"""Affine variational inequalities over products of force sets, by Newton's method.

Forces f of blocks cause a motion, A dq = J_force' (f - f0) - G, and the motions F along them follow
from it. The forces of the principle are zeros of the natural map of all blocks (`force_sets`),
which is piecewise smooth: each iteration solves its derivative on the present pieces (a semismooth
Newton method), and is halved where the map does not fall. A block's own rows give its forces as
functions of dq, which leaves nv equations, however many blocks there are.

Where forces are redundant, as those of four corners of a box, the derivative is singular along what
changes no motion; a small multiple of the identity keeps forces there as they are. Nothing is
inexact by it, since the map itself has none.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nmdp_pin._kernels.algebra.linear import (
    all_finite,
    copy_matrix,
    copy_vector,
    factor,
    lu_factor,
    lu_solve,
    solve_factored,
)
from nmdp_pin._kernels.compiler.jit import Array, jit
from nmdp_pin._kernels.compiler.record import indices, matrix, vector
from nmdp_pin._kernels.solver.force_sets import SIMPLEX, ForceSets, project

_REDUNDANT = 1e-8  # share of a force by which one that changes no motion stays as it is
_MOST = 60  # iterations; two or three are usual
_FALL, _HALVINGS = 1e-3, 12  # of the map's square, by a share of a step; and of a step


class AffineVI(NamedTuple):
    """Find f and dq with A dq = J_force' (f - f0) - G and F' (f' - f) >= 0 for f' in the sets.

    The motions are F = motion + J_motion dq + lift (load - load at f0), the load of a block being
    its last coordinate, of weights their sum. J_force and J_motion hold what belongs to the felt[b]
    dofs that a block acts on or depends on.

    Args:
        sets: the sets.
        J_force: generalised forces of the coordinates, shape (blocks, m, k).
        J_motion: derivatives of the motions, shape (blocks, m, k).
        of_depth: derivatives of the depths, shape (blocks, k).
        motion: motions at f0, shape (blocks, m).
        depth: depths there [m, rad], shape (blocks,).
        lift: derivatives of the motions by the loads, shape (blocks, m).
        dofs: those that each block feels, shape (blocks, k).
        felt: their numbers, shape (blocks,).
        A: shape (nv, nv).
        G: shape (nv,).
        length: motion by which an entry of the map counts [m], shape (blocks,).
        enough: entries of the map that do not matter, shape (blocks,).
    """

    sets: ForceSets
    J_force: Array
    J_motion: Array
    of_depth: Array
    motion: Array
    depth: Array
    lift: Array
    dofs: Array
    felt: Array
    A: Array
    G: Array
    length: Array
    enough: Array


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
def _new_pieces(n: int, blocks: int, m: int) -> MapPieces:
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
def natural_map(vi: AffineVI, f0: Array, f: Array, dq: Array, at: MapPieces) -> tuple[float, bool]:
    """Write the natural map at forces and a motion; its square [m^2], and whether it is small."""
    square, near, F = 0.0, True, vector(vi.motion.shape[1])
    for b in range(vi.felt.size):
        begin, end = vi.sets.first[b], vi.sets.first[b + 1]
        more, depth, m = _load(vi, b, f) - _load(vi, b, f0), vi.depth[b], end - begin
        for e in range(m):
            F[e] = vi.motion[b, e] + vi.lift[b, e] * more
        for s in range(vi.felt[b]):
            x = dq[vi.dofs[b, s]]
            depth += vi.of_depth[b, s] * x
            for e in range(m):
                F[e] += vi.J_motion[b, e, s] * x
        Phi = at.Phi[begin:end]
        X, Y, z = at.X[b, :m, :m], at.Y[b, :m, :m], at.z[b, :m]
        at.piece[b] = project(vi.sets, b, f[begin:end], F[:m], depth, Phi, X, Y, z)
        for e in range(m):
            square += (vi.length[b] * Phi[e]) ** 2
            near = near and abs(Phi[e]) <= vi.enough[b]
    return square, near


@jit
def _answer_of(vi: AffineVI, b: int, at: MapPieces, B: Array) -> bool:
    """Change of a block's forces, df = B [1; -dq] of the dofs that it feels; False: singular."""
    begin, m = vi.sets.first[b], vi.sets.first[b + 1] - vi.sets.first[b]
    M, pivots = matrix(m, m), indices(m)
    whole = vi.sets.kind[b] == SIMPLEX
    for i in range(m):
        lifted = 0.0
        B[i, 0] = -at.Phi[begin + i]
        for j in range(m):
            lifted += at.Y[b, i, j] * vi.lift[b, j]
        for j in range(m):
            M[i, j] = at.X[b, i, j] + (lifted if whole or j == m - 1 else 0.0)
        M[i, i] += _REDUNDANT
        for s in range(vi.felt[b]):
            moved = at.z[b, i] * vi.of_depth[b, s]
            for j in range(m):
                moved += at.Y[b, i, j] * vi.J_motion[b, j, s]
            B[i, 1 + s] = moved
    if not lu_factor(M, pivots):
        return False
    lu_solve(M, pivots, B[:m])
    return True


@jit
def newton_direction(
    vi: AffineVI,
    f0: Array,
    f: Array,
    dq: Array,
    at: MapPieces,
    B: Array,
    LU: Array,
    pivots: Array,
    df: Array,
    ddq: Array,
) -> bool:
    """Newton's step from forces and a motion; False where equations are singular.

    Args:
        vi: the inequality.
        f0: forces at which it is stated, shape (n,).
        f: forces, shape (n,).
        dq: motion, shape (nv,).
        at: the natural map there.
        B: workspace, shape (blocks, m, 1 + k).
        LU: workspace, shape (nv, nv).
        pivots: workspace, shape (nv,).
        df: output, shape (n,).
        ddq: output, shape (nv,).
    """
    nv, first = dq.size, vi.sets.first
    copy_matrix(vi.A, LU)
    right = np.empty((nv, 1))
    for l in range(nv):
        total = -vi.G[l]
        for c in range(nv):
            total -= vi.A[l, c] * dq[c]
        right[l, 0] = total
    for b in range(vi.felt.size):
        if not _answer_of(vi, b, at, B[b]):
            return False
        begin, m = first[b], first[b + 1] - first[b]
        for s in range(vi.felt[b]):
            l = vi.dofs[b, s]
            for e in range(m):
                force = vi.J_force[b, e, s]
                if force == 0.0:
                    continue
                right[l, 0] += force * (f[begin + e] - f0[begin + e] + B[b, e, 0])
                for c in range(vi.felt[b]):
                    LU[l, vi.dofs[b, c]] += force * B[b, e, 1 + c]
    if not factor(LU, pivots):
        return False
    solve_factored(LU, pivots, right)
    for l in range(nv):
        ddq[l] = right[l, 0]
    for b in range(vi.felt.size):
        for e in range(first[b + 1] - first[b]):
            change = B[b, e, 0]
            for s in range(vi.felt[b]):
                change -= B[b, e, 1 + s] * ddq[vi.dofs[b, s]]
            df[first[b] + e] = change
    return all_finite(df) and all_finite(ddq)


@jit
def solve_affine_vi(vi: AffineVI, f0: Array, f: Array, dq: Array) -> bool:
    """Solve an affine variational inequality.

    The derivative of F by the forces need not be symmetric.

    Args:
        vi: the inequality.
        f0: forces at which it is stated, shape (n,).
        f: forces to begin with; output, the solution, shape (n,).
        dq: motion to begin with, that of these forces; output, that of the solution, shape (nv,).

    Returns:
        False where the map does not become small, where equations are singular, or where a number
        is not finite. The forces are then those of the smallest map that was found.
    """
    n, nv, blocks, m = f.size, dq.size, vi.felt.size, vi.motion.shape[1]
    here, there = _new_pieces(n, blocks, m), _new_pieces(n, blocks, m)
    B, LU, pivots = np.empty((blocks, m, 1 + vi.dofs.shape[1])), np.empty((nv, nv)), indices(nv)
    df, ddq, g, dp = vector(n), vector(nv), vector(n), vector(nv)
    square, near = natural_map(vi, f0, f, dq, here)
    for _ in range(_MOST):
        if near:
            return True
        if not square < np.inf:
            return False
        if not newton_direction(vi, f0, f, dq, here, B, LU, pivots, df, ddq):
            return False
        t, best = 1.0, np.inf
        for trial in range(_HALVINGS):
            for e in range(n):
                g[e] = f[e] + t * df[e]
            for l in range(nv):
                dp[l] = dq[l] + t * ddq[l]
            found, near = natural_map(vi, f0, g, dp, there)
            best = min(best, found)
            same = trial == 0 and np.array_equal(here.piece, there.piece)
            if found <= (1.0 - _FALL * t) * square or same or near:
                break
            t *= 0.5
        if not found < np.inf:
            return False
        copy_vector(g, f)
        copy_vector(dp, dq)
        here, there, square = there, here, found
    return near
