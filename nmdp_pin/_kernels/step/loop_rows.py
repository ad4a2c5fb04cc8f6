"""Rows of the closed loops of a stage."""

from __future__ import annotations

import numpy as np

from nmdp_pin._kernels.algebra.linear import clear_matrix, clear_vector
from nmdp_pin._kernels.algebra.manifold import add_multiplied_columns
from nmdp_pin._kernels.compiler.jit import deferred
from nmdp_pin._kernels.compiler.record import matrix, vector, zero_vector
from nmdp_pin._kernels.step.stage_records import Stage, StageIterate, StageJacobians, System
from nmdp_pin._kernels.tree.loops import (
    MOST,
    add_curvature,
    add_velocity_rates,
    gaps_of,
    gradients_of,
)


@deferred
def subtract_loops(system: System, stage: Stage, at: StageIterate) -> None:
    """Append the rows of closed loops to the active ones; their forces are subtracted from G."""
    loops, n, h = system.joints.loops, stage.contacts.n[0], 1.0 / stage.rate
    A, B, g, W = matrix(4, 3), matrix(4, 3), vector(MOST), matrix(MOST, 6)
    J = np.empty((MOST, at.v.size))
    for x in range(loops.kinds.size):
        rows = gaps_of(loops, stage.frames, x, at.P, at.q, A, B, g, W)
        gradients_of(loops, x, rows, at.S, W, J)
        holds = stage.closes or loops.springs[x]
        for a in range(rows):
            i, k = n + loops.first[x] + a, at.n_active[0]
            clear_vector(at.wrench[i])
            clear_vector(at.motion[i])
            clear_vector(at.work[i])
            clear_matrix(at.V[i])
            row = loops.first[x] + a - loops.first[0]
            f, motion = at.w[i, 0], g[a] if holds else stage.gaps[row]
            first, end = loops.dof_ranges[x], loops.dof_ranges[x + 1]
            if not stage.held[x]:  # its compliance alone is left, by which it has no force
                motion, end = 0.0, first
            for s in range(first, end):
                l, along = loops.dofs[s], J[a, s - loops.dof_ranges[x]]
                at.G[l] -= along * f
                motion += 0.0 if holds else h * along * at.v[l]
            motion += loops.compliance[row] * f
            at.V[i, 0, 0], at.wrench[i, 0] = 1.0, f
            at.motion[i, 0] = at.work[i, 0] = motion
            at.active[k], at.n_active[0] = i, k + 1


@deferred
def linearise_loops(system: System, stage: Stage, at: StageIterate, linear: StageJacobians) -> None:
    """Subtract the derivatives of the loops' forces from A; write Jacobians of their rows."""
    loops, n, h, nv = system.joints.loops, stage.contacts.n[0], 1.0 / stage.rate, at.v.size
    A, B, g, W, f = matrix(4, 3), matrix(4, 3), vector(MOST), matrix(MOST, 6), zero_vector(MOST)
    J, U = np.empty((MOST, nv)), np.empty((MOST, nv))
    first = at.n_active[0] - loops.compliance.size
    for x in range(loops.kinds.size):
        rows = gaps_of(loops, stage.frames, x, at.P, at.q, A, B, g, W)
        gradients_of(loops, x, rows, at.S, W, J)
        holds = stage.closes or loops.springs[x]
        for a in range(rows):
            f[a] = at.w[n + loops.first[x] + a, 0] if stage.held[x] else 0.0
        add_curvature(system.tree, loops, x, A, B, W, at.S, f, linear.A)
        if not holds:
            clear_matrix(U)
            add_velocity_rates(system.tree, loops, x, A, B, W, at.S, at.twists, at.v, U)
        for a in range(rows):
            row = first + loops.first[x] + a - loops.first[0]
            J_force, J_motion = linear.J_force[row], linear.J_motion[row]
            begin = loops.dof_ranges[x]
            size = loops.dof_ranges[x + 1] - begin if stage.held[x] else 0
            linear.n_dofs[row] = size
            clear_matrix(J_force)
            clear_matrix(J_motion)
            clear_vector(linear.of_load[row])
            linear.of_load[row, 0] = loops.compliance[loops.first[x] + a - loops.first[0]]
            for s in range(size):
                linear.dofs[row, s], J_force[0, s] = loops.dofs[begin + s], J[a, s]
                J_motion[0, s] = J[a, s] if holds else h * U[a, s]
            if not holds:
                dofs = linear.dofs[row]
                add_multiplied_columns(system.tree.space, dofs, size, J_force, at.D, 1.0, J_motion)
