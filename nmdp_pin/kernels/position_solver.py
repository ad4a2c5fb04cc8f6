"""Minimisation of a step of position-based dynamics by Levenberg-Marquardt.

With U'U the metric of the step (the Hessian of free motion), pbfd minimises |U'^-1 r|^2 / 2 and
pbd the energy whose gradient is r; lam is the factor of the metric. Where lam = 0 the iteration of
pbfd is Newton's, dq = -A^-1 r with A = dr/dq.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nmdp_pin.kernels.dense import (
    add_gram,
    cholesky,
    copy_matrix,
    copy_vector,
    pivot_ratio,
    solve_upper,
    solve_upper_transposed,
    solve_upper_transposed_rows,
)
from nmdp_pin.kernels.ground import Ground, find_surfaces
from nmdp_pin.kernels.jit import jit
from nmdp_pin.kernels.joint_law import free_motors
from nmdp_pin.kernels.levenberg_marquardt import (
    CONVERGED,
    EVALUATIONS,
    LAM,
    OUTCOME,
    accepts,
    goes_on,
    open_account,
    reject,
)
from nmdp_pin.kernels.linear import lu_factor, lu_solve
from nmdp_pin.kernels.manifold import integrate
from nmdp_pin.kernels.penalty import FRICTIONAL
from nmdp_pin.kernels.position_scene import Point, Scene, StepReference, StepStart
from nmdp_pin.kernels.position_step import begin, evaluate, linearise, place
from nmdp_pin.kernels.tree import kinetic_energy, potential_energy

SINGULAR, ENERGY_GAINED = 5, 6  # outcomes beside those of `levenberg_marquardt`
LARGEST_GAIN = 0.5  # share of the energy that moves, which large turns may add (choices.md, 15)
LEAST_GAIN = 0.01  # [m] by which the gain may lift the robot's weight
EXACT = 100.0  # lam beyond which A is the derivative itself, which leads down


class Limits(NamedTuple):
    """Stopping criteria.

    Args:
        tolerance: bound on |r| [N, N m].
        max_iterations: largest number of linear solves.
        weight: weight of the robot [N].
    """

    tolerance: float
    max_iterations: int
    weight: float


class Memory(NamedTuple):
    """Memory of the minimisation; all arrays are written.

    Args:
        ref: quantities that follow from the start.
        point: trial point.
        q: last accepted configuration, shape (nq,).
        r: residual at q, shape (nv,).
        F: last factorised matrix, shape (nv, nv).
        dx: solution of the linear system, shape (nv,).
        account: account as in `levenberg_marquardt`.
        energies: kinetic and potential energy at the end, energy stored by the contacts at the
            start, and the ratio of the pivots of F, shape (4,).
        gram: X'X with X = U'^-1 A, upper triangle, shape (nv, nv).
        descent: -X'U'^-1 r, shape (nv,).
        formed: in its only entry 1 where the last two are those of the point accepted last.
        signs: limits that act on the motors at the point accepted last, shape (nv,).
        freed: stiffness of motors that is in A beside the derivative, shape (nv,).
    """

    ref: StepReference
    point: Point
    q: np.ndarray
    r: np.ndarray
    F: np.ndarray
    dx: np.ndarray
    account: np.ndarray
    energies: np.ndarray
    gram: np.ndarray
    descent: np.ndarray
    formed: np.ndarray
    signs: np.ndarray
    freed: np.ndarray


@jit
def open_step(scene: Scene, start: StepStart, memory: Memory) -> bool:
    """State a step and place the bodies at its start; False where it cannot be made."""
    open_account(memory.account)
    memory.energies[:] = np.nan
    memory.signs[:] = 0.0
    if not begin(scene, start, memory.ref, memory.point):
        memory.account[OUTCOME] = SINGULAR
        return False
    copy_vector(start.q0, memory.point.q)
    place(scene, memory.point)
    return True


@jit
def advance(scene: Scene, start: StepStart, limits: Limits, memory: Memory) -> bool:
    """Judge the trial point and place the bodies at the next one; False where there is none.

    Args:
        scene: data that all steps share.
        start: data of the step.
        limits: stopping criteria.
        memory: memory after `open_step` or `advance`, with the surfaces at the contacts.
    """
    point, account = memory.point, memory.account
    f, error = evaluate(scene, start, memory.ref, point)
    if account[EVALUATIONS] == 0.0:
        memory.energies[2] = point.forces.energies[0]
    accepted = accepts(account, f, error)
    if accepted:
        copy_vector(point.q, memory.q)
        copy_vector(point.r, memory.r)
    if not goes_on(account, limits.tolerance, limits.max_iterations):
        if account[OUTCOME] == CONVERGED:
            close_step(scene, start, limits, memory)
        return False
    if accepted:
        linearise(scene, start, point, memory.ref, not scene.semidefinite)
        free_motors(scene, start, point, memory.signs, memory.freed)
        memory.formed[0] = 0.0
    elif account[LAM] > EXACT and np.any(memory.freed):
        for k in range(len(memory.freed)):
            point.A[k, k] -= memory.freed[k]
            memory.freed[k] = 0.0
        memory.formed[0] = 0.0
    while not _solve(scene, memory):
        reject(account)
        if not goes_on(account, limits.tolerance, limits.max_iterations):
            return False
    integrate(scene.tree, memory.q, memory.dx, point.q)
    place(scene, point)
    return True


@jit
def _solve(scene: Scene, memory: Memory) -> bool:
    """The next motion of the configuration; False where its matrix is not positive definite."""
    lam, A, F, dx, ref = memory.account[LAM], memory.point.A, memory.F, memory.dx, memory.ref
    nv = len(dx)
    for i in range(nv):
        dx[i] = -memory.r[i]
    if scene.law.kind == FRICTIONAL and lam == 0.0:
        copy_matrix(A, F)
        pivots = np.empty(nv, np.int64)
        if not lu_factor(F, pivots):
            return False
        lu_solve(F, pivots, dx.reshape(nv, 1))
        return True
    if scene.law.kind == FRICTIONAL:
        if memory.formed[0] == 0.0:
            _form(memory)
        copy_matrix(memory.gram, F)
        copy_vector(memory.descent, dx)
    else:
        for i in range(nv):
            for k in range(i, nv):
                F[i, k] = 0.5 * (A[i, k] + A[k, i])
    for i in range(nv):
        for k in range(i, nv):
            F[i, k] += lam * ref.metric[i, k]
    if not cholesky(F):
        return False
    solve_upper_transposed(F, dx)
    solve_upper(F, dx)
    return True


@jit
def _form(memory: Memory) -> None:
    """Write X'X and -X'U'^-1 r of the point accepted last, X = U'^-1 A."""
    nv, U = len(memory.r), memory.ref.U
    X, s = np.empty((nv, nv)), memory.r.copy()
    copy_matrix(memory.point.A, X)
    solve_upper_transposed_rows(U, X)
    solve_upper_transposed(U, s)
    memory.gram[:] = 0.0
    add_gram(X, 1.0, memory.gram)
    memory.descent[:] = 0.0
    for i in range(nv):
        for k in range(nv):
            memory.descent[k] -= X[i, k] * s[i]
    memory.formed[0] = 1.0


@jit
def close_step(scene: Scene, start: StepStart, limits: Limits, memory: Memory) -> None:
    """Energies at the end; a point that gains energy, to which no motion leads, is refused.

    An implicit step of first order loses energy: v' M (v - v0) is more than the change of
    v' M v / 2, and contact forces only dissipate. Differences over large turns may add a share of
    the energy that moves.
    """
    point, ref, energies = memory.point, memory.ref, memory.energies
    energies[0] = kinetic_energy(scene.tree, point.P, point.S, point.v)
    energies[1] = potential_energy(scene.tree, point.P)
    energies[3] = pivot_ratio(memory.F)
    work = 0.0
    for k in range(len(point.v)):
        work += start.h * point.tau[k] * point.v[k]
    gain = energies[0] + energies[1] + point.forces.energies[0] - work
    gain -= ref.energies[0] + ref.energies[1] + energies[2]
    moving = ref.energies[0] + max(work, 0.0) + energies[2]
    if not gain <= LARGEST_GAIN * moving + LEAST_GAIN * limits.weight:
        memory.account[OUTCOME] = ENERGY_GAINED


@jit
def solve_step(
    scene: Scene, ground: Ground, start: StepStart, limits: Limits, memory: Memory
) -> None:
    """Make a step, whose outcome is in the account of the memory.

    Args:
        scene: data that all steps share.
        ground: surfaces that the contacts touch.
        start: data of the step.
        limits: stopping criteria.
        memory: written.
    """
    if not open_step(scene, start, memory):
        return
    find_surfaces(ground, memory.point.surfaces)
    while advance(scene, start, limits, memory):
        find_surfaces(ground, memory.point.surfaces)


@jit
def evaluate_at(
    scene: Scene, ground: Ground, start: StepStart, q: np.ndarray, memory: Memory
) -> None:
    """Evaluate a step at a given end.

    Args:
        scene: data that all steps share.
        ground: what the contacts touch.
        start: data of the step.
        q: configuration at the end, shape (nq,).
        memory: memory; reference and point are written.
    """
    point = memory.point
    begin(scene, start, memory.ref, point)
    copy_vector(q, point.q)
    place(scene, point)
    find_surfaces(ground, point.surfaces)
    evaluate(scene, start, memory.ref, point)
