"""Derivatives of a step by the implicit function theorem at the ends of its stages.

The stages i = 1 ... s end at q_i with weights w_i, where

    G_i(q_i, w_i, z, p) = 0,    r_i(q_i, w_i, z, p) + lambda = 0 along weights above zero,

with z = (q_0, v_0, q_1, ..., q_i-1), the start of the step and the ends of the stages before, and p
the joint torque and further parameters; r = V'u are the works of the vertices. Derivatives with
respect to configurations are tangent.
"""

from __future__ import annotations

import numpy as np

from nmdp_pin._kernels.algebra.linear import add_product
from nmdp_pin._kernels.algebra.manifold import Manifold, add_rows, difference, difference_derivative
from nmdp_pin._kernels.algebra.vector3 import cross_into, place
from nmdp_pin._kernels.compiler.callbacks import call_minimise, call_vertex_derivative
from nmdp_pin._kernels.compiler.jit import Array, jit
from nmdp_pin._kernels.compiler.record import matrix, vector
from nmdp_pin._kernels.contact.contact_motion import motion_at, turn_back
from nmdp_pin._kernels.contact.friction_cone import add_frame_derivative, cone_derivative
from nmdp_pin._kernels.derivative.stage_rates import StageRates, project_rows
from nmdp_pin._kernels.geometry.planes import missed_contacts, missed_overlaps, place_contacts
from nmdp_pin._kernels.step.outcomes import CONVERGED, OUTCOME
from nmdp_pin._kernels.step.scripts import linearise_script
from nmdp_pin._kernels.step.stage import evaluate, kinematics, linearise_freely, saturate_at
from nmdp_pin._kernels.step.stage_records import (
    NEWTON_EULER,
    RESIDUAL,
    SLIP,
    Stage,
    StageIterate,
    StageJacobians,
    System,
    count_rows,
)
from nmdp_pin._kernels.step.step_records import Memory, Options, Scheme, Start
from nmdp_pin._kernels.step.step_start import known_before, list_weights, open_step, state_stage
from nmdp_pin._kernels.step.tolerances import Tolerances, attainable, place_of, rounding_of
from nmdp_pin._kernels.step.vertex_secants import clear_slopes
from nmdp_pin._kernels.step.vi_newton import blocks_of, solve_stage
from nmdp_pin._kernels.tree.joints import gains, interval
from nmdp_pin._kernels.tree.loops import MOST, gaps_of, gradients_of, loop_of_row

_TIGHT = 1e-13  # tolerance of a solution to rounding
_MOST_ITERATIONS = 50
KNOWN = 1e-11  # [m, rad] motions below this are rounding in any case
NEAR = 10.0  # multiple of the solver's residual motion, used where the end is not settled
_SAME = 1e-4  # [m, rad] farthest move of the end by further iterations to the same solution


@jit
def resolve_stage(
    system: System,
    options: Options,
    scheme: Scheme,
    start: Start,
    i: int,
    ends: Array,
    made: Array,
    first: int,
    memory: Memory,
    counts: Array,
) -> tuple[int, bool, float]:
    """State stage i of a step, and solve it to rounding from near its end, where that is possible.

    Whether a contact slides depends on motions far below the tolerance of a solver: a foot that
    creeps by less than it has other derivatives than one that holds.

    Args:
        system: what all steps share.
        options: options of the solver.
        scheme: time scheme.
        start: start of the step, with the weights of its end.
        i: index of the stage; the stages are settled in order.
        ends: configurations at the ends of the stages, shape (s, nq).
        made: dofs of which these are the ends, shape (nv,).
        first: index of the point where the first stage ends.
        memory: overwritten.
        counts: counters, to which those of the stage are added.

    Returns:
        Index of the point where the stage ends, whether it is known to its last digits, and the
        smallest motion that it resolves.
    """
    stage, space, at = memory.stage, system.tree.space, memory.points[2 * i]
    candidates = system.candidates
    if i == 0:
        open_step(system, start, memory)
        for s in range(ends.shape[0]):
            kinematics(system, ends[s], memory.scratch)
            missed_contacts(candidates, memory.scratch.P, stage.contacts)
        scratch = memory.scratch
        place_contacts(candidates, stage.contacts, scratch.P, scratch.places)
        missed_overlaps(candidates, stage.contacts, scratch.places, scratch.P, memory.origin.P)
        list_weights(system, known_before(start), options, memory)
    rows = count_rows(system, stage)
    state_stage(system, scheme, start, i, memory, memory.points[first])
    at.q[:] = ends[i]
    at.w[:rows] = memory.w[:rows]
    saturate_at(system, stage, at)
    place = place_of(stage)
    tolerances = Tolerances(_TIGHT, rounding_of(stage), 0.0, place, place, _MOST_ITERATIONS, True)
    index = 2 * i
    if options.minimiser:
        call_minimise(options.minimiser, index, stage.rate, scheme.order, 2**62, counts)
        outcome = counts[OUTCOME]
    else:
        outcome, swapped = solve_stage(
            system, stage, tolerances, 2**62, at, memory.points[index + 1], memory.linear, counts
        )
        index += swapped
    at = memory.points[index]
    motion, most = np.empty(at.v.size), 0.0
    difference(space, ends[i], at.q, motion)
    for l in range(motion.size):
        most = max(most, abs(motion[l]) if made[l] else 0.0)
    settled, slip = most <= _SAME and outcome == CONVERGED, options.slip / stage.rate
    near = at.sums[RESIDUAL] <= attainable(system, stage, options.tolerance)
    if most <= _SAME and near and at.sums[SLIP] <= slip:
        slip = at.sums[SLIP]
    elif not settled:
        at.q[:] = ends[i]
        at.w[:rows] = memory.w[:rows]
        clear_slopes(at)
    if options.minimiser or not settled:  # else it is the last point that was evaluated
        evaluate(system, stage, at, True)
    return index, settled, KNOWN if settled else max(NEAR * slip, KNOWN)


@jit
def stage_rates(
    system: System,
    stage: Stage,
    origin: StageIterate,
    at: StageIterate,
    of_q: Array,
    of_v: Array,
    linear: StageJacobians,
    rates: StageRates,
) -> None:
    """Derivatives of the equations of a stage at its end.

    Those of the inertia of material points with respect to z are not added to G_z.

    Args:
        system: what all steps share.
        stage: equations of the stage.
        origin: start of the step, of which the kinematics is known.
        at: end of the stage, the last point that was evaluated.
        of_q: derivative of its reference configuration by z, tangent, shape (nv, nz).
        of_v: derivative of its reference velocity by z, shape (nv, nz).
        linear: overwritten.
        rates: output.
    """
    space, nv, nz, m = system.tree.space, at.v.size, of_q.shape[1], at.w.shape[1]
    dynamics, v_z, G_z = system.dynamics, rates.v_z, rates.G_z
    # of the velocity by the reference, with q held, and by q
    back, D0 = np.empty(nv), np.eye(nv)
    for l in range(nv):
        back[l] = -at.v[l] / stage.rate
    if not space.flat:
        difference_derivative(space, back, D0)
    v_z[:], rates.v_q[:], G_z[:] = 0.0, 0.0, 0.0
    _add_left_product(space, D0, -stage.rate, of_q, v_z)
    add_rows(space, np.ones(nv), at.D, stage.rate, rates.v_q)
    if stage.form == NEWTON_EULER:
        add_product(dynamics.of_v, v_z, G_z)
        of_a = np.empty((nv, nz))
        for k in range(nv):
            for c in range(nz):
                of_a[k, c] = stage.rate * (v_z[k, c] - of_v[k, c])
        add_product(dynamics.M, of_a, G_z)
    for k in range(nv):
        _, _, kd = gains(system.joints, stage.torque, k)
        for c in range(nz):
            G_z[k, c] += kd * v_z[k, c]
    k, touching, rows = at.n_active[0], at.n_active[1], at.V.shape[1]
    rates.first[:] = blocks_of(at, m)
    linearise_freely(system, stage, at, linear)
    project_rows(at, linear, linear.J_force, rates.first, rates.along)
    project_rows(at, linear, linear.J_motion, rates.first, rates.bends)
    linearise_script(system, at, linear)
    rates.G_q[:], rates.forces[:] = linear.A, rates.along
    for l in range(system.scripted.size):
        if system.scripted[l]:
            rates.forces[:, l] = 0.0
    rates.r_z[:], rates.r_w[:] = 0.0, 0.0
    for x in range(k):
        row, begin = at.active[x], rates.first[x]
        for e in range(rates.first[x + 1] - begin):
            rates.w[begin + e], rates.r[begin + e] = at.w[row, e], at.work[row, e]
            for a in range(rows if x < touching else 1):
                p = at.V[row, a, e]
                if p != 0.0 and (system.recovery > 0.0 or x >= touching):
                    for d in range(begin, rates.first[x + 1]):
                        loads = not system.forces or d == rates.first[x + 1] - 1
                        if loads:
                            rates.r_w[begin + e, d] += p * linear.of_load[x, a]
    rates.r_q[:] = rates.bends
    _add_turning_vertices(system, stage, at, rates.first, rates.r_q)
    _add_reference_motions(system, stage, origin, at, rates, of_q)


@jit
def _add_first_gap(system: System, stage: Stage, origin: StageIterate, i: int, r_z: Array) -> bool:
    """Add the derivative of the gap of row i at the start of the step to r_z, shape (nz,).

    It is that from which an earlier stage counts, and what a grip keeps. False: the motion depends
    on the velocity, too.
    """
    loops, row = system.joints.loops, i - stage.contacts.n[0]
    x = loop_of_row(loops, row)
    holds, grip = stage.closes or loops.springs[x], loops.grips[x]
    if not stage.held[x] or holds != grip:
        return not stage.held[x] or holds
    A, B, g, W = matrix(4, 3), matrix(4, 3), vector(MOST), matrix(MOST, 6)
    J = np.empty((MOST, origin.v.size))
    rows = gaps_of(loops, stage.frames, x, origin.P, origin.q, A, B, g, W)
    gradients_of(loops, x, rows, origin.S, W, J)
    for s in range(loops.dof_ranges[x], loops.dof_ranges[x + 1]):
        along = J[row - loops.first[x], s - loops.dof_ranges[x]]
        r_z[loops.dofs[s]] += -along if grip else along
    return holds


@jit
def _add_left_product(space: Manifold, D: Array, factor: float, X: Array, Y: Array) -> None:
    """Y += factor D X, D being the identity but for blocks."""
    for b in range(len(space.kinds)):
        k, end = space.first_v[b], space.first_v[b + 1]
        for i in range(k, end):
            for j in range(k, end):
                d = factor * D[i, j]
                if d != 0.0:
                    for c in range(X.shape[1]):
                        Y[i, c] += d * X[j, c]


@jit
def _add_turning_vertices(
    system: System, stage: Stage, at: StageIterate, first: Array, r_q: Array
) -> None:
    """Add (dV/dq)' u of contacts, and of joints the widening of their intervals, to r_q."""
    tree, places, contacts, joints = system.tree, at.places, stage.contacts, system.joints
    touching, m, rows = at.n_active[1], at.w.shape[1], at.V.shape[1]
    for x in range(touching, at.n_active[0]):
        j = at.active[x] - contacts.n[0]
        if not system.forces:
            _, _, _, d_width = interval(joints, j, at.q)
            r_q[first[x], joints.dofs[j]] += d_width * at.motion[at.active[x], 0]
    if touching == 0:
        return
    own = np.zeros((m, contacts.n[0], rows, 6))
    if system.called:
        _called_vertex_rates(system, stage, at, own)
    of_depth, turned, c, xi = vector(6), vector(6), vector(3), vector(6)
    for x in range(touching):
        i = at.active[x]
        a, b = contacts.bodies[i, 0], contacts.bodies[i, 1]
        for k in range(3):
            of_depth[k] = -places.normal[i, k]
        cross_into(places.normal[i], places.arm[i], of_depth[3:])
        place(at.P[b], places.centre[i], c)
        for e in range(m):
            if not system.called:
                _rates_of_vertex(system, at, i, e, of_depth, own[e, i])
            for k in range(6):
                turned[k] = 0.0
                for d in range(rows):
                    turned[k] += at.motion[i, d] * own[e, i, d, k]
            row = r_q[first[x] + e]
            for l in range(row.size):
                s = tree.moves[a, l] - tree.moves[b, l]
                if s != 0.0:
                    motion_at(at.P[b], at.S[l], c, s, xi)
                    for k in range(6):
                        row[l] += turned[k] * xi[k]


@jit
def _called_vertex_rates(system: System, stage: Stage, at: StageIterate, own: Array) -> None:
    """Derivatives of the vertices of a contact model in Python by motions of their bodies.

    Args:
        system: what all steps share.
        stage: the stage.
        at: its end.
        own: output, zero on entry, shape (m, k, rows, 6).
    """
    w, wrench, acting = np.zeros(at.w.shape), np.zeros(at.wrench.shape), at.active[: at.n_active[1]]
    for e in range(own.shape[0]):
        for i in acting:
            for d in range(own.shape[0]):
                w[i, d] = 1.0 if d == e else 0.0
            for a in range(own.shape[2]):
                wrench[i, a] = at.V[i, a, e]
        call_vertex_derivative(
            system.called, stage.contacts.index, at.places, w, wrench, acting, own[e]
        )


@jit
def _rates_of_vertex(
    system: System, at: StageIterate, i: int, e: int, of_depth: Array, own: Array
) -> None:
    """Add the derivative of vertex e of contact i by a motion of its body, shape (rows, 6)."""
    places, unit, vertex = at.places, np.zeros(at.w.shape[1]), np.empty(own.shape[0])
    unit[e] = 1.0
    if system.forces:
        add_frame_derivative(places.normal[i], unit[0], unit[1], unit[2], places.N[i], own)
        return
    for k in range(vertex.size):
        vertex[k] = at.V[i, k, e]
    cone_derivative(
        system.cone,
        places.stiffness[i],
        places.depth[i],
        places.normal[i],
        places.friction[i],
        unit,
        vertex,
        of_depth,
        places.N[i],
        own,
    )


@jit
def _add_reference_motions(
    system: System,
    stage: Stage,
    origin: StageIterate,
    at: StageIterate,
    rates: StageRates,
    of_q: Array,
) -> None:
    """Add V' du of motions that change with the reference, q and w held, to r_z.

    Motions at a velocity are h J v, V' J being `along`. Of displacements the
    material point that touches at the end is fixed to the carrier, so its motion at the reference
    is subtracted; with Q = R_ref R' rotations have -(tr(Q) - Q) / 2 J_w.
    """
    tree, places, contacts = system.tree, at.places, stage.contacts
    first, along, v_z, r_z = rates.first, rates.along, rates.v_z, rates.r_z
    nv, rows, touching, h = of_q.shape[0], at.V.shape[1], at.n_active[1], 1.0 / stage.rate
    c, xi, Q, J = vector(3), vector(6), matrix(3, 3), np.empty((6, nv))
    local, work = vector(3), np.empty(nv)
    for x in range(at.n_active[0]):
        i = at.active[x]
        loops = i - contacts.n[0] >= system.joints.loops.first[0]
        if loops and _add_first_gap(system, stage, origin, i, r_z[first[x]]):
            continue
        if x >= touching or not stage.displaced:
            for e in range(first[x], first[x + 1]):
                for l in range(nv):
                    f = h * along[e, l]
                    if f != 0.0:
                        for z in range(v_z.shape[1]):
                            r_z[e, z] += f * v_z[l, z]
            continue
        a, b = contacts.bodies[i, 0], contacts.bodies[i, 1]
        placement, reference = places.placements[i], contacts.reference[i]
        turn_back(placement, reference, Q)
        trace = Q[0, 0] + Q[1, 1] + Q[2, 2]
        for j in range(3):
            local[j] = reference[3, j]
            for k in range(3):
                arm = places.arm[i, k] if rows == 3 else 0.0
                local[j] += Q[j, k] * (places.centre[i, k] + arm - placement[3, k])
        place(origin.P[b], local, c)
        for l in range(nv):
            s = tree.moves[a, l] - tree.moves[b, l]
            for j in range(6):
                J[j, l] = 0.0
            if s == 0.0:
                continue
            motion_at(origin.P[b], origin.S[l], c, s, xi)
            for j in range(3):
                J[j, l] = -xi[j]
                if rows == 6:
                    J[3 + j, l] = -0.5 * trace * xi[3 + j]
                    for k in range(3):
                        J[3 + j, l] += 0.5 * Q[j, k] * xi[3 + k]
        for e in range(first[x + 1] - first[x]):
            for l in range(nv):
                work[l] = 0.0
                for j in range(rows):
                    work[l] += at.V[i, j, e] * J[j, l]
                if work[l] != 0.0:
                    for z in range(of_q.shape[1]):
                        r_z[first[x] + e, z] += work[l] * of_q[l, z]
