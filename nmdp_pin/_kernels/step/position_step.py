"""A step of position-based dynamics with penalty contacts ([P] eq. 5, 6, 11 and 13).

The unknown is the configuration at the end of the step. With E the inertial potential and D, D_t
the derivatives of y = difference(q0, q) and e = difference(q_target, q), the residual is

    r = dE/dq - Q_contacts - tau + I_rotors (v - v0) / h
    tau = tau_0 - kd v - kp e                                  of pbfd,
    tau = D' (tau_0 - kd v) - D_t' kp e                        of pbd, the gradient of an energy

(of pbd the rotors' force too is multiplied by D'). Stops are springs, dry friction is viscous up to
a creeping speed, and a saturated motor has a constant effort: gradients of one coordinate each.
"""

from __future__ import annotations

import math

import numpy as np

from nmdp_pin._kernels.algebra.linear import (
    cholesky,
    clear_matrix,
    clear_vector,
    copy_matrix,
    copy_vector,
    solve_upper_transposed,
)
from nmdp_pin._kernels.algebra.manifold import (
    add_rows,
    add_turning,
    add_weighted,
    difference,
    difference_derivative,
    integrate,
    pull_force,
)
from nmdp_pin._kernels.algebra.vector3 import dot, rotate
from nmdp_pin._kernels.compiler.jit import Array, jit
from nmdp_pin._kernels.compiler.record import matrix, record, vector
from nmdp_pin._kernels.contact.contact_motion import (
    displacement,
    stiffness_at_origin,
    turn_back,
    wrench_at_origin,
)
from nmdp_pin._kernels.contact.penalty import (
    FRICTIONAL,
    PenaltyLaw,
    Touch,
    conservative_derivative,
    friction_energy,
    frictional_derivative,
    gauss_newton,
    measure,
    new_touch,
    stored_energy,
    wrench_of,
)
from nmdp_pin._kernels.geometry.contacts import ContactFrames, ContactPairs, Contacts
from nmdp_pin._kernels.geometry.planes import bend_contacts, place_contacts
from nmdp_pin._kernels.step.inertia import inertial_stiffness, inertial_wrenches
from nmdp_pin._kernels.tree.joints import (
    Commands,
    Joints,
    Torque,
    gains,
    motor,
    stop,
    write_torque,
)
from nmdp_pin._kernels.tree.springs import add_springs, spring_energy
from nmdp_pin._kernels.tree.tree import (
    Tree,
    add_children,
    add_pairs,
    body_twists,
    energies,
    forward_kinematics,
    project_stiffness,
    project_wrenches,
    subtract_from_bodies,
    world_motions,
)

CREEP = 1e-3  # [rad/s or m/s] up to which dry friction of a joint is viscous


@record
class Scene:
    """What all steps share.

    Args:
        tree: joints and bodies.
        candidates: pairs that may touch.
        joints: bounds of the joints.
        law: penalty law, whose kind makes the method pbfd or pbd.
        semidefinite: whether pbd uses the Gauss-Newton part of the Hessian.
    """

    tree: Tree
    candidates: ContactPairs
    joints: Joints
    law: PenaltyLaw
    semidefinite: bool


@record
class StepStart:
    """Data of a step.

    Args:
        values: numbers of the arrays that follow, one after another.
        q0: configuration at its start, shape (nq,).
        v0: velocity there, shape (nv,).
        commands: command of the step.
        torque: its torque, which is written; the signs are the limits that act on the motors at
            the point accepted last.
        h: length [s].
    """

    values: Array
    q0: Array
    v0: Array
    commands: Commands
    torque: Torque
    h: float


@record
class StepReference:
    """Quantities that follow from the start of a step; all arrays are written by `begin`.

    Args:
        P0: placements at q0, shape (n + 1, 4, 3).
        S0: motions of the dofs there, shape (nv, 6).
        twists: motions of the bodies there, shape (n + 1, 6).
        target: placements that the bodies reach without forces, shape (n, 4, 3).
        metric: M / h^2 + kd / h + kp, shape (nv, nv).
        U: upper factor of the metric, shape (nv, nv).
        energies: kinetic, potential [J], shape (2,).
        contacts: contacts of the step.
    """

    P0: Array
    S0: Array
    twists: Array
    target: Array
    metric: Array
    U: Array
    energies: Array
    contacts: Contacts


@record
class ContactForces:
    """The forces of all contacts; all arrays are written.

    Args:
        wrenches: wrenches about the centres, axes of the world [N, N m], shape (k, 6).
        origin: wrenches at the world's origin, shape (k, 6).
        stiffness: their derivatives by motions at the world's origin, shape (k, 36).
        energies: stored by the normal forces and by conservative friction [J], shape (2,).
    """

    wrenches: Array
    origin: Array
    stiffness: Array
    energies: Array


@record
class Trial:
    """A step evaluated at one configuration; all arrays are written.

    Args:
        q: configuration, shape (nq,).
        v: velocity, shape (nv,).
        y: difference(q0, q), shape (nv,).
        e: difference(q_target, q), shape (nv,).
        D: derivative of y, shape (nv, nv).
        D_t: derivative of e, shape (nv, nv).
        P: placements, shape (n + 1, 4, 3).
        S: motions of the dofs, shape (nv, 6).
        places: contacts.
        forces: forces of the contacts.
        wrenches: wrenches of inertia less contacts, summed over subtrees, shape (n, 6).
        stiffness: derivatives of these wrenches, shape (n, 36).
        r: residual [N, N m], shape (nv,).
        tau: torque of the command and the damping, shape (nv,).
        A: dr/dq, or its semidefinite part, shape (nv, nv).
        space: workspace, shape (4, nv).
    """

    q: Array
    v: Array
    y: Array
    e: Array
    D: Array
    D_t: Array
    P: Array
    S: Array
    places: ContactFrames
    forces: ContactForces
    wrenches: Array
    stiffness: Array
    r: Array
    tau: Array
    A: Array
    space: Array


@record
class PositionStep:
    """A step and the memory of its minimisation; what follows the trial is written.

    Args:
        scene: what all steps share.
        start: data of the step.
        tolerance: bound on |r| over the weight.
        max_iterations: largest number of linear solves.
        ref: quantities that follow from the start.
        trial: trial point.
        bound: bound on |r|, which is not below its rounding errors [N, N m].
        q: last accepted configuration, shape (nq,).
        r: residual at q, shape (nv,).
        F: last factorised matrix, shape (nv, nv).
        dx: solution of the linear system, shape (nv,).
        account: account of the minimisation.
        energies: kinetic and potential energy at the end, energy stored by the contacts at the
            start, and the ratio of the pivots of F, shape (4,).
        formed: whether the next two are those of the point accepted last.
        gram: X'X with X = U'^-1 A, upper triangle, shape (nv, nv).
        descent: -X'U'^-1 r, shape (nv,).
        freed: stiffness of motors that is in A beside the derivative, shape (nv,).
    """

    scene: Scene
    start: StepStart
    tolerance: float
    max_iterations: int
    ref: StepReference
    trial: Trial
    bound: float
    q: Array
    r: Array
    F: Array
    dx: Array
    account: Array
    energies: Array
    formed: bool
    gram: Array
    descent: Array
    freed: Array


@jit
def begin(step: PositionStep) -> bool:
    """Write the torque and the reference of a step without contacts; False: M is singular."""
    start, ref, trial = step.start, step.ref, step.trial
    tree, torque, h, nv = step.scene.tree, start.torque, start.h, len(start.v0)
    write_torque(step.scene.joints, start.commands, 0, torque)
    forward_kinematics(tree, start.q0, ref.P0)
    world_motions(tree, ref.P0, ref.S0)
    body_twists(tree, ref.S0, start.v0, ref.twists)
    # v0 is a backward difference of positions; with the length of this step, nothing about the
    # previous step has to be known
    integrate(tree.space, start.q0, -h, start.v0, trial.q)
    forward_kinematics(tree, trial.q, trial.P)
    for b in range(len(tree.parents)):
        for i in range(4):
            for j in range(3):
                ref.target[b, i, j] = 2.0 * ref.P0[b + 1, i, j] - trial.P[b + 1, i, j]
        for j in range(3):
            ref.target[b, 3, j] += tree.gravity[j] * h * h
    inertial_stiffness(ref.P0[1:], ref.P0[1:], tree.moments, 1.0, trial.stiffness)
    add_children(tree.parents, trial.stiffness)
    clear_matrix(trial.wrenches)
    clear_matrix(ref.metric)
    project_stiffness(
        ref.S0, tree.parents, tree.first_dofs, trial.stiffness, trial.wrenches, ref.metric
    )
    for i in range(nv):
        ref.metric[i, i] += tree.rotors[i]
        for j in range(nv):
            ref.metric[i, j] /= h * h
        ref.metric[i, i] += torque.kd[i] / h + torque.kp[i]
    copy_matrix(ref.metric, ref.U)
    ref.energies[0], ref.energies[1] = energies(tree, ref.P0, ref.twists, start.v0)
    ref.energies[1] += spring_energy(step.scene.joints.springs, start.q0)
    return cholesky(ref.U)


@jit
def evaluate_step(step: PositionStep) -> tuple[float, float]:
    """The function that is minimised, and the norm of the residual r, at `trial.q`.

    It is |U'^-1 r|^2 / 2 [J] for pbfd, U'U being the metric, and the energy E [J] for pbd. The
    reference is that of `begin`, with the contacts of the step.
    """
    scene, start, ref, trial = step.scene, step.start, step.ref, step.trial
    tree, torque, h, contacts = scene.tree, start.torque, start.h, ref.contacts
    nv, scale, space = len(start.v0), 1.0 / (start.h * start.h), scene.tree.space
    forward_kinematics(tree, trial.q, trial.P)
    world_motions(tree, trial.P, trial.S)
    place_contacts(scene.candidates, contacts, trial.P, trial.places)
    value = scale * inertial_wrenches(trial.P[1:], ref.target, tree.moments, trial.wrenches)
    for b in range(len(tree.parents)):
        for i in range(6):
            trial.wrenches[b, i] *= scale
    forces = trial.forces
    write_contact_forces(step)
    subtract_from_bodies(contacts.bodies, forces.origin, contacts.n[0], -1.0, trial.wrenches)
    add_children(tree.parents, trial.wrenches)
    project_wrenches(trial.S, tree.first_dofs, trial.wrenches, trial.r)
    difference(space, start.q0, trial.q, trial.y)
    difference(space, torque.q_target, trial.q, trial.e)
    if not space.flat:
        difference_derivative(space, trial.y, trial.D)
        difference_derivative(space, trial.e, trial.D_t)
    pull, inertia, spring = trial.space[0], trial.space[1], trial.space[2]
    value += forces.energies[0] + forces.energies[1]
    for k in range(nv):
        v = trial.y[k] / h
        trial.v[k] = v
        change = v - start.v0[k]
        pull[k] = torque.constant[k] - torque.kd[k] * v
        inertia[k] = tree.rotors[k] / h * change
        spring[k] = torque.kp[k] * trial.e[k]
        value += h * (0.5 * (inertia[k] * change + torque.kd[k] * v * v) - torque.constant[k] * v)
        value += 0.5 * spring[k] * trial.e[k]
    if scene.law.kind == FRICTIONAL:
        for k in range(nv):
            trial.tau[k] = pull[k] - spring[k]
            trial.r[k] += inertia[k] - trial.tau[k]
    else:
        out = trial.space[3]
        pull_force(space, trial.D, pull, trial.tau)
        pull_force(space, trial.D_t, spring, out)
        for k in range(nv):
            trial.tau[k] -= out[k]
            trial.r[k] -= trial.tau[k]
        pull_force(space, trial.D, inertia, out)
        for k in range(nv):
            trial.r[k] += out[k]
    value += _add_joint_forces(step)
    error, s = 0.0, trial.space[3]
    copy_vector(trial.r, s)
    for k in range(nv):
        error += trial.r[k] * trial.r[k]
    if scene.law.kind == FRICTIONAL:
        solve_upper_transposed(ref.U, s)
        value = 0.0
        for k in range(nv):
            value += 0.5 * s[k] * s[k]
    return value, math.sqrt(error)


@jit
def linearise_step(step: PositionStep, exact: bool) -> None:
    """Write dr/dq at the trial (tangent), or its positive semidefinite part, into `trial.A`."""
    scene, start, ref, trial = step.scene, step.start, step.ref, step.trial
    tree, torque, contacts, A = scene.tree, start.torque, ref.contacts, trial.A
    nv, space, h, forces = len(start.v0), scene.tree.space, start.h, trial.forces
    target = ref.target if exact else trial.P[1:]
    inertial_stiffness(trial.P[1:], target, tree.moments, 1.0, trial.stiffness)
    for b in range(len(tree.parents)):
        for i in range(36):
            trial.stiffness[b, i] /= h * h
    _write_contact_stiffness(step, exact)
    subtract_from_bodies(contacts.bodies, forces.stiffness, contacts.n[0], 1.0, trial.stiffness)
    add_children(tree.parents, trial.stiffness)
    wrenches = trial.wrenches if exact else np.zeros_like(trial.wrenches)
    origin = forces.origin if exact else np.zeros_like(forces.origin)
    clear_matrix(A)
    project_stiffness(trial.S, tree.parents, tree.first_dofs, trial.stiffness, wrenches, A)
    add_pairs(tree, trial.S, contacts.bodies, forces.stiffness, origin, contacts.n[0], A)
    weights, force = trial.space[0], trial.space[1]
    for k in range(nv):
        weights[k] = tree.rotors[k] / h + torque.kd[k]
    if scene.law.kind == FRICTIONAL:
        add_rows(space, weights, trial.D, 1.0 / h, A)
        add_rows(space, torque.kp, trial.D_t, 1.0, A)
    else:
        add_weighted(space, trial.D, trial.D, weights, 1.0 / h, A)
        add_weighted(space, trial.D_t, trial.D_t, torque.kp, 1.0, A)
    _add_joint_stiffness(step)
    if scene.law.kind == FRICTIONAL or not exact:
        return
    for k in range(nv):
        v = trial.v[k]
        force[k] = torque.kd[k] * v - torque.constant[k] + tree.rotors[k] / h * (v - start.v0[k])
    add_turning(space, trial.y, trial.D, force, A)
    for k in range(nv):
        force[k] = torque.kp[k] * trial.e[k]
    add_turning(space, trial.e, trial.D_t, force, A)


@jit
def _excess(step: PositionStep, k: int) -> float:
    """Excess of the commanded effort of dof k over its limit [N m or N]."""
    joints, trial = step.scene.joints, step.trial
    effort = motor(joints, step.start.torque, k, trial.e[k], trial.v[k])
    return max(effort - joints.effort[k], 0.0) + min(effort + joints.effort[k], 0.0)


@jit
def _motor_stiffness(step: PositionStep, k: int) -> float:
    """Stiffness kp + kd / h of the motor of dof k, without the joint's damping [N m/rad or N/m]."""
    torque = step.start.torque
    return torque.kp[k] + (torque.kd[k] - step.scene.joints.damping[k]) / step.start.h


@jit
def _add_joint_forces(step: PositionStep) -> float:
    """Subtract the joints' forces from the residual, and return the energy that they add [J].

    The energy stored in stops is added to that of the contacts.
    """
    joints, trial, h, stored, value = step.scene.joints, step.trial, step.start.h, 0.0, 0.0
    for j in range(len(joints.dofs)):
        gap, away = stop(joints, j, trial.q)
        k, depth = joints.dofs[j], -away * max(-gap, 0.0)  # negative beyond the lower stop
        y, friction = trial.y[k], joints.friction[j]
        trial.r[k] += joints.stiffness[j] * depth
        stored += 0.5 * joints.stiffness[j] * depth * depth
        if friction > 0.0:
            stick = h * CREEP
            if abs(y) <= stick:
                trial.r[k] += friction * y / stick
                value += 0.5 * friction * y * y / stick
            else:
                trial.r[k] += friction * np.sign(y)
                value += friction * (abs(y) - 0.5 * stick)
    for k in range(len(trial.v)):
        more = _excess(step, k)
        if more != 0.0:
            trial.r[k] += more
            trial.tau[k] -= more
            curvature = _motor_stiffness(step, k)
            if curvature > 0.0:
                value -= 0.5 * more * more / curvature
            else:
                value += more * trial.y[k]
    value += add_springs(joints.springs, trial.q, trial.r, matrix(0, 0))
    trial.forces.energies[0] += stored
    return value + stored


@jit
def _add_joint_stiffness(step: PositionStep) -> None:
    """Add the derivative of the joints' forces to `trial.A`."""
    joints, trial, stick = step.scene.joints, step.trial, step.start.h * CREEP
    for j in range(len(joints.dofs)):
        k = joints.dofs[j]
        if stop(joints, j, trial.q)[0] < 0.0:
            trial.A[k, k] += joints.stiffness[j]
        if joints.friction[j] > 0.0 and abs(trial.y[k]) <= stick:
            trial.A[k, k] += joints.friction[j] / stick
    for k in range(len(trial.v)):
        if _excess(step, k) != 0.0:
            trial.A[k, k] -= _motor_stiffness(step, k)
    unused = trial.space[3]
    add_springs(joints.springs, trial.q, unused, trial.A)


@jit
def free_motors(step: PositionStep) -> None:
    """Add the stiffness of motors whose limits act at this point but not at the last to `trial.A`.

    Without their stiffness such motors swing through to the other limit, and back.
    """
    signs = step.start.torque.signs
    for k in range(len(signs)):
        sign = np.sign(_excess(step, k))
        step.freed[k] = 0.0
        if sign != signs[k] and sign != 0.0:
            step.freed[k] = _motor_stiffness(step, k)
            step.trial.A[k, k] += step.freed[k]
        signs[k] = sign


@jit
def replace_kinks(step: PositionStep, torque: Torque) -> None:
    """Replace friction and limits of joints by gains and torques that equal them near the trial.

    The torque is a copy of that of the step.
    """
    joints, y = step.scene.joints, step.trial.y
    for k in range(len(y)):
        torque.signs[k] = np.sign(_excess(step, k))
        torque.constant[k], torque.kp[k], torque.kd[k] = gains(joints, torque, k)
    for j in range(len(joints.dofs)):
        k = joints.dofs[j]
        if abs(y[k]) > step.start.h * CREEP:
            torque.constant[k] -= np.copysign(joints.friction[j], y[k])
        else:
            torque.kd[k] += joints.friction[j] / CREEP


@jit
def describe_contact(step: PositionStep, i: int, t: Touch) -> bool:
    """Describe contact i; False where it does not touch."""
    places, reference, u = step.trial.places, step.ref.contacts.reference[i], vector(3)
    depth, radius = places.depth[i], -dot(places.arm[i], places.normal[i])
    if not depth > 0.0:
        return False
    for j in range(3):
        t.n[j], t.arm[j] = places.normal[i, j], 0.0
    displacement(places.placements[i], reference, places.centre[i], t.arm, u)
    turn_back(places.placements[i], reference, t.turn)
    t.sizes[7] = 1.0 if places.curved[i] else 0.0
    if places.curved[i]:
        copy_matrix(places.curvature[i], t.K)
    measure(step.scene.law, step.start.h, depth, places.friction[i], u, radius, t)
    return True


@jit
def write_contact_forces(step: PositionStep) -> None:
    """Write the wrenches of all contacts and their energies, after `place_contacts`."""
    law, contacts, trial, forces = step.scene.law, step.ref.contacts, step.trial, step.trial.forces
    t, wrench = new_touch(), vector(6)
    forces.energies[0] = forces.energies[1] = 0.0
    bend_contacts(step.scene.candidates, contacts, trial.places)
    for i in range(contacts.n[0]):
        w, at = forces.wrenches[i], forces.origin[i]
        clear_vector(w)
        clear_vector(at)
        if not describe_contact(step, i, t):
            continue
        wrench_of(law, t, wrench)
        forces.energies[0] += stored_energy(law, t)
        if law.kind != FRICTIONAL:
            forces.energies[1] += friction_energy(law, t)
        b = contacts.bodies[i, 1]
        rotate(trial.P[b], wrench[:3], w[:3])
        rotate(trial.P[b], wrench[3:], w[3:])
        wrench_at_origin(trial.P, b, trial.places.centre[i], wrench, at)


@jit
def _write_contact_stiffness(step: PositionStep, exact: bool) -> None:
    """Derivatives of the wrenches at the world's origin by motions relative to the touched bodies.

    They are exact, or of conservative forces minus the Gauss-Newton part of the Hessian.
    """
    law, contacts, trial = step.scene.law, step.ref.contacts, step.trial
    t, wrench, D = new_touch(), vector(6), matrix(6, 6)
    for i in range(contacts.n[0]):
        stiffness = trial.forces.stiffness[i]
        clear_vector(stiffness)
        if not describe_contact(step, i, t):
            continue
        wrench_of(law, t, wrench)
        if law.kind == FRICTIONAL:
            frictional_derivative(law, t, wrench, D)
        elif exact:
            conservative_derivative(law, t, D)
        else:
            gauss_newton(law, t, D)
            for j in range(6):
                for k in range(6):
                    D[j, k] = -D[j, k]
        b, centre = contacts.bodies[i, 1], trial.places.centre[i]
        stiffness_at_origin(trial.P, b, centre, wrench, D, exact, stiffness)
