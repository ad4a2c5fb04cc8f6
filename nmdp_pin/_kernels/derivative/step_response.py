"""Derivatives of the end of a step by its start, the torque and parameters, in one program."""

from __future__ import annotations

import numpy as np

from nmdp_pin._kernels.algebra.linear import add_product, clear_matrix, copy_matrix, copy_vector
from nmdp_pin._kernels.algebra.manifold import (
    Manifold,
    difference,
    integrate,
    integrate_derivatives,
)
from nmdp_pin._kernels.compiler.callbacks import call_complete
from nmdp_pin._kernels.compiler.jit import Array, jit
from nmdp_pin._kernels.derivative.implicit_function import add_by_numbers, respond
from nmdp_pin._kernels.derivative.map_rates import along_map, map_rates
from nmdp_pin._kernels.derivative.material_rates import (
    Parts,
    add_inertia_rates,
    new_parts,
    open_parts,
    write_rates,
)
from nmdp_pin._kernels.derivative.stage_rates import StageRates, new_rates
from nmdp_pin._kernels.derivative.step_derivatives import resolve_stage, stage_rates
from nmdp_pin._kernels.derivative.switches import find_landings, find_switches
from nmdp_pin._kernels.derivative.weight_face import Face, new_face
from nmdp_pin._kernels.step.scripts import add_script_rates, clear_script_rows
from nmdp_pin._kernels.step.stage_records import (
    NEWTON_EULER,
    Stage,
    StageIterate,
    StageJacobians,
    System,
)
from nmdp_pin._kernels.step.step_records import STEP_COUNTERS, Memory, Options, Scheme, Start


@jit
def stage_ends(space: Manifold, scheme: Scheme, start: Start, end: Array, ends: Array) -> None:
    """Configurations at the ends of the stages, recovered from the end of the step.

    The last stage ends with the step and gives its velocity; the remaining motion is that of the
    first stage.

    Args:
        space: configuration space.
        scheme: time scheme.
        start: start of the step.
        end: [q; v] at its end, shape (nq + nv,).
        ends: output, shape (s, nq).
    """
    nq, a, h, before = start.q.size, scheme.a, start.h, np.empty(start.v.size)
    last = ends.shape[0] - 1
    ends[last] = end[:nq]
    if last == 1:
        integrate(space, ends[1], -a[1, 1] * h, end[nq:], ends[0])
        difference(space, start.q, ends[0], before)
        integrate(space, start.q, a[0, 0] / a[1, 0], before, ends[0])


@jit
def second_reference(
    space: Manifold, scheme: Scheme, start: Start, v: Array, of_v1: Array, of_q: Array, of_v: Array
) -> bool:
    """Derivatives by z of the reference of the second stage; False where one is singular.

    Args:
        space: configuration space.
        scheme: time scheme.
        start: start of the step.
        v: velocity at the end of the first stage, shape (nv,).
        of_v1: derivative of it, shape (nv, nz).
        of_q: output, of the reference configuration, shape (nv, nz).
        of_v: output, of the reference velocity, shape (nv, nz).
    """
    nv, b, share = v.size, scheme.a[1, 0] * start.h, scheme.a[1, 0] / scheme.a[0, 0]
    d, by_q, by_d = np.empty(nv), np.empty((nv, nv)), np.empty((nv, nv))
    for l in range(nv):
        d[l] = b * v[l]
    if not integrate_derivatives(space, d, by_q, by_d):
        return False
    for k in range(nv):
        for z in range(of_q.shape[1]):
            of_q[k, z] = by_q[k, z] if z < nv else 0.0
            of_v[k, z] = share * of_v1[k, z]
        of_v[k, nv + k] += 1.0 - share
        for l in range(nv):
            by_d[k, l] *= b
    add_product(by_d, of_v1, of_q)
    return True


@jit
def _begin_second_stage(
    system: System,
    scheme: Scheme,
    start: Start,
    at: StageIterate,
    rates: StageRates,
    parts: Parts,
    of_q: Array,
    of_v: Array,
) -> bool:
    """Write what the second stage has of the first; False where a derivative is singular.

    Args:
        system: what all steps share.
        scheme: time scheme.
        start: start of the step.
        at: end of the first stage, whose configuration is the next entry of z.
        rates: derivatives of its equations.
        parts: where targets follow from it, its part is written.
        of_q: output, as in `second_reference`.
        of_v: output, as in `second_reference`.
    """
    of_q1, of_v1, nv = np.zeros(of_q.shape), rates.v_z.copy(), at.v.size
    for k in range(nv):
        of_q1[k, 2 * nv + k] = 1.0
    add_product(rates.v_q, of_q1, of_v1)
    if parts.of_q.size > 0:
        write_rates(at, scheme.a[1, 0] / scheme.a[0, 0], of_q1, of_v1, parts, 1)
    return second_reference(system.tree.space, scheme, start, at.v, of_v1, of_q, of_v)


@jit
def _write_rates(
    system: System,
    scheme: Scheme,
    start: Start,
    memory: Memory,
    at: StageIterate,
    i: int,
    of_q: Array,
    of_v: Array,
    parts: Parts,
    linear: StageJacobians,
    rates: StageRates,
) -> bool:
    """Write the derivatives of the equations of stage i at its end; False where one is singular."""
    stage = memory.stage
    stage_rates(system, stage, memory.origin, at, of_q, of_v, linear, rates)
    if stage.form != NEWTON_EULER:
        if i == 0 and not open_parts(system, stage, start, memory, of_q, of_v, parts):
            return False
        add_inertia_rates(system, stage, at, parts, i, of_v, rates.v_z, rates.G_z)
    add_script_rates(system, scheme, start, stage, rates.v_z, rates.G_z)
    return True


@jit
def _rates_along_map(
    system: System,
    memory: Memory,
    at: StageIterate,
    linear: StageJacobians,
    motions: StageRates,
    known: float,
    smoothing: float,
    face: Face,
) -> StageRates:
    """Rates with the natural map of forces in place of motions; rows at its borders are kinks."""
    (nv, nz), rows, stage = motions.G_z.shape, motions.first.size - 1, memory.stage
    copy_vector(memory.linear.rho, linear.rho)
    of_map = map_rates(system, stage, at, linear, motions, system.scales, known, smoothing)
    rates = new_rates(nv, nz, rows, motions.w.size, True)
    along_map(stage, at, motions, of_map, rates)
    for x in range(rows):
        face.kink_sum[x] = of_map.near[x]
    return rates


@jit
def _write_torque_rates(stage: Stage, G_p: Array) -> None:
    """Write the derivatives of G by the torques, which move no motor at its limit."""
    for l in range(stage.torque.signs.size):
        G_p[l, l] = -1.0 if stage.torque.signs[l] == 0.0 else 0.0


@jit
def respond_to_start(
    system: System,
    options: Options,
    scheme: Scheme,
    start: Start,
    end: Array,
    made: Array,
    smoothing: float,
    judged: bool,
    repeated: bool,
    handle: int,
    memory: Memory,
    linear: StageJacobians,
    whole: Array,
    switches: Array,
) -> tuple[bool, bool, int]:
    """Derivatives of the end of a step by its start, the torque and np parameters.

    Args:
        system: what all steps share.
        options: options of the solver.
        scheme: time scheme that made the step.
        start: start of the step, with the weights of its end.
        end: [q; v] at its end, shape (nq + nv,).
        made: dofs whose step it is, shape (nv,).
        smoothing: as in `respond`.
        judged: whether impacts decided on the time scheme.
        repeated: whether the step is a repetition in first order.
        handle: number of the object that completes the derivatives of stages, 0: none.
        memory: overwritten.
        linear: overwritten.
        whole: output, shape (2 nv, 3 nv + np).
        switches: output, as in `find_switches`.

    Returns:
        Whether there are derivatives, whether the ends of the stages are known to their last
        digits, and the number of switches.
    """
    stage, nv, stages = memory.stage, start.v.size, len(scheme.a)
    nz, n, m = (1 + stages) * nv, whole.shape[1], memory.w.shape[1]
    ends, counts = np.empty((stages, start.q.size)), np.zeros(STEP_COUNTERS, np.int64)
    stage_ends(system.tree.space, scheme, start, end, ends)
    Z, dq = np.zeros((nz - 2 * nv, n)), np.empty((nv, n))
    of_q, of_v = np.zeros((nv, nz)), np.zeros((nv, nz))  # of the reference
    for l in range(nv):
        of_q[l, l] = of_v[l, nv + l] = 1.0
    G_p = np.zeros((nv, n - 2 * nv))
    moving = system.forces or system.recovery > 0.0 or options.minimiser != 0
    parts = new_parts(system, nz if stage.form != NEWTON_EULER else 0)
    settled, index, number = True, 0, 0
    for i in range(stages):
        index, same, known = resolve_stage(
            system, options, scheme, start, i, ends, made, index, memory, counts
        )
        settled, at = settled and same, memory.points[index]
        k = at.n_active[0]
        nw = k + at.n_active[1] * (m - 1)
        rates = new_rates(nv, nz, k, nw, moving)
        face, r_p = new_face(k, nw), np.zeros((nw, n - 3 * nv))
        if not _write_rates(system, scheme, start, memory, at, i, of_q, of_v, parts, linear, rates):
            return False, settled, number
        _write_torque_rates(stage, G_p)
        if system.forces:
            rates = _rates_along_map(system, memory, at, linear, rates, known, smoothing, face)
        if handle:
            known = call_complete(handle, i, index, same, known, smoothing, rates, G_p, r_p)
        clear_script_rows(system, G_p)
        if not respond(rates, G_p, r_p, Z, known, smoothing, system.forces, face, dq):
            return False, settled, number
        number += find_switches(system, memory, at, rates.first, face, known, switches[number:])
        if i + 1 == stages:
            break
        copy_matrix(dq, Z)
        if not _begin_second_stage(system, scheme, start, at, rates, parts, of_q, of_v):
            return False, settled, number
    copy_matrix(dq, whole[:nv])
    clear_matrix(whole[nv:])
    add_product(rates.v_q, dq, whole[nv:])
    add_by_numbers(rates.v_z, Z, whole[nv:])
    if judged:
        number += find_landings(system, memory, start, at, repeated, switches[number:])
    return True, settled, number
