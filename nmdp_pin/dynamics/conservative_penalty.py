"""Contact forces with an energy ([P] eq. 9 and 11), its exact gradient and Hessian."""

from __future__ import annotations

import numpy as np

from nmdp_pin.contact.cross import skew
from nmdp_pin.dynamics.penalty_contact import PenaltyContact
from nmdp_pin.dynamics.spatial import times


class ConservativePenalty(PenaltyContact):
    """Forces of P = C_perp d^(alpha + 1) / (alpha + 1) + C_par |u_t|^(beta + 1) d^(gamma + 1).

    Its friction comes with a force along n that dry friction has not, c = C_par (gamma + 1)
    |u_t|^(beta + 1) d^gamma ([P] f*), and on curved ground with what the turning normal gives.
    """

    def energy(self) -> float:
        """P at the last point [J]."""
        if not self.active:
            return 0.0
        friction = (self._q * (self._slip**2).sum(axis=1)).sum() / (self.law.beta + 1.0)
        return self.stored_energy() + float(friction)

    def gauss_newton(self) -> np.ndarray:
        """Positive semidefinite part of d2P/dq2, shape (nv, nv).

        P is a convex function of d, linearised, plus the square of the vector
        |u_t|^((beta - 1) / 2) u_t d^((gamma + 1) / 2), linearised.
        """
        if not self.active:
            return np.zeros((self.nv, self.nv))
        law, n = self.law, self._n
        change = self._slip_derivative()
        if law.beta != 1.0:
            e = self._direction()
            change = change + 0.5 * (law.beta - 1.0) * e[:, :, None] * (e[:, None, :] @ change)
        deeper = (0.5 * (law.gamma + 1.0) / self._d)[:, None] * self._slip
        change[:, :, :3] -= deeper[:, :, None] * n[:, None, :]
        change *= np.sqrt(2.0 * self._q / (law.beta + 1.0))[:, None, None]
        D = change.transpose(0, 2, 1) @ change
        D[:, :3, :3] += self._slope()[:, None, None] * (n[:, :, None] * n[:, None, :])
        return self._assembled(self._at_origin_of(D))

    def _local_wrench(self) -> np.ndarray:
        """See the base: with u = x - x_ref + (Q - 1) o, f = (p + c) n - q (u_t + K z)."""
        law = self.law
        square = (self._slip**2).sum(axis=1)
        self._c = (law.gamma + 1.0) / (law.beta + 1.0) * self._q * square / self._d
        self._pull = self._slip
        if self._round:
            self._carried = times(self._turn.transpose(0, 2, 1), self._slip)  # Q' u_t
        if self._curvature is not None:
            self._z = -self._along * self._slip
            if self._round:
                self._z += self._r * (self._carried - self._slip)
            self._pull = self._slip + times(self._curvature, self._z)
        force: np.ndarray = (self._p + self._c)[:, None] * self._n - self._q[:, None] * self._pull
        if not self._round:
            return force
        self._lever = times(skew(self._arm), self._carried)
        return np.concatenate([force, self._q[:, None] * self._lever], axis=1)

    def _local_derivative(self) -> np.ndarray:
        """See the base: minus the Hessian of P."""
        law, n, q = self.law, self._n[:, None, :], self._q[:, None, None]
        change = self._slip_derivative()
        along = times(change.transpose(0, 2, 1), self._slip)  # u_t . du_t
        # dq and dc over q, as rows
        dq, dc = np.zeros((2, len(self._d), 1, self._columns))
        dc[:, 0] = (law.gamma + 1.0) / self._d[:, None] * along
        per_depth = (law.gamma + 1.0) / self._d
        dq[:, :, :3] = -per_depth[:, None, None] * n
        if law.beta != 1.0:
            square = (self._speed**2)[:, None]
            share = np.divide(along, square, out=np.zeros_like(along), where=square > 0.0)
            dq[:, 0] += (law.beta - 1.0) * share
        pushed = self._slope() + law.gamma * self._c / self._d
        dF = self._n[:, :, None] * (q * dc) - q * (self._pull[:, :, None] * dq + change)
        dF[:, :, :3] -= pushed[:, None, None] * (self._n[:, :, None] * n)
        if self._curvature is not None:
            dF[:, :, :3] += (self._p + self._c)[:, None, None] * self._curvature
            dF -= q * self._turning_normal(change)
        if not self._round:
            return dF
        D = np.empty((len(self._d), 6, 6))
        D[:, :3] = dF
        turned = self._turn.transpose(0, 2, 1) @ change
        turned[:, :, 3:] -= skew(self._carried)
        D[:, 3:] = q * (self._lever[:, :, None] * dq + skew(self._arm) @ turned)
        if self._curvature is not None:
            moved = self._r[:, :, None] * (skew(self._carried) @ self._curvature)
            D[:, 3:, :3] -= q * moved
        return D

    def _turning_normal(self, change: np.ndarray) -> np.ndarray:
        """d(K z), shape (k, 3, columns).

        The curvature of a distance changes by dK z = -K^2 z (n . dx) - (n . z) K^2 dx -
        n (K^2 z . dx), apart from what its principal curvatures change along the surface: not at
        all on every shape here but the rim of a cylinder.
        """
        K, n, z = self._curvature, self._n, self._z
        assert K is not None  # noqa: S101
        dz = -self._along[:, :, None] * change
        db = np.zeros((len(n), 1, self._columns))
        db[:, 0, :3] = n + times(K, self._slip)
        if self._round:
            back = n[:, None, :] @ self._turn
            db[:, :, :3] += self._r[:, :, None] * (back @ K)
            db[:, :, 3:] += back @ skew(self._arm)
            dz += self._r[:, :, None] * (self._turn.transpose(0, 2, 1) @ change - change)
            dz[:, :, 3:] -= self._r[:, :, None] * skew(self._carried)
        dz -= self._slip[:, :, None] * db
        result: np.ndarray = K @ dz
        K2 = K @ K
        bent = times(K2, z)
        result[:, :, :3] -= bent[:, :, None] * n[:, None, :] + n[:, :, None] * bent[:, None, :]
        result[:, :, :3] -= (n * z).sum(axis=1)[:, None, None] * K2
        return result
