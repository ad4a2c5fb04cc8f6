"""Rows of the joints of a stage that have a stop or dry friction."""

from __future__ import annotations

from nmdp_pin._kernels.algebra.linear import clear_matrix, clear_vector
from nmdp_pin._kernels.compiler.jit import jit
from nmdp_pin._kernels.step.stage_records import (
    GAP,
    SLIP,
    Stage,
    StageIterate,
    StageJacobians,
    System,
    force_of,
)
from nmdp_pin._kernels.tree.joints import interval


@jit
def subtract_joints(system: System, stage: Stage, at: StageIterate) -> None:
    """Append the joints that act to the active rows; their forces are subtracted from G.

    The force is w, or least + w width, with w the first entry of the row.
    """
    joints, n, h = system.joints, stage.contacts.n[0], 1.0 / stage.rate
    k = at.n_active[0]
    for j in range(joints.loops.first[0]):
        i, l = n + j, joints.dofs[j]
        least, width, _, d_width = interval(joints, j, at.q)
        for a in range(at.wrench.shape[1]):
            at.wrench[i, a] = at.motion[i, a] = 0.0
            for e in range(at.work.shape[1]):
                at.V[i, a, e] = at.work[i, e] = 0.0
        at.motion[i, 0] = h * at.v[l]
        if d_width != 0.0 and system.recovery > 0.0:
            beyond = (width - 2.0 * joints.friction[j]) / abs(d_width)
            missing = share_of_interval(system, at, i, least, width)
            missing -= 1.0 if d_width < 0.0 else 0.0  # of the stop's largest force
            at.motion[i, 0] += h * system.recovery * beyond * missing
        if system.forces:
            at.V[i, 0, 0], at.work[i, 0], at.wrench[i, 0] = 1.0, at.motion[i, 0], at.w[i, 0]
            at.G[l] -= at.w[i, 0]
            at.active[k] = i
            k += 1
            continue
        at.V[i, 0, 0] = width
        at.work[i, 0] = width * at.motion[i, 0]
        if width == 0.0:
            continue
        at.active[k] = i
        k += 1
        at.wrench[i, 0] = least + at.w[i, 0] * width
        at.G[l] -= at.wrench[i, 0]
        gap = at.work[i, 0] * at.w[i, 0] - min(at.work[i, 0], 0.0)
        at.sums[GAP] += gap
        at.sums[SLIP] = max(at.sums[SLIP], gap / force_of(at, i))
    at.n_active[0] = k


@jit
def share_of_interval(
    system: System, at: StageIterate, i: int, least: float, width: float
) -> float:
    """Where in its interval the force of row i, a joint, is: 0 at its least, 1 at its largest."""
    if not system.forces:
        value: float = at.w[i, 0]
        return value
    return min(max((at.w[i, 0] - least) / width, 0.0), 1.0) if width > 0.0 else 0.0


@jit
def linearise_joints(
    system: System, stage: Stage, at: StageIterate, linear: StageJacobians
) -> None:
    """Subtract the derivatives of the joints' forces from A; write Jacobians of active ones."""
    joints, n = system.joints, stage.contacts.n[0]
    for x in range(at.n_active[1], at.n_active[0] - joints.loops.compliance.size):
        j = at.active[x] - n
        l = joints.dofs[j]
        least, width, d_least, d_width = interval(joints, j, at.q)
        if not system.forces:
            linear.A[l, l] -= d_least + at.w[n + j, 0] * d_width
        clear_matrix(linear.J_force[x])
        clear_matrix(linear.J_motion[x])
        linear.dofs[x, 0], linear.n_dofs[x] = l, 1
        linear.J_force[x, 0, 0] = linear.J_motion[x, 0, 0] = 1.0
        clear_vector(linear.of_load[x])
        if d_width != 0.0:
            share = system.recovery / stage.rate
            w = share_of_interval(system, at, n + j, least, width)
            beyond = (width - 2.0 * joints.friction[j]) / abs(d_width)
            linear.J_motion[x, 0, 0] += share * (1.0 - w if d_width < 0.0 else w)
            linear.of_load[x, 0] = share * beyond
            if system.forces:  # at the same force w changes with the interval
                inside = 0.0 < w < 1.0
                linear.of_load[x, 0] = share * beyond / width if inside else 0.0
                if inside:
                    of_w = -(d_least + w * d_width) / width
                    linear.J_motion[x, 0, 0] += share * beyond * of_w
