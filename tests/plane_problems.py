"""Small problems without robots for the solvers: q in R^2 or R^3, minimisers in closed form."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np


@dataclass
class Springs:
    """G(q, w) = A q + cubic q^3 - B w - c = 0: q is pulled by weights w, linear where cubic = 0."""

    A: np.ndarray
    B: np.ndarray
    c: np.ndarray
    cubic: float = 0.0
    evaluations: int = field(default=0, init=False)

    def evaluate(self, q, w):
        self.evaluations += 1
        self.q = q
        return self.A @ q + self.cubic * q**3 - self.B @ w.ravel() - self.c

    def linearise(self):
        return self.A + np.diag(3.0 * self.cubic * self.q**2)

    def vertex_jacobian(self):
        return self.B.T

    def retract(self, q, dq):
        return q + dq


@dataclass
class Square:
    """K(q) = |q - target|^2 / 2 at the manifold's last point."""

    manifold: object
    target: np.ndarray

    def value(self):
        d = self.manifold.q - self.target
        return 0.5 * float(d @ d)

    def derivatives(self):
        return self.manifold.q - self.target, np.eye(len(self.target))


class Scalar:
    """G(q) = f(q) of one unknown, with its derivative."""

    def __init__(self, function, slope):
        self.function, self.slope, self.points = function, slope, []

    def evaluate(self, q, w):
        self.q = q
        self.points.append(float(q[0]))
        with np.errstate(all="ignore"):
            return np.array([self.function(float(q[0]))])

    def linearise(self):
        return np.array([[self.slope(float(self.q[0]))]])

    def vertex_jacobian(self):
        return np.array([[1.0]])

    def retract(self, q, dq):
        return q + dq
