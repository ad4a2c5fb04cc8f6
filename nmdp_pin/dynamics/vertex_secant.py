"""How the vertices of a wrench space change, learned from the points that were evaluated."""

from __future__ import annotations

import numpy as np

_LEAST_MOVE = 1e-10  # [m]; differences over less are rounding


class VertexSecant:
    """Broyden's estimate of dV/dx for each contact on its own, within one step.

    A contact model without a derivative is asked for nothing but V. Two points tell how V changes
    along the way between them; three ways in space tell all.
    """

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Begin anew: nothing is known, the derivative is zero."""
        self._last: tuple[np.ndarray, np.ndarray] | None = None
        self._T: np.ndarray | None = None

    def learn(self, position: np.ndarray, V: np.ndarray) -> None:
        """Take in a point.

        Args:
            position: of the contacts [m], shape (n, 3).
            V: vertices there, shape (n, rows, m).
        """
        if self._last is None or self._T is None:
            self._T = np.zeros((*V.shape, 3))
        else:
            dx = position - self._last[0]
            square = (dx * dx).sum(axis=1)
            far = square > _LEAST_MOVE**2
            along = dx / np.where(far, square, 1.0)[:, None] * far[:, None]
            missed = V - self._last[1] - (self._T @ dx[:, None, :, None])[..., 0]
            self._T = self._T + missed[..., None] * along[:, None, None, :]
        self._last = position, V

    def derivative(self, w: np.ndarray) -> np.ndarray:
        """Estimate of d(V w)/dx, shape (n, rows, 3)."""
        if self._T is None:
            raise RuntimeError("ask `learn` first")
        return np.einsum("nrmx,nm->nrx", self._T, w)
