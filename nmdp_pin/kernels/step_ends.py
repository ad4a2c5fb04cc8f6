"""Contacts at the end of a step, from the arrays of the evaluations of its stages."""

from __future__ import annotations

import numpy as np

from nmdp_pin.kernels import evaluation_arrays as parts
from nmdp_pin.kernels.contact_ends import contact_ends
from nmdp_pin.kernels.jit import jit
from nmdp_pin.kernels.joint_forces import stops
from nmdp_pin.kernels.wrenches import world_wrenches


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
