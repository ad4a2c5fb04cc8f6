"""Affine variational inequalities over products of force sets, by Newton's method.

Forces f of blocks cause a motion, A dq = J_force' (f - f0) - G, and the motions F along them follow
from it. The forces of the principle are zeros of the natural map of all blocks (`force_sets`),
which is piecewise smooth: each iteration solves its derivative on the present pieces (a semismooth
Newton method), and is halved where the map does not fall. A block's own rows give its forces as
functions of dq, which leaves nv equations, however many blocks there are.

Where forces are redundant, as those of many points of a foot, the derivative is singular along what
changes no motion. A small multiple of the identity keeps forces there as they are; nothing is
inexact by it, since the map itself has none. Where motions along them contradict each other, as
long as they all stick, forces would go far. Then they are held by a larger multiple, which falls
with the map (as in a Levenberg-Marquardt method).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nmdp_pin._kernels.algebra.linear import (
    all_finite,
    clear_vector,
    copy_matrix,
    copy_vector,
    factor,
    lu_factor,
    lu_solve,
    solve_factored,
)
from nmdp_pin._kernels.compiler.jit import Array, jit
from nmdp_pin._kernels.compiler.record import indices, matrix, vector
from nmdp_pin._kernels.solver.force_sets import INTERVAL, SIMPLEX, ForceSets, interval_row, project

_REDUNDANT = 1e-8  # share of a force by which one that changes no motion stays as it is
_HELD = (1e-3, 1e-3, 1e-2)  # the same where they would go far, at first, in each of the searches
_FROM_GIVEN, _FROM_NONE = 20, 25  # most iterations from the forces given, and from none
_FALL, _TRIALS = 1e-3, 6  # of the map's square, by a share of a step; and shares of a step
# Forces that a motion may leave: those that sticking contacts lose to rounding, which another
# iteration brings back, and those after it
_BALANCED, _ROUGHLY = 1e-10, 1e-7
_RECENT = 4  # iterations whose largest map has to fall
_TINY = 1e-300  # [m^2], least square of a map


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
        proximal: term that holds forces at f0, F + proximal (f - f0) / rho, shape (1,).
        length: motion by which an entry of the map counts [m], shape (blocks,).
        enough: entries of the map that do not matter, shape (blocks,).
        rounding: entries of the map that are rounding errors, shape (blocks,).
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
    proximal: Array
    length: Array
    enough: Array
    rounding: Array


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


class Room(NamedTuple):
    """Memory: answers of blocks, factors with pivots, the right side, a step, and its end."""

    B: Array
    LU: Array
    pivots: Array
    right: Array
    df: Array
    ddq: Array
    f: Array
    dq: Array


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
    square, near, F, held = 0.0, True, vector(vi.motion.shape[1]), vi.proximal[0]
    for b in range(vi.felt.size):
        begin, end = vi.sets.first[b], vi.sets.first[b + 1]
        depth, m = vi.depth[b], end - begin
        more = _load(vi, b, f) - _load(vi, b, f0)
        for e in range(m):
            F[e] = vi.motion[b, e] + vi.lift[b, e] * more
            F[e] += held / vi.sets.rho[b] * (f[begin + e] - f0[begin + e])
        for s in range(vi.felt[b]):
            x = dq[vi.dofs[b, s]]
            depth += vi.of_depth[b, s] * x
            for e in range(m):
                F[e] += vi.J_motion[b, e, s] * x
        if vi.sets.kind[b] == INTERVAL:  # of which there are many
            row = interval_row(vi.sets, b, f[begin], F[0], depth)
            at.piece[b], at.Phi[begin], at.X[b, 0, 0], at.Y[b, 0, 0], at.z[b, 0] = row
        else:
            Phi, X, Y, z = at.Phi[begin:end], at.X[b, :m, :m], at.Y[b, :m, :m], at.z[b, :m]
            at.piece[b] = project(vi.sets, b, f[begin:end], F[:m], depth, Phi, X, Y, z)
        for e in range(begin, end):
            square += (vi.length[b] * at.Phi[e]) ** 2
            near = near and abs(at.Phi[e]) <= vi.enough[b]
    return square, near


@jit
def _answer_of_one(vi: AffineVI, b: int, at: MapPieces, kept: float, B: Array) -> bool:
    """As `_answer_of`, for a block of one coordinate."""
    X, Y, z = at.X[b, 0, 0], at.Y[b, 0, 0], at.z[b, 0]
    M = X + Y * (vi.lift[b, 0] + vi.proximal[0] / vi.sets.rho[b]) + kept
    if M == 0.0:
        return False
    B[0, 0] = -at.Phi[vi.sets.first[b]] / M
    for s in range(vi.felt[b]):
        B[0, 1 + s] = (z * vi.of_depth[b, s] + Y * vi.J_motion[b, 0, s]) / M
    return True


@jit
def _answer_of(vi: AffineVI, b: int, at: MapPieces, kept: float, B: Array) -> bool:
    """Change of a block's forces, df = B [1; -dq] of the dofs that it feels; False: singular."""
    begin, m = vi.sets.first[b], vi.sets.first[b + 1] - vi.sets.first[b]
    M, pivots = matrix(m, m), indices(m)
    whole, held = vi.sets.kind[b] == SIMPLEX, vi.proximal[0] / vi.sets.rho[b]
    for i in range(m):
        lifted = 0.0
        B[i, 0] = -at.Phi[begin + i]
        for j in range(m):
            lifted += at.Y[b, i, j] * vi.lift[b, j]
        for j in range(m):
            M[i, j] = at.X[b, i, j] + (lifted if whole or j == m - 1 else 0.0)
            M[i, j] += held * at.Y[b, i, j]
        M[i, i] += kept
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
def _unbalanced(vi: AffineVI, f0: Array, f: Array, dq: Array, right: Array) -> float:
    """Write J_force' (f - f0) - G - A dq, shape (nv, 1); its largest entry, over that of terms."""
    most, largest = 0.0, 0.0
    for l in range(dq.size):
        right[l, 0] = -vi.G[l]
        largest = max(largest, abs(vi.G[l]))
        for c in range(dq.size):
            term = vi.A[l, c] * dq[c]
            right[l, 0] -= term
            largest = max(largest, abs(term))
    for b in range(vi.felt.size):
        begin = vi.sets.first[b]
        for e in range(vi.sets.first[b + 1] - begin):
            change = f[begin + e] - f0[begin + e]
            for s in range(vi.felt[b]):
                largest = max(largest, abs(vi.J_force[b, e, s] * f[begin + e]))
            if change != 0.0:
                for s in range(vi.felt[b]):
                    right[vi.dofs[b, s], 0] += vi.J_force[b, e, s] * change
    for l in range(dq.size):
        most = max(most, abs(right[l, 0]))
    return most / largest if largest > 0.0 else 0.0


@jit
def newton_direction(vi: AffineVI, at: MapPieces, kept: float, room: Room) -> bool:
    """Newton's step from forces and a motion; False where equations are singular.

    Args:
        vi: the inequality.
        at: the natural map there.
        kept: share of a force by which one that changes no motion stays as it is.
        room: memory, with the right side of the motion; output, the step.
    """
    first, B, LU, right, ddq = vi.sets.first, room.B, room.LU, room.right, room.ddq
    copy_matrix(vi.A, LU)
    for b in range(vi.felt.size):
        m = first[b + 1] - first[b]
        if m == 1:
            regular = _answer_of_one(vi, b, at, kept, B[b])
        else:
            regular = _answer_of(vi, b, at, kept, B[b])
        if not regular:
            return False
        for s in range(vi.felt[b]):
            l = vi.dofs[b, s]
            for e in range(m):
                force = vi.J_force[b, e, s]
                if force == 0.0:
                    continue
                right[l, 0] += force * B[b, e, 0]
                for c in range(vi.felt[b]):
                    LU[l, vi.dofs[b, c]] += force * B[b, e, 1 + c]
    if not factor(LU, room.pivots):
        return False
    solve_factored(LU, room.pivots, right)
    copy_vector(right[:, 0], ddq)
    for b in range(vi.felt.size):
        for e in range(first[b + 1] - first[b]):
            change = B[b, e, 0]
            for s in range(vi.felt[b]):
                change -= B[b, e, 1 + s] * ddq[vi.dofs[b, s]]
            room.df[first[b] + e] = change
    return all_finite(room.df) and all_finite(ddq)


@jit
def _step(x: Array, t: float, dx: Array, out: Array) -> None:
    """Out = x + t dx."""
    for i in range(x.size):
        out[i] = x[i] + t * dx[i]


@jit
def _same_pieces(pieces: Array, others: Array) -> bool:
    """Whether all pieces are the same ones."""
    equal = 0
    for b in range(pieces.size):
        equal += pieces[b] == others[b]
    return equal == pieces.size


@jit
def _search(
    vi: AffineVI,
    f0: Array,
    f: Array,
    dq: Array,
    kept: float,
    most: int,
    here: MapPieces,
    there: MapPieces,
    room: Room,
) -> bool:
    """Newton's method from forces and a motion; see `solve_affine_vi`.

    The first step that does not make the map smaller is made again with forces held; from then on
    steps are halved until it is smaller than the largest one of the last few: one that has to fall
    in each of them stops at kinks (Grippo, Lampariello and Lucidi).
    """
    recent, refined, holds = vector(_RECENT), False, False
    square, near = natural_map(vi, f0, f, dq, here)
    first = max(square, _TINY)
    for e in range(_RECENT):
        recent[e] = square
    for iteration in range(most + 1):
        unbalanced = _unbalanced(vi, f0, f, dq, room.right)
        # forces that are given are near in every step of a creep, so that one step is always made
        if near and iteration > 0 and unbalanced <= (_ROUGHLY if refined else _BALANCED):
            return True
        refined = near
        share = kept * min(1.0, (square / first) ** 0.25) if holds else _REDUNDANT
        if iteration == most or not newton_direction(vi, here, share, room):
            break
        t, bound, falls, now = 1.0, 0.0, False, 0.0
        for e in range(_RECENT):
            bound = max(bound, recent[e])
        for trial in range(_TRIALS if holds else 1):
            _step(f, t, room.df, room.f)
            _step(dq, t, room.ddq, room.dq)
            now, near = natural_map(vi, f0, room.f, room.dq, there)
            same = trial == 0 and _same_pieces(here.piece, there.piece)
            falls = now <= (1.0 - _FALL * t) * bound or same or near
            if falls:
                break
            t *= 0.5
        if not (falls or holds):
            holds, near = True, refined
            continue
        if not now < np.inf:
            break
        copy_vector(room.f, f)
        copy_vector(room.dq, dq)
        square = recent[iteration % _RECENT] = now
        here, there = there, here
    return False


@jit
def _without_forces(vi: AffineVI, f0: Array, f: Array, dq: Array, room: Room) -> bool:
    """Write no forces, and the motion that is without them; False where there is none."""
    clear_vector(room.f)
    clear_vector(room.dq)
    _unbalanced(vi, f0, room.f, room.dq, room.right)
    copy_matrix(vi.A, room.LU)
    if not factor(room.LU, room.pivots):
        return False
    solve_factored(room.LU, room.pivots, room.right)
    if not all_finite(room.right[:, 0]):
        return False
    copy_vector(room.f, f)
    copy_vector(room.right[:, 0], dq)
    return True


@jit
def solve_affine_vi(vi: AffineVI, f0: Array, f: Array, dq: Array) -> bool:
    """Solve an affine variational inequality, from given forces and then twice from none.

    The derivative of F by the forces need not be symmetric. Where A is positive definite almost all
    problems are solved. Where it is not, as beside forces that a limb gives way to, there may be
    many solutions or none.

    Args:
        vi: the inequality.
        f0: forces at which it is stated, shape (n,).
        f: forces to begin with; output, the solution, shape (n,).
        dq: motion to begin with, that of these forces; output, that of the solution, shape (nv,).

    Returns:
        False where the map does not become small, where equations are singular, or where a number
        is not finite. The forces are then the last ones that were tried.
    """
    n, nv, blocks, m = f.size, dq.size, vi.felt.size, vi.motion.shape[1]
    here, there = _new_pieces(n, blocks, m), _new_pieces(n, blocks, m)
    room = Room(
        B=np.empty((blocks, m, 1 + vi.dofs.shape[1])),
        LU=np.empty((nv, nv)),
        pivots=np.empty(nv, np.int64),
        right=np.empty((nv, 1)),
        df=np.empty(n),
        ddq=np.empty(nv),
        f=np.empty(n),
        dq=np.empty(nv),
    )
    for start in range(len(_HELD)):
        if start > 0 and not _without_forces(vi, f0, f, dq, room):
            break
        most = _FROM_GIVEN if start == 0 else _FROM_NONE
        if _search(vi, f0, f, dq, _HELD[start], most, here, there, room):
            return True
    return False
