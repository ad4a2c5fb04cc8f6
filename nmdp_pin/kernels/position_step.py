"""A step of position-based dynamics with penalty contacts ([P] eq. 5, 6, 11 and 13).

The unknown is the configuration at the end of the step. With E the inertial potential and D, D_t
the derivatives of y = difference(q0, q) and e = difference(q_target, q), the residual is

    r = dE/dq - Q_contacts - tau + I_rotors (v - v0) / h
    tau = tau_0 - kd v - kp e                                  of pbfd,
    tau = D' (tau_0 - kd v) - D_t' kp e                        of pbd, the gradient of an energy

(of pbd the rotors' force too is multiplied by D').
"""

from __future__ import annotations

import math

import numpy as np

from nmdp_pin.kernels.contact_kinematics import locate, relative_placements
from nmdp_pin.kernels.contact_sums import subtract_from_bodies, subtract_pairs
from nmdp_pin.kernels.dense import cholesky, copy_matrix, solve_upper_transposed
from nmdp_pin.kernels.inertial_potential import inertial_stiffness, inertial_wrenches
from nmdp_pin.kernels.jit import inlined_jit, jit
from nmdp_pin.kernels.joint_law import add_joint_forces, add_joint_stiffness
from nmdp_pin.kernels.manifold import (
    add_turning,
    add_weighted,
    difference,
    difference_derivative,
    integrate,
    pull_force,
)
from nmdp_pin.kernels.penalty import FRICTIONAL
from nmdp_pin.kernels.penalty_contacts import penalty_forces, penalty_stiffness
from nmdp_pin.kernels.position_scene import Point, Scene, StepReference, StepStart
from nmdp_pin.kernels.subtree import add_children, project_stiffness, project_wrenches
from nmdp_pin.kernels.tree import (
    forward_kinematics,
    kinetic_energy,
    potential_energy,
    world_motions,
)


@jit
def begin(scene: Scene, start: StepStart, ref: StepReference, point: Point) -> bool:
    """Evaluate quantities of the start of a step; False where its mass matrix is singular.

    Args:
        scene: data that all steps share.
        start: data of the step.
        ref: written.
        point: workspace.
    """
    tree, h, contacts = scene.tree, start.h, scene.contacts
    nv = len(start.v0)
    forward_kinematics(tree, start.q0, ref.P0)
    relative_placements(ref.P0, contacts.joints, contacts.touched, ref.carriers)
    for k in range(nv):
        point.work[0, k] = -h * start.v0[k]
    # v0 is a backward difference of positions; with the length of this step, nothing about the
    # previous step has to be known
    integrate(tree, start.q0, point.work[0], point.q)
    forward_kinematics(tree, point.q, point.P)
    for b in range(len(tree.kinds)):
        for i in range(4):
            for j in range(3):
                ref.target[b, i, j] = 2.0 * ref.P0[b + 1, i, j] - point.P[b + 1, i, j]
        for j in range(3):
            ref.target[b, 3, j] += tree.gravity[j] * h / start.rate
    world_motions(tree, ref.P0, point.S)
    inertial_stiffness(ref.P0[1:], ref.P0[1:], tree.moments, point.stiffness)
    add_children(tree.parents, point.stiffness)
    point.wrenches[:] = 0.0
    project_stiffness(
        point.S, tree.parents, tree.first_dofs, point.stiffness, point.wrenches, ref.metric
    )
    for i in range(nv):
        ref.metric[i, i] += tree.rotors[i]
        for j in range(nv):
            ref.metric[i, j] *= start.rate / h
        ref.metric[i, i] += start.kd[i] / h + start.kp[i]
    copy_matrix(ref.metric, ref.U)
    ref.energies[0] = kinetic_energy(tree, ref.P0, point.S, start.v0)
    ref.energies[1] = potential_energy(tree, ref.P0)
    return cholesky(ref.U)


@jit
def place(scene: Scene, point: Point) -> None:
    """Placements of the bodies and of the contacts at `point.q`.

    Args:
        scene: data that all steps share.
        point: `q` is read; `P`, `frames` and the centres of its surfaces are written.
    """
    contacts = scene.contacts
    forward_kinematics(scene.tree, point.q, point.P)
    locate(
        point.P,
        contacts.joints,
        contacts.touched,
        contacts.local,
        point.frames,
        point.surfaces.centre,
    )


@inlined_jit
def evaluate(
    scene: Scene, start: StepStart, ref: StepReference, point: Point
) -> tuple[float, float]:
    """The function that is minimised, and the norm of the residual r.

    It is |U'^-1 r|^2 / 2 [J] for pbfd, U'U being the metric, and the energy E [J] for pbd.

    Args:
        scene: data that all steps share.
        start: data of the step.
        ref: reference after `begin`.
        point: point after `place`, with the surfaces at the contacts; the rest is written.
    """
    tree, h = scene.tree, start.h
    nv, scale = len(start.v0), start.rate / h
    world_motions(tree, point.P, point.S)
    value = scale * inertial_wrenches(point.P[1:], ref.target, tree.moments, point.wrenches)
    for b in range(len(tree.kinds)):
        for i in range(6):
            point.wrenches[b, i] *= scale
    penalty_forces(scene, h, ref, point)
    subtract_from_bodies(scene.contacts, point.forces.origin, -1.0, point.wrenches)
    add_children(tree.parents, point.wrenches)
    project_wrenches(point.S, tree.first_dofs, point.wrenches, point.r)
    difference(tree, start.q0, point.q, point.y)
    difference(tree, start.q_target, point.q, point.e)
    difference_derivative(tree, point.y, point.D)
    difference_derivative(tree, point.e, point.D_t)
    pull, inertia, spring = point.work[0], point.work[1], point.work[2]
    value += point.forces.energies[0] + point.forces.energies[1]
    for k in range(nv):
        v = point.y[k] / h
        point.v[k] = v
        change = v - start.v0[k]
        pull[k] = start.tau[k] - start.kd[k] * v
        inertia[k] = tree.rotors[k] * start.rate * change
        spring[k] = start.kp[k] * point.e[k]
        value += h * (0.5 * (inertia[k] * change + start.kd[k] * v * v) - start.tau[k] * v)
        value += 0.5 * spring[k] * point.e[k]
    if scene.law.kind == FRICTIONAL:
        for k in range(nv):
            point.tau[k] = pull[k] - spring[k]
            point.r[k] += inertia[k] - point.tau[k]
    else:
        out = point.work[3]
        pull_force(tree, point.D, pull, point.tau)
        pull_force(tree, point.D_t, spring, out)
        for k in range(nv):
            point.tau[k] -= out[k]
            point.r[k] -= point.tau[k]
        pull_force(tree, point.D, inertia, out)
        for k in range(nv):
            point.r[k] += out[k]
    value += add_joint_forces(scene, start, point)
    error, s = 0.0, point.work[3]
    for k in range(nv):
        error += point.r[k] * point.r[k]
        s[k] = point.r[k]
    if scene.law.kind == FRICTIONAL:
        solve_upper_transposed(ref.U, s)
        value = 0.0
        for k in range(nv):
            value += 0.5 * s[k] * s[k]
    return value, math.sqrt(error)


@inlined_jit
def linearise(
    scene: Scene, start: StepStart, point: Point, ref: StepReference, exact: bool
) -> None:
    """Write dr/dq at the point (tangent) into `point.A`.

    Args:
        scene: data that all steps share.
        start: data of the step.
        point: point after `evaluate`.
        ref: reference after `begin`.
        exact: whether the derivative is exact; False: its positive semidefinite part, for pbd.
    """
    tree, scale = scene.tree, start.rate / start.h
    nv = len(start.v0)
    target = ref.target if exact else point.P[1:]
    inertial_stiffness(point.P[1:], target, tree.moments, point.stiffness)
    for b in range(len(tree.kinds)):
        for i in range(36):
            point.stiffness[b, i] *= scale
    penalty_stiffness(scene, start.h, ref, point, not exact)
    subtract_from_bodies(scene.contacts, point.forces.stiffness, 1.0, point.stiffness)
    add_children(tree.parents, point.stiffness)
    wrenches = point.wrenches if exact else np.zeros_like(point.wrenches)
    project_stiffness(point.S, tree.parents, tree.first_dofs, point.stiffness, wrenches, point.A)
    subtract_pairs(scene, point, not exact)
    weights, force = point.work[0], point.work[1]
    for k in range(nv):
        weights[k] = tree.rotors[k] * start.rate + start.kd[k]
    frictional = scene.law.kind == FRICTIONAL
    identity = np.eye(nv)
    left, left_t = (identity, identity) if frictional else (point.D, point.D_t)
    add_weighted(tree, left, point.D, weights, 1.0 / start.h, point.A)
    add_weighted(tree, left_t, point.D_t, start.kp, 1.0, point.A)
    add_joint_stiffness(scene, start, point)
    if frictional or not exact:
        return
    for k in range(nv):
        v = point.v[k]
        force[k] = start.kd[k] * v - start.tau[k] + tree.rotors[k] * start.rate * (v - start.v0[k])
    add_turning(tree, point.y, point.D, force, point.A)
    for k in range(nv):
        force[k] = start.kp[k] * point.e[k]
    add_turning(tree, point.e, point.D_t, force, point.A)
