"""Forces of a stage: torques, springs, contacts and stops, which complete its evaluation.

The contacts are located and have vertices before, by `cone_contacts` or by a contact model in
Python. `values` and `table` are those of `evaluation_arrays`.
"""

from __future__ import annotations

import numpy as np

from nmdp_pin.kernels import evaluation_arrays as parts
from nmdp_pin.kernels.contact_forces import contact_forces
from nmdp_pin.kernels.contact_kinematics import locate
from nmdp_pin.kernels.friction_cone import cone_vertices
from nmdp_pin.kernels.jit import jit
from nmdp_pin.kernels.joint_forces import joint_forces
from nmdp_pin.kernels.joint_springs import joint_springs
from nmdp_pin.kernels.step import subtract_torque
from nmdp_pin.kernels.terrain import query


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
