"""Newton's method for the natural map of an affine variational inequality.

The map is piecewise smooth: each iteration solves its derivative on the present pieces (semismooth
Newton), and is halved where the map does not fall. A block's own rows give its forces as functions
of dq, which leaves nv equations, however many blocks there are.

Where forces are redundant, as those of four corners of a box, the derivative is singular along what
changes no motion; a small multiple of the identity keeps forces there as they are. Nothing is
inexact by it, since the map itself has none.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nmdp_pin._kernels.algebra.block_lu import (
    BlockOrder,
    copy_coupled,
    factor_coupled,
    solve_coupled,
)
from nmdp_pin._kernels.algebra.linear import all_finite, copy_vector
from nmdp_pin._kernels.compiler.jit import Array, jit
from nmdp_pin._kernels.compiler.record import vector
from nmdp_pin._kernels.solver.affine_vi import (
    AffineVI,
    MapPieces,
    natural_map,
    new_pieces,
    unbalanced,
)
from nmdp_pin._kernels.solver.block_steps import add_block, force_step, step_of_block

_FALL, _TRIALS = 1e-3, 6  # of the map's square, by a share of a step; and shares of a step
# Forces that a motion may leave: those that sticking contacts lose to rounding, which another
# iteration brings back, and those after it
_BALANCED, _ROUGHLY = 1e-10, 1e-7
_HOPELESS = 1e6  # growth of the map's square, after which forces that are redundant have to be held
_RECENT = 4  # iterations whose largest map has to fall


class Room(NamedTuple):
    """Memory of the iterations.

    Args:
        here: the map at a point.
        there: the map at another one.
        B: responses of blocks.
        LU: factors, of which there are pivots.
        pivots: see `LU`.
        blocks: order of the elimination; without groups that of dense factors.
        right: right side.
        df: step of the forces.
        ddq: step of the motion.
        f: forces at the end of a step.
        dq: motion there.
    """

    here: MapPieces
    there: MapPieces
    B: Array
    LU: Array
    pivots: Array
    blocks: BlockOrder
    right: Array
    df: Array
    ddq: Array
    f: Array
    dq: Array


@jit
def new_room(vi: AffineVI, blocks: BlockOrder) -> Room:
    """Memory for an inequality."""
    n, nv, m = vi.sets.first[-1], vi.G.size, vi.motion.shape[1]
    return Room(
        here=new_pieces(n, vi.n_dofs.size),
        there=new_pieces(n, vi.n_dofs.size),
        B=np.empty((vi.n_dofs.size, m, 1 + vi.dofs.shape[1])),
        LU=np.empty((nv, nv)),
        pivots=np.empty(nv, np.int64),
        blocks=blocks,
        right=np.empty((nv, 1)),
        df=np.empty(n),
        ddq=np.empty(nv),
        f=np.empty(n),
        dq=np.empty(nv),
    )


@jit
def newton_direction(vi: AffineVI, f: Array, at: MapPieces, kept: float, room: Room) -> bool:
    """Newton's step from forces and a motion; False where equations are singular.

    Args:
        vi: the inequality.
        f: the forces, shape (n,).
        at: the natural map there.
        kept: share of a force by which one that changes no motion stays as it is.
        room: memory, with the right side of the motion; output, the step.
    """
    B, LU, right, ddq = room.B, room.LU, room.right, room.ddq
    copy_coupled(vi.A, room.blocks, LU)
    for b in range(vi.n_dofs.size):
        if not step_of_block(vi, b, f, at, kept, B[b]):
            return False
        add_block(vi, b, at, B[b], LU, right)
    if not factor_coupled(LU, room.blocks, room.pivots):
        return False
    solve_coupled(LU, room.blocks, room.pivots, right)
    copy_vector(right[:, 0], ddq)
    for b in range(vi.n_dofs.size):
        force_step(vi, b, B[b], ddq, room.df)
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
def search(
    vi: AffineVI,
    f0: Array,
    f: Array,
    dq: Array,
    kept: float,
    most: int,
    roughly: bool,
    patient: bool,
    room: Room,
) -> bool:
    """Newton's method from forces and a motion; False where it has not become small.

    A step is halved until the map is smaller than the largest one of the last few: one that has to
    fall in each of them stops at kinks (Grippo, Lampariello and Lucidi). Where no share of a step
    makes it fall, one that is not patient ends.

    Args:
        vi: the inequality.
        f0: forces at which it is stated, shape (n,).
        f: forces, the last ones on return, shape (n,).
        dq: motion, likewise, shape (nv,).
        kept: share of a force by which one that changes no motion stays as it is.
        most: largest number of iterations.
        roughly: whether `rough` entries of the map do not matter.
        patient: whether it goes on where no share of a step makes the map fall.
        room: memory.
    """
    recent, refined, here, there = vector(_RECENT), False, room.here, room.there
    square, near = natural_map(vi, f0, f, dq, roughly, here)
    for e in range(_RECENT):
        recent[e] = square
    for iteration in range(most + 1):
        if not square < np.inf:
            break
        left = unbalanced(vi, f0, f, dq, room.blocks, room.right)
        # forces that are given are near in every step of a creep, so that one step is always made
        if near and iteration > 0 and left <= (_ROUGHLY if refined else _BALANCED):
            return True
        refined = near
        if iteration == most or not newton_direction(vi, f, here, kept, room):
            break
        t, bound, fell = 1.0, 0.0, False
        for e in range(_RECENT):
            bound = max(bound, recent[e])
        for trial in range(_TRIALS):
            _step(f, t, room.df, room.f)
            _step(dq, t, room.ddq, room.dq)
            square, near = natural_map(vi, f0, room.f, room.dq, roughly, there)
            same = trial == 0 and _same_pieces(here.piece, there.piece)
            fell = square <= (1.0 - _FALL * t) * bound or same or near
            if fell or (not patient and not square < _HOPELESS * bound):
                break
            t *= 0.5
        if not (square < np.inf and (fell or patient)):
            break
        copy_vector(room.f, f)
        copy_vector(room.dq, dq)
        recent[iteration % _RECENT] = square
        here, there = there, here
    return False
