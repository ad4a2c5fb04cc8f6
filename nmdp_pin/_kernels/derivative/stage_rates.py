"""Derivatives of the equations of a stage at its end."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nmdp_pin._kernels.compiler.jit import Array, jit
from nmdp_pin._kernels.step.stage_records import StageIterate, StageJacobians


class StageRates(NamedTuple):
    """Derivatives of the equations of a stage at its end, with nw weights in k rows.

    Args:
        G_q: derivative dG/dq, shape (nv, nv).
        G_z: derivative dG/dz, shape (nv, nz).
        v_q: derivative dv/dq of the velocity at the end, shape (nv, nv).
        v_z: derivative dv/dz, shape (nv, nz).
        first: first weight of each row, shape (k + 1,).
        w: weights, shape (nw,).
        forces: generalised forces of the vertices, -(dG/dw)', shape (nw, nv).
        along: rates at which velocities move along the vertices, which are `forces` but for those
            of scripted dofs, shape (nw, nv).
        r: residual that vanishes along free weights but for the multiplier of their sum [J], (nw,).
        r_q: derivative dr/dq, shape (nw, nv).
        r_w: derivative dr/dw with q held, shape (nw, nw), or (0, 0) where it is zero.
        r_z: derivative dr/dz, shape (nw, nz).
        bends: rows whose products with the responses dq/dw estimate dr_j/dw_j, (nw, nv).
    """

    G_q: Array
    G_z: Array
    v_q: Array
    v_z: Array
    first: Array
    w: Array
    forces: Array
    along: Array
    r: Array
    r_q: Array
    r_w: Array
    r_z: Array
    bends: Array


@jit
def new_rates(nv: int, nz: int, k: int, nw: int, moving: bool) -> StageRates:
    """Memory for the derivatives of a stage with nw weights in k rows, with r_w if `moving`."""
    return StageRates(
        np.empty((nv, nv)),
        np.empty((nv, nz)),
        np.empty((nv, nv)),
        np.empty((nv, nz)),
        np.empty(k + 1, np.int64),
        np.empty(nw),
        np.empty((nw, nv)),
        np.empty((nw, nv)),
        np.empty(nw),
        np.empty((nw, nv)),
        np.empty((nw, nw) if moving else (0, 0)),
        np.empty((nw, nz)),
        np.empty((nw, nv)),
    )


@jit
def project_rows(
    at: StageIterate, linear: StageJacobians, J: Array, first: Array, out: Array
) -> None:
    """Rows of a Jacobian along the coordinates of the blocks, shape (nw, nv)."""
    out[:] = 0.0
    for x in range(at.n_active[0]):
        for e in range(first[x + 1] - first[x]):
            for a in range(at.V.shape[1] if x < at.n_active[1] else 1):
                p = at.V[at.active[x], a, e]
                if p != 0.0:
                    for s in range(linear.n_dofs[x]):
                        out[first[x] + e, linear.dofs[x, s]] += p * J[x, a, s]
