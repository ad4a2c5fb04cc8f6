"""Switches at the end of a stage: kinks at which the derivative of a step is that of one side."""

from __future__ import annotations

from nmdp_pin._kernels.impacts import MOVES, UNLOADED, Ends, ends_of
from nmdp_pin._kernels.implicit_function import Face
from nmdp_pin._kernels.jit import Array, jit
from nmdp_pin._kernels.joints import stop
from nmdp_pin._kernels.stage import Point, System
from nmdp_pin._kernels.step import Memory, Start
from nmdp_pin._kernels.touched_surface import is_swept
from nmdp_pin._kernels.vector3 import dot

# Kinds of switches, in the order of their names.
KINDS = ("touch", "weight", "sum", "impact", "rim")
TOUCH, WEIGHT, SUM, IMPACT, RIM = range(5)


@jit
def find_switches(
    system: System,
    memory: Memory,
    at: Point,
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
        for e in range(at.w.shape[1]):
            load += at.w[i, e]
        if load > UNLOADED and not contacts.rolls[i] and is_swept(table, contacts.index[i]):
            number = _add(switches, number, i, RIM, -1)
    for x in range(face.tight.size):
        for e in range(first[x], first[x + 1]):
            if face.kink[e]:
                number = _add(switches, number, at.active[x], WEIGHT, e - first[x])
    for x in range(face.tight.size):
        if face.kink_sum[x]:
            number = _add(switches, number, at.active[x], SUM, -1)
    return number


@jit
def find_landings(
    system: System, memory: Memory, start: Start, end: Point, repeated: bool, switches: Array
) -> int:
    """Contacts and joints whose impacts decide whether a step is repeated in first order.

    They touch at the end and approached at the start, or came to rest, or slide back; where the
    step is repeated, these are all that touch.

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
    n, number = contacts.n[0], 0
    ends = ends_of(system, memory.stage, end, memory.stage.rate)
    for i in range(n + joints.dofs.size):
        if i < n:
            touches = end.places.depth[i] > 0.0
            approaches = dot(end.places.normal[i], velocities[i]) < -MOVES
            rubs = not ends.unloaded[i]
        else:
            gap, side = stop(joints, i - n, end.q)
            touches = gap <= 0.0
            approaches = side * velocities[i, 0] < -MOVES
            rubs = joints.friction[i - n] != 0.0
        arrests = rubs and _is_arrested(end, ends, n, i, velocities[i])
        if (touches and (approaches or repeated)) or arrests:
            number = _add(switches, number, i, IMPACT, -1)
    return number


@jit
def _is_arrested(end: Point, ends: Ends, n: int, i: int, velocity: Array) -> bool:
    """Whether a row that slides at the start rests, or slides back, at the end."""
    along = 0.0 if i >= n else dot(end.places.normal[i], velocity)
    square, back = -along * along, 0.0
    for a in range(3):
        square += velocity[a] * velocity[a]
        back += ends.slip[i, a] * velocity[a]
    return square > MOVES * MOVES and (not ends.sliding[i] or back < 0.0)


@jit
def _add(switches: Array, number: int, row: int, kind: int, vertex: int) -> int:
    """Write one switch behind the others; returns the new number."""
    switches[number, 0], switches[number, 1], switches[number, 2] = row, kind, vertex
    return number + 1
