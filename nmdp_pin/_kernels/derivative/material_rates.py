"""Derivatives of the inertia of material points in the stages of a step by the start of the step.

The placements that the bodies would reach without forces, or their rates, follow from placements of
the bodies at two configurations at most (`kernels.step.state_stage`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nmdp_pin._kernels.algebra.linear import add_product, clear_matrix, copy_matrix
from nmdp_pin._kernels.algebra.manifold import integrate_derivatives
from nmdp_pin._kernels.compiler.jit import Array, jit
from nmdp_pin._kernels.step.inertia import add_placement_forces, add_rate_forces
from nmdp_pin._kernels.step.stage_records import Stage, StageIterate, System
from nmdp_pin._kernels.step.step_records import Memory, Start


class Parts(NamedTuple):
    """The configurations from which the target of a stage follows, and how they move with z.

    Args:
        P: placements of the bodies, shape (2, n, 4, 3).
        S: motions of the dofs, shape (2, nv, 6).
        twists: motions of the bodies, that of the world first, shape (2, n + 1, 6).
        of_q: derivatives of the configurations by z, times the shares of their placements or rates
            in the target, shape (2, nv, nz).
        of_v: likewise, of the velocities whose rates they are, shape (2, nv, nz).
    """

    P: Array
    S: Array
    twists: Array
    of_q: Array
    of_v: Array


@jit
def new_parts(system: System, nz: int) -> Parts:
    """Memory for the parts; none where inertia is not that of material points."""
    n, nv = len(system.tree.parents), len(system.tree.rotors)
    return Parts(
        np.empty((2, n, 4, 3)),
        np.empty((2, nv, 6)),
        np.empty((2, n + 1, 6)),
        np.zeros((2, nv, nz)),
        np.empty((2, nv, nz)),
    )


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
        write_rates(origin, 1.0, of_q, of_v, parts, 0)
        return True
    back, by_q, by_d = np.empty(nv), np.empty((nv, nv)), np.empty((nv, nv))
    for l in range(nv):
        back[l] = -start.v[l] / stage.rate
    if not integrate_derivatives(system.tree.space, back, by_q, by_d):
        return False
    _write_place(origin, parts, 0)
    _write_place(memory.scratch, parts, 1)
    for k in range(nv):
        for z in range(of_q.shape[1]):
            parts.of_q[0, k, z] = 2.0 * of_q[k, z]
        for l in range(nv):
            by_q[k, l] *= -1.0
            by_d[k, l] /= stage.rate
    add_product(by_q, of_q, parts.of_q[1])
    add_product(by_d, of_v, parts.of_q[1])
    return True


@jit
def write_rates(
    at: StageIterate, share: float, of_q: Array, of_v: Array, parts: Parts, number: int
) -> None:
    """Write a part: the share of an end in the rates of the placements.

    Args:
        at: the end.
        share: share of its rates.
        of_q: derivative of its configuration by z, shape (nv, nz).
        of_v: derivative of its velocity by z, shape (nv, nz).
        parts: output; the parts before are multiplied by what the share leaves.
        number: index of the part.
    """
    _write_place(at, parts, number)
    for k in range(of_q.shape[0]):
        for z in range(of_q.shape[1]):
            for i in range(number):
                parts.of_q[i, k, z] *= 1.0 - share
                parts.of_v[i, k, z] *= 1.0 - share
            parts.of_q[number, k, z] = share * of_q[k, z]
            parts.of_v[number, k, z] = share * of_v[k, z]


@jit
def _write_place(at: StageIterate, parts: Parts, number: int) -> None:
    """Copy the placements and motions of a point into a part."""
    for b in range(parts.P.shape[1]):
        copy_matrix(at.P[b + 1], parts.P[number, b])
    copy_matrix(at.S, parts.S[number])
    copy_matrix(at.twists, parts.twists[number])


@jit
def add_inertia_rates(
    system: System,
    stage: Stage,
    at: StageIterate,
    parts: Parts,
    i: int,
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
        i: index of the stage.
        of_v: derivative of the reference velocity, shape (nv, nz).
        v_z: derivative of the velocity at the end, shape (nv, nz).
        G_z: shape (nv, nz).
    """
    tree, nv, rate = system.tree, at.v.size, stage.rate
    scale = rate * rate if stage.displaced else rate
    turned, by_v = np.empty((nv, nv)), np.empty((nv, nv))
    for part in range(2 if stage.displaced else i + 1):
        P, S, placements = parts.P[part], parts.S[part], at.P[1:]
        clear_matrix(turned)
        if stage.displaced:
            add_placement_forces(placements, at.S, tree, P, S, scale, turned)
            add_product(turned, parts.of_q[part], G_z)
        else:
            clear_matrix(by_v)
            twists = parts.twists[part]
            add_rate_forces(placements, at.S, tree, P, S, twists, scale, turned, by_v)
            add_product(turned, parts.of_q[part], G_z)
            add_product(by_v, parts.of_v[part], G_z)
    if not stage.displaced:
        for k in range(nv):
            for l in range(nv):
                turned[k, l] = rate * system.dynamics.M[k, l]
        add_product(turned, v_z, G_z)
    for k in range(nv):
        for z in range(v_z.shape[1]):
            moved = v_z[k, z] - of_v[k, z] if stage.displaced else -of_v[k, z]
            G_z[k, z] += rate * tree.rotors[k] * moved
