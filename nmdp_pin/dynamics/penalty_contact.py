"""Contact forces that follow from the configuration ([P] eq. 8 and 12), with their derivatives.

Of a contact with penetration d, normal n and displacement u over the step (of the material point
that touches) there are three sizes, from which forces, energies and derivatives are made:

    p = C_perp d^alpha                                  the normal force
    q = C_par (beta + 1) |u_t|^(beta - 1) d^(gamma + 1)     friction over slip
    u_t = u - (n . u) n                                 the slip

A motion of the sphere is (dx, dphi): of its centre, and a turn R -> exp([dphi]) R of its body. The
turn counts only where the sphere has a radius, so all matrices have 3 or 6 columns.
"""

from __future__ import annotations

import abc

import numpy as np
import pinocchio as pin

from nmdp_pin.contact.cross import skew
from nmdp_pin.contact.penalty import Penalty
from nmdp_pin.dynamics.contact_terms import ContactTerms
from nmdp_pin.dynamics.spatial import times
from nmdp_pin.robot import Robot
from nmdp_pin.terrain import Terrain


class PenaltyContact(ContactTerms):
    """What both kinds of penalty forces share; only contacts that touch are worked on.

    Args:
        robot: gives the contact points.
        terrain: what they touch.
        law: sizes of the forces.
        data: pinocchio's results, read at each evaluation.
    """

    def __init__(self, robot: Robot, terrain: Terrain, law: Penalty, data: pin.Data) -> None:
        super().__init__(robot, terrain, data, n_vertices=0, touches=True)
        assert law.normal_stiffness is not None  # noqa: S101
        self.law, self._stiffness = law, law.normal_stiffness
        self.V = np.zeros((self.n, 3, 0))
        self._columns = 6 if self._round else 3
        self._nothing = np.zeros(0, dtype=int)

    def begin(self, start: np.ndarray, h: float) -> None:
        """See the base."""
        super().begin(start, h)
        self._h = h
        self._started = (self._local @ self._start)[:, 0]

    def evaluate(self, w: np.ndarray) -> np.ndarray:
        """See the base; `w` is empty."""
        self.w = w
        self._locate()
        self.point = self.centre
        self._rows = np.flatnonzero(self.contacts.depth > 0.0)
        self._first = int(np.searchsorted(self._rows, self._n_terrain))
        self.active = bool(self._rows.size)
        if not self.active:
            return np.zeros(self.nv)
        self._measure()
        self._wrench = self._local_wrench()
        self._world_wrench = wrench = self._in_world(self._wrench, self._rows)
        self._at_origin = at_origin = np.empty((len(wrench), 6))
        at_origin[:, :3] = wrench[:, :3]
        self._cross = skew(self.centre[self._rows])
        at_origin[:, 3:] = times(self._cross, wrench[:, :3])
        if wrench.shape[1] == 6:
            at_origin[:, 3:] += wrench[:, 3:]
        self._carriers = self._support[:, self._rows]
        self._subtree = self._carriers @ at_origin
        Q: np.ndarray = np.vecdot(self._J.T, self._subtree)
        return Q

    def linearise(self) -> np.ndarray:
        """See the base."""
        if not self.active:
            return np.zeros((self.nv, self.nv))
        A = self._at_origin_of(self._local_derivative())
        # the centre's motion takes the force along
        force = skew(self._world_wrench[:, :3])
        A[:, 3:, :3] -= force
        A[:, 3:, 3:] += force @ self._cross
        return self._assembled(A, carried=True)

    def stored_energy(self) -> float:
        """See the base: of the normal forces, C_perp d^(alpha + 1) / (alpha + 1)."""
        return float((self._p * self._d).sum()) / (self.law.alpha + 1.0) if self.active else 0.0

    def vertex_forces(self) -> np.ndarray:
        """See the base: there are none."""
        return np.zeros((0, self.nv))

    @property
    def touching(self) -> np.ndarray:
        """See the base."""
        return self.contacts.depth > 0.0

    @property
    def wrenches(self) -> np.ndarray:
        """See the base."""
        result = np.zeros((self.n, 6))
        if self.active:
            result[self._rows, : self._columns] = self._world_wrench
        return result

    @abc.abstractmethod
    def _local_wrench(self) -> np.ndarray:
        """Wrenches about the centres of the spheres that touch, shape (k, columns)."""

    @abc.abstractmethod
    def _local_derivative(self) -> np.ndarray:
        """Their derivative with respect to (dx, dphi), shape (k, columns, columns)."""

    def _measure(self) -> None:
        """Depth, slip and the three sizes of the contacts that touch."""
        contacts, rows, law = self.contacts, self._rows, self.law
        self._d, self._n = contacts.depth[rows], contacts.normal[rows]
        self._centre = contacts.position[rows]
        self._curvature = None if contacts.curvature is None else contacts.curvature[rows]
        u = self._centre - self._started[rows]
        if self._round:
            self._r = self._radii[rows]
            self._arm = self._r * self._n
            back = self._start[rows, :3].transpose(0, 2, 1)
            self._turn = back @ contacts.rotation[rows].transpose(0, 2, 1)
            u += times(self._turn, self._arm) - self._arm
        self._along = (self._n * u).sum(axis=1)[:, None]  # n . u
        self._slip = u - self._along * self._n
        self._friction = law.friction_of(contacts.friction[rows], self._h)
        self._p = self._stiffness * self._d**law.alpha
        self._q = (law.beta + 1.0) * self._friction * self._d ** (law.gamma + 1.0)
        if law.beta != 1.0:
            self._speed = np.sqrt((self._slip**2).sum(axis=1))
            self._q = self._q * self._speed ** (law.beta - 1.0)

    def _slope(self) -> np.ndarray:
        """dp/dd, shape (k,)."""
        law = self.law
        return law.alpha * self._stiffness * self._d ** (law.alpha - 1.0)

    def _slip_derivative(self) -> np.ndarray:
        """du_t / d(dx, dphi), shape (k, 3, columns).

        With T = 1 - n n', b = n . u, Q the turn back, o = r n and K the curvature, du =
        (1 + r (Q - 1) K) dx + Q [o] dphi, so du_t = T du - n (K u_t)' dx - b K dx.
        """
        n = self._n
        T = np.eye(3) - n[:, :, None] * n[:, None, :]
        if not self._round and self._curvature is None:
            return T
        result = np.zeros((len(n), 3, self._columns))
        result[:, :, :3] = T
        if self._round:
            turned = T @ self._turn
            result[:, :, 3:] = turned @ skew(self._arm)
        if self._curvature is not None:
            K = self._curvature
            result[:, :, :3] -= self._along[:, :, None] * K
            result[:, :, :3] -= n[:, :, None] * times(K, self._slip)[:, None, :]
            if self._round:
                result[:, :, :3] += self._r[:, :, None] * (turned @ K - K)
        return result

    def _direction(self) -> np.ndarray:
        """Unit vectors of the slip, 0 where there is none, shape (k, 3); for beta > 1."""
        speed = self._speed[:, None]
        return np.divide(self._slip, speed, out=np.zeros_like(self._slip), where=speed > 0.0)

    def _at_origin_of(self, D: np.ndarray) -> np.ndarray:
        """D from motions to wrenches at the world's origin, shape (k, 6, 6).

        Args:
            D: a map from (dx, dphi) to wrenches about the centres, shape (k, columns, columns).
        """
        k, m = len(D), self._columns
        if self._bodies:
            turn = np.zeros((k, m, m))
            turn[:] = np.eye(m)
            axes = self._axes[self._rows[self._first :] - self._n_terrain, :3]
            for j in range(0, m, 3):
                turn[self._first :, j : j + 3, j : j + 3] = axes
            D = turn.transpose(0, 2, 1) @ D @ turn
        move = np.zeros((k, m, 6))
        move[:, :3, :3] = np.eye(3)
        np.negative(self._cross, out=move[:, :3, 3:])
        if self._round:
            move[:, 3:, 3:] = np.eye(3)
        A = np.zeros((k, 6, 6))
        A[:, :m] = D @ move
        A[:, 3:] += self._cross @ A[:, :3]
        return A


class FrictionalPenalty(PenaltyContact):
    """f = p n - q u_t where the sphere touches: friction that is no gradient ([P] eq. 13)."""

    def _local_wrench(self) -> np.ndarray:
        """See the base."""
        force: np.ndarray = self._p[:, None] * self._n - self._q[:, None] * self._slip
        if not self._round:
            return force
        return np.concatenate([force, -times(skew(self._arm), force)], axis=1)

    def _local_derivative(self) -> np.ndarray:
        """See the base; with dd = -n'dx and dn = K dx."""
        law, n, q = self.law, self._n, self._q
        change = self._slip_derivative()
        if law.beta != 1.0:
            e = self._direction()
            change = change + (law.beta - 1.0) * e[:, :, None] * (e[:, None, :] @ change)
        dF = -q[:, None, None] * change
        at = ((law.gamma + 1.0) * q / self._d)[:, None] * self._slip - self._slope()[:, None] * n
        dF[:, :, :3] += at[:, :, None] * n[:, None, :]
        if self._curvature is not None:
            dF[:, :, :3] += self._p[:, None, None] * self._curvature
        if not self._round:
            return dF
        D = np.empty((len(n), 6, 6))
        D[:, :3] = dF
        D[:, 3:] = -skew(self._arm) @ dF
        if self._curvature is not None:
            force = skew(self._wrench[:, :3])
            D[:, 3:, :3] += self._r[:, :, None] * (force @ self._curvature)
        return D
