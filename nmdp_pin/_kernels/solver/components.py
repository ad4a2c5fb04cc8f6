"""Components of an affine inequality: groups of dofs, and blocks, that A and blocks connect."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nmdp_pin._kernels.compiler.jit import Array, jit
from nmdp_pin._kernels.solver.affine_vi import AffineVI
from nmdp_pin._kernels.solver.force_sets import ForceSets


class Component(NamedTuple):
    """One component.

    Args:
        groups: its groups, shape (t,).
        dofs: their dofs, shape (nv,).
        blocks: its blocks, shape (k,).
        coordinates: their coordinates, shape (n,).
        of_dofs: places of all dofs of the inequality in `dofs`, -1: none.
    """

    groups: Array
    dofs: Array
    blocks: Array
    coordinates: Array
    of_dofs: Array


@jit
def couple_groups(vi: AffineVI) -> None:
    """Write which groups A or a block couples; one group is coupled with itself."""
    first, near = vi.groups, vi.coupled
    t = len(near)
    if t == 1:
        return
    of_dofs = np.empty(vi.G.size, np.int64)
    for g in range(t):
        for l in range(first[g], first[g + 1]):
            of_dofs[l] = g
    for b in range(vi.n_dofs.size):
        for s in range(vi.n_dofs[b]):
            g = of_dofs[vi.dofs[b, s]]
            for c in range(vi.n_dofs[b]):
                near[g, of_dofs[vi.dofs[b, c]]] = True
    for g in range(t):
        for h in range(t):
            if not near[g, h]:
                near[g, h] = _has_entries(vi.A, first[g], first[g + 1], first[h], first[h + 1])
    for g in range(t):
        for h in range(g):
            near[g, h] = near[h, g] = near[g, h] or near[h, g]


@jit
def _has_entries(A: Array, begin: int, end: int, start: int, stop: int) -> bool:
    """Whether some rows and columns of A have an entry."""
    for l in range(begin, end):
        for c in range(start, stop):
            if A[l, c] != 0.0:
                return True
    return False


@jit
def number_components(near: Array, numbers: Array) -> int:
    """Number the components of coupled groups, by their first ones; how many there are."""
    t, count = len(near), 0
    waiting = np.empty(t, np.int64)
    for g in range(t):
        numbers[g] = -1
    for root in range(t):
        if numbers[root] >= 0:
            continue
        numbers[root], waiting[0], n = count, root, 1
        while n > 0:
            n -= 1
            g = waiting[n]
            for h in range(t):
                if near[g, h] and numbers[h] < 0:
                    numbers[h], waiting[n] = count, h
                    n += 1
        count += 1
    return count


@jit
def part_of(vi: AffineVI, numbers: Array, number: int) -> Component:
    """The component of a number, of groups that have these."""
    t, first, nv, k, n = 0, vi.groups, 0, 0, 0
    of_dofs = np.full(vi.G.size, -1)
    groups, dofs = np.empty(numbers.size, np.int64), np.empty(vi.G.size, np.int64)
    blocks = np.empty(vi.n_dofs.size, np.int64)
    coordinates = np.empty(vi.sets.first[-1], np.int64)
    for g in range(numbers.size):
        if numbers[g] != number:
            continue
        groups[t] = g
        t += 1
        for l in range(first[g], first[g + 1]):
            of_dofs[l], dofs[nv] = nv, l
            nv += 1
    for b in range(vi.n_dofs.size):
        if (of_dofs[vi.dofs[b, 0]] < 0) if vi.n_dofs[b] > 0 else number > 0:
            continue
        blocks[k] = b
        k += 1
        for e in range(vi.sets.first[b], vi.sets.first[b + 1]):
            coordinates[n] = e
            n += 1
    return Component(groups[:t], dofs[:nv], blocks[:k], coordinates[:n], of_dofs)


@jit
def take_component(vi: AffineVI, part: Component, f0: Array) -> tuple[AffineVI, Array]:
    """The inequality of a component, and the forces at which it is stated."""
    dofs, blocks, old = part.dofs, part.blocks, vi.sets
    nv, k, t = dofs.size, blocks.size, part.groups.size
    A, first, groups = np.empty((nv, nv)), np.zeros(k + 1, np.int64), np.zeros(t + 1, np.int64)
    own_dofs = np.zeros((k, vi.dofs.shape[1]), np.int64)
    for l in range(nv):
        for c in range(nv):
            A[l, c] = vi.A[dofs[l], dofs[c]]
    for x in range(k):
        b = blocks[x]
        first[x + 1] = first[x] + old.first[b + 1] - old.first[b]
        for s in range(vi.n_dofs[b]):
            own_dofs[x, s] = part.of_dofs[vi.dofs[b, s]]
    for x in range(t):
        g = part.groups[x]
        groups[x + 1] = groups[x] + vi.groups[g + 1] - vi.groups[g]
    sets = ForceSets(
        kind=old.kind[blocks],
        first=first,
        rho=old.rho[blocks],
        friction=old.friction[blocks],
        compliance=old.compliance[blocks],
        offset=old.offset[blocks],
        stops=old.stops[blocks],
        sides=old.sides,
        angle=old.angle,
        reach=old.reach,
    )
    coupled = np.empty((t, t), np.bool_)
    for x in range(t):
        for y in range(t):
            coupled[x, y] = vi.coupled[part.groups[x], part.groups[y]]
    own = AffineVI(
        sets=sets,
        J_force=vi.J_force[blocks],
        J_motion=vi.J_motion[blocks],
        of_depth=vi.of_depth[blocks],
        motion=vi.motion[blocks],
        depth=vi.depth[blocks],
        of_load=vi.of_load[blocks],
        dofs=own_dofs,
        n_dofs=vi.n_dofs[blocks],
        A=A,
        G=vi.G[dofs],
        proximal=np.zeros(1),
        held=np.zeros(part.coordinates.size),
        length=vi.length[blocks],
        enough=vi.enough[blocks],
        rough=vi.rough[part.coordinates],
        rounding=vi.rounding[blocks],
        groups=groups,
        coupled=coupled,
    )
    return own, f0[part.coordinates]
