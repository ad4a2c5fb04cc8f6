"""Slips: how far forces of contacts and joints are from those of the principle, as motions."""

from __future__ import annotations

import math

from nmdp_pin._kernels.compiler.jit import Array, jit
from nmdp_pin._kernels.compiler.record import vector, zero_vector
from nmdp_pin._kernels.contact.friction_cone import depth_of_force, largest_force
from nmdp_pin._kernels.solver.force_sets import (
    POLYHEDRAL_CONE,
    ROUND_CONE,
    ForceSets,
    map_block,
    new_sets,
)
from nmdp_pin._kernels.step.stage_records import (
    GAP,
    SLIP,
    Stage,
    StageIterate,
    StageJacobians,
    System,
)
from nmdp_pin._kernels.tree.joints import interval

_NO_FORCE = 1e-9  # of the weight; what weaker contacts do is not felt


@jit
def measure_slips(
    system: System, stage: Stage, at: StageIterate, linear: StageJacobians, margin: float
) -> float:
    """Write the slip and the gap of forces; the largest share by which one exceeds its bound.

    Forces are at their bounds where these are k d^p of a depth that differs by the margin at most.
    The slip is the natural map over the stiffness of the row.

    Args:
        system: what all steps share.
        stage: equations of the stage.
        at: an evaluated point, whose sums are written.
        linear: with the stiffnesses of the rows.
        margin: error of a depth [m].
    """
    n, beyond, m = stage.contacts.n[0], 0.0, at.w.shape[1]
    at.sums[SLIP] = at.sums[GAP] = 0.0
    f, F, sets = (
        vector(3),
        vector(3),
        new_sets(1, system.cone.sides, system.cone.angle, system.cone.reach),
    )
    sets.first[1] = 3
    for b in range(at.n_active[0]):
        row = at.active[b]
        rho = linear.rho[row]
        if row < n:
            for e in range(m):
                f[e], F[e] = at.w[row, e], at.work[row, e]
            sets.rho[0], sets.friction[0] = rho, at.places.friction[row]
            depth, stiffness = at.places.depth[row], at.places.stiffness[row]
            square, excess = _slip_of(system, sets, stiffness, f, F, depth, margin)
            beyond = max(beyond, excess)
        else:
            off, excess = _measure_joint(system, at, row, n, rho, margin)
            square, beyond = off * off, max(beyond, excess)
        if rho > 0.0:
            at.sums[SLIP] = max(at.sums[SLIP], math.sqrt(square) / rho)
            at.sums[GAP] += square / rho
    return beyond


@jit
def _slip_of(
    system: System,
    sets: ForceSets,
    stiffness: float,
    f: Array,
    F: Array,
    depth: float,
    margin: float,
) -> tuple[float, float]:
    """Square of the natural map of a contact [N^2], and the share by which it exceeds its bound.

    Args:
        system: what all steps share.
        sets: set of the contact with its friction, and its stiffness in the step.
        stiffness: k [N/m^p].
        f: force, which is cut off at the bound, shape (3,).
        F: motions, shape (3,).
        depth: depth [m].
        margin: error of the depth [m].
    """
    Phi = zero_vector(3)
    most, load, beyond = largest_force(system.cone, stiffness, depth + margin), f[2], 0.0
    if load > most:
        share = most / load
        beyond = min(1.0 - share, load / (_NO_FORCE * system.tree.weight))
        for e in range(3):
            f[e] *= share
    sets.kind[0] = POLYHEDRAL_CONE if system.cone.sides > 0 else ROUND_CONE
    # free to grow, or at its bound, off which it may be by an error of the depth
    off = max(depth - margin - depth_of_force(system.cone, stiffness, f[2]), 0.0) * sets.rho[0]
    map_block(sets, 0, f, F, math.inf if off > 0.0 else 0.0, Phi)
    square = _square(Phi)
    if 0.0 < off < abs(Phi[2]):
        map_block(sets, 0, f, F, 0.0, Phi)
        square = min(square, _square(Phi) + off * off)
    return square, beyond


@jit
def _square(x: Array) -> float:
    """Square of a vector."""
    value: float = x[0] * x[0] + x[1] * x[1] + x[2] * x[2]
    return value


@jit
def _measure_joint(
    system: System, at: StageIterate, row: int, n: int, rho: float, margin: float
) -> tuple[float, float]:
    """Natural map of a joint's or loop's force, and the share by which it exceeds its interval."""
    if system.joints.friction[row - n] == math.inf:
        return rho * at.work[row, 0], 0.0
    least, width, _, _ = interval(system.joints, row - n, at.q)
    slack, f = system.joints.stiffness[row - n] * margin, at.w[row, 0]
    if system.joints.coordinates[row - n] < 0:
        slack = 0.0
    low, high, excess = least - slack, least + width + slack, 0.0
    if f < low or f > high:
        off = low - f if f < low else f - high
        excess = min(off / abs(f), off / (_NO_FORCE * system.tree.weight))
        f = min(max(f, low), high)
    aim = f - rho * at.work[row, 0]
    if aim > high - 2.0 * slack:
        return min(f - (high - 2.0 * slack), 0.0), excess
    if aim < low + 2.0 * slack:
        return max(f - (low + 2.0 * slack), 0.0), excess
    return f - aim, excess


@jit
def predicts_solution(
    system: System,
    stage: Stage,
    at: StageIterate,
    linear: StageJacobians,
    w1: Array,
    dq: Array,
    slip: float,
    margin: float,
) -> bool:
    """Whether forces after a step solve the principle at the motions and depths that it predicts.

    The inequality of the step has the tangents of the bounds, which are beside them.
    """
    if not system.forces:
        return True
    f, F, sets = (
        vector(3),
        vector(3),
        new_sets(1, system.cone.sides, system.cone.angle, system.cone.reach),
    )
    sets.first[1] = 3
    for b in range(at.n_active[1]):
        row = at.active[b]
        dofs, n = linear.dofs[b], linear.n_dofs[b]
        moved = vector_of(linear.J_motion[b], dofs, n, dq)
        depth, fallen = at.places.depth[row], vector_of(linear.J_force[b], dofs, n, dq)
        more = w1[row, 2] - at.w[row, 2]
        for e in range(3):
            f[e], F[e] = w1[row, e], at.work[row, e]
            depth -= at.places.normal[row, e] * fallen[e]
            for a in range(3):
                F[e] += at.V[row, a, e] * (moved[a] + linear.of_load[b, a] * more)
        sets.rho[0], sets.friction[0] = linear.rho[row], at.places.friction[row]
        square, beyond = _slip_of(system, sets, at.places.stiffness[row], f, F, depth, margin)
        if beyond > 0.0 or square > (slip * linear.rho[row]) ** 2:
            return False
    return True


@jit
def vector_of(J: Array, dofs: Array, n: int, dq: Array) -> tuple[float, float, float]:
    """J dq of a Jacobian of three rows or more, in the columns of n dofs."""
    x, y, z = 0.0, 0.0, 0.0
    for s in range(n):
        x += J[0, s] * dq[dofs[s]]
        y += J[1, s] * dq[dofs[s]]
        z += J[2, s] * dq[dofs[s]]
    return x, y, z
