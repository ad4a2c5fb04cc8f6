"""Small problems without robots for the solvers: q in R^1 to R^3, solutions in closed form."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np


class Point(NamedTuple):
    """An evaluation, with what the solvers read of one."""

    q: np.ndarray
    w: np.ndarray
    G: np.ndarray
    residual: float
    V: np.ndarray
    active: np.ndarray


class Linear(NamedTuple):
    """A linearisation."""

    A: np.ndarray
    J_force: np.ndarray


@dataclass
class Springs:
    """G(q, w) = A q + cubic q^3 - B w - c = 0: q is pulled by weights w, linear where cubic = 0.

    Contacts are blocks of `m` columns of B.
    """

    A: np.ndarray
    B: np.ndarray
    c: np.ndarray
    cubic: float = 0.0
    m: int = 2
    points: list[Point] = field(default_factory=list, init=False)

    rate = 1.0

    @property
    def V(self) -> np.ndarray:
        """Columns of B by contact, shape (n, rows, m)."""
        n = self.B.shape[1] // self.m if self.m else 0
        return self.B.reshape(len(self.B), n, self.m).transpose(1, 0, 2)

    def tolerance(self, relative: float) -> float:
        """On |G|."""
        return relative

    def evaluate(self, q, w, before=None):
        """G at a point."""
        G = self.A @ q + self.cubic * q**3 - self.B @ w.ravel() - self.c
        at = Point(q, w, G, float(np.linalg.norm(G)), self.V, np.arange(len(self.V)))
        self.points.append(at)
        return at

    def linearise(self, at):
        """The derivatives there."""
        A = self.A + np.diag(3.0 * self.cubic * at.q**2)
        return Linear(A, np.tile(np.eye(len(at.q)), (len(self.V), 1, 1)))

    def retract(self, q, dq):
        """A sum."""
        return q + dq


@dataclass
class Square:
    """K(q) = |q - target|^2 / 2."""

    target: np.ndarray

    def value(self, problem, at):
        """K at a point."""
        d = at.q - self.target
        return 0.5 * float(d @ d)

    def derivatives(self, problem, at, linear):
        """Its gradient and Hessian."""
        return at.q - self.target, np.eye(len(self.target))


@dataclass
class Scalar:
    """G(q) = f(q) of one unknown, with its derivative, and one weight without effect on it."""

    function: Any
    slope: Any
    points: list[float] = field(default_factory=list, init=False)

    rate = 1.0

    def tolerance(self, relative: float) -> float:
        """On |G|."""
        return relative

    def evaluate(self, q, w, before=None):
        """f(q)."""
        self.points.append(float(q[0]))
        with np.errstate(all="ignore"):
            G = np.array([float(self.function(float(q[0])))])
        return Point(q, w, G, abs(float(G[0])), np.ones((1, 1, 1)), np.arange(1))

    def linearise(self, at):
        """f'(q)."""
        slope = np.array([[float(self.slope(float(at.q[0])))]])
        return Linear(slope, np.ones((1, 1, 1)))

    def retract(self, q, dq):
        """A sum."""
        return q + dq
