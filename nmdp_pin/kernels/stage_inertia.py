"""Inertia of the forms of the dynamics, with which the evaluation of a stage begins.

The kernels write the kinematics, G and its derivative into the `values` of an evaluation, whose
layout has the `table`; see `evaluation_arrays`.
"""

from __future__ import annotations

import numpy as np

from nmdp_pin.kernels import evaluation_arrays as parts
from nmdp_pin.kernels.inertial_potential import inertial_gradient, inertial_hessian
from nmdp_pin.kernels.jit import jit
from nmdp_pin.kernels.momentum import momentum_change
from nmdp_pin.kernels.step import smooth_newton_euler
from nmdp_pin.kernels.subtree import Bodies


@jit
def copy_kinematics(P: np.ndarray, J: np.ndarray, table: np.ndarray, values: np.ndarray) -> None:
    """Copy the placements of the joints and the Jacobian of the tree.

    Args:
        P: placements of all joints, shape (n_joints, 4, 3).
        J: Jacobian of the tree in the world, shape (6, nv).
        table: table of the layout.
        values: arrays of the evaluation.
    """
    placements = parts.stack(values, table, parts.P)
    S = parts.matrix(values, table, parts.S)
    for j in range(P.shape[0]):
        for r in range(4):
            for a in range(3):
                placements[j, r, a] = P[j, r, a]
    for l in range(J.shape[1]):
        for a in range(6):
            S[l, a] = J[a, l]


@jit
def newton_euler_inertia(
    P: np.ndarray,
    J: np.ndarray,
    tau: np.ndarray,
    M: np.ndarray,
    dtau_dq: np.ndarray,
    dtau_dv: np.ndarray,
    rate: float,
    acceleration_rate: float,
    D: np.ndarray,
    table: np.ndarray,
    values: np.ndarray,
) -> None:
    """Kinematics, and the inverse dynamics with its derivative; see `smooth_newton_euler`."""
    copy_kinematics(P, J, table, values)
    smooth_newton_euler(
        tau,
        M,
        dtau_dq,
        dtau_dv,
        rate,
        acceleration_rate,
        D,
        parts.vector(values, table, parts.G),
        parts.matrix(values, table, parts.STIFFNESS),
    )


@jit
def momentum_inertia(
    P: np.ndarray,
    J: np.ndarray,
    expected: np.ndarray,
    parents: np.ndarray,
    first_dofs: np.ndarray,
    moments: np.ndarray,
    momentum: np.ndarray,
    M: np.ndarray,
    dmomentum: np.ndarray,
    armature: np.ndarray,
    v_ref: np.ndarray,
    rate: float,
    D: np.ndarray,
    table: np.ndarray,
    values: np.ndarray,
) -> None:
    """Kinematics, and the change of momentum of the material points; see `momentum_change`.

    M contains the rotors, whose inertias are `armature`; the points do not.
    """
    G = parts.vector(values, table, parts.G)
    copy_kinematics(P, J, table, values)
    bodies = Bodies(parents, first_dofs, moments)
    momentum_change(
        parts.stack(values, table, parts.P),
        expected,
        bodies,
        parts.matrix(values, table, parts.S),
        momentum,
        M,
        dmomentum,
        rate,
        D,
        G,
        parts.matrix(values, table, parts.STIFFNESS),
    )
    for l in range(v_ref.size):
        G[l] -= rate * armature[l] * v_ref[l]


@jit
def position_inertia(
    P: np.ndarray,
    J: np.ndarray,
    target: np.ndarray,
    parents: np.ndarray,
    first_dofs: np.ndarray,
    moments: np.ndarray,
    armature: np.ndarray,
    v: np.ndarray,
    v_ref: np.ndarray,
    rate: float,
    acceleration_rate: float,
    D: np.ndarray,
    table: np.ndarray,
    values: np.ndarray,
) -> None:
    """Kinematics, and the inertial potential's gradient and Hessian with those of the rotors.

    See `inertial_gradient`; both are multiplied by rate * acceleration_rate.
    """
    G = parts.vector(values, table, parts.G)
    stiffness = parts.matrix(values, table, parts.STIFFNESS)
    S = parts.matrix(values, table, parts.S)
    placed = parts.stack(values, table, parts.P)
    copy_kinematics(P, J, table, values)
    bodies, wrenches = Bodies(parents, first_dofs, moments), np.empty((target.shape[0], 6))
    inertial_gradient(placed[1:], target, bodies, S, wrenches, G)
    inertial_hessian(placed[1:], target, bodies, S, wrenches, stiffness)
    scale = rate * acceleration_rate
    for k in range(v.size):
        rotor = acceleration_rate * armature[k]
        G[k] = scale * G[k] + rotor * (v[k] - v_ref[k])
        for l in range(v.size):
            stiffness[k, l] *= scale
            if D.size:
                stiffness[k, l] += rotor * D[k, l]
        if D.size == 0:
            stiffness[k, k] += rate * rotor
