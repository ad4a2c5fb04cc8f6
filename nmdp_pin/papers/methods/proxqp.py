"""ProxQP, the augmented Lagrangian method of ProxSuite, with the same bits in every process."""

import functools
import sys
from types import ModuleType

import numpy as np

_BUILDS = "proxsuite.instructionset"  # tells ProxSuite which of its builds to load
_TOLERANCE = 1e-9  # on the KKT residuals, and on the duality gap, without which weights are left
_PROXIMAL = 1e-7  # less than the curvature of the flattest programs, or iterations take hundreds
_ITERATIONS = (100, 100)  # of the two loops with few variables, 20 being usual
_LEAST = 20  # of the outer loop, however many variables there are
_FEW = 150  # weights up to which an iteration counts no more than its evaluation


def work_of(dofs: int, weights: int) -> int:
    """Work of an iteration with so many dofs and weights, in evaluations; 0 where they are few."""
    return int((weights / (_FEW + dofs)) ** 3)


@functools.cache
def _proxqp() -> ModuleType:
    """ProxQP in the baseline build of ProxSuite, or in that which this process has imported.

    The order of sums in its builds for AVX2 and AVX-512 depends on the addresses of arrays modulo
    32 and 64 bytes, so their last bits differ from process to process. The baseline build needs
    multiples of 16, as all addresses from malloc are. A process can hold one build only.
    """
    if "proxsuite" not in sys.modules and _BUILDS not in sys.modules:
        answers = ModuleType(_BUILDS)
        answers.has_AVX2 = answers.has_AVX512F = lambda: False  # type: ignore[attr-defined]
        sys.modules[_BUILDS] = answers
        try:
            import proxsuite
        finally:
            del sys.modules[_BUILDS]
    else:
        import proxsuite
    solvers: ModuleType = proxsuite.proxqp
    return solvers


def proxqp(
    H: np.ndarray,
    g: np.ndarray,
    rows: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    x0: np.ndarray,
) -> tuple[np.ndarray | None, int]:
    """Minimiser of x'Hx/2 + g'x subject to lower <= rows x <= upper, None where it fails.

    The second result is the number of iterations.

    Args:
        H: positive definite, shape (n, n).
        g: linear term, shape (n,).
        rows: of the constraints, shape (m, n). Bounds of variables are rows too: with its own box
            constraints ProxSuite 0.8 does not accept a start.
        lower: bounds of the rows, shape (m,).
        upper: bounds of the rows, shape (m,).
        x0: start, shape (n,).
    """
    # A new one for every program: an update of an old one saves a tenth of the time only.
    prox = _proxqp()
    qp = prox.dense.QP(len(g), 0, len(rows))
    qp.settings.eps_abs, qp.settings.eps_rel = _TOLERANCE, 0.0
    qp.settings.check_duality_gap, qp.settings.eps_duality_gap_abs = True, _TOLERANCE
    qp.settings.default_rho = _PROXIMAL
    # an iteration factorises: the limit is one of work, not of time, and so of the same bits
    outer, inner = _ITERATIONS
    qp.settings.max_iter = max(outer // (1 + work_of(0, len(g))), _LEAST)
    qp.settings.max_iter_in = inner
    qp.settings.initial_guess = prox.InitialGuess.WARM_START
    qp.init(H, g, None, None, rows, lower, upper, False)
    qp.solve(x0, None, np.zeros(len(rows)))
    solved = qp.results.info.status == prox.QPSolverOutput.PROXQP_SOLVED
    return np.array(qp.results.x) if solved else None, int(qp.results.info.iter)
