"""Projection onto the manifold G(q, w) = 0 for fixed w: damped Newton ([N] eq. 9 or 11)."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from scipy.linalg.lapack import dgesv

from nmdp_pin.status import Status

MAX_HALVINGS = 5  # of a Newton step
SUFFICIENT = 1e-4  # share of the promised decrease of |G| that a step must achieve


class ManifoldProblem(Protocol):
    """What the projection needs; everything but `retract` speaks of the last evaluated point."""

    def evaluate(self, q: np.ndarray, w: np.ndarray) -> np.ndarray:
        """G at (q, w)."""

    def linearise(self) -> np.ndarray:
        """dG/dq at the last evaluated point (or an approximation, zeroth order)."""

    def retract(self, q: np.ndarray, dq: np.ndarray) -> np.ndarray:
        """The point at tangent dq from q."""


class Projection(NamedTuple):
    """A point on the manifold, or where the projection stopped.

    Args:
        q: the point; on success also the last one that was evaluated.
        status: how it ended.
        residual: norm of G at q.
    """

    q: np.ndarray
    status: Status
    residual: float


def project(
    problem: ManifoldProblem,
    q: np.ndarray,
    w: np.ndarray,
    *,
    tolerance: float,
    max_iterations: int,
) -> Projection:
    """Solve G(q, w) = 0 for q from a start, each step accepted only if |G| falls.

    Args:
        problem: the manifold.
        q: start.
        w: weights, held.
        tolerance: on the norm of G [N, N m].
        max_iterations: Newton steps at most.
    """
    G = problem.evaluate(q, w)
    norm = float(np.sqrt(G @ G))
    for _ in range(max_iterations):
        if norm <= tolerance:
            return Projection(q, Status.CONVERGED, norm)
        if not np.isfinite(norm):
            return Projection(q, Status.NOT_FINITE, norm)
        dq, singular = dgesv(problem.linearise(), -G)[2:]
        if singular or not np.isfinite(dq).all():
            return Projection(q, Status.SINGULAR, norm)
        t, reference = 1.0, norm
        for _ in range(MAX_HALVINGS):
            trial = problem.retract(q, t * dq)
            G = problem.evaluate(trial, w)
            norm = float(np.sqrt(G @ G))
            if norm <= (1.0 - SUFFICIENT * t) * reference:
                break
            t *= 0.5
        else:
            return Projection(q, Status.PROJECTION_FAILED, reference)
        q = trial
    ok = norm <= tolerance
    return Projection(q, Status.CONVERGED if ok else Status.PROJECTION_FAILED, norm)
