"""Penalty contacts with an energy, of all trajectories: those of PBD."""

from __future__ import annotations

import jax.numpy as jnp

from nmdp_pin.batch.contacts import Contacts, Touch, added
from nmdp_pin.batch.lanes import Lanes, cross, dot, matmul, outer, skew, times, total


class ConservativeContacts(Contacts):
    """Forces of the energy of PBD; the formulas are those of dynamics/conservative_penalty.py."""

    def _friction_energy(self, t: Touch) -> Lanes:
        """The sum of q |u_t|^2 / (beta + 1)."""
        return jnp.sum(t.q * dot(t.slip, t.slip), axis=0) / (self._law.beta + 1.0)

    def _gauss_newton(self, t: Touch, change: Lanes) -> Lanes:
        """The curvature in d, and that of the square of |u_t|^((b - 1) / 2) u_t d^((g + 1) / 2)."""
        law = self._law
        if law.beta != 1.0:
            e = self._direction(t)
            change = change + 0.5 * (law.beta - 1.0) * outer(e, _row(e, change))
        deeper = (0.5 * (law.gamma + 1.0) / t.d)[:, None] * t.slip
        change = added(change, -outer(deeper, t.n))
        change = change * jnp.sqrt(2.0 * t.q / (law.beta + 1.0))[:, None, None]
        D = total(outer(change[:, i], change[:, i]) for i in range(3))
        return _corner(D, t.slope[:, None, None] * outer(t.n, t.n))

    def _forces(self, t: Touch, change: Lanes) -> tuple[Lanes, Lanes | None, Lanes]:
        """See the base: f = (p + c) n - q (u_t + K z)."""
        law = self._law
        square = dot(t.slip, t.slip)
        c = (law.gamma + 1.0) / (law.beta + 1.0) * t.q * square / t.d
        pull, carried, z = t.slip, None, None
        if t.turn is not None:
            carried = times(jnp.swapaxes(t.turn, 1, 2), t.slip)
        if t.K is not None:
            z = -t.along[:, None] * t.slip
            if carried is not None:
                z = z + self._radii(t)[:, 0] * (carried - t.slip)
            pull = t.slip + times(t.K, z)
        q = t.q[:, None]
        force = (t.p + c)[:, None] * t.n - q * pull
        # dq and dc over q, as rows
        along = _row(t.slip, change)  # u_t . du_t
        dc = ((law.gamma + 1.0) / t.d)[:, None] * along
        dq = jnp.zeros_like(dc).at[:, :3].add(-((law.gamma + 1.0) / t.d)[:, None] * t.n)
        if law.beta != 1.0:
            dq = dq + (law.beta - 1.0) * along / jnp.where(square > 0.0, square, 1.0)[:, None]
        dF = q[:, None] * (outer(t.n, dc) - outer(pull, dq) - change)
        pushed = t.slope + law.gamma * c / t.d
        dF = added(dF, -pushed[:, None, None] * outer(t.n, t.n))
        if t.K is not None and z is not None:
            dF = added(dF, (t.p + c)[:, None, None] * t.K)
            dF = dF - q[:, None] * self._turning_normal(t, change, z, carried)
        if t.arm is None or t.turn is None or carried is None:
            return force, None, dF
        lever = cross(t.arm, carried)
        turned = matmul(jnp.swapaxes(t.turn, 1, 2), change)
        turned = turned.at[:, :, 3:].add(-skew(carried))
        dM = outer(lever, dq) + matmul(skew(t.arm), turned)
        if t.K is not None:
            dM = added(dM, -self._radii(t) * matmul(skew(carried), t.K))
        return force, q * lever, jnp.concatenate([dF, q[:, None] * dM], axis=1)

    def _turning_normal(self, t: Touch, change: Lanes, z: Lanes, carried: Lanes | None) -> Lanes:
        """d(K z), (n, 3, 3 or 6, K)."""
        K, n = t.K, t.n
        assert K is not None  # noqa: S101
        dz = -t.along[:, None, None] * change
        db = n + times(K, t.slip)
        if t.turn is not None and t.arm is not None and carried is not None:
            r = self._radii(t)
            back = _row(n, t.turn)
            db = db + r[:, 0] * _row(back, K)
            db = jnp.concatenate([db, _row(back, skew(t.arm))], axis=1)
            dz = dz + r * (matmul(jnp.swapaxes(t.turn, 1, 2), change) - change)
            dz = dz.at[:, :, 3:].add(-r * skew(carried))
        result = matmul(K, dz - outer(t.slip, db))
        K2 = matmul(K, K)
        bent = times(K2, z)
        rest = outer(bent, n) + outer(n, bent) + dot(n, z)[:, None, None] * K2
        return added(result, -rest)


def _row(a: Lanes, B: Lanes) -> Lanes:
    """A' B; (n, 3, K), (n, 3, m, K) to (n, m, K)."""
    return total(a[:, i, None] * B[:, i] for i in range(3))


def _corner(A: Lanes, B: Lanes) -> Lanes:
    """A with B added to its first three rows and columns."""
    return A.at[:, :3, :3].add(B)
