"""Derivatives of the equations of a stage, from the arrays of its evaluation."""

from __future__ import annotations

import numpy as np

from nmdp_pin.kernels import evaluation_arrays as parts
from nmdp_pin.kernels.contact_derivatives import linearise_contacts
from nmdp_pin.kernels.friction_cone import cone_derivative
from nmdp_pin.kernels.jit import jit
from nmdp_pin.kernels.joint_forces import linearise_joints


@jit
def linearise_stage(
    coordinates: np.ndarray,
    dofs: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    stop_stiffness: np.ndarray,
    friction: np.ndarray,
    touched: np.ndarray,
    support: np.ndarray,
    moves: np.ndarray,
    above: np.ndarray,
    radii: np.ndarray,
    reference: np.ndarray,
    q: np.ndarray,
    v: np.ndarray,
    w: np.ndarray,
    rate: float,
    D: np.ndarray,
    active: np.ndarray,
    own: np.ndarray,
    curved: bool,
    table: np.ndarray,
    values: np.ndarray,
    A: np.ndarray,
    J_force: np.ndarray,
    J_motion: np.ndarray,
) -> None:
    """The derivative dG/dq and the Jacobians: `linearise_joints` and `linearise_contacts`.

    Args:
        coordinates: as in `joint_forces`.
        dofs: as in `joint_forces`.
        lower: as in `joint_forces`.
        upper: as in `joint_forces`.
        stop_stiffness: stiffness of the stops, as in `joint_forces`.
        friction: as in `joint_forces`.
        touched: as in `contact_forces`.
        support: as in `contact_forces`.
        moves: as in `linearise_contacts`.
        above: as in `linearise_contacts`.
        radii: as in `contact_forces`.
        reference: as in `contact_forces`.
        q: configuration, shape (nq,).
        v: velocity, shape (nv,).
        w: weights, shape (n + r, m).
        rate: 1 / h of the stage [1/s].
        D: as in `linearise_contacts`.
        active: indices of the active contacts and joints, shape (k,).
        own: as in `linearise_contacts`.
        curved: whether some surface is curved.
        table: table of the layout.
        values: arrays of the evaluation.
        A: output, dG/dq, shape (nv, nv).
        J_force: output, shape (k, rows, nv).
        J_motion: output, shape (k, rows, nv).
    """
    curvature = parts.stack(values, table, parts.CURVATURE)
    stiffness, n = parts.matrix(values, table, parts.STIFFNESS), radii.size
    for k in range(A.shape[0]):
        for l in range(A.shape[1]):
            A[k, l] = stiffness[k, l]
    if dofs.size:
        linearise_joints(
            coordinates,
            dofs,
            lower,
            upper,
            stop_stiffness,
            friction,
            q,
            w,
            active,
            A,
            J_force,
            J_motion,
        )
    k = 0
    while k < active.size and active[k] < n:
        k += 1
    if k == 0:
        return
    linearise_contacts(
        parts.stack(values, table, parts.P),
        parts.matrix(values, table, parts.S),
        touched,
        support,
        moves,
        above,
        radii,
        reference,
        parts.stack(values, table, parts.PLACEMENTS),
        parts.matrix(values, table, parts.CENTRE),
        parts.matrix(values, table, parts.NORMAL),
        curvature if curved else curvature[:0],
        parts.matrix(values, table, parts.WRENCH),
        parts.matrix(values, table, parts.SUBTREE),
        active[:k],
        own,
        v,
        D,
        rate,
        A,
        J_force[:k],
        J_motion[:k],
    )


@jit
def linearise_cones(
    tangents: np.ndarray,
    cone_stiffness: float,
    power: int,
    zeta: float,
    coordinates: np.ndarray,
    dofs: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    stop_stiffness: np.ndarray,
    friction: np.ndarray,
    touched: np.ndarray,
    support: np.ndarray,
    moves: np.ndarray,
    above: np.ndarray,
    radii: np.ndarray,
    reference: np.ndarray,
    q: np.ndarray,
    v: np.ndarray,
    w: np.ndarray,
    rate: float,
    D: np.ndarray,
    active: np.ndarray,
    curved: bool,
    table: np.ndarray,
    values: np.ndarray,
    A: np.ndarray,
    J_force: np.ndarray,
    J_motion: np.ndarray,
) -> None:
    """`cone_derivative` and `linearise_stage`, whose arguments these are."""
    curvature = parts.stack(values, table, parts.CURVATURE)
    n = radii.size
    own = np.empty((n, 3, 3))
    cone_derivative(
        parts.vector(values, table, parts.DEPTH),
        parts.matrix(values, table, parts.NORMAL),
        curvature if curved else curvature[:0],
        parts.vector(values, table, parts.FRICTION),
        tangents,
        cone_stiffness,
        power,
        zeta,
        w,
        parts.matrix(values, table, parts.WRENCH),
        own,
    )
    linearise_stage(
        coordinates,
        dofs,
        lower,
        upper,
        stop_stiffness,
        friction,
        touched,
        support,
        moves,
        above,
        radii,
        reference,
        q,
        v,
        w,
        rate,
        D,
        active,
        own,
        curved,
        table,
        values,
        A,
        J_force,
        J_motion,
    )
