"""Derivatives of a step's equations at its solution, for the implicit function theorem.

The stages i = 1 ... s end at q_i with weights w_i, where

    G_i(q_i, w_i, z, p) = 0,    r_i(q_i, w_i, z, p) + lambda = 0 along weights above zero,

with z = (q_0, v_0, q_1, ..., q_i-1), the start of the step and the ends of the stages before, and p
the joint torque and further parameters. Derivatives with respect to configurations are tangent.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class LinearisedWeights(NamedTuple):
    """Conditions on the m weights of each of the k active contacts.

    Args:
        contacts: indices of the active contact points, shape (k,).
        w: weights, shape (k, m).
        forces: generalised forces of the vertices, -(dG/dw)', shape (k m, nv).
        r: residual that vanishes along free weights but for the multiplier of their sum [J], (k
            m,).
        r_q: derivative dr/dq, shape (k m, nv).
        r_w: derivative dr/dw with q held, shape (k m, k m).
        r_z: derivative dr/dz, shape (k m, nz).
        r_p: derivative dr/dp, shape (k m, np).
        curved: rows whose products with the responses dq/dw estimate dr_j/dw_j, (k m, nv).
    """

    contacts: np.ndarray
    w: np.ndarray
    forces: np.ndarray
    r: np.ndarray
    r_q: np.ndarray
    r_w: np.ndarray
    r_z: np.ndarray
    r_p: np.ndarray
    curved: np.ndarray


class LinearisedStage(NamedTuple):
    """One stage; z has a block of nv columns for q_0, for v_0 and for each earlier stage.

    Args:
        G_q: derivative dG/dq, shape (nv, nv).
        G_z: derivative dG/dz, shape (nv, nz).
        G_p: derivative dG/dp, shape (nv, np).
        v_q: derivative dv/dq of the velocity at the end, shape (nv, nv).
        v_z: derivative dv/dz, shape (nv, nz).
        weights: conditions on the weights; None where nothing acts or the method has no weights.
        touching: contacts at the surface, which are apart on one side and pressed on the other.
        known: smallest motions that the end resolves [m, rad].
    """

    G_q: np.ndarray
    G_z: np.ndarray
    G_p: np.ndarray
    v_q: np.ndarray
    v_z: np.ndarray
    weights: LinearisedWeights | None
    touching: tuple[int, ...]
    known: float


class LinearisedStep(NamedTuple):
    """Derivatives of the stages of a step.

    Args:
        stages: stages in order; the last one ends with the step.
        sizes: columns of p by name: "u", the torque of all dofs, then the parameters asked for.
        settled: whether the ends are known to their last digits.
    """

    stages: tuple[LinearisedStage, ...]
    sizes: dict[str, int]
    settled: bool
