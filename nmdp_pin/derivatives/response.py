"""How the end of a step answers its start and its parameters, weights following their face."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import lstsq

from nmdp_pin.derivatives.active_set import ActiveSet

_RANK = 1e-10  # singular values below this share of the largest count as zero: redundant contacts


class LinearisedStep(NamedTuple):
    """A step's conditions at its optimum: G = 0, and r + lambda = 0 along the free weights.

    Args:
        P: response dq/dw = -(dG/dq)^-1 dG/dw, shape (nv, n w).
        r_q: dr/dq, shape (n w, nv).
        r_w: dr/dw with q held, zero in the columns of weights that are not free, (n w, n w).
        scale: curvature of each contact [J], shape (n w,).
        face: where the weights may move.
    """

    P: np.ndarray
    r_q: np.ndarray
    r_w: np.ndarray
    scale: np.ndarray
    face: ActiveSet

    def of_weights(self, pushed: np.ndarray, turned: np.ndarray) -> np.ndarray:
        """dw/dp on the face, of the least norm where contacts are redundant, shape (n w, k).

        Args:
            pushed: dq/dp with w held, shape (nv, k).
            turned: dr/dp with q and w held, shape (n w, k).
        """
        free, tight = np.flatnonzero(self.face.free), np.flatnonzero(self.face.tight)
        result = np.zeros((len(self.face.free), pushed.shape[1]))
        if not len(free):
            return result
        m = len(self.face.free) // len(self.face.tight)
        unit = 1.0 / np.sqrt(self.scale[free])
        H = self.r_q[free] @ self.P[:, free] + self.r_w[np.ix_(free, free)]
        E = (free[None, :] // m == tight[:, None]) * unit
        k, t = len(free), len(tight)
        A = np.zeros((k + t, k + t))
        A[:k, :k] = unit[:, None] * H * unit
        A[k:, :k], A[:k, k:] = E, E.T
        right = np.zeros((k + t, pushed.shape[1]))
        right[:k] = -unit[:, None] * (self.r_q[free] @ pushed + turned[free])
        # the rows of the sums hold whatever the units of the weights are
        size = np.sqrt((E**2).sum(axis=1))
        A[k:] /= size[:, None]
        A[:, k:] /= size
        result[free] = unit[:, None] * lstsq(A, right, cond=_RANK, check_finite=False)[0][:k]
        return result

    def of_smoothed_weights(
        self,
        pushed: np.ndarray,
        turned: np.ndarray,
        w: np.ndarray,
        touching: np.ndarray,
        smoothing: float,
    ) -> np.ndarray:
        """dw/dp with complementarity w s = kappa in place of w s = 0, shape (n w, k).

        With z = w - s / scale the face is the sign of z; here a weight follows its condition by
        the share theta = (1 + z / sqrt(z^2 + 4 kappa)) / 2 and stays by the rest. Sums likewise.

        Args:
            pushed: see `of_weights`.
            turned: likewise.
            w: weights, shape (n, m).
            touching: contacts that count, shape (n,).
            smoothing: sqrt(kappa) [-], a share of a contact's weights.
        """
        n, m = w.shape
        rows = np.flatnonzero(np.repeat(touching, m))
        contacts = np.flatnonzero(touching)
        result = np.zeros((n * m, pushed.shape[1]))
        if not len(rows):
            return result
        scale, of_sum = self.scale[rows], self.scale.reshape(n, m)[contacts, 0]
        theta = _share(w.ravel()[rows] - self.face.slack[rows] / scale, smoothing)
        gap = 1.0 - w.sum(axis=1)[contacts]
        theta_sum = _share(gap - self.face.multiplier[contacts] / of_sum, smoothing)
        E = (rows[None, :] // m == contacts[:, None]).astype(float)
        H = self.r_q[rows] @ self.P[:, rows] + self.r_w[np.ix_(rows, rows)]
        follow = (theta / scale)[:, None]
        k, c = len(rows), len(contacts)
        A = np.zeros((k + c, k + c))
        A[:k, :k] = np.diag(1.0 - theta) + follow * H
        A[:k, k:] = follow * E.T * of_sum
        A[k:, :k] = -(1.0 - theta_sum)[:, None] * E
        A[k:, k:] = np.diag(theta_sum)
        right = np.zeros((k + c, pushed.shape[1]))
        right[:k] = -follow * (self.r_q[rows] @ pushed + turned[rows])
        result[rows] = lstsq(A, right, cond=_RANK, check_finite=False)[0][:k]
        return result


def _share(z: np.ndarray, smoothing: float) -> np.ndarray:
    result: np.ndarray = 0.5 * (1.0 + z / np.sqrt(z**2 + 4.0 * smoothing**2))
    return result
