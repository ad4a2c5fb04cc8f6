"""The variational inequality of one iteration: the linearised equations of a stage, and the sets.

Forces are unknowns of their own: G does not know how hard the ground is, and the bound k d^p of a
force is the tangent at the depth that its force says, in compliance form (`force_sets`). k d^p is
convex, so that a tangent at a larger depth leads to it monotonically; the first one is at the depth
of the force that would stop what falls freely.
"""

from __future__ import annotations

import math

import numpy as np

from nmdp_pin._kernels.algebra.block_lu import (
    copy_coupled,
    factor_coupled,
    order_of,
    solve_coupled,
)
from nmdp_pin._kernels.algebra.linear import all_finite, copy_matrix, copy_vector
from nmdp_pin._kernels.compiler.jit import Array, jit
from nmdp_pin._kernels.compiler.record import indices, vector, zero_vector
from nmdp_pin._kernels.solver.affine_solution import HELD_BACK, SOLVED, solve_affine_vi
from nmdp_pin._kernels.solver.affine_vi import AffineVI
from nmdp_pin._kernels.solver.components import couple_groups
from nmdp_pin._kernels.solver.force_sets import (
    ForceSets,
    map_block,
    new_sets,
)
from nmdp_pin._kernels.solver.responses import responses_of
from nmdp_pin._kernels.step.outcomes import CONVERGED, HELD, QP_FAILED, SINGULAR
from nmdp_pin._kernels.step.stage_records import Stage, StageIterate, StageJacobians, System
from nmdp_pin._kernels.step.stage_sets import state_sets
from nmdp_pin._kernels.tree.joints import motor

_BELOW_ONE = 1.0 + 1e-15  # rounding error of a sum of shares


@jit
def motor_rows(system: System, stage: Stage, at: StageIterate, rows: Array, motors: Array) -> int:
    """Motors that have a limit, and derivatives of the torques that commands ask of them.

    Args:
        system: what all steps share.
        stage: equations of the stage.
        at: a point with its derivatives.
        rows: output, -d tau / dq of each motor [N m/rad], shape (nv, nv).
        motors: output, their dofs, shape (nv,).

    Returns:
        The number of motors.
    """
    joints, torque, number, nv = system.joints, stage.torque, 0, at.v.size
    for l in range(nv):
        damper = torque.kd[l] - joints.damping[l]
        if not joints.effort[l] < math.inf or (torque.kp[l] == 0.0 and damper == 0.0):
            continue
        for c in range(nv):
            rows[number, c] = torque.kp[l] * at.E[l, c] + damper * stage.rate * at.D[l, c]
        motors[number] = l
        number += 1
    return number


@jit
def _project_rows(V: Array, J: Array, rows: int, n_dofs: int, out: Array) -> None:
    """Jacobian along coordinates with directions V, shape (m, k)."""
    for e in range(out.shape[0]):
        for s in range(n_dofs):
            total = 0.0
            for i in range(rows):
                total += V[i, e] * J[i, s]
            out[e, s] = total


@jit
def state_vi(
    system: System, stage: Stage, at: StageIterate, linear: StageJacobians, f0: Array
) -> AffineVI:
    """The linearised variational inequality at a point, but for its sets.

    Its blocks are the active rows, then the motors that have a limit: their torque is what the
    command asks for, or the limit (an interval without stops, F being what is missing in the
    command over its stiffness).

    Args:
        system: what all steps share.
        stage: equations of the stage.
        at: the point.
        linear: derivatives there.
        f0: output, coordinates of the blocks, shape (>= n,).
    """
    k, m, nv, touching = at.n_active[0], at.w.shape[1], at.v.size, at.n_active[1]
    trees = system.tree.groups.size - 1
    asked, motors, A = np.empty((nv, nv)), np.empty(nv, np.int64), linear.A.copy()
    number = motor_rows(system, stage, at, asked, motors)
    blocks = k + number
    sets = new_sets(blocks, system.cone.sides, system.cone.angle, system.cone.reach)
    first, most, n_dofs = sets.first, 0, np.zeros(blocks, np.int64)
    first[0] = 0
    for b in range(blocks):
        first[b + 1] = first[b] + (m if b < touching else 1)
        if b < k:
            n_dofs[b] = linear.n_dofs[b]
        for l in range(nv if b >= k else 0):
            n_dofs[b] += asked[b - k, l] != 0.0
        most = max(most, n_dofs[b])
    vi = AffineVI(
        sets=sets,
        J_force=np.zeros((blocks, m, most)),
        J_motion=np.zeros((blocks, m, most)),
        of_depth=np.zeros((blocks, most)),
        motion=np.zeros((blocks, m)),
        depth=np.zeros(blocks),
        of_load=np.zeros((blocks, m)),
        dofs=np.zeros((blocks, most), np.int64),
        n_dofs=n_dofs,
        A=A,
        G=at.G,
        proximal=np.zeros(1),
        held=np.zeros(first[blocks]),
        length=np.empty(blocks),
        enough=np.empty(blocks),
        rough=np.empty(first[blocks]),
        rounding=np.empty(blocks),
        groups=system.tree.groups,
        coupled=np.zeros((trees, trees), np.bool_),
    )
    _state_rows(at, linear, vi, f0)
    for x in range(number):
        _state_motor(system, stage, at, motors[x], asked[x], vi, k + x, f0)
    couple_groups(vi)
    return vi


@jit
def _state_rows(at: StageIterate, linear: StageJacobians, vi: AffineVI, f0: Array) -> None:
    """Write the blocks of the active rows."""
    first, dofs, n_dofs = vi.sets.first, vi.dofs, vi.n_dofs
    for b in range(at.n_active[0]):
        row, size = at.active[b], first[b + 1] - first[b]
        rows = at.V.shape[1] if b < at.n_active[1] else 1
        _project_rows(at.V[row], linear.J_force[b], rows, n_dofs[b], vi.J_force[b, :size])
        _project_rows(at.V[row], linear.J_motion[b], rows, n_dofs[b], vi.J_motion[b, :size])
        for s in range(n_dofs[b]):
            dofs[b, s] = linear.dofs[b, s]
        for e in range(size):
            f0[first[b] + e], vi.motion[b, e] = at.w[row, e], at.work[row, e]
            for i in range(rows):
                vi.of_load[b, e] += at.V[row, i, e] * linear.of_load[b, i]


@jit
def _state_motor(
    system: System,
    stage: Stage,
    at: StageIterate,
    l: int,
    asked: Array,
    vi: AffineVI,
    b: int,
    f0: Array,
) -> None:
    """Write block b, the motor of dof l, of which `motor_rows` says what is asked."""
    stiffness = asked[l]
    tau = motor(system.joints, stage.torque, l, at.error[l], at.v[l])
    limit, sign, e = system.joints.effort[l], stage.torque.signs[l], vi.sets.first[b]
    f0[e] = sign * limit if sign != 0.0 else tau
    vi.motion[b, 0], vi.of_load[b, 0] = (f0[e] - tau) / stiffness, 1.0 / stiffness
    vi.sets.friction[b] = limit
    s = 0
    for c in range(asked.size):
        if asked[c] == 0.0:
            continue
        vi.dofs[b, s] = c
        vi.J_force[b, 0, s] = 1.0 if c == l else 0.0
        vi.J_motion[b, 0, s] = asked[c] / stiffness
        if sign == 0.0:
            vi.A[l, c] -= asked[c]
        s += 1


@jit
def newton_step(
    system: System,
    stage: Stage,
    at: StageIterate,
    linear: StageJacobians,
    slip: float,
    w1: Array,
    dq: Array,
    effort: int,
) -> int:
    """One iteration: solve the linearised variational inequality.

    Args:
        system: what all steps share.
        stage: equations of the stage.
        at: the point.
        linear: derivatives there; the stiffnesses of the rows are written.
        slip: bound on the slip of the stage [m].
        w1: output, coordinates of the contacts and joints, shape (n, m).
        dq: output, shape (nv,).
        effort: see `solve_affine_vi`.

    Returns:
        CONVERGED, SINGULAR, HELD where the inequality was solved with forces held back by a
        proximal term, or QP_FAILED where it was not; the step is then that of the last forces.
    """
    k, nv = at.n_active[0], dq.size
    f0 = np.empty(k * at.w.shape[1] + nv)
    vi = state_vi(system, stage, at, linear, f0)
    first, blocks = vi.sets.first, vi.n_dofs.size
    n = first[blocks]
    order = order_of(vi.groups, vi.coupled)
    LU, pivots, motions = np.empty((nv, nv)), indices(nv), np.empty((nv, 2))
    copy_coupled(linear.A, order, LU)
    if not factor_coupled(LU, order, pivots):
        return SINGULAR
    for l in range(nv):  # with the forces as they are, and without those of the rows
        motions[l, 0] = motions[l, 1] = -at.G[l]
    for b in range(k):
        for e in range(first[b + 1] - first[b]):
            for s in range(vi.n_dofs[b]):
                motions[vi.dofs[b, s], 1] -= vi.J_force[b, e, s] * f0[first[b] + e]
    solve_coupled(LU, order, pivots, motions)
    copy_matrix(at.w[: len(w1)], w1)
    if not all_finite(motions.ravel()):
        return SINGULAR
    f, outcome = vector(n), CONVERGED
    if blocks > 0:
        R = responses_of(vi, linear.A, order, LU, pivots)
        state_sets(system, stage, at, slip, R, motions, vi)
    for b in range(k):
        linear.rho[at.active[b]] = vi.sets.rho[b]
    copy_vector(motions[:, 0], dq)
    for b in range(blocks):
        for e in range(first[b], first[b + 1]):
            f[e] = f0[e]
        if b >= k and vi.motion[b, 0] == 0.0:
            for s in range(vi.n_dofs[b]):
                f[first[b]] -= vi.J_motion[b, 0, s] * dq[vi.dofs[b, s]] / vi.of_load[b, 0]
    if blocks > 0:
        solved = solve_affine_vi(vi, f0[:n], f, dq, effort)
        outcome = CONVERGED if solved == SOLVED else (HELD if solved == HELD_BACK else QP_FAILED)
    if not (all_finite(f) and all_finite(dq)):
        return SINGULAR
    _write_forces(system, stage, at, vi, f, w1)
    return outcome


@jit
def _write_forces(
    system: System, stage: Stage, at: StageIterate, vi: AffineVI, f: Array, w1: Array
) -> None:
    """Write the coordinates of the contacts and joints, moved into their sets."""
    first, Phi, still = vi.sets.first, vector(f.size), zero_vector(f.size)
    for b in range(at.n_active[0]):
        row, total = at.active[b], 1.0
        if system.forces and row < stage.contacts.n[0]:
            _clip(vi.sets, b, vi.rounding[b], f, still, Phi)
        if not system.forces:  # to the last bit weights are at least zero, and one at most in sum
            total = 0.0
            for e in range(first[b], first[b + 1]):
                f[e] = max(f[e], 0.0)
                total += f[e]
            total = max(total * _BELOW_ONE, 1.0) if total > 1.0 else 1.0
        for e in range(first[b + 1] - first[b]):
            w1[row, e] = f[first[b] + e] / total


@jit
def _clip(sets: ForceSets, b: int, none: float, f: Array, still: Array, Phi: Array) -> None:
    """Move a force to its cone, from which it may be off by a tolerance; clear rounding errors."""
    begin = sets.first[b]
    map_block(sets, b, f, still, math.inf, Phi)
    for e in range(begin, begin + 3):
        f[e] = f[e] - Phi[e] if f[begin + 2] > none else 0.0
