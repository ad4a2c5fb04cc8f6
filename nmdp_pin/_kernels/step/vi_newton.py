"""Newton's method for a variational inequality on the manifold G(q, w) = 0 (Josephy's method).

Find q and w in the simplices with G(q, w) = 0 and g(q)' (w' - w) >= 0 for every feasible w', g =
V'u being the works of the vertices. Each iteration linearises both and solves the affine
variational inequality that results: it converges quadratically, and asks for no symmetry. The
matrix of that inequality is (dg/dq) P with the exact response P = -(dG/dq)^-1 dG/dw. It is not
symmetric (the depth of a contact changes its friction, but not the other way round) and its
symmetric part is indefinite in long steps; it is nevertheless a P-matrix where a single contact
presses and slides (docs/choices.md, 13).

A step is bounded by how far contacts can move in a stage, and halved where |G| does not fall; a
proximal term shortens the steps where the linearisation leads astray. Close to the tolerances one
iteration takes the derivatives of inertia and torques, which cost most of it, from the point before
(a simplified Newton step).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from nmdp_pin._kernels.algebra.linear import all_finite, copy_matrix, solve_in_place
from nmdp_pin._kernels.algebra.manifold import integrate
from nmdp_pin._kernels.compiler.jit import Array, inlined, jit
from nmdp_pin._kernels.compiler.record import matrix, vector
from nmdp_pin._kernels.solver.simplex_vi import AffineVI, dofs_of, of_dofs, solve_affine_vi
from nmdp_pin._kernels.step.stage import (
    RESIDUAL,
    SECANT,
    SLIP,
    Stage,
    StageIterate,
    StageJacobians,
    System,
    clear_slopes,
    count_rows,
    evaluate,
    force_of,
    learn_slopes,
    linearise,
)
from nmdp_pin._kernels.tree.joints import saturate

# Outcomes, as in `nmdp_pin._state.status`.
CONVERGED, ITERATION_LIMIT, STALLED, SINGULAR, NOT_FINITE, QP_FAILED = 0, 1, 3, 4, 5, 6
BUDGET_SPENT = 8

LEAST_SCALE = 1e-9  # least curvature of a block, relative to the largest one
FIRST_PROXIMAL = 1e-3  # where the least one has failed
_LEAST_PROXIMAL = 1e-7  # below which rounding is lost; the centre follows instead
_REDUNDANT, _CENTRES = 3e-3, 10  # proximal term of more forces than motions, and its centres
_FEW_CENTRES = 2  # of the least term
_ENOUGH, _FINE = 0.03, 1e-3  # shares of the slip that may be left of these, and of other, forces
_ROUNDING = 1e-12  # [-] of a weight
_TIGHTEN, _RELAX = 3.0, 0.3  # factors after a failed and after an accepted step
_UNSOLVED = 10.0  # factor where the inequality was not solved
_MOST_PROXIMAL = 1e2  # beyond it steps are too short to get anywhere
_SHORTEN, _LEAST_FACTOR = 0.5, 1e-3  # factors on a step after which |G| is too large
_NEAR = 100.0  # residual over its tolerance, up to which old derivatives serve one iteration
_MOST_TRIES, _SHORTEST = 6, 1e-7  # of a step: how often, and the least share of it
_FEW, _MANY = 200, 64  # dofs and rows with which an iteration costs as much as its evaluation


class Tolerances(NamedTuple):
    """Stopping criteria of a stage, and options of the iteration.

    Args:
        residual: bound on the norm of G [N, N m].
        slip: bound on the motion that other forces could still prevent at a contact [m].
        near: norm of G up to which a step is taken though it does not fall [N, N m].
        start: norm of G beyond which an initial guess is not used [N, N m].
        guess: share of `residual` and `slip` at which an initial guess is a solution. Steps that
            are extrapolations are explicit, and would gain energy.
        reach: bound on the motion of a contact in one iteration [m].
        proximal: least proximal term, relative to the curvature of each contact.
        max_iterations: largest number of iterations from one initial guess.
        derived: whether each point is evaluated with its derivatives, for which the last one is
            asked.
    """

    residual: float
    slip: float
    near: float
    start: float
    guess: float
    reach: float
    proximal: float
    max_iterations: int
    derived: bool


@jit
def work_of(dofs: int, rows: int) -> int:
    """Work of an iteration with so many dofs and active rows, in evaluations; 0 where they are few.

    That is of a system of all dofs, and of a small one for each row.
    """
    return int((dofs / _FEW) ** 3 + rows / _MANY)


@jit
def block_scales(curvature: Array, first: Array, scale: Array) -> bool:
    """Largest curvature of each block, the unit of its proximal term; False where all are zero.

    Contacts differ by orders of magnitude: one about to lift off responds strongly to its weights.

    Args:
        curvature: curvature along each variable, shape (n,).
        first: first variable of each block, shape (blocks + 1,).
        scale: output, shape (n,).
    """
    largest = 0.0
    for b in range(first.size - 1):
        of_block = 0.0
        for e in range(first[b], first[b + 1]):
            of_block = max(of_block, abs(curvature[e]))
        largest = max(largest, of_block)
        for e in range(first[b], first[b + 1]):
            scale[e] = of_block
    for e in range(curvature.size):
        scale[e] = max(scale[e], LEAST_SCALE * largest)
    return largest > 0.0


@jit
def blocks_of(at: StageIterate, m: int) -> Array:
    """First weight of each active row among those that count: m of a contact, 1 of a joint."""
    k, touching = at.n_active[0], at.n_active[1]
    first = np.empty(k + 1, np.int64)
    first[0] = 0
    for x in range(k):
        first[x + 1] = first[x] + (m if x < touching else 1)
    return first


@jit
def rows_of(at: StageIterate) -> Array:
    """Number of the forces of each active row: all of a contact, 1 of a joint."""
    rows = np.empty(at.n_active[0], np.int64)
    for x in range(rows.size):
        rows[x] = at.V.shape[1] if x < at.n_active[1] else 1
    return rows


@jit
def find_units(vi: AffineVI) -> bool:
    """Set the units of the blocks to their curvatures; False where all are zero.

    They are those that the largest entries of the rows of A alone would leave, since only their
    size counts.
    """
    nv, r = len(vi.A), vi.V.shape[1]
    share, C = vector(nv), matrix(r, r)
    curvature, scale = vector(vi.first[-1]), vector(vi.first[-1])
    for l in range(nv):
        largest = 0.0
        for c in range(nv):
            largest = max(largest, abs(vi.A[l, c]))
        share[l] = 1.0 / largest if largest > 0.0 else 0.0
    for b in range(vi.rows.size):
        for i in range(vi.rows[b]):
            for j in range(vi.rows[b]):
                entry = 0.0
                for s in range(vi.felt[b]):
                    entry += vi.J_motion[b, i, s] * vi.J_force[b, j, s] * share[vi.dofs[b, s]]
                C[i, j] = entry
        for e in range(vi.first[b + 1] - vi.first[b]):
            total = 0.0
            for i in range(vi.rows[b]):
                moved = vi.lift[b, i]
                for j in range(vi.rows[b]):
                    moved += C[i, j] * vi.V[b, j, e]
                total += vi.V[b, i, e] * moved
            curvature[vi.first[b] + e] = total
    if not block_scales(curvature, vi.first, scale):
        return False
    for b in range(vi.rows.size):
        vi.unit[b] = scale[vi.first[b]]
    return True


@jit
def solve_unconstrained(at: StageIterate, linear: StageJacobians, dq: Array) -> int:
    """Newton's step dq = -A^-1 G with the forces as they are; SINGULAR: none exists."""
    step = np.empty((dq.size, 1))
    for l in range(dq.size):
        step[l, 0] = -at.G[l]
    if not (solve_in_place(linear.A.copy(), step) and all_finite(step.ravel())):
        return SINGULAR
    for l in range(dq.size):
        dq[l] = step[l, 0]
    return CONVERGED


@jit
def least_term(at: StageIterate, dofs: int) -> float:
    """Least proximal term of an iteration, which is larger where forces outnumber motions."""
    return _REDUNDANT if at.n_active[1] * at.V.shape[1] > dofs else _LEAST_PROXIMAL


@jit
def newton_step(
    at: StageIterate,
    linear: StageJacobians,
    proximal: float,
    followed: bool,
    slip: float,
    w1: Array,
    dq: Array,
) -> int:
    """One iteration: solve the linearised variational inequality.

    Args:
        at: the point.
        linear: derivatives there.
        proximal: proximal term, relative to the curvature of each contact.
        followed: whether the centre of the term follows the solution where forces are redundant.
        slip: bound on the motion that other forces could still prevent [m].
        w1: output, weights of the contacts and joints, shape (n, m).
        dq: output, shape (nv,).

    Returns:
        CONVERGED, SINGULAR, or QP_FAILED where the inequality was not solved.
    """
    k, m, rows = at.n_active[0], at.w.shape[1], at.V.shape[1]
    first, forces, felt = blocks_of(at, m), rows_of(at), np.empty(k, np.int64)
    unit, enough, V, motion = vector(k), vector(k), np.empty((k, rows, m)), matrix(k, rows)
    copy_matrix(at.w[: len(w1)], w1)
    for x in range(k):
        for a in range(rows):
            motion[x, a] = at.motion[at.active[x], a]
            for e in range(m):
                V[x, a, e] = at.V[at.active[x], a, e]
    dofs = dofs_of(linear.J_force, linear.J_motion, forces, felt)
    J_force, J_motion = of_dofs(linear.J_force, dofs, felt), of_dofs(linear.J_motion, dofs, felt)
    vi = AffineVI(
        first=first,
        rows=forces,
        V=V,
        motion=motion,
        dofs=dofs,
        felt=felt,
        J_force=J_force,
        J_motion=J_motion,
        lift=linear.lift,
        A=linear.A,
        G=at.G,
        unit=unit,
        enough=enough,
    )
    if not find_units(vi):
        return solve_unconstrained(at, linear, dq)
    here, found, centres = vector(first[k]), vector(first[k]), 0
    least = least_term(at, dq.size)
    redundant = proximal <= least and least > _LEAST_PROXIMAL
    share = _ENOUGH if redundant else _FINE
    for x in range(k):
        force = force_of(at, at.active[x])
        enough[x] = max(share * slip * force / unit[x], _ROUNDING)
        for e in range(first[x + 1] - first[x]):
            here[first[x] + e] = at.w[at.active[x], e]
    if redundant:
        centres = _CENTRES if followed else 0
    elif proximal <= least:
        centres = _FEW_CENTRES
    if not solve_affine_vi(vi, max(proximal, least), centres, here, found, dq):
        return QP_FAILED if solve_unconstrained(at, linear, dq) == CONVERGED else SINGULAR
    for x in range(k):
        for e in range(first[x + 1] - first[x]):
            w1[at.active[x], e] = found[first[x] + e]
    return CONVERGED


@jit
def largest_motion(at: StageIterate, linear: StageJacobians, dq: Array) -> float:
    """The largest motion of an active contact along a tangent [m]."""
    most = 0.0
    for x in range(at.n_active[1]):
        square = 0.0
        for a in range(3):
            total = 0.0
            for l in range(dq.size):
                total += linear.J_force[x, a, l] * dq[l]
            square += total * total
        most = max(most, square)
    return math.sqrt(most)


@inlined
def try_step(
    system: System,
    stage: Stage,
    here: StageIterate,
    dq: Array,
    w1: Array,
    t: float,
    derived: bool,
    there: StageIterate,
) -> float:
    """Evaluate `there`, a share t of a step from `here`; its residual."""
    integrate(system.tree.space, here.q, t, dq, there.q)
    for i in range(w1.shape[0]):
        for e in range(w1.shape[1]):
            there.w[i, e] = here.w[i, e] + t * (w1[i, e] - here.w[i, e]) if t < 1.0 else w1[i, e]
    evaluate(system, stage, there, derived)
    if system.derivative == SECANT:
        learn_slopes(stage.contacts, here, there)
    return there.sums[RESIDUAL]


@jit
def keep_derivatives(before: StageIterate, at: StageIterate) -> None:
    """Take the derivatives of inertia and torques from the point before."""
    copy_matrix(before.A, at.A)
    copy_matrix(before.D, at.D)
    copy_matrix(before.E, at.E)
    copy_matrix(before.joint_axis_rates, at.joint_axis_rates)


@jit
def _is_solved(at: StageIterate, tolerances: Tolerances, share: float) -> bool:
    """Whether a point meets a share of the tolerances."""
    return (
        at.sums[RESIDUAL] <= share * tolerances.residual
        and at.sums[SLIP] <= share * tolerances.slip
    )


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
    dq, derived = np.empty(here.v.size), True
    evaluate(system, stage, here, derived)
    clear_slopes(here)
    evaluations, iterations, swapped, work, kept = 1, 0, False, 0, False
    if not here.sums[RESIDUAL] <= tolerances.start:
        counts[1] += 1
        counts[3] += 1
        return STALLED if here.sums[RESIDUAL] < np.inf else NOT_FINITE, False
    proximal, outcome = tolerances.proximal, CONVERGED
    solved = _is_solved(here, tolerances, tolerances.guess)
    while not solved:
        if iterations >= tolerances.max_iterations or evaluations + work >= budget:
            outcome = ITERATION_LIMIT
            break
        if not derived:
            kept = not kept and here.sums[RESIDUAL] <= _NEAR * tolerances.residual
            if kept:
                keep_derivatives(there, here)
            else:
                evaluate(system, stage, here, True)
        linearise(system, stage, here, linear)
        each = work_of(dq.size, here.n_active[0])
        while True:
            iterations += 1
            work += each
            if evaluations + work > budget:  # before it, since one may be too long
                outcome = BUDGET_SPENT
                break
            # One more iteration is cheaper than to follow the centre in the first one, which often
            # is the last; but for contact models in Python.
            followed = system.called > 0 or iterations > 1
            outcome = newton_step(here, linear, proximal, followed, tolerances.slip, w1, dq)
            if outcome == SINGULAR:
                break
            if outcome == CONVERGED:
                t, most = 1.0, largest_motion(here, linear, dq)
                if most > tolerances.reach:
                    t = tolerances.reach / most
                largest = max(tolerances.near, here.sums[RESIDUAL])
                taken = False
                for _ in range(_MOST_TRIES):
                    # A whole step is likely to be the last one, whose derivatives nobody reads.
                    derived = tolerances.derived or t < 1.0
                    residual = try_step(system, stage, here, dq, w1, t, derived, there)
                    evaluations += 1
                    taken = residual <= largest
                    if taken or evaluations + work >= budget:
                        break
                    # Beyond the surface forces grow with the square of the depth, or so.
                    share = math.sqrt(largest / residual) if residual < np.inf else 0.0
                    t *= min(max(share, _LEAST_FACTOR), _SHORTEN)
                    if t < _SHORTEST:
                        break
                if taken:
                    break
            counts[2] += 1
            grown = _UNSOLVED if outcome == QP_FAILED else _TIGHTEN
            used = max(proximal, least_term(here, dq.size))
            proximal = max(grown * used, FIRST_PROXIMAL)
            if proximal > _MOST_PROXIMAL or evaluations + work >= budget:
                outcome = QP_FAILED if outcome == QP_FAILED else STALLED
                break
        if outcome != CONVERGED:
            break
        here, there, swapped = there, here, not swapped
        if saturate(system.joints, stage.torque, here.error, here.v, True):
            evaluate(system, stage, here, True)
            evaluations, derived = evaluations + 1, True
        solved = _is_solved(here, tolerances, 1.0)
        # The gap is no merit function: it may rise on the way. Only what has failed counts.
        proximal = max(_RELAX * proximal, tolerances.proximal)
    if not here.sums[RESIDUAL] < np.inf:
        outcome = NOT_FINITE
    elif _is_solved(here, tolerances, 1.0):
        outcome = CONVERGED
    counts[0] += iterations
    counts[1] += evaluations
    counts[3] += evaluations + work
    return outcome, swapped
