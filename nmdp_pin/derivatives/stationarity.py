"""What vanishes at the optimum of a step along its free weights, with its derivatives.

An NMDP step ends where G(q, w) = 0 and where r_j + lambda_c = 0 for the weights above zero, with
lambda_c the multiplier of the sum of the weights of contact c. Of the principle r = V' u, the work
of each vertex; of an objective K it is the reduced gradient -(dG/dw)' y with (dG/dq)' y = dK/dq.
"""

from __future__ import annotations

import abc
from collections.abc import Callable

import numpy as np

from nmdp_pin.dynamics.dissipation import Dissipation
from nmdp_pin.dynamics.objective import Objective
from nmdp_pin.dynamics.start_derivative import StartDerivative
from nmdp_pin.dynamics.step_residual import StepResidual
from nmdp_pin.state import State

_STEP = 1e-6  # [rad, m] of central differences of gradients; their error is about 1e-8


class Stationarity(abc.ABC):
    """r at a point (q, w) of a residual that has begun a step.

    Args:
        residual: its last point is (q, w), it is linearised, and is again afterwards.
    """

    def __init__(self, residual: StepResidual) -> None:
        self.residual = residual

    @abc.abstractmethod
    def hold(self, response: np.ndarray) -> None:
        """Take the last point as that of the derivatives.

        Args:
            response: P = -(dG/dq)^-1 dG/dw there, shape (nv, n w).
        """

    @abc.abstractmethod
    def value(self) -> np.ndarray:
        """The value of r at the last point [J]; its derivative is exact where it was held."""

    @abc.abstractmethod
    def of_motion(self) -> np.ndarray:
        """dr/dq, shape (n w, nv)."""

    @abc.abstractmethod
    def of_weights(self, free: np.ndarray) -> np.ndarray:
        """dr/dw, q held: its columns of the free weights, shape (n w, n free)."""

    @abc.abstractmethod
    def of_start(self, start: StartDerivative) -> np.ndarray:
        """Derivative of r with respect to the start, q and w held, shape (n w, nz)."""

    @abc.abstractmethod
    def curvature(self) -> np.ndarray:
        """An estimate of dr_j/dw_j with q following, > 0 where the contact answers, (n w,)."""


class WorkStationarity(Stationarity):
    """Of the principle; exact.

    Args:
        residual: see the base.
    """

    def __init__(self, residual: StepResidual) -> None:
        super().__init__(residual)
        self._work = Dissipation(residual)

    def hold(self, response: np.ndarray) -> None:
        """See the base."""
        self._response = response

    def value(self) -> np.ndarray:
        """See the base."""
        return self._work.work()

    def of_motion(self) -> np.ndarray:
        """See the base: V' du/dq + (dV/dq)' u, the second of which Newton's method leaves out."""
        return self._work.derivative() + self.residual.contact.vertex_changes()

    def of_weights(self, free: np.ndarray) -> np.ndarray:
        """See the base: zero."""
        contact = self.residual.contact
        return np.zeros((contact.n * contact.m, len(free)))

    def of_start(self, start: StartDerivative) -> np.ndarray:
        """See the base."""
        V = self.residual.contact.V.transpose(0, 2, 1)
        result: np.ndarray = (V @ start.motions()).reshape(-1, start.n)
        return result

    def curvature(self) -> np.ndarray:
        """See the base."""
        return np.abs(np.vecdot(self._work.derivative(), self._response.T))


class GradientStationarity(Stationarity):
    """Of an objective K: differences of first derivatives, which are exact.

    With y held, phi = P' (dK/dq - (dG/dq)' y) - (dG/dw)' y has the value and the derivatives of
    the reduced gradient; all second derivatives of G and K are in it.

    Args:
        residual: see the base.
        objective: K.
        begin: begins the very step of the residual from another start.
    """

    def __init__(
        self, residual: StepResidual, objective: Objective, begin: Callable[[State], None]
    ) -> None:
        super().__init__(residual)
        self._objective, self._begin = objective, begin

    def hold(self, response: np.ndarray) -> None:
        """See the base."""
        residual = self.residual
        self._q, self._w = residual.q, residual.contact.w  # type: ignore[attr-defined]
        self._P = response
        gradient, self._hessian = self._objective.derivatives()
        self._y = np.linalg.solve(residual.linearise().T, gradient)

    def hold_as(self, other: GradientStationarity) -> None:
        """Hold what another one does, whose dynamics have other parameters."""
        self._q, self._w, self._P, self._y = other._q, other._w, other._P, other._y

    def value(self) -> np.ndarray:
        """See the base."""
        residual = self.residual
        A, B = residual.linearise(), residual.vertex_jacobian()
        gradient = self._objective.derivatives()[0]
        result: np.ndarray = self._P.T @ (gradient - A.T @ self._y) + B @ self._y
        return result

    def of_motion(self) -> np.ndarray:
        """See the base."""
        residual = self.residual

        def at(dq: np.ndarray) -> np.ndarray:
            residual.evaluate(residual.retract(self._q, dq), self._w)
            return self.value()

        result = _differences(at, residual.nv, _STEP)
        self._return()
        return result

    def of_weights(self, free: np.ndarray) -> np.ndarray:
        """See the base; r is affine in w."""
        here, columns = self.value(), []
        for j in free:
            w = self._w.ravel().copy()
            w[j] += 1.0
            self.residual.evaluate(self._q, w.reshape(self._w.shape))
            columns.append(self.value() - here)
        self._return()
        return np.stack(columns, axis=-1) if columns else np.zeros((len(here), 0))

    def of_start(self, start: StartDerivative) -> np.ndarray:
        """See the base."""
        here, nv = self.residual.start, self.residual.nv
        unit = np.full(start.n, 1.0 / self.residual.h)  # of velocities and rates
        unit[:nv] = unit[2 * nv : 3 * nv] = 1.0
        starts = {
            k: [start.moved(s * _STEP * unit[k] * e) for s in (1.0, -1.0)]
            for k, e in enumerate(np.eye(start.n)[: start.felt])
        }
        result = np.zeros((self._P.shape[1], start.n))
        for k, (ahead, behind) in starts.items():
            result[:, k] = (self._from(ahead) - self._from(behind)) / (2.0 * _STEP * unit[k])
        self._begin(here)
        self._return()
        return result

    def curvature(self) -> np.ndarray:
        """See the base: of the objective's own semidefinite Hessian."""
        return np.vecdot(self._P.T, (self._hessian @ self._P).T)

    def _from(self, state: State) -> np.ndarray:
        self._begin(state)
        self.residual.evaluate(self._q, self._w)
        return self.value()

    def _return(self) -> None:
        self.residual.evaluate(self._q, self._w)
        self.residual.linearise()


def _differences(function: Callable[[np.ndarray], np.ndarray], n: int, step: float) -> np.ndarray:
    """Derivative of function(dx) at dx = 0 by central differences; the last axis is that of dx."""
    columns = []
    for dx in step * np.eye(n):
        columns.append((function(dx) - function(-dx)) / (2.0 * step))
    return np.stack(columns, axis=-1)
