"""Equations of a stage and their derivatives, as the arrays of an evaluation.

An evaluation begins with the inertia of a form (`newton_euler_inertia`, `momentum_inertia` or
`position_inertia`); the contacts are located and have vertices (`cone_contacts`, or a contact model
in Python); then the forces are subtracted. All kernels take the `values` of the evaluation and the
`table` of their layout, see `evaluation_arrays`.
"""

from __future__ import annotations

import numpy as np

from nmdp_pin.kernels import evaluation_arrays as parts
from nmdp_pin.kernels.contact_derivatives import linearise_contacts
from nmdp_pin.kernels.contact_ends import contact_ends
from nmdp_pin.kernels.contact_forces import contact_forces
from nmdp_pin.kernels.contact_kinematics import locate
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


@jit
def cone_contacts(
    joints: np.ndarray,
    touched: np.ndarray,
    local: np.ndarray,
    radii: np.ndarray,
    kinds: np.ndarray,
    shapes: np.ndarray,
    heights: np.ndarray | None,
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
    centre = parts.matrix(values, table, parts.CENTRE)
    normal = parts.matrix(values, table, parts.NORMAL)
    friction = parts.vector(values, table, parts.FRICTION)
    V = parts.stack(values, table, parts.VERTICES)
    n, depth = radii.size, parts.vector(values, table, parts.DEPTH)
    locate(
        parts.stack(values, table, parts.P),
        joints,
        touched,
        local,
        parts.stack(values, table, parts.PLACEMENTS),
        centre,
    )
    curved = query(
        kinds,
        shapes,
        heights,
        intervals,
        centre,
        depth,
        normal,
        parts.stack(values, table, parts.CURVATURE),
        friction,
        shape,
    )
    for i in range(n):
        depth[i] = radii[i] - depth[i]
    cone_vertices(depth, normal, friction, tangents, stiffness, power, zeta, V[:n])
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
    G = parts.vector(values, table, parts.G)
    stiffness = parts.matrix(values, table, parts.STIFFNESS)
    V = parts.stack(values, table, parts.VERTICES)
    wrench = parts.matrix(values, table, parts.WRENCH)
    motion = parts.matrix(values, table, parts.MOTION)
    work = parts.matrix(values, table, parts.WORK)
    h, n = 1.0 / rate, radii.size
    subtract_torque(
        constant, kp, kd, error, v, rate, D, E, parts.vector(values, table, parts.TAU), G, stiffness
    )
    joint_springs(
        spring_coordinates,
        spring_dofs,
        multiplier,
        offset,
        spring_stiffness,
        q,
        G,
        stiffness,
    )
    norm, gap, slip, k = contact_forces(
        parts.stack(values, table, parts.P),
        parts.matrix(values, table, parts.S),
        touched,
        support,
        local,
        radii,
        reference,
        parts.stack(values, table, parts.PLACEMENTS),
        parts.matrix(values, table, parts.CENTRE),
        parts.matrix(values, table, parts.NORMAL),
        V[:n],
        w,
        v,
        h,
        wrench,
        motion,
        work,
        parts.matrix(values, table, parts.SUBTREE),
        active,
        G,
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
            V,
            wrench,
            motion,
            work,
            active,
            k,
            G,
        )
        gap, slip = gap + more, max(slip, most)
    return norm, gap, slip, k


@jit
def subtract_cone_forces(
    kinds: np.ndarray,
    shapes: np.ndarray,
    heights: np.ndarray | None,
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
    curvature = parts.stack(values, table, parts.CURVATURE)
    n = radii.size
    for k in range(A.shape[0]):
        for l in range(A.shape[1]):
            A[k, l] = parts.matrix(values, table, parts.STIFFNESS)[k, l]
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
    before = parts.vector(first, table, parts.DEPTH)
    depth = parts.vector(end, table, parts.DEPTH)
    n, r, most = depth.size, friction.size, 0.0
    gap, inward = np.empty(r), np.empty(r)
    for i in range(n):
        entered[i] = depth[i] - max(before[i], 0.0)
        most = max(most, entered[i])
    stops(coordinates, lower, upper, q_first, gap, inward)
    for j in range(r):
        entered[n + j] = -max(-gap[j], 0.0)
    stops(coordinates, lower, upper, q_end, gap, inward)
    for j in range(r):
        entered[n + j] -= gap[j]
        most = max(most, entered[n + j])
    some_thrown, some_sliding = contact_ends(
        parts.stack(end, table, parts.VERTICES),
        parts.matrix(end, table, parts.WRENCH),
        parts.matrix(end, table, parts.MOTION),
        parts.matrix(end, table, parts.NORMAL),
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
    n = radii.size
    wrenches = np.empty((n, 6))
    world_wrenches(
        parts.stack(values, table, parts.P),
        touched,
        radii,
        parts.matrix(values, table, parts.NORMAL),
        parts.matrix(values, table, parts.WRENCH)[:n],
        wrenches,
    )
    for i in range(n):
        for a in range(6):
            total[i, a] += weight * wrenches[i, a]
