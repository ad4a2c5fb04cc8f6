"""Derivatives of the residual of a position-based step with respect to its start, its end held.

All derivatives with respect to configurations are tangent.
"""

from __future__ import annotations

import numpy as np

from nmdp_pin._kernels.contact_motion import motion_at, wrench_at_origin
from nmdp_pin._kernels.inertia import placements_derivative, reference_derivative
from nmdp_pin._kernels.jit import jit
from nmdp_pin._kernels.manifold import difference_derivative, integrate
from nmdp_pin._kernels.penalty import FRICTIONAL, PenaltyLaw, Touch, carried_slip, new_touch
from nmdp_pin._kernels.position_step import PositionStep, describe_contact
from nmdp_pin._kernels.record import record, vector, zero_vector
from nmdp_pin._kernels.tree import forward_kinematics, power, world_motions
from nmdp_pin._kernels.vector3 import cross_into, dot, place


@jit
def target_derivative(step: PositionStep, P: np.ndarray, S: np.ndarray, B: np.ndarray) -> None:
    """The derivative of dE/dq with respect to a motion that carries the targets along.

    Args:
        step: the step, evaluated at its end.
        P: placements from which the targets move, shape (n + 1, 4, 3).
        S: motions of the dofs there, shape (nv, 6).
        B: output, whose row l is that of dof l, shape (nv, nv).
    """
    tree, trial = step.scene.tree, step.trial
    change = np.empty((len(S), len(tree.parents), 4, 3))
    placements_derivative(P, S, tree.moves, change)
    reference_derivative(trial.P[1:], tree, trial.S, change, B)


@record
class StartPartials:
    """Parts of the derivatives with respect to the start; all arrays are written.

    Args:
        targets: derivative of dE/dq with respect to a motion of q0 that carries the targets along,
            a row for each dof of it, shape (nv, nv).
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
def start_partials(step: PositionStep, parts: StartPartials) -> None:
    """Write the parts of the derivatives with respect to the start.

    Args:
        step: the step, evaluated at its end.
        parts: output; `right`, `left` and `D0` are identities and `contacts` zero before.
    """
    tree, start, P0, nv = step.scene.tree, step.start, step.ref.P0, len(step.start.v0)
    q, P, S, d = np.empty(len(start.q0)), np.empty_like(P0), np.empty((nv, 6)), np.empty(nv)
    for k in range(nv):
        d[k] = -step.trial.y[k]
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
    target_derivative(step, P, S, parts.back)
    world_motions(tree, P0, S)
    target_derivative(step, P0, S, parts.targets)
    add_contacts(step, S, parts.contacts)


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
def add_contacts(step: PositionStep, S0: np.ndarray, R: np.ndarray) -> None:
    """Subtract the derivative of the contacts' generalised force by a motion of the start.

    Args:
        step: the step, evaluated at its end.
        S0: motions of the dofs at the start, shape (nv, 6).
        R: derivative that is changed, shape (nv, nv).
    """
    contacts, moves, P0, trial = step.ref.contacts, step.scene.tree.moves, step.ref.P0, step.trial
    t, c0, motion, wrench, world = new_touch(), vector(3), vector(6), vector(6), vector(6)
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
