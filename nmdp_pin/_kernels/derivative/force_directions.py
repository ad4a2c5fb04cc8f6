"""Directions in which the forces of a stage can change with its parameters, and conditions on them.

On a piece of the natural map the force of a contact moves along a manifold: in all directions where
the contact sticks, along the generator and around the cone where it slides, around the cone at the
bound of a force. Each direction has a condition that stays zero: no motion along it, F . e, or at
the bound, in compliance form, d*(f_n) - d with k d*^p = f_n. What the cone's side turns by adds a
curvature: F is along it, so that F . e changes with e.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from nmdp_pin._kernels.compiler.jit import Array, jit
from nmdp_pin._kernels.compiler.record import matrix, vector, zero_vector
from nmdp_pin._kernels.contact.friction_cone import depth_of_force
from nmdp_pin._kernels.solver.force_sets import (
    APEX,
    BOUND,
    INSIDE,
    POLYHEDRON,
    RIM,
    ROUND,
    SECTORS,
    ForceSets,
    new_sets,
    project,
    side_of,
)
from nmdp_pin._kernels.step.stage import Stage, StageIterate, StageJacobians, System
from nmdp_pin._kernels.tree.joints import interval

_ROUNDING = 1e-9  # share of a force by which it may be at the border of its set


class ForceDirections(NamedTuple):
    """Directions of k active rows, up to three each.

    Args:
        number: how many each has, shape (k,).
        E: directions in the frames of the rows, shape (k, 3, 3), a row each.
        bound: whether the condition of the first one is that of the bound, shape (k,).
        curvature: what the conditions change by along their own directions [m/N], shape (k, 3).
        compliance: of the bound [m/N, rad/(N m)], shape (k,).
        tied: whether friction grows with the normal force, shape (k,).
        near: whether another piece is near, shape (k,).
    """

    number: Array
    E: Array
    bound: Array
    curvature: Array
    compliance: Array
    tied: Array
    near: Array


@jit
def directions_of(
    system: System, stage: Stage, at: StageIterate, linear: StageJacobians, known: float
) -> ForceDirections:
    """Directions and conditions of the active rows at the end of a stage.

    Args:
        system: what all steps share.
        stage: equations of the stage.
        at: its end.
        linear: with the stiffnesses of the rows.
        known: smallest motion that the end resolves [m, rad].
    """
    k, n = at.n_active[0], stage.contacts.n[0]
    result = ForceDirections(
        np.zeros(k, np.int64),
        np.zeros((k, 3, 3)),
        np.zeros(k, np.bool_),
        np.zeros((k, 3)),
        np.zeros(k),
        np.zeros(k, np.bool_),
        np.zeros(k, np.bool_),
    )
    sets = new_sets(1, system.cone.sides, system.cone.angle, system.cone.reach)
    for x in range(k):
        row = at.active[x]
        if row < n:
            _write_contact(system, at, row, x, linear.rho[row], known, sets, result)
        else:
            _write_joint(system, at, row, x, row - n, linear.rho[row], known, result)
    return result


@jit
def _write_contact(
    system: System,
    at: StageIterate,
    row: int,
    x: int,
    rho: float,
    known: float,
    sets: ForceSets,
    out: ForceDirections,
) -> None:
    """Directions of a contact, on the piece of the natural map where it is."""
    cone, depth, mu = system.cone, at.places.depth[row], at.places.friction[row]
    f, F, Phi, z = vector(3), vector(3), zero_vector(3), vector(3)
    X, Y = matrix(3, 3), matrix(3, 3)
    for e in range(3):
        f[e], F[e] = at.w[row, e], at.work[row, e]
    load = f[2]
    from_force = depth_of_force(cone, load)
    sets.first[1], sets.rho[0], sets.friction[0] = 3, rho if rho > 0.0 else 1.0, mu
    sets.kind[0] = POLYHEDRON if cone.sides > 0 else ROUND
    # the tangent of the bound at the depth of the force, where it is the bound itself
    sets.offset[0], sets.compliance[0] = from_force, 0.0
    piece = project(sets, 0, f, F, depth, Phi, X, Y, z)
    kind = piece % SECTORS
    across = math.sqrt(f[0] * f[0] + f[1] * f[1])
    slide, along = math.sqrt(F[0] * F[0] + F[1] * F[1]), 0.0
    if across > 0.0:
        along = (F[0] * f[0] + F[1] * f[1]) / across
    off_bound = depth - from_force > _ROUNDING * depth or load <= 0.0
    off_side = mu * load - across > _ROUNDING * load
    if kind == APEX:
        out.near[x] = depth > -known and F[2] - mu * slide <= known
        return
    at_bound = kind == BOUND or kind == RIM
    out.bound[x] = at_bound
    if at_bound and cone.stiffness < math.inf:
        out.compliance[x] = from_force / (cone.power * load) if load > 0.0 else 0.0
    if at_bound:
        pressed = -F[2]
        if kind == RIM:
            pressed -= mu * along
        out.near[x] = pressed <= known or (kind == RIM and slide <= known)
        out.near[x] |= kind == BOUND and not off_side
    elif kind == INSIDE:
        out.near[x] = not off_side or not off_bound
    else:
        out.near[x] = slide <= known or not off_bound
    E = out.E[x]
    E[0, 2] = 1.0  # with the normal force
    if kind == INSIDE or kind == BOUND:
        out.number[x], E[1, 0], E[2, 1] = 3, 1.0, 1.0
        return
    out.tied[x] = True
    E[0, 0], E[0, 1] = f[0] / load, f[1] / load
    part = piece // SECTORS
    if cone.sides > 0 and part % 2 == 0:  # an edge
        out.number[x] = 1
        return
    out.number[x] = 2
    if cone.sides > 0:
        E[1, 0], E[1, 1] = side_of(sets, (part - 1) // 2)
        middle = E[1, 0] * f[0] + E[1, 1] * f[1]
        E[0, 0], E[0, 1] = E[0, 0] - middle / load * E[1, 0], E[0, 1] - middle / load * E[1, 1]
        return
    if across == 0.0:
        out.number[x] = 1
        return
    E[1, 0], E[1, 1] = -f[1] / across, f[0] / across
    out.curvature[x, 1] = -along / across


@jit
def _write_joint(
    system: System,
    at: StageIterate,
    row: int,
    x: int,
    j: int,
    rho: float,
    known: float,
    out: ForceDirections,
) -> None:
    """Direction of the force of a joint, inside its interval or at a stop."""
    least, width, d_least, d_width = interval(system.joints, j, at.q)
    f, u, k = at.w[row, 0], at.work[row, 0], system.joints.stiffness[j]
    out.E[x, 0, 0] = 1.0
    if width == 0.0:
        return
    aim = f - (rho if rho > 0.0 else 1.0) * u
    lower, upper = f - least <= _ROUNDING * width, least + width - f <= _ROUNDING * width
    if aim >= least + width - _ROUNDING * width or aim <= least + _ROUNDING * width:
        out.near[x] = abs(u) <= known
        widens = d_least + d_width if aim > f or upper else d_least
        if widens != 0.0 and k > 0.0:
            out.number[x], out.bound[x], out.compliance[x] = 1, True, 1.0 / k
        return
    out.number[x] = 1
    out.near[x] = lower or upper


@jit
def count_directions(directions: ForceDirections) -> int:
    """Number of all directions."""
    total = 0
    for x in range(directions.number.size):
        total += directions.number[x]
    return total


@jit
def embed(
    stage: Stage, at: StageIterate, other: StageIterate, mu: Array, directions: ForceDirections
) -> None:
    """Write forces of another system at the same normal forces and directions of friction.

    Args:
        stage: equations of the stage.
        at: end of the stage.
        other: the same of the other system, evaluated; its forces are written.
        mu: friction coefficients at the end of the stage, shape (n,).
        directions: as of `directions_of`.
    """
    for x in range(directions.number.size):
        row = at.active[x]
        if row < stage.contacts.n[0] and directions.tied[x] and mu[row] > 0.0:
            share = other.places.friction[row] / mu[row]
            for e in range(2):
                other.w[row, e] = share * at.w[row, e]


@jit
def force_conditions(
    system: System,
    stage: Stage,
    other: StageIterate,
    at: StageIterate,
    mu: Array,
    directions: ForceDirections,
) -> Array:
    """Values of the conditions of another system, shape (nw,); see `embed`."""
    n, r = stage.contacts.n[0], np.zeros(count_directions(directions))
    c = 0
    for x in range(directions.number.size):
        row = at.active[x]
        for j in range(directions.number[x]):
            bound = j == 0 and directions.bound[x]
            if bound and row < n:
                load = other.w[row, 2]
                r[c] = depth_of_force(system.cone, load) - other.places.depth[row]
            elif not bound:
                for e in range(3 if row < n else 1):
                    share = 1.0
                    if row < n and e < 2 and j == 0 and directions.tied[x] and mu[row] > 0.0:
                        share = other.places.friction[row] / mu[row]
                    r[c] += share * directions.E[x, j, e] * other.work[row, e]
            c += 1
    return r
