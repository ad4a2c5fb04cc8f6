"""Newton's method for a variational inequality on the manifold G(q, w) = 0 (Josephy's method).

Find q and w in their sets with G(q, w) = 0 and u' V (w' - w) >= 0 for every w' in the sets, V'u
being the motions along the coordinates. Each iteration linearises both and solves the affine
variational inequality that results: it converges quadratically, and asks for no symmetry.
"""

from __future__ import annotations

import math

import numpy as np

from nmdp_pin._kernels.algebra.linear import (
    copy_matrix,
)
from nmdp_pin._kernels.algebra.manifold import integrate
from nmdp_pin._kernels.algebra.vector3 import dot
from nmdp_pin._kernels.compiler.jit import Array, inlined, jit
from nmdp_pin._kernels.geometry.contacts import MOST_LOSSES, Contacts
from nmdp_pin._kernels.geometry.polytopes import row_of
from nmdp_pin._kernels.solver.affine_solution import ANEW, BRIEF, THOROUGH
from nmdp_pin._kernels.step.outcomes import (
    BUDGET_SPENT,
    CONVERGED,
    EVALUATIONS,
    HELD,
    ITERATION_LIMIT,
    ITERATIONS,
    NOT_FINITE,
    QP_FAILED,
    REJECTED,
    STALLED,
    WORK,
)
from nmdp_pin._kernels.step.slips import measure_slips, predicts_solution
from nmdp_pin._kernels.step.stage import evaluate, finish, linearise, straighten
from nmdp_pin._kernels.step.stage_inequality import newton_step
from nmdp_pin._kernels.step.stage_records import (
    EXACT,
    RESIDUAL,
    SECANT,
    SLIP,
    Stage,
    StageIterate,
    StageJacobians,
    System,
    count_rows,
    force_of,
)
from nmdp_pin._kernels.step.tolerances import Tolerances
from nmdp_pin._kernels.step.vertex_secants import clear_slopes, learn_slopes

_SHORTEN, _MOST_TRIES = 0.5, 8  # of a step after which G is no number, or far too large
# Residual over the present one, or the weight, beyond which a step is too long: with forces G is
# nearly linear, with weights their k d^p is in it
_LARGE, _LARGE_OF_WEIGHTS = 1e3, 1.0
_NEAR = 100.0  # multiple of the tolerances within which a point is near a solution
_BACK, _MOST_TURNS = 0.5, 4  # share of the last step, and cosine, of a step that turns back
_FACING = 0.9  # cosine between normals below which a contact touches another feature
_SURE = 0.1  # share of the residual that a step leaves, below which the estimate of it is one
_FEW, _MANY = 200, 64  # dofs and rows with which an iteration costs as much as its evaluation


@jit
def work_of(dofs: int, rows: int) -> int:
    """Work of an iteration with so many dofs and active rows, in evaluations; 0 where they are few.

    That is of a system of the dofs of the largest tree, and of a small one for each row.
    """
    return int((dofs / _FEW) ** 3 + rows / _MANY)


@jit
def largest_tree(system: System) -> int:
    """The largest number of dofs of a tree."""
    most = 0
    for g in range(system.tree.groups.size - 1):
        most = max(most, system.tree.groups[g + 1] - system.tree.groups[g])
    return most


@jit
def blocks_of(at: StageIterate, m: int) -> Array:
    """First coordinate of each active row among those that count: m of a contact, 1 of a joint."""
    k, touching = at.n_active[0], at.n_active[1]
    first = np.empty(k + 1, np.int64)
    first[0] = 0
    for x in range(k):
        first[x + 1] = first[x] + (m if x < touching else 1)
    return first


@jit
def residual_over(system: System, stage: Stage, at: StageIterate, tolerances: Tolerances) -> float:
    """The largest entry of G over its tolerance, each dof's by its own weight and inertia."""
    most = 0.0
    for l in range(at.G.size):
        rounding = tolerances.rounding * system.inertias[l]
        most = max(most, abs(at.G[l]) / max(tolerances.residual * system.scales[l], rounding))
    return most if at.sums[RESIDUAL] < np.inf else np.inf


@jit
def _is_solved(
    system: System,
    stage: Stage,
    at: StageIterate,
    linear: StageJacobians,
    tolerances: Tolerances,
    over: float,
) -> bool:
    """Whether a point meets the tolerances; `over`: see `residual_over`."""
    if system.forces:
        beyond = measure_slips(system, stage, at, linear, tolerances.depth)
        if beyond > tolerances.residual:
            return False
    return over <= 1.0 and at.sums[SLIP] <= max(tolerances.slip, tolerances.place)


@jit
def size_of(system: System, dq: Array) -> float:
    """Size of a motion, by the inertias of the dofs."""
    square = 0.0
    for l in range(dq.size):
        square += system.inertias[l] * dq[l] * dq[l]
    return math.sqrt(square)


@inlined
def try_step(
    system: System,
    stage: Stage,
    here: StageIterate,
    dq: Array,
    w1: Array,
    t: float,
    there: StageIterate,
) -> float:
    """Evaluate `there`, a share t of a step from `here`; its residual."""
    integrate(system.tree.space, here.q, t, dq, there.q)
    for i in range(w1.shape[0]):
        for e in range(w1.shape[1]):
            there.w[i, e] = here.w[i, e] + t * (w1[i, e] - here.w[i, e]) if t < 1.0 else w1[i, e]
    evaluate(system, stage, there, True)
    if system.derivative == SECANT:
        learn_slopes(stage.contacts, here, there)
    residual: float = there.sums[RESIDUAL]
    return residual


@inlined
def _iterate(
    system: System,
    stage: Stage,
    here: StageIterate,
    linear: StageJacobians,
    tolerances: Tolerances,
    over: float,
    slip: float,
    w1: Array,
    dq: Array,
) -> tuple[int, bool]:
    """Newton's step from a point; its outcome, and whether it is none of the whole equations.

    That is where forces are held back, or A is without their derivatives.
    """
    linearise(system, stage, here, linear)
    near = over <= _NEAR and here.sums[SLIP] <= _NEAR * slip
    effort = THOROUGH if near or not system.forces else BRIEF
    outcome = newton_step(system, stage, here, linear, tolerances.slip, w1, dq, effort)
    held = outcome == HELD
    if outcome == QP_FAILED and effort == BRIEF:
        straighten(system, stage, here, linear)
        held = True
        outcome = newton_step(system, stage, here, linear, tolerances.slip, w1, dq, ANEW)
    # so near a solution that an inequality is not solved for rounding errors
    rounded = near and outcome == QP_FAILED
    return CONVERGED if rounded or outcome == HELD else outcome, held


@inlined
def _is_known(
    system: System,
    stage: Stage,
    here: StageIterate,
    linear: StageJacobians,
    tolerances: Tolerances,
    left: float,
    over: float,
    slip: float,
    w1: Array,
    dq: Array,
) -> bool:
    """Whether the end of a step, whose residual is the share `left`, needs no evaluation."""
    return (
        not tolerances.derived
        and system.derivative == EXACT
        and left < _SURE
        and left * over <= 1.0
        and left * here.sums[SLIP] <= slip
        and predicts_solution(system, stage, here, linear, w1, dq, slip, tolerances.depth)
    )


@jit
def _write_known(
    system: System,
    stage: Stage,
    here: StageIterate,
    dq: Array,
    w1: Array,
    left: float,
    there: StageIterate,
) -> None:
    """Write the end of a step whose residual and slip are the share `left` of those here."""
    integrate(system.tree.space, here.q, 1.0, dq, there.q)
    copy_matrix(w1, there.w[: len(w1)])
    finish(system, stage, there, left * here.sums[RESIDUAL])
    if not system.forces:
        there.sums[SLIP] = left * here.sums[SLIP]


@jit
def _keep_lost(contacts: Contacts, here: StageIterate, before: StageIterate) -> bool:
    """Keep contacts that are lost for the second time; whether there are any.

    A contact is lost where it had a force at the last point, and is beyond its features at this
    one: there it is none, or touches another feature, so that no point between both is a solution.
    One that moves along a disc is lost where it jumps across, and stays where it was held.
    """
    n, m, some = here.places.normal, before.places.normal, False
    arms, others = here.places.arm, before.places.arm
    for i in range(contacts.n[0]):
        c = contacts.index[i]
        another = here.places.depth[i] <= 0.0 < before.places.depth[i]
        another = another and dot(row_of(n, i), row_of(m, i)) < _FACING
        lost = here.places.on_internal_edge[i] and not before.places.on_internal_edge[i]
        across = contacts.rolls[c] and dot(row_of(arms, i), row_of(others, i)) < 0.0
        if (lost or another or across) and force_of(before, i) > 0.0:
            contacts.losses[c] += 1
            some |= contacts.losses[c] >= MOST_LOSSES
            contacts.rolls[c] &= not across or contacts.losses[c] < MOST_LOSSES
    return some


@jit
def _turns_back(system: System, dq: Array, last: Array, size: float) -> bool:
    """Whether a step leads back most of the way of the last one, which it becomes."""
    along, before = 0.0, size_of(system, last)
    for l in range(dq.size):
        along += system.inertias[l] * dq[l] * last[l]
        last[l] = dq[l]
    return size > _BACK * before and -along > _BACK * size * before


@inlined
def _go(
    system: System,
    stage: Stage,
    here: StageIterate,
    dq: Array,
    w1: Array,
    t: float,
    there: StageIterate,
) -> tuple[float, int]:
    """Evaluate a share t of a step, halved while G is far too large; the residual, and tries."""
    residual, large = math.inf, _LARGE if system.forces else _LARGE_OF_WEIGHTS
    for tries in range(_MOST_TRIES):
        residual = try_step(system, stage, here, dq, w1, t, there)
        if residual <= large * max(here.sums[RESIDUAL], system.tree.weight):
            return residual, tries + 1
        t *= _SHORTEN
    return residual, _MOST_TRIES + 1


@inlined
def _begin(system: System, stage: Stage, here: StageIterate) -> None:
    """Evaluate the first point of a stage, of which nothing is learnt yet."""
    stage.contacts.losses[:] = 0
    evaluate(system, stage, here, True)
    clear_slopes(here)


@inlined
def solve_stage(
    system: System,
    stage: Stage,
    tolerances: Tolerances,
    budget: int,
    here: StageIterate,
    there: StageIterate,
    linear: StageJacobians,
    counts: Array,
) -> tuple[int, bool]:
    """Solve a stage from `here.q` and `here.w`.

    Args:
        system: what all steps share.
        stage: equations of the stage.
        tolerances: stopping criteria and options.
        budget: largest work, in evaluations.
        here: initial guess; overwritten.
        there: overwritten.
        linear: overwritten.
        counts: iterations, evaluations, rejected iterations and work, to which those made are
            added, shape (4,).

    Returns:
        Outcome, and whether the last point that was accepted is `there` instead of `here`.
    """
    w1 = np.empty((count_rows(system, stage), here.w.shape[1]))
    dq, last, before = np.empty(here.v.size), np.zeros(here.v.size), math.inf
    _begin(system, stage, here)
    evaluations, iterations, swapped, work = 1, 0, False, 0
    over = residual_over(system, stage, here, tolerances)
    outcome, solved, rounded = CONVERGED, not here.sums[RESIDUAL] < np.inf, False
    each = work_of(largest_tree(system), here.n_active[0])
    slip, turned = max(tolerances.slip, tolerances.place), 0
    while not solved:
        if iterations >= tolerances.max_iterations or evaluations + work >= budget:
            outcome = ITERATION_LIMIT
            break
        iterations, work = iterations + 1, work + each
        if evaluations + work > budget:  # before it, since one may be too long
            outcome = BUDGET_SPENT
            break
        outcome, held = _iterate(system, stage, here, linear, tolerances, over, slip, w1, dq)
        # Newton's method converges quadratically: what it leaves falls as the squares of its steps
        size = size_of(system, dq)
        turns = _turns_back(system, dq, last, size) and over > _NEAR
        kept = iterations > 1 and _keep_lost(stage.contacts, here, there)
        whole, turned = not (held or turns), turned + (turns and not kept)
        left = (size / before) ** 2 if 0.0 < before < math.inf and whole else 1.0
        if outcome != CONVERGED or turned > _MOST_TURNS:
            outcome = STALLED if outcome == CONVERGED else outcome
            break
        known = _is_known(system, stage, here, linear, tolerances, left, over, slip, w1, dq)
        if known:
            _write_known(system, stage, here, dq, w1, left, there)
        else:
            residual, tries = _go(system, stage, here, dq, w1, _SHORTEN if turns else 1.0, there)
            evaluations += min(tries, _MOST_TRIES)
            counts[REJECTED] += tries - 1
            size = math.inf if tries > 1 or held else size
            if not residual < np.inf:
                outcome = STALLED
                break
        here, there, swapped, before = there, here, not swapped, size
        if known:
            solved = _is_solved(system, stage, here, linear, tolerances, left * over)
            if solved and (rounded or here.sums[SLIP] <= tolerances.slip):
                break
            evaluate(system, stage, here, True)
            evaluations += 1
        over = residual_over(system, stage, here, tolerances)
        solved = _is_solved(system, stage, here, linear, tolerances, over)
        if solved and not rounded and here.sums[SLIP] > tolerances.slip:
            rounded, solved = True, False
    _count(counts, iterations, evaluations, work)
    return _outcome_at(here, solved, outcome), swapped


@jit
def _outcome_at(at: StageIterate, solved: bool, otherwise: int) -> int:
    """The outcome at the last point."""
    if not at.sums[RESIDUAL] < np.inf:
        return NOT_FINITE
    return CONVERGED if solved else otherwise


@jit
def _count(counts: Array, iterations: int, evaluations: int, work: int) -> None:
    """Add what a stage took, and the work of iterations besides that of evaluations."""
    counts[ITERATIONS] += iterations
    counts[EVALUATIONS] += evaluations
    counts[WORK] += evaluations + work
