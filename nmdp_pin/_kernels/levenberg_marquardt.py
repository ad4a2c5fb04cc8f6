"""Minimisation of a step of position-based dynamics by Levenberg-Marquardt ([P] eq. 14).

With U'U the metric of the step (the Hessian of free motion), pbfd minimises |U'^-1 r|^2 / 2 and
pbd the energy whose gradient is r; lam is the factor of the metric. Where lam = 0 the iteration of
pbfd is Newton's, dq = -A^-1 r with A = dr/dq.

An iteration is one linear solve, (H + lam W) dx = -g, and one evaluation at the trial. The trial is
taken if f falls, or changes by no more than 1e-12 |f| and the error falls. Then lam becomes
lam / 10, and 0 if that is below 0.1; g and H are those of the new point. Otherwise, and where the
matrix is not positive definite, the iteration counts as rejected and lam becomes max(10 lam, 1). It
starts with lam = 0. The account of these is an array of floats.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from nmdp_pin._kernels.jit import jit
from nmdp_pin._kernels.linear import (
    add_gram,
    cholesky,
    copy_matrix,
    copy_vector,
    lu_factor,
    lu_solve,
    pivot_ratio,
    solve_upper,
    solve_upper_transposed,
    solve_upper_transposed_rows,
)
from nmdp_pin._kernels.manifold import integrate
from nmdp_pin._kernels.penalty import FRICTIONAL
from nmdp_pin._kernels.planes import missed_contacts, select_contacts
from nmdp_pin._kernels.position_step import (
    Scene,
    StepReference,
    StepStart,
    Trial,
    begin,
    evaluate_step,
    free_motors,
    linearise_step,
    start_contacts,
)
from nmdp_pin._kernels.record import record
from nmdp_pin._kernels.step import LEAST_GAIN
from nmdp_pin._kernels.tree import body_twists, kinetic_energy, potential_energy

LEAST = 0.1  # a lam below it is 0; the first rejection makes it GROW times this
GROW, SHRINK = 10.0, 0.1  # of lam, after a step rejected and after a step taken
LARGEST = 1e10  # largest lam, beyond which the step vanishes without descent
ROUNDING = 1e-12  # relative change of f below which the error is compared instead
CANCELLED = 1e-11  # relative to the first f: metres cancel in motions below a millimetre

LARGEST_GAIN = 0.5  # share of the energy that moves, which large turns may add (choices.md, 14)
EXACT = 100.0  # lam beyond which A is the derivative itself, which leads down
MOST_MISSED = 4  # lists of contacts that a step tries

# Entries of the account.
VALUE, ERROR, LAM, ITERATIONS, REJECTED, EVALUATIONS, OUTCOME, FIRST = range(8)
ENTRIES = 8

# Outcomes, as in `nmdp_pin._state.status`, and one before there is any.
CONVERGED, ITERATION_LIMIT, STALLED, SINGULAR, NOT_FINITE, ENERGY_GAINED = 0, 1, 3, 4, 5, 7
RUNNING = -1


@jit
def open_account(account: np.ndarray) -> None:
    """Open an account, shape (ENTRIES,)."""
    for i in range(ENTRIES):
        account[i] = 0.0
    account[OUTCOME] = RUNNING


@jit
def accepts(account: np.ndarray, f: float, error: float) -> bool:
    """Judge a trial point, and enter it into the account.

    Args:
        account: account of the minimisation.
        f: value of the function at the trial point.
        error: quantity that is to become small, such as the norm of the gradient.
    """
    account[EVALUATIONS] += 1.0
    if account[EVALUATIONS] == 1.0:
        account[VALUE], account[ERROR], account[FIRST] = f, error, abs(f)
        return True
    change = f - account[VALUE]
    small = max(ROUNDING * abs(account[VALUE]), CANCELLED * account[FIRST])
    if change < -small or (change <= small and error < account[ERROR]):
        account[VALUE], account[ERROR] = f, error
        lam = SHRINK * account[LAM]
        account[LAM] = lam if lam >= LEAST else 0.0
        return True
    reject(account)
    return False


@jit
def reject(account: np.ndarray) -> None:
    """Count an iteration as rejected, and raise lam."""
    account[LAM] = GROW * max(account[LAM], LEAST)
    account[REJECTED] += 1.0


@jit
def goes_on(account: np.ndarray, tolerance: float, max_iterations: int) -> bool:
    """Whether another iteration is to be made; it is counted, or an outcome is entered.

    Args:
        account: account of the minimisation.
        tolerance: bound on the error.
        max_iterations: largest number of linear solves.
    """
    error = account[ERROR]
    if not math.isfinite(account[VALUE] + error):
        account[OUTCOME] = NOT_FINITE
    elif error <= tolerance:
        account[OUTCOME] = CONVERGED
    elif account[LAM] > LARGEST:
        account[OUTCOME] = STALLED
    elif account[ITERATIONS] >= max_iterations:
        account[OUTCOME] = ITERATION_LIMIT
    else:
        account[ITERATIONS] += 1.0
        return True
    return False


class Limits(NamedTuple):
    """Stopping criteria.

    Args:
        tolerance: bound on |r| [N, N m].
        max_iterations: largest number of linear solves.
    """

    tolerance: float
    max_iterations: int


@record
class Minimisation:
    """Memory of a minimisation; all arrays are written.

    Args:
        ref: quantities that follow from the start.
        trial: trial point.
        q: last accepted configuration, shape (nq,).
        r: residual at q, shape (nv,).
        F: last factorised matrix, shape (nv, nv).
        dx: solution of the linear system, shape (nv,).
        account: account of the minimisation.
        energies: kinetic and potential energy at the end, energy stored by the contacts at the
            start, and the ratio of the pivots of F, shape (4,).
        gram: X'X with X = U'^-1 A, upper triangle, shape (nv, nv).
        descent: -X'U'^-1 r, shape (nv,).
        formed: in its only entry 1 where the last two are those of the point accepted last.
        signs: limits that act on the motors at the point accepted last, shape (nv,).
        freed: stiffness of motors that is in A beside the derivative, shape (nv,).
    """

    ref: StepReference
    trial: Trial
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
def open_step(scene: Scene, start: StepStart, memory: Minimisation) -> bool:
    """State a step from its start, with its contacts; False where it cannot be made."""
    open_account(memory.account)
    for i in range(4):
        memory.energies[i] = np.nan
    for k in range(len(memory.signs)):
        memory.signs[k] = 0.0
    if not begin(scene, start, memory.ref, memory.trial):
        memory.account[OUTCOME] = SINGULAR
        return False
    ref = memory.ref
    select_contacts(scene.candidates, ref.P0, ref.twists, start.h, ref.contacts)
    start_contacts(scene, ref)
    copy_vector(start.q0, memory.trial.q)
    return True


@jit
def advance(scene: Scene, start: StepStart, limits: Limits, memory: Minimisation) -> bool:
    """Evaluate and judge the trial, and write the next one; False where there is none.

    Args:
        scene: what all steps share.
        start: data of the step.
        limits: stopping criteria.
        memory: memory after `open_step` or `advance`.
    """
    trial, account = memory.trial, memory.account
    f, error = evaluate_step(scene, start, memory.ref, trial)
    if account[EVALUATIONS] == 0.0:
        memory.energies[2] = trial.forces.energies[0]
    accepted = accepts(account, f, error)
    if accepted:
        copy_vector(trial.q, memory.q)
        copy_vector(trial.r, memory.r)
    if not goes_on(account, limits.tolerance, limits.max_iterations):
        if account[OUTCOME] == CONVERGED:
            close_step(scene, start, memory)
        return False
    if accepted:
        linearise_step(scene, start, memory.ref, trial, not scene.semidefinite)
        free_motors(scene, start, trial, memory.signs, memory.freed)
        memory.formed[0] = 0.0
    elif account[LAM] > EXACT:
        for k in range(len(memory.freed)):
            if memory.freed[k] != 0.0:
                trial.A[k, k] -= memory.freed[k]
                memory.freed[k] = memory.formed[0] = 0.0
    while not _solve(scene, memory):
        reject(account)
        if not goes_on(account, limits.tolerance, limits.max_iterations):
            return False
    integrate(scene.tree.space, memory.q, 1.0, memory.dx, trial.q)
    return True


@jit
def _solve(scene: Scene, memory: Minimisation) -> bool:
    """The next motion of the configuration; False where its matrix is not positive definite."""
    lam, A, F, dx, ref = memory.account[LAM], memory.trial.A, memory.F, memory.dx, memory.ref
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
def _form(memory: Minimisation) -> None:
    """Write X'X and -X'U'^-1 r of the point accepted last, X = U'^-1 A."""
    nv, U = len(memory.r), memory.ref.U
    X, s = np.empty((nv, nv)), memory.r.copy()
    copy_matrix(memory.trial.A, X)
    solve_upper_transposed_rows(U, X)
    solve_upper_transposed(U, s)
    for i in range(nv):
        for k in range(nv):
            memory.gram[i, k] = 0.0
    add_gram(X, 1.0, memory.gram)
    for i in range(nv):
        memory.descent[i] = 0.0
    for i in range(nv):
        for k in range(nv):
            memory.descent[k] -= X[i, k] * s[i]
    memory.formed[0] = 1.0


@jit
def close_step(scene: Scene, start: StepStart, memory: Minimisation) -> None:
    """Energies at the end; a point that gains energy, to which no motion leads, is refused.

    An implicit step of first order loses energy: v' M (v - v0) is more than the change of
    v' M v / 2, and contact forces only dissipate. Differences over large turns may add a share of
    the energy that moves.
    """
    trial, ref, energies, tree = memory.trial, memory.ref, memory.energies, scene.tree
    twists = np.empty((len(tree.parents) + 1, 6))
    body_twists(tree, trial.S, trial.v, twists)
    energies[0] = kinetic_energy(tree, trial.P, twists, trial.v)
    energies[1] = potential_energy(tree, trial.P)
    energies[3] = pivot_ratio(memory.F)
    work = 0.0
    for k in range(len(trial.v)):
        work += start.h * trial.tau[k] * trial.v[k]
    gain = energies[0] + energies[1] + trial.forces.energies[0] - work
    gain -= ref.energies[0] + ref.energies[1] + energies[2]
    moving = ref.energies[0] + max(work, 0.0) + energies[2]
    if not gain <= LARGEST_GAIN * moving + LEAST_GAIN * tree.weight:
        memory.account[OUTCOME] = ENERGY_GAINED


@jit
def minimise_step(scene: Scene, start: StepStart, limits: Limits, memory: Minimisation) -> None:
    """Make a step, whose outcome is in the account of the memory.

    It begins again where a candidate touches at its end that is no contact of the step.

    Args:
        scene: what all steps share.
        start: data of the step.
        limits: stopping criteria.
        memory: written.
    """
    account, iterations, evaluations, rejected = memory.account, 0.0, 0.0, 0.0
    if not open_step(scene, start, memory):
        return
    for _ in range(MOST_MISSED):
        while advance(scene, start, limits, memory):
            pass
        if account[OUTCOME] != CONVERGED or not missed_contacts(
            scene.candidates, memory.trial.P, memory.ref.contacts
        ):
            break
        iterations, evaluations = (
            iterations + account[ITERATIONS],
            evaluations + account[EVALUATIONS],
        )
        rejected += account[REJECTED]
        open_account(account)
        start_contacts(scene, memory.ref)
        copy_vector(start.q0, memory.trial.q)
    account[ITERATIONS] += iterations
    account[EVALUATIONS] += evaluations
    account[REJECTED] += rejected


@jit
def evaluate_end(scene: Scene, start: StepStart, q: np.ndarray, memory: Minimisation) -> None:
    """Evaluate a step at a given end.

    Args:
        scene: what all steps share.
        start: data of the step.
        q: configuration at the end, shape (nq,).
        memory: reference and trial are written.
    """
    open_step(scene, start, memory)
    copy_vector(q, memory.trial.q)
    evaluate_step(scene, start, memory.ref, memory.trial)
    if missed_contacts(scene.candidates, memory.trial.P, memory.ref.contacts):
        start_contacts(scene, memory.ref)
        evaluate_step(scene, start, memory.ref, memory.trial)


@jit
def roll(
    scene: Scene,
    start: StepStart,
    torques: np.ndarray,
    tolerance: float,
    rounding: float,
    max_iterations: int,
    memory: Minimisation,
    x: np.ndarray,
) -> int:
    """Make steps, one after another, until one fails, and return their number.

    Args:
        scene: what all steps share.
        start: data of the first step; its state and torque are overwritten.
        torques: feed-forward torque of each step, shape (nt, nv).
        tolerance: bound on |r| [N, N m].
        rounding: least value of that bound, over 1 + |q0|_max.
        max_iterations: as in `Limits`.
        memory: written.
        x: output, [q; v] at the ends of the steps as far as they are made, shape (nt, nq + nv).
    """
    nq = len(start.q0)
    for k in range(len(torques)):
        copy_vector(torques[k], start.torque.constant)
        size = 1.0
        for i in range(nq):
            size = max(size, 1.0 + abs(start.q0[i]))
        limits = Limits(max(tolerance, rounding * size), max_iterations)
        minimise_step(scene, start, limits, memory)
        if memory.account[OUTCOME] != CONVERGED:
            return k
        copy_vector(memory.q, start.q0)
        copy_vector(memory.trial.v, start.v0)
        copy_vector(memory.q, x[k, :nq])
        copy_vector(memory.trial.v, x[k, nq:])
    return len(torques)
