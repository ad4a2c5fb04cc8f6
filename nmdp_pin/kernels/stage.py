"""Equations of a stage and their derivatives, as the arrays of an evaluation.

An evaluation begins with the inertia of a form (`newton_euler_inertia`, `momentum_inertia` or
`position_inertia`); the contacts are located and have vertices (`cone_contacts`, or a contact model
in Python); then the forces are subtracted. All kernels take the `values` of the evaluation and the
`table` of their layout, see `evaluation_arrays`.
"""

from __future__ import annotations

import numpy as np

from nmdp_pin.kernels.contact_derivatives import linearise_contacts
from nmdp_pin.kernels.contact_ends import contact_ends
from nmdp_pin.kernels.contact_forces import contact_forces
from nmdp_pin.kernels.contact_kinematics import locate
from nmdp_pin.kernels.evaluation_arrays import EvaluationArrays, evaluation_arrays
from nmdp_pin.kernels.friction_cone import cone_derivative, cone_vertices
from nmdp_pin.kernels.inertial_potential import inertial_gradient, inertial_hessian
from nmdp_pin.kernels.jit import jit
from nmdp_pin.kernels.joint_forces import joint_forces, linearise_joints, stops
from nmdp_pin.kernels.joint_springs import joint_springs
from nmdp_pin.kernels.momentum import momentum_change
from nmdp_pin.kernels.step import smooth_newton_euler, subtract_torque
from nmdp_pin.kernels.subtree import Bodies
from nmdp_pin.kernels.terrain import query
from nmdp_pin.kernels.wrenches import world_wrenches


@jit
def copy_kinematics(P: np.ndarray, J: np.ndarray, at: EvaluationArrays) -> None:
    """Copy the placements of the joints and the Jacobian of the tree.

    Args:
        P: placements of all joints, shape (n_joints, 4, 3).
        J: Jacobian of the tree in the world, shape (6, nv).
        at: arrays of the evaluation.
    """
    for j in range(P.shape[0]):
        for r in range(4):
            for a in range(3):
                at.P[j, r, a] = P[j, r, a]
    for l in range(J.shape[1]):
        for a in range(6):
            at.S[l, a] = J[a, l]


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
    at = evaluation_arrays(values, table)
    copy_kinematics(P, J, at)
    smooth_newton_euler(tau, M, dtau_dq, dtau_dv, rate, acceleration_rate, D, at.G, at.stiffness)


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
    at = evaluation_arrays(values, table)
    copy_kinematics(P, J, at)
    bodies = Bodies(parents, first_dofs, moments)
    momentum_change(
        at.P, expected, bodies, at.S, momentum, M, dmomentum, rate, D, at.G, at.stiffness
    )
    for l in range(v_ref.size):
        at.G[l] -= rate * armature[l] * v_ref[l]


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
    at = evaluation_arrays(values, table)
    copy_kinematics(P, J, at)
    bodies, wrenches = Bodies(parents, first_dofs, moments), np.empty((target.shape[0], 6))
    inertial_gradient(at.P[1:], target, bodies, at.S, wrenches, at.G)
    inertial_hessian(at.P[1:], target, bodies, at.S, wrenches, at.stiffness)
    scale = rate * acceleration_rate
    for k in range(v.size):
        rotor = acceleration_rate * armature[k]
        at.G[k] = scale * at.G[k] + rotor * (v[k] - v_ref[k])
        for l in range(v.size):
            at.stiffness[k, l] *= scale
            if D.size:
                at.stiffness[k, l] += rotor * D[k, l]
        if D.size == 0:
            at.stiffness[k, k] += rate * rotor


@jit
def cone_contacts(
    joints: np.ndarray,
    touched: np.ndarray,
    local: np.ndarray,
    radii: np.ndarray,
    kinds: np.ndarray,
    shapes: np.ndarray,
    heights: np.ndarray,
    intervals: np.ndarray,
    tangents: np.ndarray,
    stiffness: float,
    power: int,
    zeta: float,
    shape: np.ndarray,
    table: np.ndarray,
    values: np.ndarray,
) -> bool:
    """Contacts of friction cones with closed forms: `locate`, `query` and `cone_vertices`.

    Returns:
        Whether some surface is curved.
    """
    at = evaluation_arrays(values, table)
    n, depth = radii.size, at.depth
    locate(at.P, joints, touched, local, at.placements, at.centre)
    curved = query(
        kinds,
        shapes,
        heights,
        intervals,
        at.centre,
        depth,
        at.normal,
        at.curvature,
        at.friction,
        shape,
    )
    for i in range(n):
        depth[i] = radii[i] - depth[i]
    cone_vertices(depth, at.normal, at.friction, tangents, stiffness, power, zeta, at.V[:n])
    return curved


@jit
def subtract_forces(
    constant: np.ndarray,
    kp: np.ndarray,
    kd: np.ndarray,
    error: np.ndarray,
    E: np.ndarray,
    D: np.ndarray,
    spring_coordinates: np.ndarray,
    spring_dofs: np.ndarray,
    multiplier: np.ndarray,
    offset: np.ndarray,
    spring_stiffness: np.ndarray,
    coordinates: np.ndarray,
    dofs: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    stop_stiffness: np.ndarray,
    friction: np.ndarray,
    touched: np.ndarray,
    support: np.ndarray,
    local: np.ndarray,
    radii: np.ndarray,
    reference: np.ndarray,
    q: np.ndarray,
    v: np.ndarray,
    w: np.ndarray,
    rate: float,
    table: np.ndarray,
    values: np.ndarray,
    active: np.ndarray,
) -> tuple[float, float, float, int]:
    """`subtract_torque`, `joint_springs`, `contact_forces` and `joint_forces`.

    Returns:
        Norm of G, gap, slip and the number of active contacts, as `contact_forces`.
    """
    at, h, n = evaluation_arrays(values, table), 1.0 / rate, radii.size
    subtract_torque(constant, kp, kd, error, v, rate, D, E, at.tau, at.G, at.stiffness)
    joint_springs(
        spring_coordinates,
        spring_dofs,
        multiplier,
        offset,
        spring_stiffness,
        q,
        at.G,
        at.stiffness,
    )
    norm, gap, slip, k = contact_forces(
        at.P,
        at.S,
        touched,
        support,
        local,
        radii,
        reference,
        at.placements,
        at.centre,
        at.normal,
        at.V[:n],
        w,
        v,
        h,
        at.wrench,
        at.motion,
        at.work,
        at.subtree,
        active,
        at.G,
    )
    if dofs.size:
        norm, more, most, k = joint_forces(
            coordinates,
            dofs,
            lower,
            upper,
            stop_stiffness,
            friction,
            q,
            v,
            h,
            w,
            at.V,
            at.wrench,
            at.motion,
            at.work,
            active,
            k,
            at.G,
        )
        gap, slip = gap + more, max(slip, most)
    return norm, gap, slip, k


@jit
def subtract_cone_forces(
    kinds: np.ndarray,
    shapes: np.ndarray,
    heights: np.ndarray,
    intervals: np.ndarray,
    tangents: np.ndarray,
    stiffness: float,
    power: int,
    zeta: float,
    joints: np.ndarray,
    surfaces: np.ndarray,
    constant: np.ndarray,
    kp: np.ndarray,
    kd: np.ndarray,
    error: np.ndarray,
    E: np.ndarray,
    D: np.ndarray,
    spring_coordinates: np.ndarray,
    spring_dofs: np.ndarray,
    multiplier: np.ndarray,
    offset: np.ndarray,
    spring_stiffness: np.ndarray,
    coordinates: np.ndarray,
    dofs: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    stop_stiffness: np.ndarray,
    friction: np.ndarray,
    touched: np.ndarray,
    support: np.ndarray,
    local: np.ndarray,
    radii: np.ndarray,
    reference: np.ndarray,
    q: np.ndarray,
    v: np.ndarray,
    w: np.ndarray,
    rate: float,
    table: np.ndarray,
    values: np.ndarray,
    active: np.ndarray,
) -> tuple[float, float, float, int, bool]:
    """`cone_contacts` and `subtract_forces`, whose arguments and results these are."""
    curved = cone_contacts(
        joints,
        touched,
        local,
        radii,
        kinds,
        shapes,
        heights,
        intervals,
        tangents,
        stiffness,
        power,
        zeta,
        surfaces,
        table,
        values,
    )
    norm, gap, slip, k = subtract_forces(
        constant,
        kp,
        kd,
        error,
        E,
        D,
        spring_coordinates,
        spring_dofs,
        multiplier,
        offset,
        spring_stiffness,
        coordinates,
        dofs,
        lower,
        upper,
        stop_stiffness,
        friction,
        touched,
        support,
        local,
        radii,
        reference,
        q,
        v,
        w,
        rate,
        table,
        values,
        active,
    )
    return norm, gap, slip, k, curved


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
    at, n = evaluation_arrays(values, table), radii.size
    for k in range(A.shape[0]):
        for l in range(A.shape[1]):
            A[k, l] = at.stiffness[k, l]
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
        at.P,
        at.S,
        touched,
        support,
        moves,
        above,
        radii,
        reference,
        at.placements,
        at.centre,
        at.normal,
        at.curvature if curved else at.curvature[:0],
        at.wrench,
        at.subtree,
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
    at, n = evaluation_arrays(values, table), radii.size
    own = np.empty((n, 3, 3))
    cone_derivative(
        at.depth,
        at.normal,
        at.curvature if curved else at.curvature[:0],
        at.friction,
        tangents,
        cone_stiffness,
        power,
        zeta,
        w,
        at.wrench,
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


@jit
def step_ends(
    first: np.ndarray,
    end: np.ndarray,
    q_first: np.ndarray,
    q_end: np.ndarray,
    active_first: np.ndarray,
    active_end: np.ndarray,
    coordinates: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    friction: np.ndarray,
    rate: float,
    still: float,
    table: np.ndarray,
    unloaded: np.ndarray,
    thrown: np.ndarray,
    sliding: np.ndarray,
    slip: np.ndarray,
    entered: np.ndarray,
    touching: np.ndarray,
) -> tuple[bool, bool, float]:
    """`contact_ends` at the end of a step, and what its contacts and joints entered on the way.

    Args:
        first: arrays of the first stage's end.
        end: arrays of the last stage's end.
        q_first: configuration at the first stage's end, shape (nq,).
        q_end: configuration at the last stage's end, shape (nq,).
        active_first: contacts and joints that act in the first stage.
        active_end: contacts and joints that act in the last stage.
        coordinates: as in `stops`.
        lower: as in `stops`.
        upper: as in `stops`.
        friction: as in `contact_ends`.
        rate: as in `contact_ends`.
        still: as in `contact_ends`.
        table: table of the layout.
        unloaded: as in `contact_ends`.
        thrown: as in `contact_ends`.
        sliding: as in `contact_ends`.
        slip: as in `contact_ends`.
        entered: output, growth of the penetrations since the first stage, shape (n + r,).
        touching: output, whether a contact or joint acts in one of the stages, shape (n + r,).

    Returns:
        Whether any that acts is thrown, whether any slides, and the largest growth.
    """
    before, at, r = evaluation_arrays(first, table), evaluation_arrays(end, table), friction.size
    gap, inward, n, most = np.empty(r), np.empty(r), at.depth.size, 0.0
    for i in range(n):
        entered[i] = at.depth[i] - max(before.depth[i], 0.0)
        most = max(most, entered[i])
    stops(coordinates, lower, upper, q_first, gap, inward)
    for j in range(r):
        entered[n + j] = -max(-gap[j], 0.0)
    stops(coordinates, lower, upper, q_end, gap, inward)
    for j in range(r):
        entered[n + j] -= gap[j]
        most = max(most, entered[n + j])
    some_thrown, some_sliding = contact_ends(
        at.V,
        at.wrench,
        at.motion,
        at.normal,
        inward,
        friction,
        rate,
        still,
        unloaded,
        thrown,
        sliding,
        slip,
    )
    touching[:] = False
    for i in active_first:
        touching[i] = True
    for i in active_end:
        touching[i] = True
    if some_thrown:
        some_thrown = False
        for i in range(touching.size):
            some_thrown |= thrown[i] and touching[i]
    return some_thrown, some_sliding, most


@jit
def add_world_wrenches(
    weight: float,
    touched: np.ndarray,
    radii: np.ndarray,
    table: np.ndarray,
    values: np.ndarray,
    total: np.ndarray,
) -> None:
    """Add the weighted `world_wrenches` of an evaluation to a total, shape (n, 6)."""
    at, n = evaluation_arrays(values, table), radii.size
    wrenches = np.empty((n, 6))
    world_wrenches(at.P, touched, radii, at.normal, at.wrench[:n], wrenches)
    for i in range(n):
        for a in range(6):
            total[i, a] += weight * wrenches[i, a]
