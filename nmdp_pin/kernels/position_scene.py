"""The records of position-based steps: what all share, how one starts, where it is evaluated."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nmdp_pin.kernels.penalty import Law
from nmdp_pin.kernels.penalty_contacts import ContactForces, Contacts, Surfaces
from nmdp_pin.kernels.tree import Tree


class Scene(NamedTuple):
    """What all steps share.

    Args:
        tree: joints and bodies.
        contacts: contact points.
        law: of their forces; its kind makes the method pbfd or pbd.
        semidefinite: of pbd, use the Gauss-Newton part of the Hessian.
    """

    tree: Tree
    contacts: Contacts
    law: Law
    semidefinite: bool


class StepStart(NamedTuple):
    """A step, as it is stated.

    Args:
        q0: configuration at its start, shape (nq,).
        v0: velocity there, shape (nv,).
        tau: feed-forward torque and kd v_target [N m, N], shape (nv,).
        kp: position gains, shape (nv,).
        kd: velocity gains and damping of the joints, shape (nv,).
        q_target: target of kp, shape (nq,); q0 where there is none.
        h: length [s].
        rate: of differences of velocities [1/s]; 1 / h in the consistent form.
    """

    q0: np.ndarray
    v0: np.ndarray
    tau: np.ndarray
    kp: np.ndarray
    kd: np.ndarray
    q_target: np.ndarray
    h: float
    rate: float


class StepReference(NamedTuple):
    """What follows from the start of a step; all arrays are written by `begin`.

    Args:
        P0: placements at q0, shape (n + 1, 4, 3).
        target: placements to which the bodies come without forces, shape (n, 4, 3).
        carriers: `relative_placements` at q0, shape (m, 4, 3).
        metric: M rate / h + kd / h + kp, shape (nv, nv).
        U: its upper factor, shape (nv, nv).
        energies: kinetic, potential [J], shape (2,).
    """

    P0: np.ndarray
    target: np.ndarray
    carriers: np.ndarray
    metric: np.ndarray
    U: np.ndarray
    energies: np.ndarray


class Point(NamedTuple):
    """A step evaluated at one configuration; all arrays are written.

    Args:
        q: configuration, shape (nq,).
        v: velocity, shape (nv,).
        y: difference(q0, q), shape (nv,).
        e: difference(q_target, q), shape (nv,).
        D: of y, shape (nv, nv).
        D_t: of e, shape (nv, nv).
        P: placements, shape (n + 1, 4, 3).
        S: motions of the dofs, shape (nv, 6).
        frames: `relative_placements`, shape (m, 4, 3).
        surfaces: what the contacts touch.
        forces: of the contacts.
        wrenches: of inertia less contacts, summed over subtrees, shape (n, 6).
        stiffness: their derivatives, shape (n, 36).
        r: residual [N, N m], shape (nv,).
        tau: torque of the command and the damping, shape (nv,).
        A: dr/dq, or its semidefinite part, shape (nv, nv).
        work: workspace, shape (4, nv).
    """

    q: np.ndarray
    v: np.ndarray
    y: np.ndarray
    e: np.ndarray
    D: np.ndarray
    D_t: np.ndarray
    P: np.ndarray
    S: np.ndarray
    frames: np.ndarray
    surfaces: Surfaces
    forces: ContactForces
    wrenches: np.ndarray
    stiffness: np.ndarray
    r: np.ndarray
    tau: np.ndarray
    A: np.ndarray
    work: np.ndarray
