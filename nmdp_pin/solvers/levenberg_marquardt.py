"""Levenberg-Marquardt: Newton's method with a diagonal that grows where it fails ([P] eq. 14)."""

from __future__ import annotations

import math
import time

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from nmdp_pin.solvers.minimum import Minimisation, Minimum
from nmdp_pin.status import Status

LEAST = 1e-8  # lam that stands for 0; what a rejection starts from is GROW times this
GROW, SHRINK = 10.0, 0.1  # of lam, after a step rejected and a step taken
LARGEST = 1e8  # beyond it the step is nothing: no way down
ROUNDING = 1e-12  # relative; f that changes by less is compared by the error instead


def levenberg_marquardt(
    problem: Minimisation, x: np.ndarray, *, tolerance: float, max_iterations: int = 100
) -> Minimum:
    """Minimise f from x until the error is within the tolerance.

    One iteration is one linear solve, (H + lam diag s) dx = -g, and one evaluation at the trial
    point: s is the diagonal of H, its entries no smaller than 1e-6 of its largest. The trial is
    taken if H + lam diag s is positive definite and f falls (or changes by rounding only, 1e-12
    of |f|, and the error falls); then lam is a tenth, and 0 below 1e-8. Otherwise lam is
    max(10 lam, 1e-7), and the iteration counts as rejected. lam is 0 at the start.

    Args:
        problem: f; see `Minimisation`. A Gauss-Newton matrix in place of H makes it JTJ-LM.
        x: start.
        tolerance: on the error.
        max_iterations: linear solves at most.
    """
    started = time.perf_counter()
    f, error = problem.evaluate(x)
    g, H = np.zeros(0), np.zeros((0, 0))
    lam, iterations, rejected, evaluations, fresh = 0.0, 0, 0, 1, True
    condition = math.nan
    status = Status.ITERATION_LIMIT
    while True:
        if error <= tolerance:
            status = Status.CONVERGED
            break
        if not math.isfinite(f + error):
            status = Status.NOT_FINITE
            break
        if lam > LARGEST:
            status = Status.STALLED
            break
        if iterations >= max_iterations:
            break
        if fresh:
            g, H = problem.derivatives()
            diagonal = np.abs(H.diagonal())
            scale = np.maximum(diagonal, 1e-6 * diagonal.max(initial=0.0))
            fresh = False
        iterations += 1
        lower, failed = dpotrf(H + np.diag(lam * scale), lower=1)
        if not failed:
            trial = problem.retract(x, dpotrs(lower, -g, lower=1)[0])
            f1, error1 = problem.evaluate(trial)
            evaluations += 1
            small = ROUNDING * abs(f)
            if f1 < f - small or (f1 <= f + small and error1 < error):
                x, f, error, fresh = trial, f1, error1, True
                lam = SHRINK * lam if SHRINK * lam >= LEAST else 0.0
                continue
        lam = max(GROW * lam, GROW * LEAST)
        rejected += 1
    seconds = time.perf_counter() - started
    return Minimum(x, status, f, error, iterations, rejected, evaluations, seconds, condition)
