"""Derivatives of the residual of a position-based step with respect to its start, its end held.

All derivatives with respect to configurations are tangent.
"""

from __future__ import annotations

import numpy as np

from nmdp_pin._kernels.contacts import Contacts
from nmdp_pin._kernels.inertia import reference_derivative
from nmdp_pin._kernels.jit import jit
from nmdp_pin._kernels.manifold import difference_derivative, integrate
from nmdp_pin._kernels.penalty import (
    FRICTIONAL,
    PenaltyLaw,
    Touch,
    carried_slip,
    describe_contact,
    new_touch,
)
from nmdp_pin._kernels.position_step import Scene, StepReference, StepStart, Trial
from nmdp_pin._kernels.record import record, vector, zero_vector
from nmdp_pin._kernels.tree import Tree, forward_kinematics, placement_rate, world_motions
from nmdp_pin._kernels.vector3 import cross_into, dot, place, rotate, rotate_back


@jit
def placement_derivative(
    tree: Tree, P: np.ndarray, S: np.ndarray, dof: int, change: np.ndarray
) -> None:
    """The derivative of all placements with respect to one dof.

    Args:
        tree: joints of the tree.
        P: placements, shape (n + 1, 4, 3).
        S: motions of the dofs, shape (nv, 6).
        dof: index of the dof.
        change: output, changes of the bodies, shape (n, 4, 3).
    """
    for b in range(len(tree.parents)):
        above = b
        while above >= 0 and tree.first_dofs[above] > dof:
            above = tree.parents[above]
        if above >= 0 and dof < tree.first_dofs[above + 1]:
            placement_rate(P[b + 1], S[dof], change[b])
        else:
            change[b] = 0.0


@jit
def target_derivative(
    scene: Scene, trial: Trial, P: np.ndarray, S: np.ndarray, B: np.ndarray
) -> None:
    """The derivative of dE/dq with respect to a motion that carries the targets along.

    Args:
        scene: data that all steps share.
        trial: end of the step.
        P: placements from which the targets move, shape (n + 1, 4, 3).
        S: motions of the dofs there, shape (nv, 6).
        B: output, whose column l is that of dof l, shape (nv, nv).
    """
    tree = scene.tree
    n, nv = len(tree.parents), len(S)
    change, row = np.empty((1, n, 4, 3)), np.empty((1, nv))
    for dof in range(nv):
        placement_derivative(tree, P, S, dof, change[0])
        reference_derivative(trial.P[1:], tree, trial.S, change, row)
        for k in range(nv):
            B[k, dof] = row[0, k]


@record
class StartPartials:
    """Parts of the derivatives with respect to the start; all arrays are written.

    Args:
        targets: derivative of dE/dq with respect to a motion of q0 that carries the targets along,
            shape (nv, nv).
        back: the same with respect to q_back = integrate(q0, -h v0), shape (nv, nv).
        right: inverse right Jacobian of -h v0, shape (nv, nv).
        left: inverse left Jacobian of it, shape (nv, nv).
        contacts: part of dr/dq0 through the references of the slips, shape (nv, nv).
        D0: derivative of difference(q0, q1) with respect to q0, with the sign changed, shape (nv,
            nv).
    """

    targets: np.ndarray
    back: np.ndarray
    right: np.ndarray
    left: np.ndarray
    contacts: np.ndarray
    D0: np.ndarray


@jit
def start_partials(
    scene: Scene, start: StepStart, ref: StepReference, trial: Trial, parts: StartPartials
) -> None:
    """Write the parts of the derivatives with respect to the start.

    Args:
        scene: data that all steps share.
        start: data of the step.
        ref: reference after `begin`.
        trial: end of the step, after `evaluate`.
        parts: output; `right`, `left` and `D0` are identities and `contacts` zero before.
    """
    tree, nv = scene.tree, len(start.v0)
    q, P, S, d = np.empty(len(start.q0)), np.empty_like(ref.P0), np.empty((nv, 6)), np.empty(nv)
    for k in range(nv):
        d[k] = -trial.y[k]
    space = tree.space
    difference_derivative(space, d, parts.D0)
    for k in range(nv):
        d[k] = start.h * start.v0[k]
    difference_derivative(space, d, parts.left)
    for k in range(nv):
        d[k] = -d[k]
    difference_derivative(space, d, parts.right)
    integrate(space, start.q0, 1.0, d, q)
    forward_kinematics(tree, q, P)
    world_motions(tree, P, S)
    target_derivative(scene, trial, P, S, parts.back)
    world_motions(tree, ref.P0, S)
    target_derivative(scene, trial, ref.P0, S, parts.targets)
    add_contacts(scene, start, ref, trial, S, parts.contacts)


@jit
def _wrench_change(
    law: PenaltyLaw, t: Touch, move: np.ndarray, turn: np.ndarray, out: np.ndarray
) -> None:
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
    n, q, r, b = t.n, t.sizes[4], t.sizes[1], t.sizes[2]
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
    dc = (law.gamma + 1.0) * q / t.sizes[0] * along
    for i in range(3):
        part[i] = r * (back[i] - ds[i]) - db * t.slip[i] - b * ds[i]  # dz
    for i in range(3):
        dpull = ds[i]
        if t.sizes[7] > 0.0:
            dpull += dot(t.K[i], part)
        out[i] = dc * n[i] - q * (dpull + dq * pull[i])
    for i in range(3):
        part[i] = back[i] + dq * carried[i]
    cross_into(t.arm, part, out[3:])
    for i in range(3):
        out[3 + i] *= q


@jit
def add_contacts(
    scene: Scene, start: StepStart, ref: StepReference, trial: Trial, S0: np.ndarray, R: np.ndarray
) -> None:
    """Subtract the derivative of the contacts' generalised force by a motion of the start.

    Args:
        scene: data that all steps share.
        start: data of the step.
        ref: reference after `begin`.
        trial: end of the step, after `evaluate`.
        S0: motions of the dofs at the start, shape (nv, 6).
        R: derivative that is changed, shape (nv, nv).
    """
    contacts, tree, candidates = ref.contacts, scene.tree, scene.candidates
    t, u, c, c0 = new_touch(), vector(3), vector(3), vector(3)
    move, turn, part = vector(3), vector(3), vector(3)
    wrench, world = vector(6), vector(6)
    for i in range(contacts.n[0]):
        if not describe_contact(scene.law, start.h, candidates, contacts, trial.places, i, u, t):
            continue
        touched = contacts.bodies[i, 1]
        place(trial.P[touched], trial.places.centre[i], c)
        place(ref.P0[contacts.bodies[i, 0]], contacts.held[contacts.index[i]], c0)
        for side in range(2):
            body = contacts.bodies[i, side] - 1
            sign = 1.0 if side == 0 else -1.0
            while body >= 0:
                for l in range(tree.first_dofs[body], tree.first_dofs[body + 1]):
                    s = S0[l]
                    cross_into(s[3:], c0, part)
                    for j in range(3):
                        part[j] = sign * (part[j] + s[j])
                    rotate_back(ref.P0[touched], part, move)
                    for j in range(3):
                        part[j] = sign * s[3 + j]
                    rotate_back(ref.P0[touched], part, turn)
                    _wrench_change(scene.law, t, move, turn, wrench)
                    rotate(trial.P[touched], wrench[:3], world[:3])
                    rotate(trial.P[touched], wrench[3:], world[3:])
                    cross_into(c, world[:3], part)
                    for j in range(3):
                        world[3 + j] += part[j]
                    _subtract_force(tree, contacts, i, trial.S, world, l, R)
                body = tree.parents[body]


@jit
def _subtract_force(
    tree: Tree,
    contacts: Contacts,
    i: int,
    S: np.ndarray,
    wrench: np.ndarray,
    column: int,
    R: np.ndarray,
) -> None:
    """R[:, column] -= generalised force of a wrench of contact i at the world's origin."""
    for side in range(2):
        body = contacts.bodies[i, side] - 1
        sign = 1.0 if side == 0 else -1.0
        while body >= 0:
            for k in range(tree.first_dofs[body], tree.first_dofs[body + 1]):
                for j in range(6):
                    R[k, column] -= sign * S[k, j] * wrench[j]
            body = tree.parents[body]
