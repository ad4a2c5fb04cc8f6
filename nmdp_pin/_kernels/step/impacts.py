"""Acceptance check of impacts: contacts are plastic, and friction reverses no motion.

A stage that arrests a contact, or stops its slide, has the acceleration of an impact over its
length; extrapolated by a later stage, it may throw the contact back. The rows are those of the
contacts, then those of the joints with a stop or dry friction.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from nmdp_pin._kernels.algebra.linear import clear_vector
from nmdp_pin._kernels.algebra.vector3 import dot
from nmdp_pin._kernels.compiler.jit import Array, jit
from nmdp_pin._kernels.compiler.record import matrix
from nmdp_pin._kernels.contact.friction_cone import largest_force
from nmdp_pin._kernels.step.islands import Islands, island_of_row
from nmdp_pin._kernels.step.outcomes import REBOUNDED, SANK
from nmdp_pin._kernels.step.stage import touches
from nmdp_pin._kernels.step.stage_records import Stage, StageIterate, System, count_rows
from nmdp_pin._kernels.tree.joints import Joints, interval, stop
from nmdp_pin._kernels.tree.tree import placement_rate

MOVES = 5e-3  # [m/s] speed below which a contact is at rest
UNLOADED = 1e-6  # share of the largest force, up to which a contact bears no load
_GAIN = 1e-4  # share of the kinetic energy
_QUADRATURE = 0.02  # share of the work of the torques by which its sum over the stages may err
SUNK = 1e-3  # [m]; shallower penetrations do not matter
_LEAST_WORK = 0.25  # share of the largest force times the depth: 1 / (p + 1) for powers p up to 3


class Ends(NamedTuple):
    """Loads and velocities of the rows at the end of a stage.

    Args:
        unloaded: whether a contact bears no load or a joint presses no stop, shape (n + r,).
        thrown: whether it leaves without load, shape (n + r,).
        sliding: whether a contact slides under load or a joint moves, shape (n + r,).
        slip: velocities along which friction acts, shape (n + r, 3).
    """

    unloaded: Array
    thrown: Array
    sliding: Array
    slip: Array


@jit
def ends_of(system: System, stage: Stage, at: StageIterate, rate: float, islands: Islands) -> Ends:
    """Loads and velocities at a point that ends a stage of length 1 / rate.

    Under the principle a sliding contact may rise by mu |u_t| under load.
    """
    n, joints, rows = stage.contacts.n[0], system.joints, count_rows(system, stage)
    result = Ends(
        np.empty(rows, np.bool_),
        np.empty(rows, np.bool_),
        np.empty(rows, np.bool_),
        np.zeros((rows, 3)),
    )
    for i in range(rows):
        largest, load, leaving, slip = 0.0, 0.0, 0.0, result.slip[i]
        u = at.motion[i]
        if i < n:
            normal = at.places.normal[i]
            largest = _largest_load(system, n, i, at)
            for a in range(at.V.shape[1]):
                load = max(load, abs(at.wrench[i, a]))
            for a in range(3):
                leaving += rate * normal[a] * u[a]
            for a in range(3):
                slip[a] = rate * u[a] - leaving * normal[a]
        else:
            j = i - n
            largest, load = _largest_load(system, n, i, at), abs(at.wrench[i, 0])
            load -= joints.friction[j]
            leaving = rate * stop(joints, j, at.q)[1] * u[0]
            if joints.friction[j] != 0.0:
                slip[0] = rate * u[0]
        square = slip[0] ** 2 + slip[1] ** 2 + slip[2] ** 2
        if largest == math.inf or system.forces:
            largest = islands.weight[island_of_row(system, stage.contacts, islands, i)]
        result.unloaded[i] = load <= UNLOADED * largest
        result.thrown[i] = result.unloaded[i] and leaving > MOVES
        result.sliding[i] = square > MOVES * MOVES and (i >= n or not result.unloaded[i])
    return result


@jit
def write_elastic_energies(
    system: System, stage: Stage, at: StageIterate, islands: Islands, elastic: Array
) -> None:
    """Energies that recovering contacts and stops can give back, k d^(p+1) / (p + 1) each [J]."""
    n, joints = stage.contacts.n[0], system.joints
    clear_vector(elastic)
    if system.recovery == 0.0:
        return
    for i in range(n):
        recovers = system.candidates.rise[stage.contacts.index[i]] > 0.0
        if recovers and at.places.depth[i] > 0.0:
            largest = _largest_load(system, n, i, at)
            if largest < math.inf:
                stored = largest * at.places.depth[i] / (system.cone.power + 1)
                elastic[island_of_row(system, stage.contacts, islands, i)] += stored
    for j in range(joints.dofs.size):
        beyond = max(-stop(joints, j, at.q)[0], 0.0)
        elastic[islands.of_dofs[joints.dofs[j]]] += 0.5 * joints.stiffness[j] * beyond**2


@jit
def judge_impacts(
    system: System,
    stage: Stage,
    origin: StageIterate,
    first: StageIterate,
    last: StageIterate,
    first_rate: float,
    islands: Islands,
    velocities: Array,
    suspects: Array,
) -> None:
    """Whether the contacts of a step of two stages are plastic, for each island.

    Args:
        system: what all steps share.
        stage: equations of the last stage.
        origin: start of the step.
        first: end of the first stage.
        last: end of the step.
        first_rate: one over the length of the first stage [1/s].
        islands: with their gains; output, the outcomes REBOUNDED and SANK, and whether there are
            suspects.
        velocities: velocities of the rows at the start, shape (n + r, 3).
        suspects: output, rows that leave or slide back though nothing may drive them, which a step
            of first order has to confirm, shape (n + r,).
    """
    n, joints, rows = stage.contacts.n[0], system.joints, count_rows(system, stage)
    touching, k = np.zeros(rows, np.bool_), islands.count[0]
    for x in range(first.n_active[0]):
        touching[first.active[x]] = touches(system, first, n, first.active[x])
    for x in range(last.n_active[0]):
        touching[last.active[x]] |= touches(system, last, n, last.active[x])
    end = ends_of(system, stage, last, stage.rate, islands)
    carried, thrown, some = np.zeros(k), np.zeros(k, np.bool_), False
    for i in range(rows):
        own = island_of_row(system, stage.contacts, islands, i)
        gains = islands.gain[own] > (
            _GAIN * islands.kinetic0[own] + _QUADRATURE * abs(islands.work[own])
        )
        approaching = _approaches(joints, n, i, first, velocities)
        if touching[i] and end.thrown[i]:
            thrown[own] = some = True
        if touching[i] and approaching and (gains or end.thrown[i]):
            islands.outcome[own] = REBOUNDED
        entered = _entered(system, n, i, first, last)
        if approaching and entered > SUNK:
            carried[own] += _LEAST_WORK * _largest_load(system, n, i, last) * entered
    for own in range(k):
        if islands.outcome[own] == 0 and carried[own] > max(-islands.gain[own], 0.0):
            islands.outcome[own] = SANK
    loaded, rise = end, np.zeros((k, 3))
    if some:
        loaded = ends_of(system, stage, first, first_rate, islands)
        _centre_velocities(system, origin, islands, rise)
    for i in range(rows):
        own, suspects[i] = island_of_row(system, stage.contacts, islands, i), False
        if thrown[own] and end.thrown[i] and touching[i] and not loaded.unloaded[i]:
            # A robot that moves up pushes itself off; one that comes down is thrown up.
            suspects[i] = i >= n or dot(first.places.normal[i], rise[own]) <= MOVES
        if end.sliding[i] and slides_back(end.slip[i], velocities[i]):
            suspects[i] = True
        islands.doubtful[own] |= suspects[i]


@jit
def confirm_suspects(
    system: System,
    stage: Stage,
    at: StageIterate,
    islands: Islands,
    velocities: Array,
    suspects: Array,
) -> None:
    """Clear doubts about islands whose suspects leave or slide back in first order, too.

    Args:
        system: what all steps share.
        stage: equations of the stage of first order.
        at: its end.
        islands: islands, of which `doubtful` is written.
        velocities: velocities of the rows at the start, shape (n + r, 3).
        suspects: suspects, shape (n + r,).
    """
    end, denied = ends_of(system, stage, at, stage.rate, islands), np.zeros(islands.count[0])
    for i in range(count_rows(system, stage)):
        if suspects[i] and not (end.thrown[i] or slides_back(end.slip[i], velocities[i])):
            denied[island_of_row(system, stage.contacts, islands, i)] = 1.0
    for own in range(islands.count[0]):
        islands.doubtful[own] = islands.doubtful[own] and denied[own] > 0.0


@jit
def _approaches(joints: Joints, n: int, i: int, first: StageIterate, velocities: Array) -> bool:
    """Whether a contact approaches its surface at the start, or a joint its stop."""
    if i < n:
        return dot(first.places.normal[i], velocities[i]) < -MOVES
    holds: bool = stop(joints, i - n, first.q)[1] * velocities[i, 0] < -MOVES
    return holds


@jit
def _entered(system: System, n: int, i: int, first: StageIterate, last: StageIterate) -> float:
    """Growth of a penetration since the first stage [m, rad]."""
    joints = system.joints
    if i < n:
        value: float = last.places.depth[i] - max(first.places.depth[i], 0.0)
        return value
    before, after = stop(joints, i - n, first.q)[0], stop(joints, i - n, last.q)[0]
    return -after - max(-before, 0.0)


@jit
def _largest_load(system: System, n: int, i: int, at: StageIterate) -> float:
    """Largest normal force of a contact, or the width of a joint's interval."""
    if i >= n:
        return interval(system.joints, i - n, at.q)[1]
    if system.forces:
        return largest_force(system.cone, at.places.stiffness[i], at.places.depth[i])
    most, normal = -math.inf, at.places.normal[i]
    for e in range(at.V.shape[2]):
        total = 0.0
        for a in range(3):
            total += normal[a] * at.V[i, a, e]
        most = max(most, total)
    return most


@jit
def slides_back(slip: Array, velocity: Array) -> bool:
    """Whether a row slides at the end against its motion at the start."""
    size = math.sqrt(dot(slip, slip))
    return size > MOVES and dot(slip, velocity) < -MOVES * size


@jit
def _centre_velocities(system: System, at: StageIterate, islands: Islands, out: Array) -> None:
    """Velocities of the centres of mass of the islands [m/s], shape (n, 3)."""
    tree, rate, mass = system.tree, matrix(4, 3), np.zeros(len(out))
    for b in range(len(tree.parents)):
        own = islands.of_bodies[b + 1]
        placement_rate(at.P[b + 1], at.twists[b + 1], rate)
        mass[own] += tree.moments[b, 3, 3]
        for i in range(4):
            for a in range(3):
                out[own, a] += tree.moments[b, 3, i] * rate[i, a]
    for own in range(len(out)):
        for a in range(3):
            out[own, a] /= mass[own]
