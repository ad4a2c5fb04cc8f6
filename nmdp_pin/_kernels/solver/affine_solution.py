"""Solutions of affine variational inequalities.

Blocks that share no dofs, and no group that A couples, are solved alone, one component after
another: what is hard in one of them does not delay the others, and costs no other its solution.

A search begins with the forces given. Where motions along redundant forces contradict each other as
long as they all stick, as of the four corners of a box that tilts, forces would go far until one of
them slips, and Newton's method changes pieces without an end. There forces are held back, by a term
that decreases as its centre follows them (the proximal point method, Rockafellar 1976): what it
leaves in the end is less than what matters.
"""

from __future__ import annotations

import numpy as np

from nmdp_pin._kernels.algebra.block_lu import (
    copy_coupled,
    factor_coupled,
    order_of,
    solve_coupled,
)
from nmdp_pin._kernels.algebra.linear import all_finite, clear_vector, copy_vector
from nmdp_pin._kernels.compiler.jit import Array, jit
from nmdp_pin._kernels.compiler.record import vector
from nmdp_pin._kernels.solver.affine_vi import AffineVI, natural_map, unbalanced
from nmdp_pin._kernels.solver.components import (
    number_components,
    part_of,
    take_component,
)
from nmdp_pin._kernels.solver.map_newton import Room, new_room, search

SOLVED, HELD_BACK, UNSOLVED = range(3)  # outcomes, the better first
BRIEF, THOROUGH, ANEW = range(3)  # efforts
_REDUNDANT = 1e-8  # share of a force by which one that changes no motion stays as it is
_FAR = 1e-3  # the same, where they would go far
_FROM_GIVEN, _FROM_NONE, _FROM_HELD = 8, 20, 20  # most iterations
_DECREASING = (1e-3, 1e-3, 1e-3, 1e-3, 1e-4, 1e-4, 1e-5, 1e-5)  # terms that hold forces back
_LARGEST = (1e-2, 1.0)  # those of what is not solved with them


@jit
def solve_affine_vi(vi: AffineVI, f0: Array, f: Array, dq: Array, effort: int) -> int:
    """Solve an affine variational inequality, component by component.

    The derivative of F by the forces need not be symmetric. Where A is positive definite almost all
    problems are solved. Where it is not, as beside forces that a limb gives way to, there may be
    many solutions or none.

    Args:
        vi: the inequality.
        f0: forces at which it is stated, shape (n,).
        f: forces to begin with; output, the solution, shape (n,).
        dq: motion to begin with, that of these forces; output, that of the solution, shape (nv,).
        effort: BRIEF: end where not even the first term helps; THOROUGH: go on, from no forces;
            ANEW: begin without forces, since those given have led nowhere before.

    Returns:
        SOLVED; HELD_BACK where forces are a solution of the inequality with a term that holds them;
        UNSOLVED where the map does not become small, where equations are singular, or where a
        number is not finite. The forces are then the last ones that were tried.
    """
    numbers = np.zeros(len(vi.coupled), np.int64)
    count = number_components(vi.coupled, numbers)
    if count <= 1:
        return _solve_component(vi, f0, f, dq, effort)
    worst = SOLVED
    for number in range(count):
        part = part_of(vi, numbers, number)
        if part.blocks.size == 0:
            continue  # it moves freely, as it was given
        own, at = take_component(vi, part, f0)
        g, dx = np.empty(at.size), np.empty(part.dofs.size)
        for e in range(g.size):
            g[e] = f[part.coordinates[e]]
        for l in range(dx.size):
            dx[l] = dq[part.dofs[l]]
        outcome = _solve_component(own, at, g, dx, effort)
        for e in range(g.size):
            f[part.coordinates[e]] = g[e]
        for l in range(dx.size):
            dq[part.dofs[l]] = dx[l]
        worst = max(worst, outcome)
    return worst


@jit
def _solve_component(vi: AffineVI, f0: Array, f: Array, dq: Array, effort: int) -> int:
    """As `solve_affine_vi`, of one component."""
    room = new_room(vi, order_of(vi.groups, vi.coupled))
    given, moved, held = vector(f.size), vector(dq.size), vector(f.size)
    copy_vector(f, given)
    copy_vector(dq, moved)
    vi.proximal[0] = 0.0
    if effort == ANEW:
        if _search_from_none(vi, f0, f, dq, _REDUNDANT, room):
            return SOLVED
    elif search(vi, f0, f, dq, _REDUNDANT, _FROM_GIVEN, False, False, room):
        return SOLVED
    outcome = _approach(vi, f0, given, moved, f, dq, room)
    if outcome == SOLVED or (outcome == UNSOLVED and effort == BRIEF):
        return outcome
    copy_vector(f, held)
    if effort != ANEW and _search_from_none(vi, f0, f, dq, _REDUNDANT, room):
        return SOLVED
    if _search_from_none(vi, f0, f, dq, _FAR, room):
        return SOLVED
    if outcome == HELD_BACK:
        copy_vector(held, f)
        return HELD_BACK if _move(vi, f0, f, dq, room) else UNSOLVED
    copy_vector(given, vi.held)
    for term in _LARGEST:
        vi.proximal[0] = term
        copy_vector(given, f)
        copy_vector(moved, dq)
        if search(vi, f0, f, dq, _REDUNDANT, _FROM_HELD, False, True, room):
            return HELD_BACK
    return UNSOLVED


@jit
def _approach(
    vi: AffineVI, f0: Array, given: Array, moved: Array, f: Array, dq: Array, room: Room
) -> int:
    """The proximal point method from given forces and their motion, with terms that decrease."""
    copy_vector(given, f)
    copy_vector(moved, dq)
    outcome, last, motion = UNSOLVED, vector(f.size), vector(dq.size)
    for term in _DECREASING:
        vi.proximal[0] = term
        copy_vector(f, vi.held)
        copy_vector(f, last)
        copy_vector(dq, motion)
        if not search(vi, f0, f, dq, _REDUNDANT, _FROM_HELD, True, True, room):
            copy_vector(last, f)
            copy_vector(motion, dq)
            return outcome
        outcome, vi.proximal[0] = HELD_BACK, 0.0
        if natural_map(vi, f0, f, dq, True, room.here)[1]:
            return SOLVED
    return outcome


@jit
def _search_from_none(
    vi: AffineVI, f0: Array, f: Array, dq: Array, kept: float, room: Room
) -> bool:
    """Newton's method from no forces and the motion that is without them; see `search`."""
    vi.proximal[0] = 0.0
    clear_vector(f)
    return _move(vi, f0, f, dq, room) and search(vi, f0, f, dq, kept, _FROM_NONE, False, True, room)


@jit
def _move(vi: AffineVI, f0: Array, f: Array, dq: Array, room: Room) -> bool:
    """Write the motion of forces; False where there is none."""
    copy_vector(f, room.f)
    if not _write_motion(vi, f0, room):
        return False
    copy_vector(room.right[:, 0], dq)
    return True


@jit
def _write_motion(vi: AffineVI, f0: Array, room: Room) -> bool:
    """Write the motion of the forces of the memory into its right side."""
    clear_vector(room.dq)
    unbalanced(vi, f0, room.f, room.dq, room.blocks, room.right)
    copy_coupled(vi.A, room.blocks, room.LU)
    if not factor_coupled(room.LU, room.blocks, room.pivots):
        return False
    solve_coupled(room.LU, room.blocks, room.pivots, room.right)
    return all_finite(room.right[:, 0])
