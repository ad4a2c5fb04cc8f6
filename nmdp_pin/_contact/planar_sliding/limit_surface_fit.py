"""Fit of a convex limit surface to measured sliding (Zhou, Paolini, Bagnell, Mason 2016).

The certificate of convexity: z' Hess H(F) z = y' Q y with Q positive semidefinite and y the
products of z with the monomials of F of half the Hessian's degree, so that it is a sum of squares.
The fit is a semidefinite program in the coefficients and Q.
"""

import importlib
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy  # whose parts are imported when they are used

from nmdp_pin._contact.planar_sliding.limit_surface import (
    LimitSurface,
    derivatives,
    exponents,
    lowering,
    monomials,
)
from nmdp_pin._contact.planar_sliding.sliding_samples import SlidingSamples
from nmdp_pin._options import NonNegative, Positive, checked
from nmdp_pin.errors import ContactError, MissingExtra

_PAIRS = [(i, j) for i in range(3) for j in range(i, 3)]
_SOLVED = ("Solved", "AlmostSolved")
_FLAT = 1e-3  # least over largest singular value of the loads; below it they span no volume


@dataclass(frozen=True, eq=False)
class LimitSurfaceFit:
    """Fitted surface and errors of the fit.

    Args:
        surface: the limit surface.
        gram: Q of the certificate, positive semidefinite, shape (3 k, 3 k), k = 1 or 3; of the
            loads in units of `load_scale`.
        load_scale: root mean square of the loads without unit [-].
        load_error: root mean square of H^(1/d) - 1 at the samples: relative size of the loads.
        twist_error: root mean square of the angles from the slope of H to the twists [rad].
    """

    surface: LimitSurface
    gram: np.ndarray
    load_scale: float
    load_error: float
    twist_error: float


@checked(ContactError)
def fit_limit_surface(
    samples: SlidingSamples,
    *,
    length: Positive,
    degree: Literal[2, 4] = 4,
    twist_weight: NonNegative = 1.0,
    regularisation: NonNegative = 1e-9,
) -> LimitSurfaceFit:
    """Fit a convex limit surface to loads and twists.

    Minimises the means of (H(F_i) - 1)^2 + twist_weight |grad H(F_i) - s_i V_i|^2 plus
    regularisation |c|^2 over c, s >= 0 and Q, with F in units of their root mean square and V of
    unit length. Needs the extra "sdp".

    Args:
        samples: measurements.
        length: characteristic length, such as the radius of the patch [m].
        degree: degree of H, 2 or 4.
        twist_weight: weight of the twists against the loads [-]; 0 leaves the twists out.
        regularisation: weight of the squared coefficients [-]; larger for few samples.

    Raises:
        ContactError: there are too few samples, loads span no volume, or the program has no
            solution.
        MissingExtra: the solver is not installed.
    """
    loads, slides = _without_unit(samples, length, degree)
    scale = float(np.sqrt(np.vecdot(loads, loads).mean()))
    residual, target = _residual(loads / scale, slides, degree, twist_weight)
    k, n = len(exponents(degree)), len(loads)
    x = _solve(residual, target, regularisation, k, degree)
    c = x[:k] / scale**degree
    surface = LimitSurface(degree=degree, coefficients=tuple(c.tolist()), length=length)
    return _judged(surface, _symmetric(x[k + n :]), scale, loads, slides)


def _without_unit(
    samples: SlidingSamples, length: float, degree: int
) -> tuple[np.ndarray, np.ndarray]:
    """Loads over the normal load, and unit vectors along the twists; both of shape (n, 3)."""
    needed = len(exponents(degree))
    if len(samples) < needed:
        raise ContactError(
            f"a limit surface of degree {degree} has {needed} coefficients and needs as many "
            f"samples at least, got {len(samples)}"
        )
    loads = samples.loads / np.asarray(samples.normal)[:, None] / [1.0, 1.0, length]
    spans = np.linalg.svd(loads, compute_uv=False)
    if spans[2] < _FLAT * spans[0]:
        raise ContactError(
            "the loads lie in a plane, so nothing is known off it: add samples with forces in two "
            "directions and with torques, or choose a length of the order of tau / F"
        )
    slides = samples.twists * [1.0, 1.0, length]
    return loads, slides / np.linalg.norm(slides, axis=1, keepdims=True)


def _residual(
    loads: np.ndarray, slides: np.ndarray, degree: int, twist_weight: float
) -> tuple[scipy.sparse.csc_array, np.ndarray]:
    """Residuals M (c, s) - b of the fit: H - 1 and grad H - s V, weighted."""
    n = len(loads)
    share = np.sqrt(1.0 / n)
    slopes = share * np.sqrt(twist_weight) * derivatives(loads, degree).reshape(3 * n, -1)
    columns = [scipy.sparse.csc_array(slide[:, None]) for slide in slides]
    along = -share * np.sqrt(twist_weight) * scipy.sparse.block_diag(columns)
    values = share * monomials(loads, degree)
    M = scipy.sparse.block_array(
        [[scipy.sparse.csc_array(values), None], [slopes, along]], format="csc"
    )
    return M, np.append(np.full(n, share), np.zeros(3 * n))


def _solve(
    residual: scipy.sparse.csc_array, target: np.ndarray, regularisation: float, k: int, degree: int
) -> np.ndarray:
    """The variables (c, s, Q): c of length k, s, and the upper triangle of Q by columns."""
    clarabel = _solver()
    hessian, gram = _hessian_part(degree), _gram_part(degree)
    n, triangle = residual.shape[1] - k, gram.shape[1]
    small = scipy.sparse.diags_array(np.where(np.arange(k + n) < k, regularisation, 0.0))
    P = scipy.sparse.block_diag(
        [residual.T @ residual + small, scipy.sparse.csc_array((triangle, triangle))]
    )
    q = np.append(-residual.T @ target, np.zeros(triangle))
    matching = scipy.sparse.hstack([hessian, scipy.sparse.csc_array((len(hessian), n)), -gram])
    bounded = scipy.sparse.hstack(
        [scipy.sparse.csc_array((n + triangle, k)), -scipy.sparse.eye_array(n + triangle)]
    )
    A = scipy.sparse.vstack([matching, bounded], format="csc")
    size = _certificate_size(degree)
    cones = [
        clarabel.ZeroConeT(len(hessian)),
        clarabel.NonnegativeConeT(n),
        clarabel.PSDTriangleConeT(size),
    ]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    program = (scipy.sparse.triu(P, format="csc"), q, A, np.zeros(A.shape[0]), cones, settings)
    solution = clarabel.DefaultSolver(*program).solve()
    if str(solution.status) not in _SOLVED:
        raise ContactError(
            f"the fit of degree {degree} to {n} samples found no surface ({solution.status}); look "
            "for samples in a wrong unit, or raise regularisation"
        )
    return np.array(solution.x)


def _hessian_part(degree: int) -> np.ndarray:
    """The form z' Hess H(F) z in z_i z_j (i <= j) times monomials of F, by coefficient."""
    first, second = lowering(degree), lowering(degree - 1)
    blocks = [(1.0 if i == j else 2.0) * (first[i] @ second[j]).T for i, j in _PAIRS]
    return np.concatenate(blocks)


def _gram_part(degree: int) -> np.ndarray:
    """The same of y' Q y, per entry of Q: off the diagonal these are scaled by sqrt(2)."""
    half, whole = exponents(degree // 2 - 1).tolist(), exponents(degree - 2).tolist()
    y = [(i, power) for i in range(3) for power in half]
    columns = []
    for b, a in zip(*np.tril_indices(len(y)), strict=True):
        (i, p), (j, r) = y[a], y[b]
        column = np.zeros((len(_PAIRS), len(whole)))
        monomial = whole.index([x + z for x, z in zip(p, r, strict=True)])
        column[_PAIRS.index((min(i, j), max(i, j))), monomial] = 1.0 if a == b else np.sqrt(2.0)
        columns.append(column.ravel())
    return np.array(columns).T


def _certificate_size(degree: int) -> int:
    return 3 * len(exponents(degree // 2 - 1))


def _symmetric(triangle: np.ndarray) -> np.ndarray:
    """The matrix of an upper triangle by columns whose other entries are scaled by sqrt(2)."""
    size = int(np.sqrt(2 * len(triangle)))
    lower = np.tril_indices(size)  # by rows: the upper triangle by columns
    result = np.zeros((size, size))
    result[lower] = triangle / np.where(lower[0] == lower[1], 1.0, np.sqrt(2.0))
    return result + np.tril(result, -1).T


def _judged(
    surface: LimitSurface, gram: np.ndarray, scale: float, loads: np.ndarray, slides: np.ndarray
) -> LimitSurfaceFit:
    """The fit with its errors at the samples."""
    sizes = surface.value(loads) ** (1.0 / surface.degree) - 1.0
    slopes = surface.gradient(loads)
    across = np.linalg.norm(np.cross(slopes, slides), axis=1)
    angles = np.arctan2(across, np.vecdot(slopes, slides))
    load_error, twist_error = (float(np.sqrt(np.mean(e**2))) for e in (sizes, angles))
    return LimitSurfaceFit(surface, gram, scale, load_error, twist_error)


def _solver() -> Any:
    """Clarabel, a solver of conic programs."""
    try:
        return importlib.import_module("clarabel")
    except ImportError:
        raise MissingExtra("clarabel", "sdp") from None
