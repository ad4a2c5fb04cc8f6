"""Newton's steps of the forces of blocks, as functions of that of the motion.

The rows of a block in the derivative of the natural map (`map_derivatives`) give df = B [1; -ddq],
which leaves equations of the motion alone. A step of all blocks sums thousands of products: they
are added up in numbers instead of arrays, three rows at once where a block is a cone.
"""

from __future__ import annotations

from nmdp_pin._kernels.algebra.linear import lu_factor, lu_solve
from nmdp_pin._kernels.compiler.jit import Array, deferred, jit
from nmdp_pin._kernels.compiler.record import indices, matrix, vector
from nmdp_pin._kernels.solver.affine_vi import AffineVI, MapPieces
from nmdp_pin._kernels.solver.force_sets import APEX, INTERVAL, SIMPLEX
from nmdp_pin._kernels.solver.map_derivatives import derive_block, interval_derivatives


@jit
def step_of_block(vi: AffineVI, b: int, f: Array, at: MapPieces, kept: float, B: Array) -> bool:
    """Write a block's step df = B [1; -ddq], ddq of the dofs that it feels; False: singular.

    Args:
        vi: the inequality.
        b: index of the block.
        f: the forces, shape (n,).
        at: the natural map there.
        kept: multiple of the identity that keeps redundant forces as they are.
        B: output, shape (m, 1 + k).
    """
    if vi.sets.kind[b] == INTERVAL:
        return _step_of_interval(vi, b, at, kept, B)
    if vi.sets.kind[b] == SIMPLEX:
        return _step_of_weights(vi, b, f, at, kept, B)
    return _step_of_cone(vi, b, f, at, kept, B)


@jit
def _step_of_interval(vi: AffineVI, b: int, at: MapPieces, kept: float, B: Array) -> bool:
    """As `step_of_block`, of the force of a joint."""
    X, Y, z = interval_derivatives(vi.sets, b, at.piece[b])
    M = X + Y * (vi.of_load[b, 0] + vi.proximal[0] / vi.sets.rho[b]) + kept
    if M == 0.0:
        return False
    B[0, 0] = -at.Phi[vi.sets.first[b]] / M
    for s in range(vi.n_dofs[b]):
        B[0, 1 + s] = (z * vi.of_depth[b, s] + Y * vi.J_motion[b, 0, s]) / M
    return True


@jit
def _step_of_cone(vi: AffineVI, b: int, f: Array, at: MapPieces, kept: float, B: Array) -> bool:
    """As `step_of_block`, of the force of a contact."""
    begin, n, J, of_depth = vi.sets.first[b], vi.n_dofs[b], vi.J_motion[b], vi.of_depth[b]
    if at.piece[b] == APEX:
        inverse = 1.0 / (1.0 + kept)
        for i in range(3):
            B[i, 0] = -at.Phi[begin + i] * inverse
            for s in range(n):
                B[i, 1 + s] = 0.0
        return True
    M, pivots, X, Y, z = matrix(3, 3), indices(3), matrix(3, 3), matrix(3, 3), vector(3)
    derive_block(vi.sets, b, f, at.F, at.piece[b], X, Y, z)
    Phi, held, of_load = vector(3), vi.proximal[0] / vi.sets.rho[b], vi.of_load[b]
    for i in range(3):
        Phi[i] = -at.Phi[begin + i]
        for j in range(3):
            M[i, j] = X[i, j]
        M[i, 2] += Y[i, 0] * of_load[0] + Y[i, 1] * of_load[1] + Y[i, 2] * of_load[2]
        for j in range(3):
            M[i, j] += held * Y[i, j]
        M[i, i] += kept
    if not lu_factor(M, pivots):
        return False
    for i in range(2):
        _exchange_right_sides(i, pivots[i], Phi, Y, z)
    l0, l1, l2 = M[1, 0], M[2, 0], M[2, 1]
    u0, u1, u2 = M[0, 1], M[0, 2], M[1, 2]
    i0, i1, i2 = 1.0 / M[0, 0], 1.0 / M[1, 1], 1.0 / M[2, 2]
    for c in range(1 + n):
        if c == 0:
            x0, x1, x2 = Phi[0], Phi[1], Phi[2]
        else:
            d, J0, J1, J2 = of_depth[c - 1], J[0, c - 1], J[1, c - 1], J[2, c - 1]
            x0 = z[0] * d + Y[0, 0] * J0 + Y[0, 1] * J1 + Y[0, 2] * J2
            x1 = z[1] * d + Y[1, 0] * J0 + Y[1, 1] * J1 + Y[1, 2] * J2
            x2 = z[2] * d + Y[2, 0] * J0 + Y[2, 1] * J1 + Y[2, 2] * J2
        x1 -= l0 * x0
        x2 = (x2 - l1 * x0 - l2 * x1) * i2
        x1 = (x1 - u2 * x2) * i1
        B[0, c], B[1, c], B[2, c] = (x0 - u0 * x1 - u1 * x2) * i0, x1, x2
    return True


@jit
def _exchange_right_sides(i: int, p: int, Phi: Array, Y: Array, z: Array) -> None:
    """Exchange two rows of the right sides of a cone."""
    Phi[i], Phi[p] = Phi[p], Phi[i]
    z[i], z[p] = z[p], z[i]
    for j in range(3):
        Y[i, j], Y[p, j] = Y[p, j], Y[i, j]


@deferred
def _step_of_weights(vi: AffineVI, b: int, f: Array, at: MapPieces, kept: float, B: Array) -> bool:
    """As `step_of_block`, of weights, each of which loads the contact."""
    begin, m = vi.sets.first[b], vi.sets.first[b + 1] - vi.sets.first[b]
    M, pivots, X, Y, z = matrix(m, m), indices(m), matrix(m, m), matrix(m, m), vector(m)
    derive_block(vi.sets, b, f, at.F, at.piece[b], X, Y, z)
    held = vi.proximal[0] / vi.sets.rho[b]
    for i in range(m):
        lifted = 0.0
        B[i, 0] = -at.Phi[begin + i]
        for j in range(m):
            lifted += Y[i, j] * vi.of_load[b, j]
        for j in range(m):
            M[i, j] = X[i, j] + lifted + held * Y[i, j]
        M[i, i] += kept
        for s in range(vi.n_dofs[b]):
            moved = z[i] * vi.of_depth[b, s]
            for j in range(m):
                moved += Y[i, j] * vi.J_motion[b, j, s]
            B[i, 1 + s] = moved
    if not lu_factor(M, pivots):
        return False
    lu_solve(M, pivots, B[:m])
    return True


@jit
def add_block(vi: AffineVI, b: int, at: MapPieces, B: Array, LU: Array, right: Array) -> None:
    """Add J_force' df of a block, df = B [1; -ddq], to the equations LU ddq = right."""
    J, dofs, n, kind = vi.J_force[b], vi.dofs[b], vi.n_dofs[b], vi.sets.kind[b]
    if kind == INTERVAL or kind == SIMPLEX:
        for s in range(n):
            for e in range(vi.sets.first[b + 1] - vi.sets.first[b]):
                force = J[e, s]
                if force == 0.0:
                    continue
                right[dofs[s], 0] += force * B[e, 0]
                for c in range(n):
                    LU[dofs[s], dofs[c]] += force * B[e, 1 + c]
        return
    for s in range(n):
        l, J0, J1, J2 = dofs[s], J[0, s], J[1, s], J[2, s]
        right[l, 0] = right[l, 0] + J0 * B[0, 0] + J1 * B[1, 0] + J2 * B[2, 0]
        if at.piece[b] == APEX:
            continue
        for c in range(n):
            d = dofs[c]
            LU[l, d] = LU[l, d] + J0 * B[0, 1 + c] + J1 * B[1, 1 + c] + J2 * B[2, 1 + c]


@jit
def force_step(vi: AffineVI, b: int, B: Array, ddq: Array, df: Array) -> None:
    """Write the step of a block's forces for that of the motion."""
    begin, dofs = vi.sets.first[b], vi.dofs[b]
    for e in range(vi.sets.first[b + 1] - begin):
        change = B[e, 0]
        for s in range(vi.n_dofs[b]):
            change -= B[e, 1 + s] * ddq[dofs[s]]
        df[begin + e] = change
