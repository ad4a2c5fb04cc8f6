"""Derivatives of the inertia of material points in the stages of a step by the start of the step.

The placements that the bodies would reach without forces, or their rates, follow from placements of
the bodies at a few configurations (`kernels.step.state_stage`): each part is the derivative of such
placements by the dofs, times those of the dofs by z (see `step_derivatives`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nmdp_pin._kernels.inertia import placements_derivative, rates_derivative, reference_derivative
from nmdp_pin._kernels.jit import Array, jit
from nmdp_pin._kernels.linear import add_product
from nmdp_pin._kernels.manifold import integrate_derivatives
from nmdp_pin._kernels.stage import Point, Stage, System
from nmdp_pin._kernels.step import Memory, Start


class Parts(NamedTuple):
    """Parts of the derivative of the target of a stage, two for each end that it follows from.

    Args:
        change: derivatives of placements or of their rates, by the dofs, (4, nv, n, 4, 3).
        by_z: those of the dofs, shape (4, nv, nz).
    """

    change: Array
    by_z: Array


@jit
def new_parts(system: System, nz: int) -> Parts:
    """Memory for the parts; none where inertia is not that of material points."""
    n, nv = len(system.tree.parents), len(system.tree.rotors)
    return Parts(np.empty((4, nv, n, 4, 3)), np.empty((4, nv, nz)))


@jit
def open_parts(
    system: System,
    stage: Stage,
    start: Start,
    memory: Memory,
    of_q: Array,
    of_v: Array,
    parts: Parts,
) -> bool:
    """Write the parts of the first stage; False where a derivative is singular.

    In first order the targets are 2 P(q0) - P(q0 - v0 / rate), in second the rates at the start.

    Args:
        system: what all steps share.
        stage: equations of the stage.
        start: start of the step.
        memory: memory of the step, in which the stage is stated.
        of_q: derivative of q0 by z, shape (nv, nz).
        of_v: derivative of v0 by z, shape (nv, nz).
        parts: output.
    """
    origin, nv = memory.origin, of_q.shape[0]
    if not stage.displaced:
        write_rates(system, origin, 1.0, of_q, of_v, parts, 0)
        return True
    back, by_q, by_d = np.empty(nv), np.empty((nv, nv)), np.empty((nv, nv))
    for l in range(nv):
        back[l] = -start.v[l] / stage.rate
    if not integrate_derivatives(system.tree.space, back, by_q, by_d):
        return False
    _write_placements(system, origin, parts.change[0])
    _write_placements(system, memory.scratch, parts.change[1])
    for k in range(nv):
        for z in range(of_q.shape[1]):
            parts.by_z[0, k, z], parts.by_z[1, k, z] = 2.0 * of_q[k, z], 0.0
        for l in range(nv):
            for z in range(of_q.shape[1]):
                moved = by_d[k, l] * of_v[l, z] / stage.rate - by_q[k, l] * of_q[l, z]
                parts.by_z[1, k, z] += moved
    return True


@jit
def write_rates(
    system: System, at: Point, share: float, of_q: Array, of_v: Array, parts: Parts, first: int
) -> None:
    """Write two parts: the share of an end in the rates of the placements.

    Args:
        system: what all steps share.
        at: the end.
        share: share of its rates.
        of_q: derivative of its configuration by z, shape (nv, nz).
        of_v: derivative of its velocity by z, shape (nv, nz).
        parts: output; the others are multiplied by what the share leaves.
        first: index of the first part, behind the others.
    """
    for i in range(first):
        for k in range(of_q.shape[0]):
            for z in range(of_q.shape[1]):
                parts.by_z[i, k, z] *= 1.0 - share
    rates_derivative(at.P[1:], system.tree, at.S, at.v, parts.change[first])
    _write_placements(system, at, parts.change[first + 1])
    for k in range(of_q.shape[0]):
        for z in range(of_q.shape[1]):
            parts.by_z[first, k, z] = share * of_q[k, z]
            parts.by_z[first + 1, k, z] = share * of_v[k, z]


@jit
def _write_placements(system: System, at: Point, change: Array) -> None:
    """Write the derivatives of the placements at a point by the dofs."""
    placements_derivative(at.P, at.S, system.tree.moves, change)


@jit
def add_inertia_rates(
    system: System,
    stage: Stage,
    at: Point,
    parts: Parts,
    number: int,
    of_v: Array,
    v_z: Array,
    G_z: Array,
) -> None:
    """Add the derivative of the inertia by z, the end of the stage held, to G_z.

    Args:
        system: what all steps share.
        stage: equations of the stage.
        at: end of the stage, the last point that was evaluated.
        parts: parts of the derivative of the target.
        number: number of the parts.
        of_v: derivative of the reference velocity, shape (nv, nz).
        v_z: derivative of the velocity at the end, shape (nv, nz).
        G_z: shape (nv, nz).
    """
    tree, nv, rate = system.tree, at.v.size, stage.rate
    scale = rate * rate if stage.displaced else rate
    force, turned = np.empty((nv, nv)), np.empty((nv, nv))
    for i in range(number):
        reference_derivative(at.P[1:], tree, at.S, parts.change[i], force)
        for k in range(nv):
            for l in range(nv):
                turned[k, l] = scale * force[l, k]
        add_product(turned, parts.by_z[i], G_z)
    if not stage.displaced:
        for k in range(nv):
            for l in range(nv):
                turned[k, l] = rate * system.dynamics.M[k, l]
        add_product(turned, v_z, G_z)
    for k in range(nv):
        for z in range(v_z.shape[1]):
            moved = v_z[k, z] - of_v[k, z] if stage.displaced else -of_v[k, z]
            G_z[k, z] += rate * tree.rotors[k] * moved
