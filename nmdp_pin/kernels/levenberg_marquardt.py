"""Levenberg-Marquardt: Newton's method with a diagonal that grows where it fails ([P] eq. 14).

One iteration is one linear solve, (H + lam W) dx = -g, and one evaluation at the trial point. The
trial is taken if f falls, or changes by no more than 1e-12 |f| and the error falls. Then lam
becomes lam / 10, and 0 if that is below 0.1; g and H are those of the new point. Otherwise, and
where the matrix is not positive definite, the iteration counts as rejected and lam becomes
max(10 lam, 1). It starts with lam = 0.

The caller evaluates and solves; these functions keep the account, an array of floats.
"""

from __future__ import annotations

import math

import numpy as np

from nmdp_pin.kernels.jit import jit

LEAST = 0.1  # a lam below it is 0; the first rejection makes it GROW times this
GROW, SHRINK = 10.0, 0.1  # of lam, after a step rejected and after a step taken
LARGEST = 1e10  # largest lam, beyond which the step vanishes without descent
ROUNDING = 1e-12  # relative change of f below which the error is compared instead
CANCELLED = 1e-11  # relative to the first f: metres cancel in motions below a millimetre

# Entries of the account.
VALUE, ERROR, LAM, ITERATIONS, REJECTED, EVALUATIONS, OUTCOME, FIRST = range(8)
ENTRIES = 8

# Outcomes.
RUNNING, CONVERGED, NOT_FINITE, STALLED, ITERATION_LIMIT = range(5)


@jit
def open_account(account: np.ndarray) -> None:
    """Open an account, shape (ENTRIES,)."""
    account[:] = 0.0


@jit
def accepts(account: np.ndarray, f: float, error: float) -> bool:
    """Judge a trial point, and enter it into the account.

    Args:
        account: account of the minimisation.
        f: value of the function at the trial point.
        error: quantity that is to become small, such as the norm of the gradient.
    """
    account[EVALUATIONS] += 1.0
    if account[EVALUATIONS] == 1.0:
        account[VALUE], account[ERROR], account[FIRST] = f, error, abs(f)
        return True
    change = f - account[VALUE]
    small = max(ROUNDING * abs(account[VALUE]), CANCELLED * account[FIRST])
    if change < -small or (change <= small and error < account[ERROR]):
        account[VALUE], account[ERROR] = f, error
        lam = SHRINK * account[LAM]
        account[LAM] = lam if lam >= LEAST else 0.0
        return True
    reject(account)
    return False


@jit
def reject(account: np.ndarray) -> None:
    """Count an iteration as rejected, and raise lam."""
    account[LAM] = GROW * max(account[LAM], LEAST)
    account[REJECTED] += 1.0


@jit
def goes_on(account: np.ndarray, tolerance: float, max_iterations: int) -> bool:
    """Whether another iteration is to be made; it is counted, or an outcome is entered.

    Args:
        account: account of the minimisation.
        tolerance: bound on the error.
        max_iterations: largest number of linear solves.
    """
    error = account[ERROR]
    if not math.isfinite(account[VALUE] + error):
        account[OUTCOME] = NOT_FINITE
    elif error <= tolerance:
        account[OUTCOME] = CONVERGED
    elif account[LAM] > LARGEST:
        account[OUTCOME] = STALLED
    elif account[ITERATIONS] >= max_iterations:
        account[OUTCOME] = ITERATION_LIMIT
    else:
        account[ITERATIONS] += 1.0
        return True
    return False
