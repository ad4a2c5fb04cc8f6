"""Limit surfaces of planar sliding: the planar friction loads that a patch can transmit.

A convex homogeneous polynomial H of even degree bounds them: H <= 1 holds, and a patch that slides
does so along grad H at the load on H = 1 (maximum work).
"""

import functools
import itertools
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from nmdp_pin._files.input_file import from_json, read_text
from nmdp_pin._files.output_file import write_text
from nmdp_pin._options import Numbers, Positive, check_fields, readable, shown
from nmdp_pin.errors import ContactError

_LARGEST = 2**20  # [bytes] of a file
_BOUNDED = 1e-6  # least H over the sphere, relative to its largest; below it loads have no bound
_CONVEX = 1e-7  # largest negative eigenvalue of the Hessian, relative; a solver's tolerance
_SAME_LOAD = 1e-10  # gradient at which the search for the furthest load stops
_MOST_NEWTON = 100  # where H is flat to fourth order Newton's method is of linear convergence
_ROUNDING = 1e-14  # relative
_REGULAR = 1e-12  # relative; keeps singular Hessians solvable
_KEYS = ("degree", "coefficients", "length")


@functools.cache
def exponents(degree: int) -> np.ndarray:
    """Powers of three variables in the monomials of a degree, the first falling, shape (k, 3)."""
    powers = itertools.product(range(degree, -1, -1), repeat=3)
    return np.array([p for p in powers if sum(p) == degree])


def monomials(points: np.ndarray, degree: int) -> np.ndarray:
    """Values of the monomials at points of shape (..., 3), shape (..., k)."""
    points = np.asarray(points, dtype=float)
    table = np.ones((degree + 1, *points.shape))  # powers by products: far cheaper than **
    for power in range(degree):
        table[power + 1] = table[power] * points
    a, b, c = exponents(degree).T
    result: np.ndarray = np.moveaxis(table[a, ..., 0] * table[b, ..., 1] * table[c, ..., 2], 0, -1)
    return result


@functools.cache
def lowering(degree: int) -> np.ndarray:
    """Derivatives of the monomials, in monomials of one degree less, shape (3, k, k')."""
    place = {tuple(p): i for i, p in enumerate(exponents(degree - 1).tolist())}
    result = np.zeros((3, len(exponents(degree)), len(place)))
    for (k, p), i in itertools.product(enumerate(exponents(degree).tolist()), range(3)):
        if p[i] > 0:
            lower = (*p[:i], p[i] - 1, *p[i + 1 :])
            result[i, k, place[lower]] = p[i]
    return result


def derivatives(points: np.ndarray, degree: int) -> np.ndarray:
    """Derivatives of the monomials with respect to the variables, shape (..., 3, k)."""
    result: np.ndarray = np.einsum(
        "...l,ikl->...ik", monomials(points, degree - 1), lowering(degree)
    )
    return result


def sphere_directions(refinement: int) -> np.ndarray:
    """Unit vectors over the sphere: the grid of an octahedron with 2^refinement parts an edge.

    Symmetric under reflection in each axis and under exchange of the axes; each refinement holds
    the one before. 6, 18, 66, 258, 1026 vectors for 0 to 4, shape (4^(refinement + 1) + 2, 3).
    """
    n = 2**refinement
    grid = itertools.product(range(-n, n + 1), repeat=3)
    points = np.array([p for p in grid if sum(map(abs, p)) == n], dtype=float)
    result: np.ndarray = points / np.linalg.norm(points, axis=1, keepdims=True)
    return result


@readable
@dataclass(frozen=True, kw_only=True)
class LimitSurface:
    """Limit surface H(F) = sum_k c_k fx^a fy^b m^c <= 1, a convex homogeneous polynomial.

    Loads are without unit: F = (Fx / N, Fy / N, tau / (length N)), where N is the normal load; so
    an isotropic patch with friction mu has H = 1 at fx = mu.

    Args:
        degree: degree of H, 2 (an ellipsoid) or 4.
        coefficients: c_k in the order of `exponents(degree)`; 6 for degree 2 (fx^2, fx fy, fx m,
            fy^2, fy m, m^2), 15 for degree 4.
        length: characteristic length, such as the radius of the patch [m].

    Raises:
        ContactError: the degree is unknown, the number of coefficients is wrong, or the surface is
            not convex or not bounded.
    """

    degree: Literal[2, 4]
    coefficients: Numbers
    length: Positive
    _forms: tuple[np.ndarray, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_fields(self, ContactError)
        c, needed = np.array(self.coefficients), len(exponents(self.degree))
        if len(c) != needed:
            raise ContactError(
                f"a limit surface of degree {self.degree} needs {needed} finite coefficients, got "
                f"{self.coefficients!r}"
            )
        slope = lowering(self.degree).transpose(2, 0, 1) @ c
        curve = np.einsum("ikl,kj->lij", lowering(self.degree - 1), slope)
        # coefficients of H, of its slope and of its Hessian, in monomials of ever lower degree
        object.__setattr__(self, "_forms", (c, slope, curve.reshape(len(curve), 9)))
        self._check_shape()

    @classmethod
    def ellipsoid(cls, friction: Sequence[float], *, length: float) -> "LimitSurface":
        """Ellipsoid with the semi-axes `friction` of (fx, fy, m).

        Args:
            friction: largest Fx / N, Fy / N and tau / (length N) [-].
            length: characteristic length [m].
        """
        axes = np.asarray(friction, dtype=float)
        if axes.shape != (3,) or not (np.isfinite(axes).all() and (axes > 0.0).all()):
            raise ContactError(f"friction must be three finite numbers > 0, got {friction!r}")
        fx, fy, m = (float(a) for a in axes**-2.0)
        return cls(degree=2, coefficients=(fx, 0.0, 0.0, fy, 0.0, m), length=length)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "LimitSurface":
        """Read a file of `save`.

        Raises:
            ContactError: the file does not exist, or is no limit surface.
        """
        text = read_text(path, "limit surface", largest=_LARGEST, error=ContactError)
        try:
            table = from_json(text)
            if not isinstance(table, dict) or {*table} != {*_KEYS}:
                raise ContactError(f"a limit surface has the keys {[*_KEYS]}, got {shown(table)}")
            return cls(**table)
        except ContactError as error:
            raise ContactError(f"{path}: {error}") from None
        except ValueError as error:
            raise ContactError(f"{path}: cannot be read as a limit surface: {error}") from None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a JSON file: degree, coefficients and length [m]."""
        table = {key: getattr(self, key) for key in _KEYS}
        write_text(path, json.dumps(table, indent=1) + "\n")

    def value(self, loads: np.ndarray) -> np.ndarray:
        """H at loads of shape (..., 3), shape (...)."""
        result: np.ndarray = monomials(loads, self.degree) @ self._forms[0]
        return result

    def gradient(self, loads: np.ndarray) -> np.ndarray:
        """Gradient of H, the direction (vx, vy, length * omega) of sliding, shape (..., 3)."""
        result: np.ndarray = monomials(loads, self.degree - 1) @ self._forms[1]
        return result

    def hessian(self, loads: np.ndarray) -> np.ndarray:
        """Second derivatives of H, shape (..., 3, 3)."""
        flat = monomials(loads, self.degree - 2) @ self._forms[2]
        result: np.ndarray = flat.reshape(*flat.shape[:-1], 3, 3)
        return result

    def twist(self, loads: np.ndarray) -> np.ndarray:
        """Direction (vx, vy, omega) in which a patch slides under loads, of unit length, (..., 3).

        The length is measured with omega times `length`.
        """
        slide = self.gradient(loads)
        slide = slide / np.linalg.norm(slide, axis=-1, keepdims=True)
        result: np.ndarray = slide * np.array([1.0, 1.0, 1.0 / self.length])
        return result

    def furthest(self, directions: np.ndarray) -> np.ndarray:
        """Largest u . F over H(F) <= 1 for each direction u, shape (n, 3).

        The load that resists sliding along u = (vx, vy, length * omega). It is the minimum of the
        squared gauge ½ H^(2/d) - u . F, by Newton's method for all directions at once, scaled to
        H = 1; for an ellipsoid that is a quadratic and one step.
        """
        u = np.asarray(directions, dtype=float)
        u = u / np.linalg.norm(u, axis=1, keepdims=True)
        F = u / self.value(u)[:, None] ** (1.0 / self.degree)
        step = np.ones(len(u))
        for _ in range(_MOST_NEWTON):
            energy, slope, curve = self._squared_gauge(F)
            residual = slope - u
            if np.abs(residual).max() < _SAME_LOAD:
                break
            size = np.trace(curve, axis1=1, axis2=2)[:, None, None] * np.eye(3)
            move = np.linalg.solve(curve + _REGULAR * size, -residual[:, :, None])[:, :, 0]
            trial = F + step[:, None] * move
            falls = self._squared_gauge(trial)[0] - energy - np.vecdot(u, trial - F)
            better = falls <= _ROUNDING * energy
            F = np.where(better[:, None], trial, F)
            step = np.where(better, 1.0, 0.5 * step)
        result: np.ndarray = F / self.value(F)[:, None] ** (1.0 / self.degree)
        return result

    def _squared_gauge(self, F: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """½ H^(2/d) at loads (n, 3), with gradient and Hessian."""
        d = float(self.degree)
        H = np.maximum(self.value(F), np.finfo(float).tiny)  # the origin has no Hessian
        slope, curve = self.gradient(F), self.hessian(F)
        scale = H ** (2.0 / d - 1.0) / d
        turn = scale * (2.0 / d - 1.0) / H
        outer = slope[:, :, None] * slope[:, None, :]
        hessian = scale[:, None, None] * curve + turn[:, None, None] * outer
        return 0.5 * H ** (2.0 / d), scale[:, None] * slope, hessian

    def _check_shape(self) -> None:
        """Refuse surfaces that are not convex or not bounded, checked at many loads."""
        loads = sphere_directions(4)
        H = self.value(loads)
        if not H.min() > _BOUNDED * max(H.max(), 0.0):
            worst = np.round(loads[H.argmin()], 3).tolist()
            raise ContactError(
                f"the limit surface is not bounded: H = {H.min():.3g} along (fx, fy, m) = {worst}, "
                f"at most {H.max():.3g} elsewhere; H must be > 0 in all directions"
            )
        curvature = np.linalg.eigvalsh(self.hessian(loads))
        if not curvature.min() >= -_CONVEX * np.abs(curvature).max():
            worst = np.round(loads[curvature[:, 0].argmin()], 3).tolist()
            raise ContactError(
                f"the limit surface is not convex: its Hessian has the eigenvalue "
                f"{curvature.min():.3g} at (fx, fy, m) = {worst}; fit it with fit_limit_surface"
            )
