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
        G: at q.
    """

    q: np.ndarray
    status: Status
    residual: float
    G: np.ndarray


def project(
    problem: ManifoldProblem,
    q: np.ndarray,
    w: np.ndarray,
    *,
    tolerance: float,
    max_iterations: int,
    line_search: bool = True,
) -> Projection:
    """Solve G(q, w) = 0 for q from a start, each step accepted only if |G| falls.

    Args:
        problem: the manifold.
        q: start.
        w: weights, held.
        tolerance: on the norm of G [N, N m].
        max_iterations: Newton steps at most.
        line_search: halve steps until |G| falls; False takes them whole.
    """
    G = problem.evaluate(q, w)
    norm = float(np.sqrt(G @ G))
    for _ in range(max_iterations):
        if norm <= tolerance:
            return Projection(q, Status.CONVERGED, norm, G)
        if not np.isfinite(norm):
            return Projection(q, Status.NOT_FINITE, norm, G)
        dq, singular = dgesv(problem.linearise(), -G)[2:]
        if singular or not np.isfinite(dq).all():
            return Projection(q, Status.SINGULAR, norm, G)
        t, reference, G0 = 1.0, norm, G
        for _ in range(MAX_HALVINGS):
            trial = problem.retract(q, t * dq)
            G = problem.evaluate(trial, w)
            norm = float(np.sqrt(G @ G))
            if norm <= (1.0 - SUFFICIENT * t) * reference or not line_search:
                break
            t *= 0.5
        else:
            return Projection(q, Status.PROJECTION_FAILED, reference, G0)
        q = trial
    ok = norm <= tolerance
    return Projection(q, Status.CONVERGED if ok else Status.PROJECTION_FAILED, norm, G)
