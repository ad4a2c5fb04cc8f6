"""Secant estimates of the derivative of a wrench space's vertices."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

_LEAST_MOVE = 1e-10  # [m]; shorter differences are rounding


class VertexSecant(NamedTuple):
    """Broyden's estimate of dV/dx for each contact on its own, within one step.

    Only V of the contact model is evaluated. Two points give the change of V along the line between
    them; three independent directions determine dV/dx.

    Args:
        position: positions of the contacts at the last point [m], shape (n, 3).
        V: vertices at the last point, shape (n, rows, m).
        T: estimate of dV/dx, shape (n, rows, m, 3).
    """

    position: np.ndarray
    V: np.ndarray
    T: np.ndarray

    @classmethod
    def learnt(
        cls, before: VertexSecant | None, position: np.ndarray, V: np.ndarray
    ) -> VertexSecant:
        """The estimate with one more point; without earlier ones it is zero."""
        if before is None:
            return cls(position, V, np.zeros((*V.shape, 3)))
        dx = position - before.position
        square = (dx * dx).sum(axis=1)
        far = square > _LEAST_MOVE**2
        along = dx / np.where(far, square, 1.0)[:, None] * far[:, None]
        missed = V - before.V - (before.T @ dx[:, None, :, None])[..., 0]
        return cls(position, V, before.T + missed[..., None] * along[:, None, None, :])

    def derivative(self, w: np.ndarray) -> np.ndarray:
        """Estimate of d(V w)/dx, shape (n, rows, 3)."""
        result: np.ndarray = np.einsum("nrmx,nm->nrx", self.T, w)
        return result
