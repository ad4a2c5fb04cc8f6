"""The implicit function theorem: how the end of a step answers its start and its parameters."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import lstsq
from scipy.linalg.lapack import dgelsy

from nmdp_pin.derivatives.active_set import ActiveSet, Switch, active_set
from nmdp_pin.dynamics.linearised_step import LinearisedStage, LinearisedStep, LinearisedWeights
from nmdp_pin.kernels.newton import block_scales
from nmdp_pin.kernels.stage_response import face_basis, motion_response, weight_conditions

_RANK = 1e-10  # singular values below this share of the largest count as zero: redundant contacts


class Response(NamedTuple):
    """Derivatives of x1 = [q1; v1] by x0 = [q0; v0], shape (2 nv, 2 nv), and by p, (2 nv, np).

    `switches` are the kinks that a stage ended on.
    """

    of_state: np.ndarray
    of_parameters: np.ndarray
    switches: tuple[Switch, ...]


def response(step: LinearisedStep, smoothing: float = 0.0) -> Response:
    """The derivatives of a step, through its stages.

    Args:
        step: its equations.
        smoothing: see `StepDifferentiator`.

    Raises:
        numpy.linalg.LinAlgError: dG/dq is singular.
    """
    nv, nz = step.stages[0].G_z.shape
    Z = np.zeros((nz, 2 * nv + step.stages[0].G_p.shape[1]))  # derivatives of z
    Z[: 2 * nv, : 2 * nv] = np.eye(2 * nv)
    switches: tuple[Switch, ...] = ()
    for i, stage in enumerate(step.stages):
        dq, kinks = _of_stage(stage, Z, smoothing)
        switches += kinks
        dv = stage.v_q @ dq + stage.v_z @ Z
        Z[(i + 2) * nv : (i + 3) * nv] = dq[: max(nz - (i + 2) * nv, 0)]
    whole = np.vstack([dq, dv])
    return Response(whole[:, : 2 * nv], whole[:, 2 * nv :], switches)


def _of_stage(
    stage: LinearisedStage, Z: np.ndarray, smoothing: float
) -> tuple[np.ndarray, tuple[Switch, ...]]:
    """Derivatives of q at the end of a stage, shape (nv, K), and its kinks.

    dq = P dw - G_q^-1 dG, and along free weights r_q dq + r_w dw + dr + dlambda = 0; dG and dr
    are those of z and p.
    """
    weights, (nv, n) = stage.weights, (len(stage.G_q), Z.shape[1])
    switches = tuple(Switch(c, "touch") for c in stage.touching)
    forces = np.zeros((0, nv)) if weights is None else weights.forces
    dq, P = np.empty((nv, n)), np.empty((nv, len(forces)))
    if not motion_response(stage.G_q, stage.G_z, stage.G_p, Z, forces, dq, P):
        raise np.linalg.LinAlgError("dG/dq is singular")
    if weights is None:
        return dq, switches
    nw, m = len(forces), weights.w.shape[1]
    H, turned = np.empty((nw, nw)), np.empty((nw, n))
    curvature, moves, scale = np.empty(nw), np.empty(nw), np.empty(nw)
    _, _, _, _, r_q, r_w, r_z, r_p, curved = weights
    weight_conditions(r_q, r_w, r_z, r_p, curved, Z, dq, P, H, turned, curvature, moves)
    if not block_scales(curvature, m, scale):
        scale[:] = 1.0
    face = active_set(weights.w, weights.r, forces, moves / scale, stage.known)
    switches += tuple(s._replace(contact=int(weights.contacts[s.contact])) for s in face.switches)
    if smoothing == 0.0:
        dw = of_weights(H, turned, scale, face)
    else:
        dw = of_smoothed_weights(H, turned, scale, face, weights, smoothing)
    return dq + P @ dw, switches


def of_weights(H: np.ndarray, turned: np.ndarray, scale: np.ndarray, face: ActiveSet) -> np.ndarray:
    """Dw on the face, of the least norm where contacts are redundant, shape (k m, K).

    Along tight sums weights move in an orthonormal basis of the changes that keep the sum: a single
    free weight stays.

    Args:
        H: dr/dw with q following, shape (k m, k m).
        turned: dr with w held, shape (k m, K).
        scale: curvature of each contact [J], shape (k m,).
        face: where the weights may move.
    """
    whole = np.zeros_like(H)
    basis = whole[:, : face_basis(face.free, face.tight, scale, whole)]
    if not basis.shape[1]:
        return np.zeros_like(turned)
    A, b = basis.T @ H @ basis, basis.T @ turned
    # where a contact slides much further than it is deep its rows outweigh those of the others
    size = np.maximum(np.abs(A).max(axis=1), 1.0)[:, None]
    pivots, space = np.zeros(len(A), np.int32), 4 * len(A) + 64 * (1 + b.shape[1])
    found = dgelsy(A / size, b / size, pivots, _RANK, space)[1]
    result: np.ndarray = basis @ -found
    return result


def of_smoothed_weights(
    H: np.ndarray,
    turned: np.ndarray,
    scale: np.ndarray,
    face: ActiveSet,
    weights: LinearisedWeights,
    smoothing: float,
) -> np.ndarray:
    """Dw with complementarity w s = kappa in place of w s = 0, shape (k m, K).

    With z = w - s / scale the face is the sign of z; here a weight follows its condition by the
    share theta = (1 + z / sqrt(z^2 + 4 kappa)) / 2 and stays by the rest. Sums likewise.

    Args:
        H: see `of_weights`.
        turned: likewise.
        scale: likewise.
        face: likewise.
        weights: weights of the stage.
        smoothing: sqrt(kappa) [-], a share of a contact's weights.
    """
    k, m = weights.w.shape
    of_sum = scale.reshape(k, m)[:, 0]
    theta = _share(weights.w.ravel() - face.slack / scale, smoothing)
    gap = 1.0 - weights.w.sum(axis=1)
    theta_sum = _share(gap - face.multiplier / of_sum, smoothing)
    E = np.kron(np.eye(k), np.ones((1, m)))
    follow, n = (theta / scale)[:, None], k * m
    A = np.zeros((n + k, n + k))
    A[:n, :n] = np.diag(1.0 - theta) + follow * H
    A[:n, n:] = follow * E.T * of_sum
    A[n:, :n] = -(1.0 - theta_sum)[:, None] * E
    A[n:, n:] = np.diag(theta_sum)
    right = np.zeros((n + k, turned.shape[1]))
    right[:n] = -follow * turned
    result: np.ndarray = lstsq(A, right, cond=_RANK, check_finite=False)[0][:n]
    return result


def _share(z: np.ndarray, smoothing: float) -> np.ndarray:
    result: np.ndarray = 0.5 * (1.0 + z / np.sqrt(z**2 + 4.0 * smoothing**2))
    return result
