"""Penalty contacts of all trajectories: wrenches, their stiffness, energy.

The formulas are those of dynamics/penalty_contact.py and dynamics/conservative_penalty.py, where
they are explained; here contacts that do not touch are zeros instead of being left out, and all
wrenches and motions are those at the world's origin.
"""

from __future__ import annotations

import abc
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from nmdp_pin.batch.lanes import Lanes, combine, cross, dot, matmul, outer, skew, times, total
from nmdp_pin.batch.surface import Ground, SurfaceLanes
from nmdp_pin.batch.tree import Tree
from nmdp_pin.contact.penalty import Penalty


class ContactSums(NamedTuple):
    """Sums over all contacts that each dof moves, at the world's origin.

    Args:
        wrench: on the robot, (nv, 6, K).
        stiffness: its derivative by a motion of the contacts' bodies, (nv, 6, 6, K).
        gauss_newton: positive semidefinite part of minus that, (nv, 6, 6, K); None if not asked.
        stored: energy of the normal forces [J], shape (K,).
        friction: energy of the others, (K,); 0 for forces that have none.
    """

    wrench: Lanes
    stiffness: Lanes
    gauss_newton: Lanes | None
    stored: Lanes
    friction: Lanes


class Touch(NamedTuple):
    """Contacts at one configuration; every size is 0 where they do not touch.

    Args:
        d: penetration, 1 where apart [m], (n, K).
        n: normal, (n, 3, K).
        K: curvature of the ground, (n, 3, 3, K), or None.
        centre: of the sphere, (n, 3, K).
        arm: r n, (n, 3, K); None for points.
        turn: the turn back to the start of the step, (n, 3, 3, K); None for points.
        along: n . u, u the displacement of what touches, (n, K).
        slip: u - (n . u) n, (n, 3, K).
        p: normal force, (n, K).
        slope: dp/dd, (n, K).
        q: friction over slip, (n, K).
    """

    d: Lanes
    n: Lanes
    K: Lanes | None
    centre: Lanes
    arm: Lanes | None
    turn: Lanes | None
    along: Lanes
    slip: Lanes
    p: Lanes
    slope: Lanes
    q: Lanes


class Contacts(abc.ABC):
    """The contact points of a tree on a terrain.

    Args:
        tree: gives the points.
        ground: what they touch.
        law: sizes of the forces.
    """

    def __init__(self, tree: Tree, ground: Ground, law: Penalty) -> None:
        self._tree, self._ground, self._law = tree, ground, law
        self._round = bool(tree.radii.any())
        carriers = np.unique(tree.point_joints)
        self._by_carrier = (carriers[:, None] == tree.point_joints).astype(float)
        self._by_joint = tree.subtree[:, carriers]

    def sums(self, P: Lanes, start: Lanes, h: Lanes, *, gauss_newton: bool = False) -> ContactSums:
        """What the contacts do at placements P in a step from `start`, (n, 4, 3, K) twice.

        Args:
            P: placements at the trial point.
            start: placements at the start of the step.
            h: length of the step [s].
            gauss_newton: also the positive semidefinite part of the stiffness.
        """
        touch = self._touch(P, start, h)
        change = self._slip_derivative(touch)
        force, moment, D = self._forces(touch, change)
        at_origin = cross(touch.centre, force)
        at_origin = at_origin if moment is None else at_origin + moment
        wrench = jnp.concatenate([force, at_origin], axis=1)
        A = self._to_origin(touch, D)
        # the centre's motion takes the force along
        arm = skew(-touch.centre)
        F = skew(force)
        A = A.at[:, 3:, :3].add(-F).at[:, 3:, 3:].add(-matmul(F, arm))
        parts = [wrench, A.reshape(len(A), 36, -1)]
        if gauss_newton:
            G = self._to_origin(touch, self._gauss_newton(touch, change))
            parts.append(G.reshape(len(G), 36, -1))
        whole = combine(self._by_joint, combine(self._by_carrier, jnp.concatenate(parts, axis=1)))
        whole = whole[self._tree.joint_of]
        matrices = whole[:, 6:].reshape(len(whole), -1, 6, 6, whole.shape[-1])
        return ContactSums(
            whole[:, :6],
            matrices[:, 0],
            matrices[:, 1] if gauss_newton else None,
            jnp.sum(touch.p * touch.d, axis=0) / (self._law.alpha + 1.0),
            self._friction_energy(touch),
        )

    @abc.abstractmethod
    def _forces(self, t: Touch, change: Lanes) -> tuple[Lanes, Lanes | None, Lanes]:
        """Forces, moments about the centres, and their derivative by (dx, dphi).

        Args:
            t: the contacts.
            change: du_t / d(dx, dphi), (n, 3, 3 or 6, K).

        Returns:
            (n, 3, K), the same or None for points, and (n, 3 or 6, 3 or 6, K).
        """

    @abc.abstractmethod
    def _friction_energy(self, t: Touch) -> Lanes:
        """What the energy has besides that of the normal forces [J], shape (K,)."""

    @abc.abstractmethod
    def _gauss_newton(self, t: Touch, change: Lanes) -> Lanes:
        """Positive semidefinite part of the energy's Hessian by (dx, dphi)."""

    def _touch(self, P: Lanes, start: Lanes, h: Lanes) -> Touch:
        tree, law = self._tree, self._law
        joints = tree.point_joints
        local = jnp.asarray(tree.centres[:, :, None], P.dtype)
        radii = jnp.asarray(tree.radii, P.dtype)
        now, before = P[joints], start[joints]
        centre, started = (
            total(local[:, i] * frame[:, i] for i in range(3)) + frame[:, 3]
            for frame in (now, before)
        )
        ground = self._ground.query(centre)
        depth = radii - ground.distance
        touches = depth > 0.0
        d = jnp.where(touches, depth, 1.0)
        u, arm, turn = centre - started, None, None
        if self._round:
            arm = radii[:, None] * ground.normal
            # rows of a placement are the rotation's columns: R0 R'
            turn = total(outer(before[:, i], now[:, i]) for i in range(3))
            u = u + times(turn, arm) - arm
        along = dot(ground.normal, u)
        slip = jnp.where(touches[:, None], u - along[:, None] * ground.normal, 0.0)
        p = jnp.where(touches, float(law.normal_stiffness or 0.0) * power(d, law.alpha), 0.0)
        q = self._friction(ground, h) * power(d, law.gamma + 1.0)
        if law.beta != 1.0:
            speed = jnp.sqrt(dot(slip, slip))  # q has no derivative by autodiff, so 0 is no harm
            q = q * power(speed, law.beta - 1.0)
        q = jnp.where(touches, q, 0.0)
        return Touch(
            d,
            ground.normal,
            ground.curvature,
            centre,
            arm,
            turn,
            along,
            slip,
            p,
            law.alpha * p / d,
            q,
        )

    def _friction(self, ground: SurfaceLanes, h: Lanes) -> Lanes:
        """C_par (beta + 1)."""
        law: Any = self._law  # its formula takes arrays of jax as well
        return (law.beta + 1.0) * law.friction_of(ground.friction, h)

    def _slip_derivative(self, t: Touch) -> Lanes:
        """du_t / d(dx, dphi), (n, 3, 3 or 6, K)."""
        one = jnp.eye(3, dtype=t.n.dtype)[..., None]
        T = one - outer(t.n, t.n)
        linear = T
        if t.turn is not None and t.arm is not None:
            turned = matmul(T, t.turn)
            angular = matmul(turned, skew(t.arm))
        if t.K is not None:
            linear = linear - t.along[:, None, None] * t.K - outer(t.n, times(t.K, t.slip))
            if t.turn is not None:
                r = self._radii(t)
                linear = linear + r * (matmul(turned, t.K) - t.K)
        return linear if t.turn is None else jnp.concatenate([linear, angular], axis=2)

    def _to_origin(self, t: Touch, D: Lanes) -> Lanes:
        """A map from (dx, dphi) to wrenches about centres as one of motions at the origin."""
        C = skew(t.centre)
        linear = D[:, :, :3]
        angular = -matmul(linear, C)
        if D.shape[2] == 6:
            angular = angular + D[:, :, 3:]
        whole = jnp.concatenate([linear, angular], axis=2)
        moments = matmul(C, whole[:, :3])
        if D.shape[1] == 6:
            moments = moments + whole[:, 3:]
        return jnp.concatenate([whole[:, :3], moments], axis=1)

    def _direction(self, t: Touch) -> Lanes:
        """Unit vectors of the slip, 0 where there is none."""
        square = dot(t.slip, t.slip)[:, None]
        return t.slip / jnp.sqrt(jnp.where(square > 0.0, square, 1.0))

    def _radii(self, t: Touch) -> Lanes:
        return jnp.asarray(self._tree.radii[:, :, None, None], t.n.dtype)


class FrictionalContacts(Contacts):
    """Forces of PBFD: friction is no gradient, so there is no energy."""

    def _forces(self, t: Touch, change: Lanes) -> tuple[Lanes, Lanes | None, Lanes]:
        """See the base."""
        law = self._law
        if law.beta != 1.0:
            e = self._direction(t)
            along = total(e[:, i, None] * change[:, i] for i in range(3))
            change = change + (law.beta - 1.0) * outer(e, along)
        force = t.p[:, None] * t.n - t.q[:, None] * t.slip
        at = ((law.gamma + 1.0) * t.q / t.d)[:, None] * t.slip - t.slope[:, None] * t.n
        by_place = outer(at, t.n)
        if t.K is not None:
            by_place = by_place + t.p[:, None, None] * t.K
        dF = added(-t.q[:, None, None] * change, by_place)
        if t.arm is None:
            return force, None, dF
        dM = -matmul(skew(t.arm), dF)
        if t.K is not None:
            dM = added(dM, self._radii(t) * matmul(skew(force), t.K))
        return force, -cross(t.arm, force), jnp.concatenate([dF, dM], axis=1)

    def _friction_energy(self, t: Touch) -> Lanes:
        """None: zeros."""
        return jnp.zeros(t.d.shape[-1:], t.d.dtype)

    def _gauss_newton(self, t: Touch, change: Lanes) -> Lanes:
        """PBFD squares the whole residual instead."""
        raise NotImplementedError


def added(A: Lanes, B: Lanes) -> Lanes:
    """A with B added to its first three columns."""
    return A.at[:, :, :3].add(B) if A.shape[2] > 3 else A + B


def power(x: Lanes, exponent: float) -> Lanes:
    """x^exponent, by products where the exponent is an integer."""
    return x ** int(exponent) if float(exponent).is_integer() else x**exponent
