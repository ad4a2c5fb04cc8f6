"""One step of the nonconvex maximal dissipation principle: stages, guesses, and checks.

A step of order 2 has the stages of SDIRK2, a step of order 1 is backward Euler. Stage i ends c_i h
after the start; it is an implicit step of length a_ii h from the reference q_i = q0 (+) h sum_j
a_ij V_j, v_i = v0 + h sum_j a_ij A_j (j < i), with V_j and A_j the velocity and the acceleration of
the earlier stages.
"""

from __future__ import annotations

import math

import numpy as np

from nmdp_pin._kernels.algebra.linear import clear_matrix, clear_vector, copy_vector
from nmdp_pin._kernels.algebra.manifold import integrate
from nmdp_pin._kernels.algebra.vector3 import cross_into, place, rotate, rotate_back
from nmdp_pin._kernels.compiler.callbacks import call_minimise
from nmdp_pin._kernels.compiler.jit import Array, inlined, jit
from nmdp_pin._kernels.compiler.record import matrix, record, vector, zero_matrix
from nmdp_pin._kernels.contact.contact_motion import relative_placement, relative_velocity
from nmdp_pin._kernels.geometry.contacts import Contacts, identity
from nmdp_pin._kernels.geometry.planes import (
    missed_contacts,
    missed_overlaps,
    place_references,
    report_depths,
    report_wrenches,
    select_contacts,
    select_overlaps,
)
from nmdp_pin._kernels.geometry.polytopes import CROSSED_ROUND
from nmdp_pin._kernels.step.impacts import (
    ENERGY_GAINED,
    accept_second_order,
    elastic_energy,
    first_order_agrees,
)
from nmdp_pin._kernels.step.inertia import placement_rates
from nmdp_pin._kernels.step.stage import (
    GAP,
    NEWTON_EULER,
    POSITIONS,
    RESIDUAL,
    VELOCITIES,
    Stage,
    StageIterate,
    StageJacobians,
    System,
    count_rows,
    kinematics,
    saturate_at,
    touches,
    update_cones,
)
from nmdp_pin._kernels.step.vi_newton import (
    BUDGET_SPENT,
    CONVERGED,
    NOT_FINITE,
    STALLED,
    Tolerances,
    solve_stage,
)
from nmdp_pin._kernels.tree.joints import Commands, write_torque
from nmdp_pin._kernels.tree.springs import spring_energy
from nmdp_pin._kernels.tree.tree import Tree, body_twists, kinetic_energy, potential_energy

_LEAST_GAIN = 0.01  # [m] by which the energy that a step gains may lift the robot's weight
# Initial guesses: share of the predicted motion, and whether with the forces of the step before.
_GUESSES = ((1.0, 1.0), (0.0, 1.0), (1.0, 0.0), (0.5, 1.0), (0.0, 0.0))
_FEW_GUESSES = 3  # in second order; steps that they do not solve are better made in first order
_MOST_MISSED = 4  # lists of contacts that a step tries
# Relative rounding of M q / h^2 in G: 8 errors that add up, of which 1 to 3 were measured.
ROUNDING = 8.0 * 2.220446049250313e-16
PLACE = 1e-13  # [m] to which a contact's place is known, of a configuration of a metre
_DEPTH = 1e-9  # [m] by which a depth may differ from that of its force

# Counters of a step: iterations, evaluations, rejected iterations and the work in evaluations, the
# outcome, the order of the scheme that made it, and the number of contacts that touch.
ITERATIONS, EVALUATIONS, REJECTED, WORK, OUTCOME, ORDER, TOUCHING = range(7)

# Numbers of a step.
OF_RESIDUAL, OF_GAP, KINETIC, POTENTIAL = range(4)


@record
class Options:
    """Options of the solver.

    Args:
        tolerance: tolerance of the norm of G over the weight, in stages that are long.
        slip: sliding velocity that other forces could still prevent at a contact [m/s], likewise.
        long: length of a stage that is long [s].
        max_iterations: largest number of iterations from one initial guess.
        warm_start: whether to begin with the last forces or weights; else with w = 0.
        restarts: whether to try other guesses where the first one fails.
        budget: largest work of a step, in evaluations.
        share: share of the energy that moves which a step may gain.
        minimiser: number of the object that solves the stages, 0: Newton's method.
    """

    tolerance: float
    slip: float
    long: float
    max_iterations: int
    warm_start: bool
    restarts: bool
    budget: int
    share: float
    minimiser: int


@record
class Scheme:
    """A diagonally implicit Runge-Kutta method whose last stage is the end of the step.

    Args:
        order: order of the method on smooth motion.
        a: Butcher matrix, lower triangular, shape (s, s).
    """

    order: int
    a: Array


@record
class Start:
    """Start of a step.

    Args:
        values: numbers of q, v, a, joints and commands, one after another.
        q: configuration, shape (nq,).
        v: velocity, shape (nv,).
        a: acceleration at the end of the step before, with which a step is predicted, (nv,).
        joints: forces or weights of the joints with a stop or dry friction, shape (r,).
        commands: commands of the stages.
        touching: number of contacts that touched at the end of the step before.
        contacts: their identities, ascending, shape (>= touching,).
        w: their forces, world frame [N], or weights, shape (>= touching, m).
        h: length of the step [s].
        rolling: whether contacts may move along curved surfaces in it.
    """

    values: Array
    q: Array
    v: Array
    a: Array
    joints: Array
    commands: Commands
    touching: int
    contacts: Array
    w: Array
    h: float
    rolling: bool


@record
class Memory:
    """Memory of a step, whose contents are nothing before and after it but for the last points.

    Args:
        stage: equations of the present stage.
        origin: the start of the step, of which the kinematics is known.
        scratch: another point.
        points: a pair for each stage of the step, and one for its repetition: the stage ends at
            one of the two, the other one is a trial.
        linear: derivatives.
        w: forces or weights to begin with, shape (k + r, m).
        predicted_acceleration: acceleration with which a stage is predicted, shape (nv,).
        rates: rates of the placements of the bodies at the start, shape (n, 4, 3).
        slopes: accelerations of the placements at the end of the first stage, shape (n, 4, 3).
        velocities: velocities of the contacts and of the joints at the start, (k + r + 1, 3).
        energies: kinetic and potential energy at the start and at the end, and what the contacts
            can give back at the start [J], shape (5,).
        suspects: contacts and joints whose motion a step of first order has to confirm, (k + r,).
    """

    stage: Stage
    origin: StageIterate
    scratch: StageIterate
    points: tuple[StageIterate, ...]
    linear: StageJacobians
    w: Array
    predicted_acceleration: Array
    rates: Array
    slopes: Array
    velocities: Array
    energies: Array
    suspects: Array


@record
class End:
    """End of a step; all arrays are written.

    Args:
        q: configuration, shape (nq,).
        v: velocity, shape (nv,).
        a: acceleration, shape (nv,).
        tau: joint torque of the command [N m, N], shape (nv,).
        wrenches: mean wrenches of the contact points about their centres, world, shape (p, 6).
        depths: penetrations of the contact points, 0 when apart [m], shape (p,).
        error: estimated error of the configuration, shape (nv,).
        contacts: identities of the contacts that touch, shape (k,).
        w: their forces, world frame [N], or weights, shape (k, m).
        joints: forces or weights of the joints, shape (r,).
        counts: counters, shape (7,).
        numbers: residual, gap and energies, shape (4,).
    """

    q: Array
    v: Array
    a: Array
    tau: Array
    wrenches: Array
    depths: Array
    error: Array
    contacts: Array
    w: Array
    joints: Array
    counts: Array
    numbers: Array


@record
class Step:
    """A step.

    Args:
        system: what all steps share.
        options: options of the solver.
        scheme: time scheme.
        first_order: time scheme of the repetition.
        start: start of the step.
        memory: memory.
        end: end of the step.
    """

    system: System
    options: Options
    scheme: Scheme
    first_order: Scheme
    start: Start
    memory: Memory
    end: End


@jit
def energies_of(system: System, at: StageIterate) -> tuple[float, float]:
    """Kinetic energy, and potential energy of gravity and springs, at a point [J]."""
    tree = system.tree
    stored = potential_energy(tree, at.P) + spring_energy(system.joints.springs, at.q)
    return kinetic_energy(tree, at.P, at.twists, at.v), stored


@jit
def rounding_of(stage: Stage) -> float:
    """Rounding errors of M q / h^2 in G, as a share of the inertia [rad/s^2, m/s^2]."""
    return ROUNDING * _size_of(stage.q_ref) * stage.rate * stage.rate


@jit
def attainable(system: System, stage: Stage, relative: float) -> float:
    """Bound on the norm of G [N, N m]: `relative` times the weight, but not below rounding.

    The rounding errors are those of M q / h^2 in G.
    """
    size = _size_of(stage.q_ref) * stage.rate * stage.rate
    return max(relative * system.tree.weight, ROUNDING * system.tree.inertia * size)


@jit
def place_of(stage: Stage) -> float:
    """Rounding errors of the places of contacts [m]."""
    return PLACE * _size_of(stage.q_ref)


@jit
def _size_of(q: Array) -> float:
    """Norm of a configuration, and 1 more."""
    square = 0.0
    for i in range(q.size):
        square += q[i] * q[i]
    return 1.0 + math.sqrt(square)


@jit
def share_of_tolerance(options: Options, stage: Stage) -> float:
    """Share of the tolerances in short stages, whose own error falls with their length."""
    share = 1.0 / max(options.long * stage.rate, 1.0)
    return share if stage.displaced else share * share


@jit
def open_step(system: System, start: Start, memory: Memory) -> None:
    """Kinematics, energies and contacts at the start of a step."""
    origin, stage, tree = memory.origin, memory.stage, system.tree
    copy_vector(start.q, origin.q)
    copy_vector(start.v, origin.v)
    kinematics(system, start.q, origin)
    body_twists(tree, origin.S, start.v, origin.twists)
    memory.energies[0], memory.energies[1] = energies_of(system, origin)
    candidates, contacts = system.candidates, stage.contacts
    rolling = candidates.rolling and start.rolling
    select_contacts(candidates, origin.P, origin.twists, start.h, rolling, contacts)
    select_overlaps(candidates, contacts, origin.places, origin.P, origin.P)


@jit
def list_weights(system: System, start: Start, options: Options, memory: Memory) -> None:
    """Write the forces or weights to begin with, and the velocities of the rows at the start.

    By weights a contact that approaches starts from its full normal force, as at the end of an
    impact.
    """
    contacts, origin = memory.stage.contacts, memory.origin
    n, m, k = contacts.n[0], memory.w.shape[1], 0
    middle = 0.0 if system.forces else 0.5
    M, centre, work = matrix(4, 3), vector(3), vector(3)
    if system.forces or system.recovery > 0.0:
        update_cones(system, contacts, origin)
    for i in range(n):
        c = contacts.index[i]
        number = identity(system.candidates, contacts, c)
        while k < start.touching and start.contacts[k] < number:
            k += 1
        known = k < start.touching and start.contacts[k] == number
        for e in range(m):
            memory.w[i, e] = 0.0
            if options.warm_start:
                memory.w[i, e] = start.w[k, e] if known else (0.0 if system.forces else 1.0 / m)
        a, b = contacts.bodies[i, 0], contacts.bodies[i, 1]
        if known and system.forces and options.warm_start:
            rotate_back(origin.P[b], start.w[k], work)
            for e in range(3):
                memory.w[i, e] = 0.0
                for j in range(3):
                    memory.w[i, e] += origin.V[i, j, e] * work[j]
        relative_placement(origin.P, a, b, M)
        place(M, contacts.held[c], centre)
        u = memory.velocities[i]
        relative_velocity(origin.P, origin.twists, a, b, centre, u, work)
    for j in range(start.joints.size):
        clear_vector(memory.w[n + j])
        memory.w[n + j, 0] = start.joints[j] if options.warm_start else middle
        memory.velocities[n + j, 0] = start.v[system.joints.dofs[j]]
        memory.velocities[n + j, 1] = memory.velocities[n + j, 2] = 0.0
    memory.energies[4] = elastic_energy(system, memory.stage, origin)


@jit
def state_stage(
    system: System, scheme: Scheme, start: Start, i: int, memory: Memory, first: StageIterate
) -> None:
    """Write the equations of stage i of a step; `first` is the end of the first stage."""
    stage, tree, h = memory.stage, system.tree, start.h
    a = scheme.a[i, i]
    stage.rate = 1.0 / (a * h)
    stage.displaced = scheme.order == 1
    # a repetition has the last command
    last = max(start.commands.kp.shape[0] - scheme.a.shape[0] + i, 0)
    write_torque(system.joints, start.commands, last, stage.torque)
    copy_vector(start.v, stage.v_ref)
    copy_vector(start.q, stage.q_ref)
    if i > 0:
        b = scheme.a[i, 0] * h
        before = 1.0 / (scheme.a[0, 0] * h)
        integrate(tree.space, start.q, b, first.v, stage.q_ref)
        for l in range(start.v.size):
            stage.v_ref[l] = start.v[l] + b * before * (first.v[l] - start.v[l])
        if stage.form == VELOCITIES:
            placement_rates(first.P, first.twists, memory.slopes)
            for body in range(memory.rates.shape[0]):
                for r in range(4):
                    for c in range(3):
                        slope = memory.slopes[body, r, c] - memory.rates[body, r, c]
                        memory.rates[body, r, c] += b * before * slope
    elif stage.displaced:
        place_references(stage.contacts, memory.origin.P)
    if stage.form != NEWTON_EULER:
        _state_target(system, start, i, memory)


@jit
def _state_target(system: System, start: Start, i: int, memory: Memory) -> None:
    """The placements, or their rates, that the bodies would have without forces.

    In first order bodies move as in a previous step of the same length: v is a backward difference
    of positions, and nothing about the previous step has to be known.
    """
    stage, tree, origin, rates = memory.stage, system.tree, memory.origin, memory.rates
    if i == 0 and stage.displaced:
        back, before = vector(start.q.size), memory.scratch
        integrate(tree.space, start.q, -1.0 / stage.rate, start.v, back)
        kinematics(system, back, before)
        for b in range(rates.shape[0]):
            for r in range(4):
                for c in range(3):
                    rates[b, r, c] = stage.rate * (origin.P[b + 1, r, c] - before.P[b + 1, r, c])
    elif i == 0:
        placement_rates(origin.P, origin.twists, rates)
    for b in range(rates.shape[0]):
        for r in range(4):
            for c in range(3):
                target = rates[b, r, c]
                if stage.displaced:
                    target = origin.P[b + 1, r, c] + rates[b, r, c] / stage.rate
                stage.target[b, r, c] = target
        for c in range(3):
            share = stage.rate * stage.rate if stage.displaced else stage.rate
            stage.target[b, 3, c] += tree.gravity[c] / share
    stage.form = POSITIONS if stage.displaced else VELOCITIES


@jit
def _predicts(options: Options) -> bool:
    """Whether the first guess of a stage is its prediction; else it is the reference."""
    return options.restarts and options.warm_start and options.minimiser == 0


@jit
def guess(system: System, options: Options, number: int, memory: Memory, at: StageIterate) -> bool:
    """Write initial guess `number` of a stage into a point; False: there are no more.

    Most stages take two or three iterations from the first guess. For the others a new guess is
    better than more iterations (docs/choices.md, 3).
    """
    stage, n, r = memory.stage, memory.stage.contacts.n[0], system.joints.dofs.size
    h, m = 1.0 / stage.rate, at.w.shape[1]
    if number >= len(_GUESSES):
        return False
    share, weights = _GUESSES[number]
    if not _predicts(options):
        if number > (1 if options.restarts and options.warm_start else 0):
            return False
        share, weights = 0.0, 1.0 - number
    step = vector(at.v.size)
    for l in range(at.v.size):
        step[l] = share * h * stage.v_ref[l]
        if number == 0:
            step[l] += share * h * h * memory.predicted_acceleration[l]
    integrate(system.tree.space, stage.q_ref, 1.0, step, at.q)
    for i in range(n + r):
        for e in range(m):
            at.w[i, e] = weights * memory.w[i, e]
        if weights == 0.0 and i >= n and not system.forces:
            at.w[i, 0] = 0.5
    return True


@inlined
def solve_from_guesses(
    system: System,
    options: Options,
    guesses: int,
    given: float,
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
        given: work of the torques in the earlier stages [J].
        memory: memory; points `first` and `first + 1` are used.
        first: as above.
        counts: counters, to which those of the stage are added.

    Returns:
        Outcome, and the index of the point where the stage ends.
    """
    stage = memory.stage
    share = share_of_tolerance(options, stage)
    outcome, here, there = STALLED, first, first + 1
    for number in range(guesses):
        at = memory.points[here]
        if not guess(system, options, number, memory, at):
            break
        saturate_at(system, stage, at)
        left = options.budget - counts[WORK]
        if options.minimiser:
            order = 1 if stage.displaced else 2
            call_minimise(options.minimiser, here, stage.rate, order, left, counts)
            outcome = counts[OUTCOME]
        else:
            slip, place = share * options.slip / stage.rate, place_of(stage)
            tolerances = Tolerances(
                share * options.tolerance,
                rounding_of(stage),
                slip,
                place,
                max(min(_DEPTH, slip), place),
                options.max_iterations,
                False,
            )
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
            if _gains_little(system, options, memory.points[here], given, memory):
                break
            outcome = ENERGY_GAINED
        if counts[WORK] >= options.budget:
            break
    return outcome, here


@jit
def _gains_little(
    system: System, options: Options, at: StageIterate, given: float, memory: Memory
) -> bool:
    """Whether the energy that a stage gains is acceptable; the energies at its end are written.

    An implicit step loses energy: in first order v' M (v - v0) is more than the change of
    v' M v / 2, and contact forces only dissipate. Large turns and steps of second order may add a
    share of the energy that moves (docs/choices.md, 14).
    """
    energies = memory.energies
    energies[2], energies[3] = energies_of(system, at)
    done = given + power(at) / memory.stage.rate
    done += released(system, at, memory)
    gain = energies[2] + energies[3] - energies[0] - energies[1] - done
    return gain <= allowed_gain(system.tree, options.share, _moving(system, done, at, memory))


@jit
def _moving(system: System, done: float, at: StageIterate, memory: Memory) -> float:
    """Energy that moves: kinetic energy at the start, a work done, and what springs gave [J]."""
    springs = system.joints.springs
    given = spring_energy(springs, memory.origin.q) - spring_energy(springs, at.q)
    return memory.energies[0] + max(done, 0.0) + max(given, 0.0)


@jit
def released(system: System, at: StageIterate, memory: Memory) -> float:
    """Energy that the contacts have given back since the start [J]."""
    return max(memory.energies[4] - elastic_energy(system, memory.stage, at), 0.0)


@jit
def allowed_gain(tree: Tree, share: float, moving: float) -> float:
    """The largest acceptable gain of energy [J].

    Args:
        tree: joints and bodies.
        share: share of the energy that moves.
        moving: energy that moves: kinetic energy at the start, the work of the torques, and what
            springs gave [J].
    """
    return share * moving + _LEAST_GAIN * tree.weight


@jit
def power(at: StageIterate) -> float:
    """Power of the joint torques at a point [W]."""
    total = 0.0
    for l in range(at.v.size):
        total += at.tau[l] * at.v[l]
    return total


@inlined
def make_stages(
    system: System,
    options: Options,
    scheme: Scheme,
    start: Start,
    memory: Memory,
    base: int,
    counts: Array,
) -> tuple[int, int, int]:
    """Solve the stages of a step one after another.

    Args:
        system: what all steps share.
        options: options of the solver.
        scheme: time scheme.
        start: start of the step.
        memory: memory after `open_step`; the points from `base` on are used.
        base: as above.
        counts: counters, to which those of the stages are added.

    Returns:
        Outcome, and the indices of the points where the first and the last stage end.
    """
    stages, given = scheme.a.shape[0], 0.0
    list_weights(system, start, options, memory)
    copy_vector(start.a, memory.predicted_acceleration)
    first, last, outcome = base, base, CONVERGED
    guesses = _FEW_GUESSES if scheme.order > 1 else len(_GUESSES)
    for i in range(stages):
        state_stage(system, scheme, start, i, memory, memory.points[first])
        if i > 0:
            given = scheme.a[i, 0] * start.h * power(memory.points[first])
        outcome, last = solve_from_guesses(
            system, options, guesses, given, memory, base + 2 * i, counts
        )
        if i == 0:
            first = last
        if outcome != CONVERGED:
            break
        warm_start_next_stage(system, memory, memory.points[last])
    return outcome, first, last


@jit
def warm_start_next_stage(system: System, memory: Memory, at: StageIterate) -> None:
    """Prepare the next stage: its initial forces, or weights, full ones of contacts apart."""
    stage, n = memory.stage, memory.stage.contacts.n[0]
    m, k = at.w.shape[1], 0
    for i in range(count_rows(system, stage)):
        acts = k < at.n_active[0] and at.active[k] == i
        k += acts
        for e in range(m):
            if acts:
                memory.w[i, e] = at.w[i, e]
            elif system.forces:
                memory.w[i, e] = 0.0
            elif i < n:
                memory.w[i, e] = 1.0 / m
            else:
                memory.w[i, e] = 0.5 if e == 0 else 0.0
    for l in range(at.v.size):
        memory.predicted_acceleration[l] = stage.rate * (at.v[l] - stage.v_ref[l])


@jit
def make_step(step: Step) -> None:
    """Make a step; one of second order is repeated in first order where it is not accepted.

    It is repeated where it does not converge, gains energy, or has an impact that rebounds or
    penetrates too deeply. The step begins again where a candidate touches that is no contact.

    Args:
        step: the step, whose memory and end are overwritten.
    """
    system, options, scheme, start = step.system, step.options, step.scheme, step.start
    memory, end, counts = step.memory, step.end, step.end.counts
    for i in range(counts.size):
        counts[i] = 0
    open_step(system, start, memory)
    outcome, first, last, order = STALLED, 0, 0, scheme.order
    kinetic, potential = 0.0, 0.0
    for _ in range(_MOST_MISSED):
        made, base, doubtful = scheme, 0, False
        while True:
            found, a, b = make_stages(system, options, made, start, memory, base, counts)
            if base > 0:  # the repetition
                if doubtful and (
                    found != CONVERGED
                    or first_order_agrees(
                        system, memory.stage, memory.points[b], memory.velocities, memory.suspects
                    )
                ):
                    memory.energies[2], memory.energies[3] = kinetic, potential
                else:
                    outcome, first, last, order = found, b, b, 1
                break
            outcome, first, last, order = found, a, b, scheme.order
            if scheme.order == 1:
                break
            if outcome == CONVERGED:
                outcome, doubtful = _judge(system, options, scheme, start, memory, first, last)
                if outcome == CONVERGED and not doubtful:
                    break
            kinetic, potential = memory.energies[2], memory.energies[3]
            made, base = step.first_order, 4
        if outcome != CONVERGED:
            break
        missed = missed_contacts(system.candidates, memory.points[last].P, memory.stage.contacts)
        if first != last:
            missed |= missed_contacts(
                system.candidates, memory.points[first].P, memory.stage.contacts
            )
        if not missed and not missed_overlaps(
            system.candidates,
            memory.stage.contacts,
            memory.points[last].places,
            memory.points[last].P,
            memory.origin.P,
        ):
            break
        outcome = BUDGET_SPENT
    counts[OUTCOME], counts[ORDER] = outcome, order
    end.numbers[OF_RESIDUAL] = memory.points[last].sums[RESIDUAL]
    if outcome == CONVERGED:
        made = scheme if order == scheme.order else step.first_order
        _close_step(system, made, start, memory, first, last, end)
        if not _is_finite(end):
            counts[OUTCOME] = NOT_FINITE


@inlined
def _is_finite(end: End) -> bool:
    """Whether the numbers of a step are finite, and not so large that their squares are not."""
    total = end.numbers[OF_GAP] + end.numbers[KINETIC] + end.numbers[POTENTIAL]
    for i in range(end.q.size):
        total += end.q[i] * end.q[i]
    for l in range(end.v.size):
        total += end.v[l] * end.v[l] + end.tau[l] * end.tau[l]
    for p in range(end.wrenches.shape[0]):
        for a in range(6):
            total += end.wrenches[p, a] * end.wrenches[p, a]
    return abs(total) < np.inf


@jit
def _judge(
    system: System,
    options: Options,
    scheme: Scheme,
    start: Start,
    memory: Memory,
    first: int,
    last: int,
) -> tuple[int, bool]:
    """Outcome of a step of second order, and whether a step of first order has to confirm it."""
    energies, at, before = memory.energies, memory.points[last], memory.points[first]
    done = start.h * (scheme.a[1, 0] * power(before) + scheme.a[1, 1] * power(at))
    gain = energies[2] + energies[3] - energies[0] - energies[1] - done
    gain -= released(system, at, memory)
    if not gain <= allowed_gain(system.tree, options.share, _moving(system, done, at, memory)):
        return ENERGY_GAINED, False
    return accept_second_order(
        system,
        memory.stage,
        memory.origin,
        before,
        at,
        1.0 / (scheme.a[0, 0] * start.h),
        gain,
        done,
        energies[0],
        memory.velocities,
        memory.suspects,
    )


@jit
def _close_step(
    system: System, scheme: Scheme, start: Start, memory: Memory, first: int, last: int, end: End
) -> None:
    """Write the end of a step that was made."""
    at, contacts, stages = memory.points[last], memory.stage.contacts, scheme.a.shape[0]
    n, k = contacts.n[0], 0
    copy_vector(at.q, end.q)
    warm_start_next_stage(system, memory, at)
    for l in range(at.v.size):
        end.v[l], end.a[l] = at.v[l], memory.predicted_acceleration[l]
        end.tau[l] = at.tau[l] - memory.stage.torque.external[l]
    for x in range(at.n_active[1]):
        i = at.active[x]
        if not touches(system, at, n, i):
            continue
        end.contacts[k] = identity(system.candidates, contacts, contacts.index[i])
        if system.forces:
            rotate(at.P[contacts.bodies[i, 1]], at.wrench[i], end.w[k])
        else:
            copy_vector(at.w[i], end.w[k])
        k += 1
    end.counts[TOUCHING] = k
    for j in range(end.joints.size):
        end.joints[j] = memory.w[n + j, 0]
    report_depths(system.candidates, contacts, at.places, end.depths)
    clear_matrix(end.wrenches)
    for s in range(stages):
        add_wrenches(
            system,
            contacts,
            scheme.a[stages - 1, s],
            memory.points[first if s + 1 < stages else last],
            end.wrenches,
        )
    # The velocities at the start and at the ends of the stages give a quadrature of one order more;
    # the difference from the scheme's own is the estimate.
    for l in range(at.v.size):
        v0, v1, v2 = start.v[l], memory.points[first].v[l], at.v[l]
        if stages == 1:
            end.error[l] = 0.5 * start.h * (v0 - v2)
        else:
            c = scheme.a[0, 0]
            # weights of the quadrature at 0, c and 1
            of_1 = (3.0 * c - 2.0) / (6.0 * (c - 1.0))
            of_c = 1.0 / (6.0 * c * (1.0 - c))
            of_0 = 1.0 - of_1 - of_c
            own = (of_c - scheme.a[1, 0]) * v1 + (of_1 - scheme.a[1, 1]) * v2
            end.error[l] = start.h * (of_0 * v0 + own)
    end.numbers[OF_GAP] = at.sums[GAP]
    end.numbers[KINETIC], end.numbers[POTENTIAL] = memory.energies[2], memory.energies[3]


@jit
def add_wrenches(
    system: System, contacts: Contacts, weight: float, at: StageIterate, wrenches: Array
) -> None:
    """Add the weighted wrenches of a stage about the centres of the points, in the world."""
    n = contacts.n[0]
    seen, moment, worlds = vector(3), vector(3), zero_matrix(n, 6)
    for x in range(at.n_active[1]):
        i = at.active[x]
        c, f = contacts.index[i], at.wrench[i]
        alone = system.candidates.pairs[c] < 0 or contacts.features[c, 0] == CROSSED_ROUND
        alone = alone and system.candidates.bodies[c, 0] > 0
        cross_into(at.places.arm[i], f, moment)
        for a in range(3):
            seen[a] = weight * f[a]
            if f.size == 6:
                moment[a] = f[3 + a] - (0.0 if alone else moment[a])
            elif not alone:
                moment[a] = 0.0
            moment[a] *= weight
        b = contacts.bodies[i, 1]
        rotate(at.P[b], seen, worlds[i, :3])
        rotate(at.P[b], moment, worlds[i, 3:])
    report_wrenches(system.candidates, contacts, at.places, worlds, wrenches)
