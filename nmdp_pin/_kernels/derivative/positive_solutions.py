"""Which entries of the solutions of B d = 0, d >= 0 are above zero."""

from __future__ import annotations

import numpy as np

from nmdp_pin._kernels.compiler.jit import Array, jit
from nmdp_pin._kernels.solver.affine_solution import SOLVED, solve_affine_vi
from nmdp_pin._kernels.solver.affine_vi import AffineVI
from nmdp_pin._kernels.solver.force_sets import SIMPLEX, new_sets

_MOST = 1e4  # largest change of a weight, in units of the least one
_ZERO = 1e-6  # residual of a system that counts as solved, and multiplier that counts as none
_CENTRED = 1e-12  # natural map that is zero


@jit
def mark_positive_entries(B: Array, positive: Array) -> None:
    """Mark the entries that are above zero in some solution of B d = 0, d >= 0.

    With the least residual y = B (1 + e), e >= 0, every solution has (B'y) . d = 0 with B'y >= 0: d
    vanishes where B'y does not (Stiemke's lemma). Without these entries there is another y, until
    it is zero.
    """
    rows, n = B.shape
    while True:
        index, m = np.empty(n, np.int64), 0
        for j in range(n):
            if positive[j]:
                index[m] = j
                m += 1
        if m == 0 or rows == 0:
            return
        y, e = np.zeros(rows), np.zeros(m)
        if _write_residual(B, index[:m], e, y) <= _ZERO**2:
            return
        vi = _state_least_residual(B, index[:m], y)
        if solve_affine_vi(vi, np.zeros(m), e, np.zeros(rows), True) != SOLVED:
            positive[:] = False
            return
        square = _write_residual(B, index[:m], e, y)
        if square <= _ZERO**2:
            return
        removed = False
        for a in range(m):
            total = 0.0
            for i in range(rows):
                total += B[i, index[a]] * y[i]
            if total > _ZERO * square:
                positive[index[a]] = False
                removed = True
        if not removed:
            positive[:] = False
            return


@jit
def _write_residual(B: Array, index: Array, e: Array, y: Array) -> float:
    """Write y = B (1 + e) of some columns, e in units of its largest change; its square."""
    square = 0.0
    for i in range(y.size):
        y[i] = 0.0
        for a in range(index.size):
            y[i] += B[i, index[a]] * (1.0 + _MOST * e[a])
        square += y[i] * y[i]
    return square


@jit
def _state_least_residual(B: Array, index: Array, y: Array) -> AffineVI:
    """The inequality of the least residual, whose motion is that of the residual itself.

    Args:
        B: matrix, shape (rows, n).
        index: columns that are used, shape (m,).
        y: their sum, shape (rows,).
    """
    rows, m, largest = y.size, index.size, 0.0
    J, motion = np.zeros((1, m, rows)), np.zeros((1, m))
    for a in range(m):
        of_column = 0.0
        for i in range(rows):
            along = B[i, index[a]]
            of_column += along**2
            J[0, a, i] = along
            motion[0, a] += along * y[i]
        largest = max(largest, _MOST * of_column)
    sets = new_sets(1, 0, 0.0, 1.0)
    sets.kind[0], sets.first[1], sets.rho[0] = SIMPLEX, m, 1.0 / largest
    return AffineVI(
        sets=sets,
        J_force=J,
        J_motion=J,
        of_depth=np.zeros((1, rows)),
        motion=motion,
        depth=np.zeros(1),
        of_load=np.zeros((1, m)),
        dofs=np.arange(rows).reshape((1, rows)),
        n_dofs=np.array([rows]),
        A=np.eye(rows) / _MOST,
        G=np.zeros(rows),
        proximal=np.zeros(1),
        held=np.zeros(m),
        length=np.ones(1),
        enough=np.full(1, _CENTRED),
        rough=np.full(m, _CENTRED),
        rounding=np.zeros(1),
        groups=np.array([0, rows]),
        coupled=np.ones((1, 1), np.bool_),
    )
