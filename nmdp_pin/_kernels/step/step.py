"""One step of the nonconvex maximal dissipation principle: stages, guesses, and checks.

A step of order 2 has the stages of SDIRK2, a step of order 1 is backward Euler. Stage i ends c_i h
after the start; it is an implicit step of length a_ii h from the reference q_i = q0 (+) h sum_j
a_ij V_j, v_i = v0 + h sum_j a_ij A_j (j < i), with V_j and A_j the velocity and the acceleration of
the earlier stages.
"""

from __future__ import annotations

from nmdp_pin._kernels.algebra.linear import clear_vector, copy_vector
from nmdp_pin._kernels.algebra.vector3 import dot
from nmdp_pin._kernels.compiler.callbacks import call_minimise
from nmdp_pin._kernels.compiler.jit import Array, inlined, jit
from nmdp_pin._kernels.geometry.planes import (
    missed_contacts,
    missed_overlaps,
)
from nmdp_pin._kernels.step.energy_guard import gains_little, gains_too_much
from nmdp_pin._kernels.step.impacts import confirm_suspects, judge_impacts
from nmdp_pin._kernels.step.islands import add_work, write_energies
from nmdp_pin._kernels.step.outcomes import (
    BUDGET_SPENT,
    CONVERGED,
    ENERGY_GAINED,
    NOT_FINITE,
    OUTCOME,
    STALLED,
    WORK,
)
from nmdp_pin._kernels.step.stage import saturate_at
from nmdp_pin._kernels.step.stage_records import RESIDUAL, StageIterate, System
from nmdp_pin._kernels.step.step_end import (
    carry_weights,
    clear_end,
    is_finite,
    list_touching,
    write_end,
)
from nmdp_pin._kernels.step.step_records import (
    OF_RESIDUAL,
    ORDER,
    TOUCHING,
    Known,
    Memory,
    Options,
    Scheme,
    Step,
)
from nmdp_pin._kernels.step.step_start import (
    GUESSES,
    guess,
    is_steady,
    known_before,
    list_weights,
    open_step,
    repeats,
    state_stage,
)
from nmdp_pin._kernels.step.tolerances import tolerances_of
from nmdp_pin._kernels.step.vi_newton import solve_stage
from nmdp_pin._kernels.tree.springs import spring_energy
from nmdp_pin._kernels.tree.tree import energies

_TURNED = -0.5  # cosine of the least angle between two sides of what is thin
_FEW_GUESSES = 3  # in second order; steps that they do not solve are better made in first order
_MOST_MISSED = 4  # lists of contacts that a step tries
_REPETITION = 4  # first of the points that a repetition in first order uses


@jit
def energies_of(system: System, at: StageIterate) -> tuple[float, float]:
    """Kinetic energy, and potential energy of gravity and springs, at a point [J]."""
    tree = system.tree
    kinetic, potential = energies(tree, at.P, at.twists, at.v)
    return kinetic, potential + spring_energy(system.joints.springs, at.q)


@inlined
def solve_from_guesses(
    system: System,
    options: Options,
    guesses: int,
    memory: Memory,
    first: int,
    counts: Array,
) -> tuple[int, int]:
    """Solve a stage from one guess after another.

    G = 0 has distant roots, to which no motion leads: they gain energy and are refused.

    Args:
        system: what all steps share.
        options: options of the solver.
        guesses: largest number of guesses.
        memory: memory; points `first` and `first + 1` are used.
        first: as above.
        counts: counters, to which those of the stage are added.

    Returns:
        Outcome, and the index of the point where the stage ends.
    """
    stage = memory.stage
    outcome, here, there = STALLED, first, first + 1
    for number in range(guesses):
        at = memory.points[here]
        if number > 0 and repeats(system, options, number, memory):
            continue
        if not guess(system, options, number, memory, at):
            break
        saturate_at(system, stage, at)
        left = options.budget - counts[WORK]
        if options.minimiser:
            order = 1 if stage.displaced else 2
            call_minimise(options.minimiser, here, stage.rate, order, left, counts)
            outcome = counts[OUTCOME]
        else:
            tolerances = tolerances_of(options, stage)
            outcome, swapped = solve_stage(
                system,
                stage,
                tolerances,
                left,
                memory.points[here],
                memory.points[there],
                memory.linear,
                counts,
            )
            if swapped:
                here, there = there, here
        if outcome == CONVERGED:
            end = memory.points[here]
            if _passes_through(system, memory, end):
                outcome = STALLED
            elif gains_little(system, options, end, memory):
                break
            else:
                outcome = ENERGY_GAINED
        if counts[WORK] >= options.budget:
            break
    return outcome, here


@jit
def _passes_through(system: System, memory: Memory, at: StageIterate) -> bool:
    """Whether a contact ends near the far side of what it touches at the start.

    What is thin has roots behind it. There another contact of the point covers the first one.
    """
    before, after, contacts = memory.origin.places, at.places, memory.stage.contacts
    points = system.candidates.points
    for x in range(at.n_active[1]):
        i = at.active[x]
        if not (after.depth[i] > 0.0 and before.on_internal_edge[i]):
            continue
        for j in range(contacts.n[0]):
            if (
                after.on_internal_edge[j]
                and not before.on_internal_edge[j]
                and points[contacts.index[j]] == points[contacts.index[i]]
                and dot(after.normal[i], before.normal[j]) < _TURNED
            ):
                return True
    return False


@jit
def make_stages(step: Step, known: Known, scheme: Scheme, base: int) -> tuple[int, int, int]:
    """Solve the stages of a step one after another.

    Args:
        step: the step after `open_step`, to whose counters those of the stages are added.
        known: with what it is predicted.
        scheme: its time scheme, or that of the repetition.
        base: first of the memory's points that are used.

    Returns:
        Outcome, and the indices of the points where the first and the last stage end.
    """
    system, options, start, memory = step.system, step.options, step.start, step.memory
    counts, stages = step.end.counts, scheme.a.shape[0]
    list_weights(system, known, options, memory)
    copy_vector(known.a, memory.predicted_acceleration)
    first, last, outcome = base, base, CONVERGED
    guesses = _FEW_GUESSES if scheme.order > 1 else len(GUESSES)
    for i in range(stages):
        state_stage(system, scheme, start, i, memory, memory.points[first])
        if i == 0:
            memory.steady = is_steady(system, start, known, memory.stage)
        else:
            islands, at = memory.islands, memory.points[first]
            given, contacts = scheme.a[i, 0] * start.h, memory.stage.contacts
            add_work(system, contacts, at, given, islands, islands.given)
        outcome, last = solve_from_guesses(system, options, guesses, memory, base + 2 * i, counts)
        if i == 0:
            first = last
        if outcome != CONVERGED:
            break
        _carry_on(system, memory, memory.points[last])
    return outcome, first, last


@jit
def _carry_on(system: System, memory: Memory, at: StageIterate) -> None:
    """Prepare what follows a stage: its initial forces or weights, and its acceleration."""
    carry_weights(system, memory, at)
    for l in range(at.v.size):
        memory.predicted_acceleration[l] = memory.stage.rate * (at.v[l] - memory.stage.v_ref[l])


@jit
def make_step(step: Step) -> None:
    """Make a step; islands whose step of second order is not accepted are repeated in first order.

    That is where it does not converge, gains energy, or has an impact that rebounds or penetrates
    too deeply. Where a candidate touches that is no contact, the step goes on with it from its end.

    Args:
        step: the step, whose memory and end are overwritten.
    """
    system, memory, end, counts = step.system, step.memory, step.end, step.end.counts
    for i in range(counts.size):
        counts[i] = 0
    open_step(system, step.start, memory)
    known = known_before(step.start)
    for _ in range(_MOST_MISSED):
        outcome, missed = _try_step(step, known)
        if outcome != CONVERGED or not missed:
            break
        outcome = BUDGET_SPENT
        known = Known(end.a, end.tau, end.joints, counts[TOUCHING], end.contacts, end.w)
    counts[OUTCOME] = outcome
    if outcome == CONVERGED and not is_finite(end):
        counts[OUTCOME] = NOT_FINITE


@inlined
def _try_step(step: Step, known: Known) -> tuple[int, bool]:
    """Make a step with the contacts of the memory; its outcome, and whether some were missed."""
    system, scheme, memory, a = step.system, step.scheme, step.memory, step.memory.acceleration
    outcome, first, last = make_stages(step, known, scheme, 0)
    copy_vector(memory.predicted_acceleration, a)
    clear_end(step.end)
    step.end.numbers[OF_RESIDUAL] = memory.points[last].sums[RESIDUAL]
    step.end.counts[ORDER] = scheme.order
    for k in range(memory.islands.count[0]):
        memory.islands.kept[k] = True
    if scheme.order == 1 or (outcome == CONVERGED and _accepts(step, first, last)):
        if outcome != CONVERGED:
            return outcome, False
        _finish(step, scheme, first, last, a, True)
        list_touching(system, memory, step.end)
        return outcome, _lacks_contacts(step, first, last)
    if outcome != CONVERGED:
        for k in range(memory.islands.count[0]):
            memory.islands.outcome[k], memory.islands.doubtful[k] = outcome, False
    outcome, _, at = make_stages(step, known, step.first_order, _REPETITION)
    outcome = _choose(system, memory, memory.points[at], outcome)
    if outcome != CONVERGED:
        step.end.numbers[OF_RESIDUAL] = memory.points[at].sums[RESIDUAL]
        return outcome, False
    repeated = _finish(step, step.first_order, at, at, memory.predicted_acceleration, False)
    islands = memory.islands  # whose energies are those at the end of the repetition
    end = memory.points[last]
    write_energies(system, end, islands, islands.kinetic, islands.potential, islands.springs)
    kept = _finish(step, scheme, first, last, a, True)
    list_touching(system, memory, step.end)
    missed = repeated and _lacks_contacts(step, at, at)
    return outcome, missed or (kept and _lacks_contacts(step, first, last))


@jit
def _choose(system: System, memory: Memory, at: StageIterate, outcome: int) -> int:
    """Choose the islands whose step of second order is kept; the outcome of the whole step.

    Args:
        system: what all steps share.
        memory: memory of the step, whose islands are judged.
        at: end of the repetition in first order.
        outcome: its outcome.
    """
    islands, chosen = memory.islands, CONVERGED
    if outcome == CONVERGED:
        confirm_suspects(system, memory.stage, at, islands, memory.velocities, memory.suspects)
    for k in range(islands.count[0]):
        islands.kept[k] = islands.outcome[k] == CONVERGED
        if not islands.kept[k] and outcome != CONVERGED:
            chosen = outcome
        if islands.doubtful[k] and outcome == CONVERGED:
            islands.kept[k] = False
    return chosen


@jit
def _finish(step: Step, scheme: Scheme, first: int, last: int, a: Array, kept: bool) -> bool:
    """Write the end for the islands that are kept, or for the others; False: there are none.

    Args:
        step: the step.
        scheme: time scheme of these islands.
        first: index of the point where its first stage ends.
        last: index of the point where it ends.
        a: acceleration there, shape (nv,).
        kept: whether these are the islands whose step of second order is kept.
    """
    system, memory, islands, some = step.system, step.memory, step.memory.islands, False
    for k in range(islands.count[0]):
        some |= islands.kept[k] == kept
    if not some:
        return False
    if not kept:
        step.end.counts[ORDER] = 1
    write_end(system, scheme, step.start, memory, first, last, a, kept, step.end)
    return True


@jit
def _lacks_contacts(step: Step, first: int, last: int) -> bool:
    """List what touches besides the contacts where the first and the last stage end; False: none.

    Args:
        step: the step.
        first: index of the point where its first stage ends.
        last: index of the point where it ends.
    """
    system, memory = step.system, step.memory
    candidates, contacts = system.candidates, memory.stage.contacts
    missed = missed_contacts(candidates, memory.points[last].P, contacts)
    if first != last:
        missed |= missed_contacts(candidates, memory.points[first].P, contacts)
    at = memory.points[last]
    return missed or missed_overlaps(candidates, contacts, at.places, at.P, memory.origin.P)


@jit
def _accepts(step: Step, first: int, last: int) -> bool:
    """Judge a step of second order, island by island; whether all of it is accepted at once."""
    scheme, start, memory = step.scheme, step.start, step.memory
    at, before, islands = memory.points[last], memory.points[first], memory.islands
    clear_vector(islands.work)
    contacts = memory.stage.contacts
    system, of_first, of_last = step.system, scheme.a[1, 0] * start.h, scheme.a[1, 1] * start.h
    add_work(system, contacts, before, of_first, islands, islands.work)
    add_work(system, contacts, at, of_last, islands, islands.work)
    for k in range(islands.count[0]):
        gains = gains_too_much(islands, k, step.options.share)
        islands.outcome[k], islands.doubtful[k] = ENERGY_GAINED if gains else CONVERGED, False
    judge_impacts(
        system,
        memory.stage,
        memory.origin,
        before,
        at,
        1.0 / (scheme.a[0, 0] * start.h),
        islands,
        memory.velocities,
        memory.suspects,
    )
    accepted = True
    for k in range(islands.count[0]):
        accepted = accepted and islands.outcome[k] == CONVERGED and not islands.doubtful[k]
    return accepted
