"""The start of a step, and of its stages: contacts, unknowns to begin with, equations."""

from __future__ import annotations

from nmdp_pin._kernels.algebra.linear import clear_vector, copy_vector
from nmdp_pin._kernels.algebra.manifold import difference, integrate
from nmdp_pin._kernels.algebra.vector3 import place, rotate_back
from nmdp_pin._kernels.compiler.jit import deferred, jit
from nmdp_pin._kernels.compiler.record import matrix, vector
from nmdp_pin._kernels.contact.contact_motion import relative_placement, relative_velocity
from nmdp_pin._kernels.geometry.contacts import identity
from nmdp_pin._kernels.geometry.planes import place_references, select_contacts, select_overlaps
from nmdp_pin._kernels.step.contact_rows import update_cones
from nmdp_pin._kernels.step.impacts import write_elastic_energies
from nmdp_pin._kernels.step.inertia import placement_rates
from nmdp_pin._kernels.step.islands import find_islands, write_energies
from nmdp_pin._kernels.step.scripts import is_scripted, state_script
from nmdp_pin._kernels.step.stage import kinematics
from nmdp_pin._kernels.step.stage_records import (
    NEWTON_EULER,
    POSITIONS,
    VELOCITIES,
    Stage,
    StageIterate,
    System,
)
from nmdp_pin._kernels.step.step_records import Known, Memory, Options, Scheme, Start
from nmdp_pin._kernels.step.surface_motion import add_surface_motion
from nmdp_pin._kernels.tree.joints import motor, write_torque
from nmdp_pin._kernels.tree.loops import place_grips, write_gaps
from nmdp_pin._kernels.tree.tree import body_twists

# Initial guesses: share of the predicted motion, and whether with the forces of the step before.
GUESSES = ((1.0, 1.0), (0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (0.5, 1.0))
# Change of a torque after which a step is not predicted, over that of the acceleration of gravity
_SUDDEN = 64.0


@jit
def open_step(system: System, start: Start, memory: Memory) -> None:
    """Kinematics and contacts at the start of a step."""
    origin, stage, tree = memory.origin, memory.stage, system.tree
    copy_vector(start.q, origin.q)
    copy_vector(start.v, origin.v)
    kinematics(system, start.q, origin)
    body_twists(tree, origin.S, start.v, origin.twists)
    candidates, contacts = system.candidates, stage.contacts
    rolling = candidates.rolling and start.rolling
    select_contacts(candidates, origin.P, origin.twists, start.h, rolling, contacts)
    select_overlaps(candidates, contacts, origin.places, origin.P)


@jit
def known_before(start: Start) -> Known:
    """What the step before knows of a step."""
    return Known(start.a, start.tau, start.joints, start.touching, start.contacts, start.w)


@jit
def list_weights(system: System, known: Known, options: Options, memory: Memory) -> None:
    """Write the forces or weights to begin with, velocities of the rows and energies at the start.

    By weights a contact that approaches starts from its full normal force, as at the end of an
    impact.
    """
    contacts, origin = memory.stage.contacts, memory.origin
    n, m, k = contacts.n[0], memory.w.shape[1], 0
    middle = 0.0 if system.forces else 0.5
    M, centre, work = matrix(4, 3), vector(3), vector(3)
    if system.forces or system.recovery > 0.0 or len(system.surfaces) > 0:
        update_cones(system, contacts, origin)
    for i in range(n):
        c = contacts.index[i]
        number = identity(system.candidates, contacts, c)
        while k < known.touching and known.contacts[k] < number:
            k += 1
        carried = k < known.touching and known.contacts[k] == number
        for e in range(m):
            memory.w[i, e] = 0.0
            if options.warm_start:
                memory.w[i, e] = known.w[k, e] if carried else (0.0 if system.forces else 1.0 / m)
        a, b = contacts.bodies[i, 0], contacts.bodies[i, 1]
        if carried and system.forces and options.warm_start:
            rotate_back(origin.P[b], known.w[k], work)
            for e in range(3):
                memory.w[i, e] = 0.0
                for j in range(3):
                    memory.w[i, e] += origin.V[i, j, e] * work[j]
        relative_placement(origin.P, a, b, M)
        place(M, contacts.held[c], centre)
        u = memory.velocities[i]
        relative_velocity(origin.P, origin.twists, a, b, centre, u, work)
        add_surface_motion(system.surfaces, contacts, origin.places, i, -1.0, u)
    for j in range(known.joints.size):
        clear_vector(memory.w[n + j])
        memory.w[n + j, 0] = known.joints[j] if options.warm_start else middle
        memory.velocities[n + j, 0] = origin.v[system.joints.dofs[j]]
        memory.velocities[n + j, 1] = memory.velocities[n + j, 2] = 0.0
    islands = memory.islands
    find_islands(system.tree, contacts, system.joints, islands)
    write_energies(system, origin, islands, islands.kinetic0, islands.potential0, islands.springs0)
    write_elastic_energies(system, memory.stage, origin, islands, islands.elastic0)
    clear_vector(islands.given)


@jit
def state_stage(
    system: System, scheme: Scheme, start: Start, i: int, memory: Memory, first: StageIterate
) -> None:
    """Write the equations of stage i of a step; `first` is the end of the first stage."""
    stage, tree, h = memory.stage, system.tree, start.h
    a = scheme.a[i, i]
    stage.rate = 1.0 / (a * h)
    stage.displaced = scheme.order == 1
    stage.closes = i + 1 == scheme.a.shape[0]
    if i == 0:
        for x in range(start.held.size):
            stage.held[x] = start.held[x]
        place_grips(system.joints.loops, memory.origin.P, stage.frames)
        write_gaps(system.joints.loops, stage.frames, memory.origin.P, start.q, stage.gaps)
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
    state_script(system, scheme, start, stage)
    if stage.form != NEWTON_EULER:
        _state_target(system, start, i, memory)


@deferred
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
        share = stage.rate * stage.rate if stage.displaced else stage.rate
        for r in range(4):
            for c in range(3):
                stage.target[b, r, c] += tree.falls[b, r] * tree.gravity[c] / share
    stage.form = POSITIONS if stage.displaced else VELOCITIES


@jit
def is_steady(system: System, start: Start, known: Known, stage: Stage) -> bool:
    """Whether a command asks at the start for about the torques that are known.

    Where it does not, its motion is not theirs either: limbs that are predicted far from where
    they get to, with forces on them, give way, and the linearised equations may have no solution.
    """
    if not system.forces:
        return True
    joints, torque, error = system.joints, stage.torque, vector(start.v.size)
    difference(system.tree.space, torque.q_target, start.q, error)
    for l in range(start.v.size):
        if is_scripted(system, l):
            continue
        asked, limit = motor(joints, torque, l, error[l], start.v[l]), joints.effort[l]
        asked = min(max(asked, -limit), limit) - joints.damping[l] * start.v[l]
        if abs(asked - known.tau[l]) > _SUDDEN * system.scales[l]:
            return False
    return True


@jit
def _predicts(options: Options) -> bool:
    """Whether the first guess of a stage is its prediction; else it is the reference."""
    return options.restarts and options.warm_start and options.minimiser == 0


@jit
def _which(options: Options, number: int, memory: Memory) -> int:
    """Index of a guess in the list; after a sudden command the first one is tried last."""
    if memory.steady or not _predicts(options):
        return number
    return (number + 1) % len(GUESSES)


@jit
def repeats(system: System, options: Options, number: int, memory: Memory) -> bool:
    """Whether a guess is the one before, since no force is known."""
    which = _which(options, number, memory)
    if not system.forces or which != (2 if _predicts(options) else 1):
        return False
    for i in range(memory.stage.contacts.n[0] + system.joints.dofs.size):
        for e in range(memory.w.shape[1]):
            if memory.w[i, e] != 0.0:
                return False
    return True


@jit
def guess(system: System, options: Options, number: int, memory: Memory, at: StageIterate) -> bool:
    """Write initial guess `number` of a stage into a point; False: there are no more.

    Most stages take two or three iterations from the first guess. For the others a new guess is
    better than more iterations (docs/choices.md, 3).
    """
    stage, n, r = memory.stage, memory.stage.contacts.n[0], system.joints.dofs.size
    h, m = 1.0 / stage.rate, at.w.shape[1]
    if number >= len(GUESSES):
        return False
    which = _which(options, number, memory)
    share, weights = GUESSES[which]
    if not _predicts(options):
        if number > (1 if options.restarts and options.warm_start else 0):
            return False
        share, weights = 0.0, 1.0 - number
    step = vector(at.v.size)
    for l in range(at.v.size):
        step[l] = share * h * stage.v_ref[l]
        if which == 0:
            step[l] += share * h * h * memory.predicted_acceleration[l]
        if is_scripted(system, l):
            step[l] = stage.script[l]
    integrate(system.tree.space, stage.q_ref, 1.0, step, at.q)
    for i in range(n + r):
        for e in range(m):
            at.w[i, e] = weights * memory.w[i, e]
        if weights == 0.0 and i >= n and not system.forces:
            at.w[i, 0] = 0.5
    return True
