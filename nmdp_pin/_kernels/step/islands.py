"""Islands: the trees of joints that closed loops, or the contacts of a step, connect.

Nothing that one of them does is felt by another one, so that energies, impacts and repetitions are
judged for each alone.
"""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from nmdp_pin._kernels.algebra.linear import clear_vector
from nmdp_pin._kernels.algebra.vector3 import dot
from nmdp_pin._kernels.compiler.jit import Array, jit
from nmdp_pin._kernels.compiler.record import matrix, record, vector
from nmdp_pin._kernels.geometry.contacts import Contacts
from nmdp_pin._kernels.step.stage_records import StageIterate, System
from nmdp_pin._kernels.step.surface_motion import add_surface_motion
from nmdp_pin._kernels.tree.joints import Joints
from nmdp_pin._kernels.tree.loops import add_loop_energies
from nmdp_pin._kernels.tree.springs import Springs, add_spring_energies
from nmdp_pin._kernels.tree.tree import Tree, body_energies


@record
class Islands:
    """Islands of n bodies, of which there are n at most, and their energies [J].

    Args:
        count: their number, shape (1,).
        of_bodies: island of each body, after that of the world, -1, shape (n + 1,).
        of_dofs: island of each dof, shape (nv,).
        weight: weights [N], shape (n,).
        kinetic0: kinetic energy at the start, shape (n,).
        potential0: potential energy at the start, shape (n,).
        springs0: of that, what springs store, shape (n,).
        elastic0: what contacts and stops can give back at the start, shape (n,).
        kinetic: kinetic energy at the end of the present stage, shape (n,).
        potential: potential energy there, shape (n,).
        springs: of that, what springs store, shape (n,).
        elastic: what contacts and stops can give back there, shape (n,).
        given: work of the torques in the earlier stages, shape (n,).
        work: work of the torques in the step, shape (n,).
        gain: energy gained beyond it and what was given back, shape (n,).
        outcome: outcome of a step of second order, shape (n,).
        doubtful: whether a step of first order has to confirm one of its rows, shape (n,).
        kept: whether the step of second order is kept, shape (n,).
    """

    count: Array
    of_bodies: Array
    of_dofs: Array
    weight: Array
    kinetic0: Array
    potential0: Array
    springs0: Array
    elastic0: Array
    kinetic: Array
    potential: Array
    springs: Array
    elastic: Array
    given: Array
    work: Array
    gain: Array
    outcome: Array
    doubtful: Array
    kept: Array


def new_islands(n: int, nv: int) -> Islands:
    """Memory for the islands of n bodies with nv dofs."""
    sizes = {"count": 1, "of_bodies": n + 1, "of_dofs": nv}
    flags = {"doubtful", "kept"}
    kinds: dict[str, type] = {"count": np.int64, "of_bodies": np.int64, "of_dofs": np.int64}
    kinds |= {"outcome": np.int64} | dict.fromkeys(flags, np.bool_)
    names = [field.name for field in fields(Islands)]
    return Islands(**{x: np.zeros(sizes.get(x, n), kinds.get(x, float)) for x in names})


@jit
def find_islands(tree: Tree, contacts: Contacts, joints: Joints, islands: Islands) -> None:
    """Number the islands, and weigh them."""
    n, of, count = len(tree.parents), islands.of_bodies, 0
    numbers, mass = np.empty(n, np.int64), 0.0
    of[0] = -1
    for b in range(n):  # by the root of its tree, and below by the least one
        of[b + 1] = of[tree.parents[b] + 1] if tree.parents[b] >= 0 else b
    _join(of, contacts.bodies, contacts.n[0])
    _join(of, joints.loops.bodies, joints.loops.kinds.size)
    _join_by_springs(tree, joints.springs, islands)
    for b in range(n):
        islands.weight[b] = 0.0
        if of[b + 1] == b:  # the number of a root is smaller than those of its island
            numbers[b] = count
            count += 1
    for b in range(n):
        of[b + 1] = numbers[of[b + 1]]
        islands.weight[of[b + 1]] += tree.moments[b, 3, 3]
        mass += tree.moments[b, 3, 3]
        for l in range(tree.first_dofs[b], tree.first_dofs[b + 1]):
            islands.of_dofs[l] = of[b + 1]
    for k in range(count):  # their shares of the weight of all
        islands.weight[k] *= tree.weight / mass if mass > 0.0 else 0.0
    islands.count[0] = count


@jit
def _join_by_springs(tree: Tree, springs: Springs, islands: Islands) -> None:
    """Give the islands of dofs that one spring is along one number."""
    pair = np.empty((1, 2), np.int64)
    for b in range(len(tree.parents)):
        for l in range(tree.first_dofs[b], tree.first_dofs[b + 1]):
            islands.of_dofs[l] = b + 1
    for s in range(springs.stiffness.size):
        begin = springs.first[s]
        for x in range(begin + 1, springs.first[s + 1]):
            pair[0, 0] = islands.of_dofs[springs.dofs[begin]]
            pair[0, 1] = islands.of_dofs[springs.dofs[x]]
            _join(islands.of_bodies, pair, 1)


@jit
def _join(of: Array, bodies: Array, n: int) -> None:
    """Give the islands of the bodies of n pairs one number, the least one."""
    for i in range(n):
        a, b = of[bodies[i, 0]], of[bodies[i, 1]]
        if a >= 0 and b >= 0 and a != b:
            low, high = min(a, b), max(a, b)
            for c in range(1, of.size):
                if of[c] == high:
                    of[c] = low


@jit
def island_of_row(system: System, contacts: Contacts, islands: Islands, i: int) -> int:
    """The island of a row: of a contact, or after them of a joint or a loop."""
    n = contacts.n[0]
    if i >= n:
        number: int = islands.of_dofs[system.joints.dofs[i - n]]
        return number
    a, b = contacts.bodies[i, 0], contacts.bodies[i, 1]
    number = islands.of_bodies[a if a > 0 else b]
    return number


@jit
def write_energies(
    system: System,
    at: StageIterate,
    islands: Islands,
    kinetic: Array,
    potential: Array,
    springs: Array,
) -> None:
    """Energies of the islands at a point, potential ones with those of springs, shapes (n,)."""
    tree, rate = system.tree, matrix(4, 3)
    clear_vector(springs)
    add_spring_energies(system.joints.springs, at.q, islands.of_dofs, springs)
    add_loop_energies(system.joints.loops, at.P, at.q, islands.of_dofs, springs)
    clear_vector(kinetic)
    clear_vector(potential)
    for l in range(at.v.size):
        kinetic[islands.of_dofs[l]] += 0.5 * tree.rotors[l] * at.v[l] * at.v[l]
    for b in range(len(tree.parents)):
        moves, stored = body_energies(tree, at.P, at.twists, b, rate)
        kinetic[islands.of_bodies[b + 1]] += moves
        potential[islands.of_bodies[b + 1]] += stored
    for k in range(islands.count[0]):
        potential[k] += springs[k]


@jit
def add_work(
    system: System,
    contacts: Contacts,
    at: StageIterate,
    duration: float,
    islands: Islands,
    work: Array,
) -> None:
    """Add the work of the joint torques and of moving surfaces at a point over a time, (n,)."""
    for l in range(at.v.size):
        work[islands.of_dofs[l]] += duration * at.tau[l] * at.v[l]
    moved = vector(3)
    for x in range(at.n_active[1] if len(system.surfaces) > 0 else 0):
        i = at.active[x]
        clear_vector(moved)
        add_surface_motion(system.surfaces, contacts, at.places, i, duration, moved)
        work[island_of_row(system, contacts, islands, i)] += dot(at.wrench[i], moved)
