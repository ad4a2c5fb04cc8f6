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

import numpy as np

from nmdp_pin._kernels.algebra.linear import (
    add_gram,
    cholesky,
    clear_matrix,
    clear_vector,
    copy_matrix,
    copy_vector,
    lu_factor,
    lu_solve,
    pivot_ratio,
    solve_upper,
    solve_upper_transposed,
    solve_upper_transposed_rows,
)
from nmdp_pin._kernels.algebra.manifold import integrate
from nmdp_pin._kernels.compiler.jit import Array, jit
from nmdp_pin._kernels.compiler.record import zero_vector
from nmdp_pin._kernels.contact.penalty import FRICTIONAL
from nmdp_pin._kernels.geometry.planes import (
    missed_contacts,
    missed_overlaps,
    place_references,
    select_contacts,
    select_overlaps,
)
from nmdp_pin._kernels.step.energy_guard import allowed_gain
from nmdp_pin._kernels.step.outcomes import (
    CONVERGED,
    COUNTERS,
    ENERGY_GAINED,
    EVALUATIONS,
    ITERATION_LIMIT,
    ITERATIONS,
    NOT_FINITE,
    OUTCOME,
    REJECTED,
    RUNNING,
    SINGULAR,
    STALLED,
)
from nmdp_pin._kernels.step.position_joints import free_motors
from nmdp_pin._kernels.step.position_records import PositionStep
from nmdp_pin._kernels.step.position_step import begin, evaluate_step, linearise_step
from nmdp_pin._kernels.step.tolerances import ROUNDING
from nmdp_pin._kernels.tree.joints import Commands, hold_command
from nmdp_pin._kernels.tree.loops import add_loop_energies
from nmdp_pin._kernels.tree.springs import spring_energy
from nmdp_pin._kernels.tree.tree import body_twists, energies

LEAST = 0.1  # a lam below it is 0; the first rejection makes it GROW times this
GROW, SHRINK = 10.0, 0.1  # of lam, after a step rejected and after a step taken
LARGEST = 1e10  # largest lam, beyond which the step vanishes without descent
SMALL = 1e-12  # relative change of f below which the error is compared instead
CANCELLED = 1e-11  # relative to the first f: metres cancel in motions below a millimetre

LARGEST_GAIN = 0.5  # share of the energy that moves, which large turns may add (choices.md, 14)
DOWNHILL = 100.0  # lam beyond which A is the derivative itself, which leads down
MOST_MISSED = 4  # lists of contacts that a step tries

# Entries of the account, after the counters.
VALUE, ERROR, LAM, FIRST, ENTRIES = range(COUNTERS, COUNTERS + 5)


@jit
def open_account(account: Array) -> None:
    """Open an account, shape (ENTRIES,)."""
    clear_vector(account)
    account[OUTCOME] = RUNNING


@jit
def accepts(account: Array, f: float, error: float) -> bool:
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
    small = max(SMALL * abs(account[VALUE]), CANCELLED * account[FIRST])
    if change < -small or (change <= small and error < account[ERROR]):
        account[VALUE], account[ERROR] = f, error
        lam = SHRINK * account[LAM]
        account[LAM] = lam if lam >= LEAST else 0.0
        return True
    reject(account)
    return False


@jit
def reject(account: Array) -> None:
    """Count an iteration as rejected, and raise lam."""
    account[LAM] = GROW * max(account[LAM], LEAST)
    account[REJECTED] += 1.0


@jit
def goes_on(account: Array, tolerance: float, max_iterations: int) -> bool:
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


@jit
def open_minimisation(step: PositionStep) -> bool:
    """State a step from its start, with its contacts; False where it cannot be made."""
    start, ref, tree, size = step.start, step.ref, step.scene.tree, 0.0
    for i in range(len(start.q0)):
        size = max(size, abs(start.q0[i]))
    stiffest = tree.inertia / (start.h * start.h)
    for give in step.scene.joints.loops.compliance:
        stiffest = max(stiffest, 1.0 / give)
    error = ROUNDING * stiffest * (1.0 + size)
    step.bound = max(step.tolerance * tree.weight, error)
    open_account(step.account)
    step.kinetic = step.potential = step.stored = step.pivots = np.nan
    clear_vector(start.torque.signs)
    if not begin(step):
        step.account[OUTCOME] = SINGULAR
        return False
    candidates, contacts = step.scene.candidates, ref.contacts
    select_contacts(candidates, ref.P0, ref.twists, start.h, candidates.rolling, contacts)
    select_overlaps(candidates, contacts, step.trial.places, ref.P0)
    _start_again(step)
    return True


@jit
def _start_again(step: PositionStep) -> None:
    """Begin at the start, where the bodies of the contacts are."""
    place_references(step.ref.contacts, step.ref.P0)
    copy_vector(step.start.q0, step.trial.q)


@jit
def advance(step: PositionStep) -> bool:
    """Evaluate and judge the trial, and write the next one; False where there is none."""
    trial, account = step.trial, step.account
    f, error = evaluate_step(step)
    if account[EVALUATIONS] == 0.0:
        step.stored = trial.forces.stored
    accepted = accepts(account, f, error)
    if accepted:
        copy_vector(trial.q, step.q)
        copy_vector(trial.r, step.r)
    if not goes_on(account, step.bound, step.max_iterations):
        if account[OUTCOME] == CONVERGED:
            close_step(step)
        return False
    if accepted:
        linearise_step(step, not step.scene.semidefinite)
        free_motors(step)
        step.formed = False
    elif account[LAM] > DOWNHILL:
        for k in range(len(step.freed)):
            if step.freed[k] != 0.0:
                trial.A[k, k] -= step.freed[k]
                step.freed[k] = 0.0
                step.formed = False
    while not _solve(step):
        reject(account)
        if not goes_on(account, step.bound, step.max_iterations):
            return False
    integrate(step.scene.tree.space, step.q, 1.0, step.dx, trial.q)
    return True


@jit
def _solve(step: PositionStep) -> bool:
    """The next motion of the configuration; False where its matrix is not positive definite."""
    lam, A, F, dx = step.account[LAM], step.trial.A, step.F, step.dx
    nv, frictional = len(dx), step.scene.law.kind == FRICTIONAL
    for i in range(nv):
        dx[i] = -step.r[i]
    if frictional and lam == 0.0:
        copy_matrix(A, F)
        pivots = np.empty(nv, np.int64)
        if not lu_factor(F, pivots):
            return False
        lu_solve(F, pivots, dx.reshape(nv, 1))
        return True
    if frictional:
        if not step.formed:
            _form(step)
        copy_matrix(step.gram, F)
        copy_vector(step.descent, dx)
    else:
        for i in range(nv):
            for k in range(i, nv):
                F[i, k] = 0.5 * (A[i, k] + A[k, i])
    for i in range(nv):
        for k in range(i, nv):
            F[i, k] += lam * step.ref.metric[i, k]
    if not cholesky(F):
        return False
    solve_upper_transposed(F, dx)
    solve_upper(F, dx)
    return True


@jit
def _form(step: PositionStep) -> None:
    """Write X'X and -X'U'^-1 r of the point accepted last, X = U'^-1 A."""
    nv, U = len(step.r), step.ref.U
    X, s = np.empty((nv, nv)), step.r.copy()
    copy_matrix(step.trial.A, X)
    solve_upper_transposed_rows(U, X)
    solve_upper_transposed(U, s)
    clear_matrix(step.gram)
    add_gram(X, 1.0, step.gram)
    clear_vector(step.descent)
    for i in range(nv):
        for k in range(nv):
            step.descent[k] -= X[i, k] * s[i]
    step.formed = True


@jit
def close_step(step: PositionStep) -> None:
    """Energies at the end; a point that gains energy, to which no motion leads, is refused.

    An implicit step of first order loses energy: v' M (v - v0) is more than the change of
    v' M v / 2, and contact forces only dissipate. Differences over large turns may add a share of
    the energy that moves.
    """
    trial, ref, tree = step.trial, step.ref, step.scene.tree
    springs = step.scene.joints.springs
    twists = np.empty((len(tree.parents) + 1, 6))
    body_twists(tree, trial.S, trial.v, twists)
    step.kinetic, step.potential = energies(tree, trial.P, twists, trial.v)
    step.potential += spring_energy(springs, trial.q)
    step.pivots = pivot_ratio(step.F)
    work = 0.0
    for k in range(len(trial.v)):
        work += step.start.h * trial.tau[k] * trial.v[k]
    gain = step.kinetic + step.potential + trial.forces.stored - work
    gain -= ref.kinetic + ref.potential + step.stored
    moving = ref.kinetic + max(work, 0.0) + step.stored
    moving += max(spring_energy(springs, step.start.q0) - spring_energy(springs, trial.q), 0.0)
    if not gain <= allowed_gain(tree.weight, LARGEST_GAIN, moving):
        step.account[OUTCOME] = ENERGY_GAINED
    energies_of_loops, first = zero_vector(1), np.zeros(len(trial.v), np.int64)
    add_loop_energies(step.scene.joints.loops, trial.P, trial.q, first, energies_of_loops)
    step.potential += energies_of_loops[0]


@jit
def _misses(step: PositionStep) -> bool:
    """List what touches at the end and is no contact of the step; False where nothing does."""
    candidates, ref, trial = step.scene.candidates, step.ref, step.trial
    return missed_contacts(candidates, trial.P, ref.contacts) or missed_overlaps(
        candidates, ref.contacts, trial.places, trial.P, ref.P0
    )


@jit
def minimise_step(step: PositionStep) -> None:
    """Make a step, whose outcome is in its account.

    It begins again where a candidate touches at its end that is no contact of the step.
    """
    account, spent = step.account, zero_vector(ENTRIES)
    if not open_minimisation(step):
        return
    for _ in range(MOST_MISSED):
        while advance(step):
            pass
        if account[OUTCOME] != CONVERGED or not _misses(step):
            break
        for i in range(ITERATIONS, REJECTED + 1):
            spent[i] += account[i]
        open_account(account)
        _start_again(step)
    for i in range(ITERATIONS, REJECTED + 1):
        account[i] += spent[i]


@jit
def evaluate_end(step: PositionStep, q: Array) -> None:
    """Evaluate a step at a given end, shape (nq,)."""
    open_minimisation(step)
    copy_vector(q, step.trial.q)
    evaluate_step(step)
    if _misses(step):
        place_references(step.ref.contacts, step.ref.P0)
        evaluate_step(step)


@jit
def roll(step: PositionStep, plan: Commands, first: int, x: Array) -> int:
    """Make steps, one after another; see `make_steps` of the NMDP methods.

    Args:
        step: the first step; its start is overwritten, by that of the step that follows.
        plan: command of each step, in rows.
        first: number of the first step.
        x: output, [q; v] at the ends of the steps as far as they are made, shape (nt, nq + nv).

    Returns:
        Number of the step that failed, or nt.
    """
    start, nq = step.start, len(step.q)
    for k in range(first, len(x)):
        hold_command(plan, k, start.q0, start.commands)
        minimise_step(step)
        if step.account[OUTCOME] != CONVERGED:
            return k
        copy_vector(step.q, start.q0)
        copy_vector(step.trial.v, start.v0)
        copy_vector(step.q, x[k, :nq])
        copy_vector(step.trial.v, x[k, nq:])
    return len(x)
