"""Writing the end of a step, of all islands or of some."""

from __future__ import annotations

import numpy as np

from nmdp_pin._kernels.algebra.linear import clear_matrix, clear_vector, copy_vector
from nmdp_pin._kernels.algebra.vector3 import cross_into, rotate
from nmdp_pin._kernels.compiler.jit import Array, inlined, jit
from nmdp_pin._kernels.compiler.record import vector, zero_matrix
from nmdp_pin._kernels.geometry.contacts import Contacts, identity
from nmdp_pin._kernels.geometry.planes import report_depths, report_wrenches
from nmdp_pin._kernels.geometry.polytopes import CROSSED_ROUND
from nmdp_pin._kernels.step.islands import island_of_row
from nmdp_pin._kernels.step.scripts import is_scripted
from nmdp_pin._kernels.step.stage import touches
from nmdp_pin._kernels.step.stage_records import GAP, RESIDUAL, StageIterate, System, count_rows
from nmdp_pin._kernels.step.step_records import (
    KINETIC,
    OF_GAP,
    OF_RESIDUAL,
    POTENTIAL,
    TOUCHING,
    End,
    Memory,
    Scheme,
    Start,
)


@jit
def clear_end(end: End) -> None:
    """Prepare the end of a step for `write_end`."""
    clear_matrix(end.wrenches)
    clear_vector(end.depths)
    for i in range(end.numbers.size):
        end.numbers[i] = 0.0


@jit
def write_end(
    system: System,
    scheme: Scheme,
    start: Start,
    memory: Memory,
    first: int,
    last: int,
    a: Array,
    kept: bool,
    end: End,
) -> None:
    """Write the end of a step for the islands whose step of second order is kept, or the others.

    Their energies at the end are those in the memory.

    Args:
        system: what all steps share.
        scheme: time scheme.
        start: start of the step.
        memory: memory of the step.
        first: index of the point where the first stage ends.
        last: index of the point where the step ends.
        a: acceleration there, shape (nv,).
        kept: which islands these are; those that are not kept are repeated in first order.
        end: output, after `clear_end`.
    """
    at, contacts, stages = memory.points[last], memory.stage.contacts, scheme.a.shape[0]
    islands, space, n = memory.islands, system.tree.space, contacts.n[0]
    for f in range(space.kinds.size):
        if islands.kept[islands.of_dofs[space.first_v[f]]] == kept:
            for x in range(space.first_q[f], space.first_q[f + 1]):
                end.q[x] = at.q[x]
    before = memory.points[first].v
    for l in range(at.v.size):
        if islands.kept[islands.of_dofs[l]] == kept:
            end.v[l], end.a[l], end.repeated[l] = at.v[l], a[l], not kept
            end.tau[l] = at.tau[l] - memory.stage.torque.external[l]
            end.error[l] = _error_of(scheme, start.h, start.v[l], before[l], at.v[l])
            if is_scripted(system, l):
                end.error[l] = 0.0
    reported = np.zeros(n, np.bool_)
    for i in range(n):
        reported[i] = islands.kept[island_of_row(system, contacts, islands, i)] == kept
        memory.touched[i] = memory.touched[i] and not reported[i]
    for x in range(at.n_active[1]):
        i = at.active[x]
        if reported[i] and touches(system, at, n, i):
            memory.touched[i] = True
            if system.forces:
                rotate(at.P[contacts.bodies[i, 1]], at.wrench[i], end.w[i])
            else:
                copy_vector(at.w[i], end.w[i])
    carry_weights(system, memory, at)
    for j in range(end.joints.size):
        if islands.kept[islands.of_dofs[system.joints.dofs[j]]] == kept:
            end.joints[j] = memory.w[n + j, 0]
    report_depths(system.candidates, contacts, at.places, reported, end.depths)
    for s in range(stages):
        point = memory.points[first if s + 1 < stages else last]
        add_wrenches(system, contacts, scheme.a[stages - 1, s], point, reported, end.wrenches)
    for k in range(islands.count[0]):
        if islands.kept[k] == kept:
            end.numbers[KINETIC] += islands.kinetic[k]
            end.numbers[POTENTIAL] += islands.potential[k]
    end.numbers[OF_RESIDUAL] = max(end.numbers[OF_RESIDUAL], at.sums[RESIDUAL])
    end.numbers[OF_GAP] = max(end.numbers[OF_GAP], at.sums[GAP])


@jit
def _error_of(scheme: Scheme, h: float, v0: float, v1: float, v2: float) -> float:
    """Estimated error of a coordinate, of the velocities at the start and the ends of the stages.

    These give a quadrature of one order more; the difference from the scheme's own is the estimate.
    """
    if scheme.a.shape[0] == 1:
        return 0.5 * h * (v0 - v2)
    c = scheme.a[0, 0]
    # weights of the quadrature at 0, c and 1
    of_1 = (3.0 * c - 2.0) / (6.0 * (c - 1.0))
    of_c = 1.0 / (6.0 * c * (1.0 - c))
    of_0 = 1.0 - of_1 - of_c
    own = (of_c - scheme.a[1, 0]) * v1 + (of_1 - scheme.a[1, 1]) * v2
    value: float = h * (of_0 * v0 + own)
    return value


@jit
def carry_weights(system: System, memory: Memory, at: StageIterate) -> None:
    """Write the forces, or weights, with which what follows a point begins; full ones apart."""
    n, m, k = memory.stage.contacts.n[0], at.w.shape[1], 0
    for i in range(count_rows(system, memory.stage)):
        acts = k < at.n_active[0] and at.active[k] == i
        k += acts
        for e in range(m):
            if acts:
                memory.w[i, e] = at.w[i, e]
            elif system.forces:
                memory.w[i, e] = 0.0
            elif i < n:
                memory.w[i, e] = 1.0 / m
            else:
                memory.w[i, e] = 0.5 if e == 0 else 0.0


@jit
def list_touching(system: System, memory: Memory, end: End) -> None:
    """List the contacts that touch at the end, after `write_end`, with their forces or weights."""
    contacts, k = memory.stage.contacts, 0
    for i in range(contacts.n[0]):
        if memory.touched[i]:
            end.contacts[k] = identity(system.candidates, contacts, contacts.index[i])
            copy_vector(end.w[i], end.w[k])
            k += 1
    end.counts[TOUCHING] = k


@inlined
def is_finite(end: End) -> bool:
    """Whether the numbers of a step are finite, and not so large that their squares are not."""
    total = end.numbers[OF_GAP] + end.numbers[KINETIC] + end.numbers[POTENTIAL]
    for i in range(end.q.size):
        total += end.q[i] * end.q[i]
    for l in range(end.v.size):
        total += end.v[l] * end.v[l] + end.tau[l] * end.tau[l]
    for p in range(end.wrenches.shape[0]):
        for a in range(6):
            total += end.wrenches[p, a] * end.wrenches[p, a]
    holds: bool = abs(total) < np.inf
    return holds


@jit
def add_wrenches(
    system: System,
    contacts: Contacts,
    weight: float,
    at: StageIterate,
    reported: Array,
    wrenches: Array,
) -> None:
    """Add the weighted wrenches of a stage about the centres of the points, in the world.

    Args:
        system: what all steps share.
        contacts: contacts of the step.
        weight: weight of the stage.
        at: its end.
        reported: contacts whose wrenches are added, shape (n,).
        wrenches: wrenches of the points, shape (p, 6).
    """
    n = contacts.n[0]
    seen, moment, worlds = vector(3), vector(3), zero_matrix(n, 6)
    for x in range(at.n_active[1]):
        i = at.active[x]
        if not reported[i]:
            continue
        c, f = contacts.index[i], at.wrench[i]
        alone = system.candidates.pairs[c] < 0 or contacts.features[c, 0] == CROSSED_ROUND
        alone = alone and system.candidates.bodies[c, 0] > 0
        cross_into(at.places.arm[i], f, moment)
        for a in range(3):
            seen[a] = weight * f[a]
            if f.size == 6:
                moment[a] = f[3 + a] - (0.0 if alone else moment[a])
            elif not alone:
                moment[a] = 0.0
            moment[a] *= weight
        b = contacts.bodies[i, 1]
        rotate(at.P[b], seen, worlds[i, :3])
        rotate(at.P[b], moment, worlds[i, 3:])
    report_wrenches(system.candidates, contacts, at.places, worlds, wrenches)
