"""Newton's method for a variational inequality on the manifold G(q, w) = 0.

Find q and w in the simplices with G(q, w) = 0 and g(q)' (w' - w) >= 0 for every feasible w'. Each
iteration linearises both and solves what results, an affine variational inequality (Josephy's
method): it converges quadratically, and asks for no symmetry. The matrix of that inequality is
(dg/dq) P with the exact response P = -(dG/dq)^-1 dG/dw. It is not symmetric (the depth of a contact
changes its friction, but not the other way round) and its symmetric part is indefinite in long
steps; it is nevertheless a P-matrix where a single contact presses and slides, and quadratic
programs with a definite model of it converge linearly at best (docs/choices.md, 14).
"""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np
from scipy.linalg.lapack import dgesv

from nmdp_pin.solvers.pgm import WeightedManifold
from nmdp_pin.solvers.projection import Projection, project
from nmdp_pin.solvers.simplex_vi import SimplexVI
from nmdp_pin.solvers.simplices import block_scales
from nmdp_pin.solvers.solver_result import SolverResult, condition_number
from nmdp_pin.status import Status

_FEW = 8  # blocks that are not worth a look whether they do anything
LEAST_PROXIMAL = 1e-6  # relative: makes weights unique where several give the same forces
_FIRST_PROXIMAL = 1e-3  # where the least one has failed
_TIGHTEN, _RELAX = 3.0, 0.3  # factors after a failed and after an accepted step
_MOST_PROXIMAL = 1e2  # beyond it steps are too short to get anywhere


class WorkOfVertices(Protocol):
    """g(q) at the last evaluated point of the manifold."""

    def work(self) -> np.ndarray:
        """g, shape (n w,)."""

    def derivative(self) -> np.ndarray:
        """dg/dq, shape (n w, n q); after `linearise`."""

    @property
    def unit(self) -> float:
        """A typical force; work is measured in it."""


def vi_newton(
    manifold: WeightedManifold,
    principle: WorkOfVertices,
    vi: SimplexVI,
    q: np.ndarray,
    w: np.ndarray,
    *,
    tolerance: float,
    epsilon: float,
    max_iterations: int,
    max_newton: int,
    max_lost: int,
    near: float = 1.0,
    least_proximal: float = LEAST_PROXIMAL,
) -> SolverResult:
    """Solve the variational inequality from (q, w).

    Between the iterations G need not vanish but only be small (`near`): the next iteration removes
    what is left of it together with the rest, which saves most evaluations. Where the
    linearisation leads astray a proximal term shortens the steps.

    Args:
        manifold: the dynamics.
        principle: g.
        vi: solver for the affine inequalities.
        q: start.
        w: start of the weights, in the simplices, shape (n w,).
        tolerance: on the norm of G.
        epsilon: on the gap w'g - min w''g, in units of force [m].
        max_iterations: affine inequalities solved at most.
        max_newton: Newton steps of one projection at most.
        max_lost: trials at most that find no way back to the manifold.
        near: units of force that G may have between iterations.
        least_proximal: the term that every step has, relative to each block's curvature. With
            less, weights find their way along long valleys sooner and are less unique.

    Returns:
        `values` holds the gap at every iterate [J].
    """
    shape = (vi.n_blocks, vi.block_size)
    some: slice | np.ndarray
    force = principle.unit
    loose = max(near * force, tolerance)

    def near_manifold(q: np.ndarray, w: np.ndarray) -> Projection:
        return project(manifold, q, w.reshape(shape), tolerance=loose, max_iterations=max_newton)

    point = near_manifold(q, w)
    if not point.status.ok:
        return SolverResult(q, w, 1.0, point.status, point.residual, (), 0)
    g = principle.work()
    gap = dissipation_gap(g, w, shape)
    values, iterations, rejected, lost, proximal = [gap], 0, 0, 0, least_proximal

    A, lu = None, np.zeros((0, 0))

    def result(status: Status) -> SolverResult:
        return SolverResult(
            point.q,
            w,
            1.0,
            status,
            point.residual,
            tuple(values),
            iterations,
            rejected,
            math.nan if A is None else condition_number(A, lu),
        )

    while point.residual > tolerance or gap > epsilon * force:
        if iterations >= max_iterations:
            return result(Status.ITERATION_LIMIT)
        A, B = manifold.linearise(), manifold.vertex_jacobian()
        # Blocks that do nothing keep their weights: most contacts of many are apart.
        inner, some = vi, slice(None)
        if vi.n_blocks > _FEW:
            felt = np.asarray(B.reshape(vi.n_blocks, -1).any(axis=1))
            inner, some = vi.of(int(felt.sum())), np.repeat(felt, vi.block_size)
        lu, _, response, singular = dgesv(A, _beside(-point.G, B[some].T))
        if singular or not np.isfinite(response).all():
            return result(Status.SINGULAR)
        back, P = response[:, 0], response[:, 1:]
        dg = principle.derivative()[some]
        H, ahead = dg @ P, g[some] + dg @ back
        scale = block_scales(np.abs(H.diagonal()), vi.block_size)
        moves = bool(scale.any())
        while True:
            iterations += 1
            part: np.ndarray | None = w[some]
            if moves:
                part = inner.solve(_with_diagonal(H, proximal * scale), ahead, w[some])
            if part is not None:
                w1 = w.copy()
                w1[some] = part
                moved = back + P @ (w1 - w)[some]
                trial = near_manifold(manifold.retract(point.q, moved), w1)
                if trial.status.ok:
                    break
                lost += 1
            rejected += 1
            proximal = max(_TIGHTEN * proximal, _FIRST_PROXIMAL)
            if proximal > _MOST_PROXIMAL or lost > max_lost:
                return result(Status.QP_FAILED if part is None else Status.STALLED)
        point, w, g = trial, w1, principle.work()
        gap = dissipation_gap(g, w, shape)
        values.append(gap)
        # The gap is no merit function: it may rise on the way. Only what has failed counts.
        proximal = max(_RELAX * proximal, least_proximal)
    return result(Status.CONVERGED)


def dissipation_gap(g: np.ndarray, w: np.ndarray, shape: tuple[int, int]) -> float:
    """Work that other weights could still save: sum over contacts of w'g - min w''g, >= 0 [J]."""
    g = g.reshape(shape)
    least = np.minimum.reduce(g, axis=1, initial=0.0)
    return float(np.vdot(g, w) - np.add.reduce(least))


def _beside(a: np.ndarray, B: np.ndarray) -> np.ndarray:
    """[a, B], as LAPACK wants it in memory."""
    both = np.empty((len(a), 1 + B.shape[1]), order="F")
    both[:, 0], both[:, 1:] = a, B
    return both


def _with_diagonal(H: np.ndarray, diagonal: np.ndarray) -> np.ndarray:
    """H + diag(diagonal)."""
    result = H.copy()
    result.ravel()[:: len(H) + 1] += diagonal
    return result
