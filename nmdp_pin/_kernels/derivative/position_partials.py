"""Partial derivatives of the residual of a position-based step by its end, start and torque.

All derivatives with respect to configurations are tangent.
"""

from __future__ import annotations

import numpy as np

from nmdp_pin._kernels.algebra.linear import copy_matrix, copy_vector
from nmdp_pin._kernels.algebra.manifold import (
    add_turning,
    difference_derivative,
    integrate,
    integrate_derivatives,
)
from nmdp_pin._kernels.algebra.vector3 import cross_into, dot, place
from nmdp_pin._kernels.compiler.jit import Array, jit
from nmdp_pin._kernels.compiler.record import matrix, record, vector, zero_vector
from nmdp_pin._kernels.contact.contact_motion import motion_at, wrench_at_origin
from nmdp_pin._kernels.contact.penalty import (
    ALONG,
    CURVED,
    DRAG,
    FRICTIONAL,
    PENETRATION,
    RADIUS,
    PenaltyLaw,
    Touch,
    carried_slip,
    new_touch,
)
from nmdp_pin._kernels.step.inertia import add_placement_forces
from nmdp_pin._kernels.step.position_contacts import describe_contact
from nmdp_pin._kernels.step.position_joints import replace_kinks
from nmdp_pin._kernels.step.position_records import PositionStep, StepStart
from nmdp_pin._kernels.step.position_step import linearise_step
from nmdp_pin._kernels.tree.loops import MOST, gaps_of, gradients_of
from nmdp_pin._kernels.tree.tree import forward_kinematics, power, world_motions


@record
class StepPartials:
    """Partial derivatives of r(q1, start, torque) and v1(q1, start) of a step; dr/dq1 is trial.A.

    Args:
        of_start: derivative of r by q0, v0 and the torque of the joints, shape (nv, 3 nv).
        velocity_of_start: derivative of v1 by q0 and v0, shape (nv, 2 nv).
    """

    of_start: Array
    velocity_of_start: Array


@jit
def step_partials(step: PositionStep, smooth: PositionStep, parts: StepPartials) -> bool:
    """Write the partial derivatives of a step; False where that of its velocity is singular.

    The targets of the bodies are 2 X(q0) - X(q_back) + gravity's part, q_back being
    integrate(q0, -h v0).

    Args:
        step: the step, evaluated at its end.
        smooth: the step without friction and limits of joints; its start is written, with gains and
            torques in their place.
        parts: output.
    """
    start, torque, trial, tree = smooth.start, smooth.start.torque, step.trial, step.scene.tree
    nv, space, result = len(trial.v), tree.space, parts.of_start
    _copy_start(step.start, start)
    replace_kinks(step, torque)
    linearise_step(smooth, True)
    h, D0, d = start.h, np.eye(nv), np.empty(nv)
    by_q, by_d = np.empty((nv, nv)), np.empty((nv, nv))  # of q_back
    for k in range(nv):
        d[k] = -trial.y[k]
    difference_derivative(space, d, D0)
    for k in range(nv):
        d[k] = -h * start.v0[k]
    if not integrate_derivatives(space, d, by_q, by_d):
        return False
    for k in range(nv):
        weight = torque.kd[k] + tree.rotors[k] / h
        for l in range(nv):
            of_v = -D0[k, l] / h
            parts.velocity_of_start[k, l], parts.velocity_of_start[k, nv + l] = of_v, 0.0
            result[k, l] = weight * of_v
            result[k, nv + l] = result[k, 2 * nv + l] = 0.0
        result[k, nv + k] = -tree.rotors[k] / h
        result[k, 2 * nv + k] = -1.0 if torque.signs[k] == 0.0 else 0.0
    if step.scene.law.kind != FRICTIONAL:
        _pull_back(smooth, D0, result)
    back, targets = np.zeros((nv, nv)), np.zeros((nv, nv))
    q, P, S = np.empty(len(start.q0)), np.empty_like(step.ref.P0), np.empty((nv, 6))
    integrate(space, start.q0, 1.0, d, q)
    forward_kinematics(tree, q, P)
    world_motions(tree, P, S)
    share, P0, S0 = 1.0 / (h * h), step.ref.P0, step.ref.S0
    add_placement_forces(trial.P[1:], trial.S, tree, P[1:], S, share, back)
    add_placement_forces(trial.P[1:], trial.S, tree, P0[1:], S0, share, targets)
    add_contacts(step, result)
    _add_grips(step, result)
    for k in range(nv):
        for l in range(nv):
            result[k, l] += 2.0 * targets[k, l]
            for j in range(nv):
                result[k, l] -= back[k, j] * by_q[j, l]
                result[k, nv + l] += h * back[k, j] * by_d[j, l]
    return True


@jit
def _copy_start(start: StepStart, copy: StepStart) -> None:
    """Copy the data of a step."""
    copy.h, old, new = start.h, start.torque, copy.torque
    copy_vector(start.q0, copy.q0)
    copy_vector(start.v0, copy.v0)
    for x in range(start.held.size):
        copy.held[x] = start.held[x]
    copy_vector(old.constant, new.constant)
    copy_vector(old.kp, new.kp)
    copy_vector(old.kd, new.kd)
    copy_vector(old.q_target, new.q_target)
    copy_vector(old.external, new.external)


@jit
def _add_grips(step: PositionStep, R: Array) -> None:
    """Add the derivative of the forces of grips by what they keep, that at the start, to R.

    Their gaps are those of the end from those of the start, which are zero, as they nearly are.
    """
    loops, ref, trial = step.scene.joints.loops, step.ref, step.trial
    A, B, g, W = matrix(4, 3), matrix(4, 3), vector(MOST), matrix(MOST, 6)
    before, after = np.empty((MOST, len(R))), np.empty((MOST, len(R)))
    for x in range(loops.kinds.size):
        if not (loops.grips[x] and step.start.held[x]):
            continue
        rows = gaps_of(loops, ref.frames, x, ref.P0, step.start.q0, A, B, g, W)
        gradients_of(loops, x, rows, ref.S0, W, before)
        gaps_of(loops, ref.frames, x, trial.P, trial.q, A, B, g, W)
        gradients_of(loops, x, rows, trial.S, W, after)
        begin, end = loops.dof_ranges[x], loops.dof_ranges[x + 1]
        for a in range(rows):
            stiffness = 1.0 / loops.compliance[loops.first[x] - loops.first[0] + a]
            for s in range(begin, end):
                for t in range(begin, end):
                    change = stiffness * after[a, s - begin] * before[a, t - begin]
                    R[loops.dofs[s], loops.dofs[t]] -= change


@jit
def _pull_back(step: PositionStep, D0: Array, result: Array) -> None:
    """Replace the derivative of a force f by that of D'f, f depending on v1 and the torque."""
    start, torque, trial, tree = step.start, step.start.torque, step.trial, step.scene.tree
    nv, h = len(trial.v), start.h
    pulled, force, turned = np.zeros(result.shape), np.empty(nv), np.empty((nv, nv))
    for i in range(nv):
        for j in range(nv):
            if trial.D[i, j] != 0.0:
                for l in range(result.shape[1]):
                    pulled[j, l] += trial.D[i, j] * result[i, l]
    for k in range(nv):
        force[k] = torque.kd[k] * trial.v[k] - torque.constant[k]
        force[k] += tree.rotors[k] / h * (trial.v[k] - start.v0[k])
        for l in range(nv):
            turned[k, l] = -D0[k, l]
    add_turning(tree.space, trial.y, turned, force, pulled)
    copy_matrix(pulled, result)


@jit
def _wrench_change(law: PenaltyLaw, t: Touch, move: Array, turn: Array, out: Array) -> None:
    """The change of a contact's wrench by a motion of its body at the start of the step.

    With the displacement u = x - x_0 + (Q - 1) o it is du = -dx_0 + dphi_0 x (Q o), and
    dQ = [dphi_0] Q.

    Args:
        law: parameters of the penalty law.
        t: contact at the configuration.
        move: dx_0 of the sphere's centre, shape (3,).
        turn: rotation dphi_0, shape (3,).
        out: output, about the centre, shape (6,).
    """
    n, q, r, b = t.n, t.sizes[DRAG], t.sizes[RADIUS], t.sizes[ALONG]
    turned, du, ds, part = vector(3), zero_vector(3), vector(3), vector(3)
    if r > 0.0:
        for i in range(3):
            turned[i] = dot(t.turn[i], t.arm)
        cross_into(turn, turned, du)
    for i in range(3):
        du[i] -= move[i]
    db = dot(n, du)
    for i in range(3):
        ds[i] = du[i] - db * n[i]
    square = dot(t.slip, t.slip)
    along = dot(t.slip, ds)
    dq = (law.beta - 1.0) * along / square if law.beta != 1.0 and square > 0.0 else 0.0  # over q
    if law.kind == FRICTIONAL:
        for i in range(3):
            out[i] = -q * (ds[i] + dq * t.slip[i])
        cross_into(out[:3], t.arm, out[3:])
        return
    carried, z, pull, back = vector(3), vector(3), vector(3), zero_vector(3)
    carried_slip(t, carried, z, pull)
    cross_into(turn, t.slip, part)
    for i in range(3):
        part[i] = ds[i] - part[i]
    if r > 0.0:
        for i in range(3):
            back[i] = t.turn[0, i] * part[0] + t.turn[1, i] * part[1] + t.turn[2, i] * part[2]
    dc = (law.gamma + 1.0) * q / t.sizes[PENETRATION] * along
    for i in range(3):
        part[i] = r * (back[i] - ds[i]) - db * t.slip[i] - b * ds[i]  # dz
    for i in range(3):
        dpull = ds[i]
        if t.sizes[CURVED] > 0.0:
            dpull += dot(t.K[i], part)
        out[i] = dc * n[i] - q * (dpull + dq * pull[i])
    for i in range(3):
        part[i] = back[i] + dq * carried[i]
    cross_into(t.arm, part, out[3:])
    for i in range(3):
        out[3 + i] *= q


@jit
def add_contacts(step: PositionStep, R: Array) -> None:
    """Subtract the contacts' generalised force, derived by a motion of the start, from R, (nv, nv).

    The step is evaluated at its end.
    """
    contacts, moves, trial = step.ref.contacts, step.scene.tree.moves, step.trial
    P0, S0 = step.ref.P0, step.ref.S0
    t, c0 = new_touch(len(step.scene.surfaces) > 0), vector(3)
    motion, wrench, world = vector(6), vector(6), vector(6)
    for i in range(contacts.n[0]):
        if not describe_contact(step, i, t):
            continue
        a, b = contacts.bodies[i, 0], contacts.bodies[i, 1]
        place(P0[a], contacts.held[contacts.index[i]], c0)
        for l in range(len(S0)):
            s = moves[a, l] - moves[b, l]
            if s == 0.0:
                continue
            motion_at(P0[b], S0[l], c0, s, motion)
            _wrench_change(step.scene.law, t, motion[:3], motion[3:], wrench)
            wrench_at_origin(trial.P, b, trial.places.centre[i], wrench, world)
            for k in range(len(S0)):
                R[k, l] -= (moves[a, k] - moves[b, k]) * power(trial.S[k], world)
