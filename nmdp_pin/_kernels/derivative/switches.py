"""Switches at the end of a stage: kinks at which the derivative of a step is that of one side."""

from __future__ import annotations

from nmdp_pin._kernels.algebra.vector3 import dot
from nmdp_pin._kernels.compiler.jit import Array, jit
from nmdp_pin._kernels.derivative.weight_face import Face
from nmdp_pin._kernels.geometry.contacts import OVERLAP
from nmdp_pin._kernels.geometry.planes import place_contacts
from nmdp_pin._kernels.geometry.swept import is_swept
from nmdp_pin._kernels.step.impacts import MOVES, SUNK, UNLOADED, ends_of, slides_back
from nmdp_pin._kernels.step.stage_records import StageIterate, System, count_rows
from nmdp_pin._kernels.step.step_records import Memory, Start
from nmdp_pin._kernels.tree.joints import stop

# Kinds of switches, in the order of their names.
KINDS = ("touch", "weight", "sum", "impact", "rim", "plane")
TOUCH, WEIGHT, SUM, IMPACT, RIM, HELD_PLANE = range(6)


@jit
def find_switches(
    system: System,
    memory: Memory,
    at: StageIterate,
    first: Array,
    face: Face,
    known: float,
    switches: Array,
) -> int:
    """Switches at the end of a stage, and their number.

    Args:
        system: what all steps share.
        memory: memory in which the stage is stated.
        at: end of the stage.
        first: first weight of each active row, shape (k + 1,).
        face: kinks of the weights.
        known: distance up to which a contact is at the surface, and a joint at a stop [m, rad].
        switches: output: row, kind and vertex (-1: none) of each, shape (>= number, 3).
    """
    contacts, joints, table = memory.stage.contacts, system.joints, system.candidates
    n, number = contacts.n[0], 0
    for i in range(n):
        if abs(at.places.depth[i]) <= known:
            number = _add(switches, number, i, TOUCH, -1)
    for j in range(joints.dofs.size):
        x = joints.coordinates[j]
        if x >= 0 and abs(min(at.q[x] - joints.lower[j], joints.upper[j] - at.q[x])) <= known:
            number = _add(switches, number, n + j, TOUCH, -1)
    for i in range(n):
        load = 0.0
        if system.forces:
            load = at.w[i, 2] / system.tree.weight
        else:
            for e in range(at.w.shape[1]):
                load += at.w[i, e]
        c = contacts.index[i]
        if load > UNLOADED and not contacts.rolls[c] and is_swept(table, c):
            number = _add(switches, number, i, RIM, -1)
        if load > UNLOADED and table.contact_kinds[c] == OVERLAP:
            number = _add(switches, number, i, HELD_PLANE, -1)
    for x in range(face.tight.size):
        for e in range(first[x], first[x + 1]):
            if face.kink[e]:
                number = _add(switches, number, at.active[x], WEIGHT, e - first[x])
    for x in range(face.tight.size):
        if face.kink_sum[x]:
            number = _add(switches, number, at.active[x], WEIGHT if system.forces else SUM, -1)
    return number


@jit
def find_landings(
    system: System, memory: Memory, start: Start, end: StageIterate, repeated: bool, switches: Array
) -> int:
    """Contacts and joints whose impacts decide whether a step is repeated in first order.

    They approach at the start and land or sink further, or slide back at the end, contacts also
    where they come to rest; where the step is repeated, these are all that touch.

    Args:
        system: what all steps share.
        memory: memory of the step.
        start: start of the step.
        end: its end.
        repeated: whether the step is a repetition.
        switches: as in `find_switches`.

    Returns:
        The number of switches.
    """
    contacts, joints, velocities = memory.stage.contacts, system.joints, memory.velocities
    n, number, places = contacts.n[0], 0, memory.origin.places
    place_contacts(system.candidates, contacts, memory.origin.P, places)
    ends = ends_of(system, memory.stage, end, memory.stage.rate, memory.islands)
    for i in range(count_rows(system, memory.stage)):
        if i < n:
            before, after = places.depth[i], end.places.depth[i]
            stays = not (ends.sliding[i] or ends.unloaded[i])
            approaches = dot(end.places.normal[i], velocities[i]) < -MOVES
        else:
            gap, side = stop(joints, i - n, end.q)
            before, after, stays = -stop(joints, i - n, start.q)[0], -gap, False
            approaches = side * velocities[i, 0] < -MOVES
        lands = approaches and (before <= 0.0 or after - before > SUNK)
        ceases = stays and _slides(end, i, velocities[i])
        reverses = ends.sliding[i] and slides_back(ends.slip[i], velocities[i])
        if (after > 0.0 and (lands or repeated)) or ceases or reverses:
            number = _add(switches, number, i, IMPACT, -1)
    return number


@jit
def _slides(at: StageIterate, i: int, velocity: Array) -> bool:
    """Whether a contact with a velocity moves along its surface."""
    along = dot(at.places.normal[i], velocity)
    return dot(velocity, velocity) - along * along > MOVES * MOVES


@jit
def _add(switches: Array, number: int, row: int, kind: int, vertex: int) -> int:
    """Write one switch behind the others; returns the new number."""
    switches[number, 0], switches[number, 1], switches[number, 2] = row, kind, vertex
    return number + 1
