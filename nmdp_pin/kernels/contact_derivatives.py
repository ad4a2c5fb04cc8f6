"""Derivatives of contact forces with respect to the configuration."""

from __future__ import annotations

import numpy as np

from nmdp_pin.kernels.contact_forces import wrench_at_origin
from nmdp_pin.kernels.contact_jacobians import (
    contact_jacobians,
    motion_jacobian,
    velocity_motion_jacobian,
)
from nmdp_pin.kernels.jit import jit
from nmdp_pin.kernels.lie import coadjoint
from nmdp_pin.kernels.subtree import power


@jit
def subtract_carried(S: np.ndarray, above: np.ndarray, subtree: np.ndarray, A: np.ndarray) -> None:
    """A_kl -= (S_l x S_k) . F_k where l moves S_k, since the joints above carry S_k along.

    Args:
        S: motions of the dofs, shape (nv, 6).
        above: whether dof l belongs to the joint of dof k or to one above it, shape (nv, nv).
        subtree: wrenches F of the bodies that each dof moves, shape (nv, 6).
        A: shape (nv, nv).
    """
    nv, carried = S.shape[0], np.empty(6)
    for k in range(nv):
        F = subtree[k]
        if not F.any():
            continue
        coadjoint(S[k], F, carried)
        for l in range(nv):
            if above[k, l]:
                A[k, l] += power(S[l], carried)


@jit
def add_taken(
    S: np.ndarray,
    support: np.ndarray,
    moves: np.ndarray,
    origin: np.ndarray,
    A: np.ndarray,
) -> None:
    """A_kl += s_k (S_l x S_k) . F where l moves the touched body, which carries F along.

    Args:
        S: motions of the dofs, shape (nv, 6).
        support: row s of the contact in `support` of `contact_forces`, shape (nv,).
        moves: whether a dof moves the touched body, shape (nv,).
        origin: the contact's wrench about the world's origin, shape (6,).
        A: shape (nv, nv).
    """
    nv, carried = S.shape[0], np.empty(6)
    for k in range(nv):
        if support[k] != 0.0:
            coadjoint(S[k], origin, carried)
            for l in range(nv):
                if moves[l]:
                    A[k, l] -= support[k] * power(S[l], carried)


@jit
def linearise_contacts(
    P: np.ndarray,
    S: np.ndarray,
    touched: np.ndarray,
    support: np.ndarray,
    moves: np.ndarray,
    above: np.ndarray,
    radii: np.ndarray,
    reference: np.ndarray,
    placements: np.ndarray,
    centre: np.ndarray,
    normal: np.ndarray,
    curvature: np.ndarray,
    wrench: np.ndarray,
    subtree: np.ndarray,
    active: np.ndarray,
    own: np.ndarray,
    v: np.ndarray,
    D: np.ndarray,
    rate: float,
    A: np.ndarray,
    J_force: np.ndarray,
    J_motion: np.ndarray,
) -> None:
    """Subtract the derivative of the contacts' generalised force from A = dG/dq.

    The wrenches are carried along by the joints above and change with V(q); their moments change
    as their points of action move with the spheres.

    Args:
        P: as in `contact_forces`.
        S: as in `contact_forces`.
        touched: as in `contact_forces`.
        support: as in `contact_forces`.
        radii: as in `contact_forces`.
        reference: as in `contact_forces`.
        placements: as in `contact_forces`.
        centre: as in `contact_forces`.
        normal: as in `contact_forces`.
        wrench: as in `contact_forces`.
        subtree: as in `contact_forces`.
        moves: whether a dof moves the touched body, shape (n, nv).
        above: as in `subtract_carried`.
        curvature: derivative of the normal [1/m], shape (n, 3, 3), or (0, 3, 3) where it is 0.
        active: indices of the active contacts, shape (k,).
        own: derivative of V w with respect to the translation of the contact, or translation and
            rotation, with w held, shape (n, rows, 3 or 6).
        v: velocity, shape (nv,).
        D: dv/dq, shape (nv, nv), or (0, 0) where it is the identity times the rate.
        rate: 1 / h of the stage [1/s].
        A: shape (nv, nv).
        J_force: output, Jacobian on which wrenches work, shape (k, rows, nv).
        J_motion: output, derivative of the motions, shape (k, rows, nv).
    """
    nv, rows = A.shape[0], wrench.shape[1]
    subtract_carried(S, above, subtree, A)
    J_c, J_p, J_w = np.empty((3, nv)), np.empty((3, nv)), np.empty((3, nv))
    dF = np.empty((6, nv))
    point, origin = np.empty(3), np.empty(6)
    arm, flat = np.zeros((3, 3)), np.zeros((3, 3))
    turns = own.shape[2] == 6
    for x in range(active.size):
        i = active[x]
        b, f = touched[i], wrench[i]
        radius = radii[i] if rows == 3 else 0.0
        bend = curvature[i] if curvature.shape[0] else flat
        for a in range(3):
            point[a] = centre[i, a] - radius * normal[i, a]
            for e in range(3):  # the point moves by (1 - r dn/dx) times the centre's motion
                arm[a, e] = (1.0 if a == e else 0.0) - radius * bend[a, e]
        contact_jacobians(P, S, b, support[i], centre[i], point, J_c, J_p, J_w)
        if b != 0:
            wrench_at_origin(P, b, point, f, origin)
            add_taken(S, support[i], moves[i], origin, A)
        for l in range(nv):
            if support[i, l] == 0.0:
                continue
            for a in range(rows):
                total = 0.0
                for e in range(3):
                    total += own[i, a, e] * J_c[e, l]
                    if turns:
                        total += own[i, a, 3 + e] * J_w[e, l]
                dF[a, l] = total
            if rows == 3:
                dF[3, l] = dF[4, l] = dF[5, l] = 0.0
            d0 = arm[0, 0] * J_c[0, l] + arm[0, 1] * J_c[1, l] + arm[0, 2] * J_c[2, l]
            d1 = arm[1, 0] * J_c[0, l] + arm[1, 1] * J_c[1, l] + arm[1, 2] * J_c[2, l]
            d2 = arm[2, 0] * J_c[0, l] + arm[2, 1] * J_c[1, l] + arm[2, 2] * J_c[2, l]
            dF[3, l] -= f[1] * d2 - f[2] * d1
            dF[4, l] -= f[2] * d0 - f[0] * d2
            dF[5, l] -= f[0] * d1 - f[1] * d0
        for k in range(nv):
            if support[i, k] == 0.0:
                continue
            for l in range(nv):
                if support[i, l] != 0.0:
                    A[k, l] -= (
                        J_p[0, k] * dF[0, l]
                        + J_p[1, k] * dF[1, l]
                        + J_p[2, k] * dF[2, l]
                        + J_w[0, k] * dF[3, l]
                        + J_w[1, k] * dF[4, l]
                        + J_w[2, k] * dF[5, l]
                    )
        J_force[x, :3] = J_p
        if rows == 6:
            J_force[x, 3:] = J_w
        if reference.shape[0] == 0:
            velocity_motion_jacobian(
                P,
                S,
                b,
                support[i],
                moves[i],
                above,
                v,
                D,
                rate,
                point,
                arm,
                J_c,
                J_p,
                J_w,
                J_motion[x],
            )
            continue
        motion_jacobian(
            placements[i],
            reference[i],
            normal[i],
            bend,
            radius,
            J_c,
            J_w,
            J_motion[x],
        )
