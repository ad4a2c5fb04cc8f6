"""Contacts of friction cones with a terrain of closed forms, in one call."""

from __future__ import annotations

import numpy as np

from nmdp_pin.kernels.contact_forces import contact_forces
from nmdp_pin.kernels.contact_kinematics import locate
from nmdp_pin.kernels.friction_cone import cone_vertices
from nmdp_pin.kernels.jit import jit
from nmdp_pin.kernels.terrain import query


@jit
def cone_contacts(
    P: np.ndarray,
    S: np.ndarray,
    joints: np.ndarray,
    touched: np.ndarray,
    support: np.ndarray,
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
    reference: np.ndarray,
    w: np.ndarray,
    v: np.ndarray,
    h: float,
    placements: np.ndarray,
    centre: np.ndarray,
    depth: np.ndarray,
    normal: np.ndarray,
    curvature: np.ndarray,
    friction: np.ndarray,
    shape: np.ndarray,
    V: np.ndarray,
    wrench: np.ndarray,
    motion: np.ndarray,
    work: np.ndarray,
    subtree: np.ndarray,
    active: np.ndarray,
    G: np.ndarray,
) -> tuple[float, float, float, int, bool]:
    """`locate`, `query`, `cone_vertices` and `contact_forces`, whose arguments these are.

    Returns:
        What `contact_forces` returns, and whether some surface is curved.
    """
    locate(P, joints, touched, local, placements, centre)
    curved = query(
        kinds, shapes, heights, intervals, centre, depth, normal, curvature, friction, shape
    )
    for i in range(depth.size):
        depth[i] = radii[i] - depth[i]
    cone_vertices(depth, normal, friction, tangents, stiffness, power, zeta, V)
    norm, gap, slip, k = contact_forces(
        P,
        S,
        touched,
        support,
        local,
        radii,
        reference,
        placements,
        centre,
        normal,
        V,
        w,
        v,
        h,
        wrench,
        motion,
        work,
        subtree,
        active,
        G,
    )
    return norm, gap, slip, k, curved
