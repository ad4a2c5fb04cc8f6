"""Responses of the dofs of blocks to forces of their own, by which their stiffnesses are known."""

from __future__ import annotations

import numpy as np

from nmdp_pin._kernels.algebra.block_lu import BlockOrder, factor_blocks, order_blocks, solve_group
from nmdp_pin._kernels.algebra.linear import solve_factored
from nmdp_pin._kernels.compiler.jit import Array, deferred, jit
from nmdp_pin._kernels.solver.affine_vi import AffineVI


@jit
def responses_of(vi: AffineVI, A: Array, order: BlockOrder, LU: Array, pivots: Array) -> Array:
    """A^-1 J_force' of each block on its own dofs, shape (blocks, m, k).

    Of large matrices it is that of the groups alone, as if others stood still: a stiffness is a
    measure, which has to be of the right size.

    Args:
        vi: the inequality.
        A: matrix of the motion, shape (nv, nv).
        order: order of its elimination, without groups where factors are dense.
        LU: its factors, shape (nv, nv).
        pivots: pivots of these, shape (nv,).
    """
    first, nv, t = vi.sets.first, len(A), order.order.size
    R = np.zeros(vi.J_force.shape)
    if t > 0:
        _respond_in_groups(vi, A, R)
        return R
    X = np.zeros((nv, first[-1]))
    for b in range(vi.n_dofs.size):
        for e in range(first[b + 1] - first[b]):
            for s in range(vi.n_dofs[b]):
                X[vi.dofs[b, s], first[b] + e] = vi.J_force[b, e, s]
    if X.size > 0:
        solve_factored(LU, pivots, X)
    for b in range(vi.n_dofs.size):
        for e in range(first[b + 1] - first[b]):
            for s in range(vi.n_dofs[b]):
                R[b, e, s] = X[vi.dofs[b, s], first[b] + e]
    return R


@deferred
def _respond_in_groups(vi: AffineVI, A: Array, R: Array) -> None:
    """Write `responses_of`, of the groups alone, whose blocks of A are regular where A is."""
    groups, nv, m = vi.groups, len(A), R.shape[1]
    t = groups.size - 1
    alone = order_blocks(groups, np.zeros((t, t), np.bool_))
    LU, pivots, X = np.zeros((nv, nv)), np.empty(nv, np.int64), np.zeros((nv, m))
    of_dofs = np.empty(nv, np.int64)
    for g in range(t):
        for l in range(groups[g], groups[g + 1]):
            of_dofs[l] = g
            for c in range(groups[g], groups[g + 1]):
                LU[l, c] = A[l, c]
    if not factor_blocks(LU, alone, pivots):
        return
    for b in range(vi.n_dofs.size):
        for s in range(vi.n_dofs[b]):
            for e in range(m):
                X[vi.dofs[b, s], e] = vi.J_force[b, e, s]
        before = -1
        for s in range(vi.n_dofs[b]):
            g = of_dofs[vi.dofs[b, s]]
            if g != before:
                solve_group(LU, groups[g], groups[g + 1], pivots, X)
            before = g
        for s in range(vi.n_dofs[b]):
            for e in range(m):
                R[b, e, s] = X[vi.dofs[b, s], e]
        for s in range(vi.n_dofs[b]):
            g = of_dofs[vi.dofs[b, s]]
            for l in range(groups[g], groups[g + 1]):
                for e in range(m):
                    X[l, e] = 0.0
