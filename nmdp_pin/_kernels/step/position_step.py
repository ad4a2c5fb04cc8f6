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
from nmdp_pin._kernels.compiler.jit import jit
from nmdp_pin._kernels.contact.penalty import FRICTIONAL
from nmdp_pin._kernels.geometry.planes import place_contacts
from nmdp_pin._kernels.step.inertia import inertial_stiffness, inertial_wrenches
from nmdp_pin._kernels.step.position_contacts import write_contact_forces, write_contact_stiffness
from nmdp_pin._kernels.step.position_joints import add_joint_forces, add_joint_stiffness
from nmdp_pin._kernels.step.position_records import PositionStep
from nmdp_pin._kernels.tree.joints import write_torque
from nmdp_pin._kernels.tree.loops import add_loops, place_grips
from nmdp_pin._kernels.tree.springs import spring_energy
from nmdp_pin._kernels.tree.tree import (
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
                ref.target[b, i, j] += tree.falls[b, i] * tree.gravity[j] * h * h
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
    loops, unused = step.scene.joints.loops, trial.space[3]
    place_grips(loops, ref.P0, ref.frames)
    add_loops(
        tree, loops, start.held, ref.frames, ref.P0, ref.S0, start.q0, unused, ref.metric, False
    )
    copy_matrix(ref.metric, ref.U)
    ref.kinetic, ref.potential = energies(tree, ref.P0, ref.twists, start.v0)
    ref.potential += spring_energy(step.scene.joints.springs, start.q0)
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
    value += forces.stored + forces.friction
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
    value += add_joint_forces(step)
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
    write_contact_stiffness(step, exact)
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
    add_joint_stiffness(step, exact)
    if scene.law.kind == FRICTIONAL or not exact:
        return
    for k in range(nv):
        v = trial.v[k]
        force[k] = torque.kd[k] * v - torque.constant[k] + tree.rotors[k] / h * (v - start.v0[k])
    add_turning(space, trial.y, trial.D, force, A)
    for k in range(nv):
        force[k] = torque.kp[k] * trial.e[k]
    add_turning(space, trial.e, trial.D_t, force, A)
