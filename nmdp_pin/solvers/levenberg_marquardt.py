"""Levenberg-Marquardt: Newton's method with a diagonal that grows where it fails ([P] eq. 14)."""

from __future__ import annotations

import math
import time

import numpy as np
from scipy.linalg.lapack import dpocon, dpotrf, dpotrs

from nmdp_pin.solvers.minimum import Minimisation, Minimum
from nmdp_pin.status import Status

LEAST = 0.1  # a lam below it is 0; the first rejection makes it GROW times this
GROW, SHRINK = 10.0, 0.1  # of lam, after a step rejected and after a step taken
LARGEST = 1e10  # beyond it the step is nothing: no way down
ROUNDING = 1e-12  # relative; where f changes by less the error is compared instead


def levenberg_marquardt(
    problem: Minimisation, x: np.ndarray, *, tolerance: float, max_iterations: int = 100
) -> Minimum:
    """Minimise f from x until the error is within the tolerance.

    One iteration is one linear solve, (H + lam 1) dx = -g, and one evaluation at the trial point.
    The trial is taken if the matrix is positive definite and f falls, or changes by no more than
    1e-12 |f| and the error falls. Then lam becomes lam / 10, and 0 if that is below 0.1; g and H
    are those of the new point. Otherwise the iteration counts as rejected and lam becomes
    max(10 lam, 1). It starts with lam = 0.

    Args:
        problem: f; see `Minimisation`. Its tangents are best scaled so that H is about 1 in the
            stiffest directions that matter. A Gauss-Newton matrix for H makes it JTJ-LM.
        x: start.
        tolerance: on the error.
        max_iterations: linear solves at most.
    """
    started = time.perf_counter()
    f, error = problem.evaluate(x)
    g, H, lower = np.zeros(0), np.zeros((0, 0)), np.zeros((0, 0))
    identity = np.eye(0)
    lam, iterations, rejected, evaluations, fresh = 0.0, 0, 0, 1, True
    while (status := _status(f, error, tolerance, lam, iterations, max_iterations)) is None:
        if fresh:
            g, H = problem.derivatives()
            identity, fresh = np.eye(len(g)), False
        iterations += 1
        lower, failed = dpotrf(H + lam * identity if lam else H, lower=1)
        if not failed:
            trial = problem.retract(x, dpotrs(lower, -g, lower=1)[0])
            f1, error1 = problem.evaluate(trial)
            evaluations += 1
            change = f1 - f
            small = ROUNDING * abs(f)
            if change < -small or (change <= small and error1 < error):
                x, f, error, fresh = trial, f1, error1, True
                lam = SHRINK * lam if SHRINK * lam >= LEAST else 0.0
                continue
        lam = GROW * max(lam, LEAST)
        rejected += 1
    return Minimum(
        x=x,
        status=status,
        value=f,
        error=error,
        iterations=iterations,
        rejected=rejected,
        evaluations=evaluations,
        seconds=time.perf_counter() - started,
        condition=_condition(H, lower) if status.ok and iterations else math.nan,
    )


def _status(
    f: float, error: float, tolerance: float, lam: float, iterations: int, most: int
) -> Status | None:
    """Why to stop; None: not yet."""
    if not math.isfinite(f + error):
        return Status.NOT_FINITE
    if error <= tolerance:
        return Status.CONVERGED
    if lam > LARGEST:
        return Status.STALLED
    return Status.ITERATION_LIMIT if iterations >= most else None


def _condition(H: np.ndarray, lower: np.ndarray) -> float:
    """Estimate of the condition number (1-norm) of H from its factor."""
    reciprocal = float(dpocon(lower, np.abs(H).sum(axis=0).max(), uplo="L")[0])
    return 1.0 / reciprocal if reciprocal > 0.0 else math.inf
