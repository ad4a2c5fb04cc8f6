"""A step's equations around its solution: what the implicit function theorem needs of them.

The stages i = 1 ... s end at q_i with weights w_i, where

    G_i(q_i, w_i, z, p) = 0,    r_i(q_i, w_i, z, p) + lambda = 0 along weights above zero,

with z = (q_0, v_0, q_1, ..., q_i-1), the start of the step and the ends of the stages before, and p
the joint torque and further parameters. Of configurations all is tangent.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class LinearisedWeights(NamedTuple):
    """The conditions on the weights of the k contacts that act, of m weights each.

    Args:
        contacts: their indices among the contact points, shape (k,).
        w: weights, shape (k, m).
        forces: generalised force of every vertex, -(dG/dw)', shape (k m, nv).
        r: what vanishes along free weights but for the multiplier of their sum [J], (k m,).
        r_q: shape (k m, nv).
        r_w: q held, shape (k m, k m).
        r_z: shape (k m, nz).
        r_p: shape (k m, np).
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
    """One stage; z has a column block of nv for q_0, for v_0 and for each stage before the last.

    Args:
        G_q: shape (nv, nv).
        G_z: shape (nv, nz).
        G_p: shape (nv, np).
        v_q: derivative of the velocity at its end, shape (nv, nv).
        v_z: likewise, shape (nv, nz).
        weights: None where nothing acts or the method has none.
        touching: contacts that are at the surface: apart on one side, pressed on the other.
        known: motions that its end can tell from none [m, rad].
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
    """The stages of a step.

    Args:
        stages: one after another; the last one's end is that of the step.
        sizes: columns of p by name: "u", the torque of all dofs, then the parameters asked for.
        settled: the ends are known to their last digits.
    """

    stages: tuple[LinearisedStage, ...]
    sizes: dict[str, int]
    settled: bool
