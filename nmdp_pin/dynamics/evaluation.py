"""Values and derivatives of the equations of a step at a point."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nmdp_pin.contact.wrench_space import ContactState
from nmdp_pin.dynamics.vertex_secant import VertexSecant


class Evaluation(NamedTuple):
    """Values of the equations at a point (q, w).

    Args:
        q: configuration, shape (nq,).
        w: weights of the vertices, shape (n, m).
        v: velocity, the difference of the step, shape (nv,).
        tau: joint torque [N m or N], shape (nv,).
        G: residual [N m or N], shape (nv,).
        residual: norm of G.
        gap: work that other weights could still save, summed over the contacts [J].
        slip: largest motion that other weights could save at a contact, its gap over its force [m].
        work: V' u of every vertex [J], shape (n, m).
        stiffness: dG/dq without the contacts' part, shape (nv, nv).
        S: motions of the dofs at the world's origin, shape (nv, 6).
        P: placements of all joints, shape (n_joints, 4, 3).
        contacts: contacts in the frames of the bodies that they touch.
        placements: placements of their carriers in these frames, shape (n, 4, 3).
        V: vertices of the wrench spaces, shape (n, rows, m).
        active: indices of the active contacts, ascending, shape (k,).
        wrench: wrenches V w, shape (n, rows).
        motion: motions u on which the wrenches worked, shape (n, rows).
        subtree: wrenches about the origin of the bodies that each dof moves, shape (nv, 6).
        secant: estimate of dV/dx from the points evaluated so far, in zeroth order.
    """

    q: np.ndarray
    w: np.ndarray
    v: np.ndarray
    tau: np.ndarray
    G: np.ndarray
    residual: float
    gap: float
    slip: float
    work: np.ndarray
    stiffness: np.ndarray
    S: np.ndarray
    P: np.ndarray
    contacts: ContactState
    placements: np.ndarray
    V: np.ndarray
    active: np.ndarray
    wrench: np.ndarray
    motion: np.ndarray
    subtree: np.ndarray
    secant: VertexSecant | None


class Linearisation(NamedTuple):
    """Derivatives of the equations at a point: dG/dq = A, -dG/dw = J_force' V, du/dq = J_motion.

    Args:
        A: shape (nv, nv).
        J_force: Jacobian on which the wrenches of the active contacts work, (k, rows, nv).
        J_motion: derivative of their motions, shape (k, rows, nv).
    """

    A: np.ndarray
    J_force: np.ndarray
    J_motion: np.ndarray
