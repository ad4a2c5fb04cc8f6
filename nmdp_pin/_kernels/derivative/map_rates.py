"""Derivatives of the natural map of the forces of a stage, which stays zero at its ends.

The map and its derivatives by forces, motions and depths are those of `force_sets`, on the piece
where a stage ends, but for the bounds of contacts, whose rows are rho (d*(f_n) - d) with
k d*^p = f_n. With them the implicit function theorem needs no more of a set than its projection.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from nmdp_pin._kernels.algebra.linear import clear_matrix, copy_matrix, copy_vector
from nmdp_pin._kernels.compiler.jit import Array, jit
from nmdp_pin._kernels.contact.friction_cone import depth_of_force
from nmdp_pin._kernels.derivative.smoothed_sets import smooth, smooth_disc
from nmdp_pin._kernels.derivative.stage_rates import StageRates
from nmdp_pin._kernels.solver.force_sets import (
    APEX,
    BOUND,
    BOUND_RIM,
    INSIDE,
    INTERVAL,
    POLYHEDRAL_CONE,
    ROUND_CONE,
    SECTORS,
    ForceSets,
    map_block,
    new_sets,
)
from nmdp_pin._kernels.solver.map_derivatives import derive_block, interval_derivatives
from nmdp_pin._kernels.step.stage_records import Stage, StageIterate, StageJacobians, System
from nmdp_pin._kernels.tree.joints import interval

_FAR = 1e9  # [rad, m] of a joint without a stop on one side
_ROUNDING = 1e-9  # share of a force by which it may be at the border of its set


class MapRates(NamedTuple):
    """Natural map of k rows with three coordinates at most, its derivatives, and its pieces.

    Args:
        Phi: the map, shape (k, 3).
        X: derivatives by forces, shape (k, 3, 3).
        Y: derivatives by motions, shape (k, 3, 3).
        z: derivatives by depths, shape (k, 3).
        near: whether the end of the stage is at the border of a piece, shape (k,).
    """

    Phi: Array
    X: Array
    Y: Array
    z: Array
    near: Array


@jit
def map_rates(
    system: System,
    stage: Stage,
    at: StageIterate,
    linear: StageJacobians,
    rates: StageRates,
    scales: Array,
    known: float,
    smoothing: float,
) -> MapRates:
    """The natural map of the active rows at the end of a stage.

    Args:
        system: what all steps share.
        stage: equations of the stage.
        at: its end.
        linear: with the stiffnesses of the rows.
        rates: derivatives of the equations, of which the forces of the rows are read.
        scales: forces that give the dofs the acceleration of gravity, shape (nv,).
        known: smallest motion that the end resolves [m, rad].
        smoothing: share of the forces up to which they are known; 0 is exact.
    """
    k, n, largest = at.n_active[0], stage.contacts.n[0], 0.0
    result = MapRates(
        np.zeros((k, 3)),
        np.zeros((k, 3, 3)),
        np.zeros((k, 3, 3)),
        np.zeros((k, 3)),
        np.zeros(k, np.bool_),
    )
    sets = new_sets(1, system.cone.sides, system.cone.angle, system.cone.reach)
    for x in range(at.n_active[1]):
        largest = max(largest, at.w[at.active[x], 2])
    for x in range(k):
        row = at.active[x]
        sets.rho[0] = linear.rho[row] if linear.rho[row] > 0.0 else 1.0
        if row < n:
            sets.first[1] = 3
            load = max(largest, _weight_on(scales, rates.forces[rates.first[x] + 2]))
            _contact_rates(system, at, row, x, known, smoothing * load, sets, result)
        else:
            sets.first[1] = 1
            _joint_rates(system, at, row, x, row - n, known, smoothing, sets, result)
    return result


@jit
def _weight_on(scales: Array, along: Array) -> float:
    """The least force that gives a dof the acceleration of gravity.

    It is the unit of what is smoothed where no contact bears a force.

    Args:
        scales: that force of each dof, shape (nv,).
        along: generalised force of a unit normal force, shape (nv,).
    """
    least = math.inf
    for l in range(along.size):
        if along[l] != 0.0:
            least = min(least, scales[l] / abs(along[l]))
    return least if least < math.inf else 0.0


@jit
def _contact_rates(
    system: System,
    at: StageIterate,
    row: int,
    x: int,
    known: float,
    kappa: float,
    sets: ForceSets,
    out: MapRates,
) -> None:
    """The map of a contact."""
    cone, depth, stiffness = system.cone, at.places.depth[row], at.places.stiffness[row]
    f, F, X = at.w[row], at.work[row], out.X[x]
    load = f[2]
    from_force = depth_of_force(cone, stiffness, load)
    sets.kind[0] = POLYHEDRAL_CONE if cone.sides > 0 else ROUND_CONE
    sets.friction[0], sets.offset[0] = at.places.friction[row], from_force
    sets.compliance[0] = 0.0
    piece = map_block(sets, 0, f, F, depth, out.Phi[x])
    derive_block(sets, 0, f, F, piece, X, out.Y[x], out.z[x])
    kind = piece % SECTORS
    out.near[x] = _is_near(sets, f, F, depth, from_force, kind, known)
    smoothed = kappa > 0.0 and cone.sides == 0 and (depth > 0.0 or load > 0.0)
    if kind == BOUND or kind == BOUND_RIM:
        X[2, 2] = sets.rho[0] * from_force / (cone.power * load)
        if smoothed:
            smooth_disc(sets, 0, f, F, kappa, out.Phi[x], X, out.Y[x])
    elif smoothed:
        smooth(sets, 0, f, F, kappa, out.Phi[x], X, out.Y[x])


@jit
def _is_near(
    sets: ForceSets,
    f: Array,
    F: Array,
    depth: float,
    from_force: float,
    kind: int,
    known: float,
) -> bool:
    """Whether the force of a contact is at the border of its piece."""
    mu, across = sets.friction[0], math.sqrt(f[0] * f[0] + f[1] * f[1])
    slide, along = math.sqrt(F[0] * F[0] + F[1] * F[1]), 0.0
    if across > 0.0:
        along = (F[0] * f[0] + F[1] * f[1]) / across
    at_bound = depth - from_force <= _ROUNDING * depth
    at_side = mu * f[2] - across <= _ROUNDING * f[2]
    if kind == APEX:
        return depth > -known and F[2] - mu * slide <= known
    if kind == BOUND:
        holds: bool = -F[2] <= known or at_side
        return holds
    if kind == BOUND_RIM:
        return -F[2] - mu * along <= known or slide <= known
    if kind == INSIDE:
        return at_side or at_bound
    return slide <= known or at_bound


@jit
def _joint_rates(
    system: System,
    at: StageIterate,
    row: int,
    x: int,
    j: int,
    known: float,
    smoothing: float,
    sets: ForceSets,
    out: MapRates,
) -> None:
    """The map of the force of a joint, or of a loop, which is rho F."""
    joints = system.joints
    if joints.friction[j] == math.inf:
        out.Phi[x, 0], out.Y[x, 0, 0] = sets.rho[0] * at.work[row, 0], sets.rho[0]
        return
    least, width, _, _ = interval(joints, j, at.q)
    if width == 0.0:  # it has no force, nor where it rests, which would count as held
        out.Phi[x, 0], out.X[x, 0, 0] = at.w[row, 0], 1.0
        return
    sets.kind[0], sets.friction[0] = INTERVAL, joints.friction[j]
    sets.stops[0, 0] = sets.stops[0, 1] = sets.stops[0, 2] = 0.0
    if joints.coordinates[j] >= 0:
        place = at.q[joints.coordinates[j]]
        sets.stops[0, 0] = joints.stiffness[j]
        sets.stops[0, 1] = max(joints.lower[j] - place, -_FAR)
        sets.stops[0, 2] = max(place - joints.upper[j], -_FAR)
    f, F, X, Y = at.w[row], at.work[row], out.X[x], out.Y[x]
    piece = map_block(sets, 0, f, F, 0.0, out.Phi[x])
    X[0, 0], Y[0, 0], out.z[x, 0] = interval_derivatives(sets, 0, piece)
    margin = min(f[0] - least, least + width - f[0])
    out.near[x] = margin <= _ROUNDING * width if piece == INSIDE else abs(F[0]) <= known
    if smoothing > 0.0:
        y, kappa = f[0] - sets.rho[0] * F[0], smoothing * width
        share = share_of(y - least, kappa) * share_of(least + width - y, kappa)
        X[0, 0], Y[0, 0] = (1.0 - share) * X[0, 0] + 1e-300, share * sets.rho[0]


@jit
def share_of(z: float, kappa: float) -> float:
    """Derivative of (z + sqrt(z^2 + 4 kappa^2)) / 2, which is max(z, 0) where kappa is zero."""
    return 0.5 * (1.0 + z / math.sqrt(z * z + 4.0 * kappa * kappa))


@jit
def along_map(
    stage: Stage, at: StageIterate, rates: StageRates, of_map: MapRates, out: StageRates
) -> None:
    """Conditions of a stage that are those of the natural map, from motions F that are.

    Args:
        stage: equations of the stage.
        at: its end.
        rates: derivatives of the motions along the coordinates, as r.
        of_map: those of the map by forces, motions and depths.
        out: output: derivatives of the map, as r.
    """
    n = stage.contacts.n[0]
    for given, written in (
        (rates.G_q, out.G_q),
        (rates.G_z, out.G_z),
        (rates.v_q, out.v_q),
        (rates.v_z, out.v_z),
        (rates.forces, out.forces),
        (rates.along, out.along),
        (rates.bends, out.bends),
    ):
        copy_matrix(given, written)
    clear_matrix(out.r_q)
    clear_matrix(out.r_z)
    clear_matrix(out.r_w)
    copy_vector(rates.w, out.w)
    out.first[0] = 0
    for x in range(len(of_map.Phi)):
        out.first[x + 1] = rates.first[x + 1]
        begin, m = rates.first[x], rates.first[x + 1] - rates.first[x]
        for i in range(m):
            row = begin + i
            out.r[row] = of_map.Phi[x, i]
            for j in range(m):
                out.r_w[row, begin + j] += of_map.X[x, i, j]
                _add_row(of_map.Y[x, i, j], rates.r_q[begin + j], out.r_q[row])
                _add_row(of_map.Y[x, i, j], rates.r_z[begin + j], out.r_z[row])
                _add_row(of_map.Y[x, i, j], rates.r_w[begin + j], out.r_w[row])
            # the depth falls where the force of a contact acts along the normal
            sign = -1.0 if at.active[x] < n else 1.0
            _add_row(sign * of_map.z[x, i], rates.along[begin + m - 1], out.r_q[row])


@jit
def _add_row(factor: float, row: Array, out: Array) -> None:
    """Out += factor row."""
    if factor != 0.0:
        for i in range(row.size):
            out[i] += factor * row[i]
