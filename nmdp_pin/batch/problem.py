"""What a step of each trajectory minimises, with gradient and Hessian ([P] eq. 6 and 13).

As in dynamics/minimised.py, tangents are y = U dq with U'U = M / h^2 + kd / h + kp at the start of
the step. Matrices of a trajectory are batch first, everything else has the trajectories last.
"""

from __future__ import annotations

import abc
from typing import NamedTuple

import jax.numpy as jnp

from nmdp_pin.batch.contacts import Contacts, ContactSums
from nmdp_pin.batch.factor import product
from nmdp_pin.batch.inertia import BodySums, body_sums, energy, potential
from nmdp_pin.batch.kinematics import Kinematics
from nmdp_pin.batch.lanes import Lanes, cross, dot, total
from nmdp_pin.batch.manifold import Manifold, Slope
from nmdp_pin.batch.tree import Tree


class Gains(NamedTuple):
    """What is the same for all trajectories and steps.

    Args:
        h: length of a step [s], a scalar.
        kp: position gains [N m/rad], shape (nv, 1); None: none.
        kd: velocity gains and damping [N m s/rad], shape (nv, 1).
    """

    h: Lanes
    kp: Lanes | None
    kd: Lanes


class Start(NamedTuple):
    """Where the present step of each trajectory starts, and its command.

    Args:
        q: configuration, (nq, K).
        v: velocity, (nv, K).
        P: placements, (n, 4, 3, K).
        P_hat: where the bodies would come to without forces, (n, 4, 3, K).
        tau: constant part of the command's torque, (nv, K).
        q_target: target of the gains kp, (nq, K); q itself where there are none.
        scale: U'^-1, (K, nv, nv).
        energy: of motion, of gravity and of the normal forces, (3, K) [J].
    """

    q: Lanes
    v: Lanes
    P: Lanes
    P_hat: Lanes
    tau: Lanes
    q_target: Lanes
    scale: Lanes
    energy: Lanes


class Point(NamedTuple):
    """A function at one point of each trajectory.

    Args:
        f: the function, (K,).
        error: norm of the residual that is to vanish [N, N m], (K,).
        g: gradient by y, (K, nv).
        H: Hessian by y or what stands for it, symmetric, (K, nv, nv).
        P: placements, (n, 4, 3, K).
        v: velocity, (nv, K).
        M: mass matrix, with the rotors, (K, nv, nv).
        tau: torque of the command, (nv, K).
        stored: energy of the contacts' normal forces [J], (K,).
    """

    f: Lanes
    error: Lanes
    g: Lanes
    H: Lanes
    P: Lanes
    v: Lanes
    M: Lanes
    tau: Lanes
    stored: Lanes


class Moved(NamedTuple):
    """What follows from the configurations alone, whatever is minimised.

    Args:
        rate: 1 / h [1/s].
        P: placements, (n, 4, 3, K).
        S: motions of the dofs at the world's origin, linear and angular, (nv, 3, K) each.
        sums: of the bodies, drawn to where they would come to without forces.
        inertial: generalised force of inertia and gravity, without the rotors', (nv, K).
        M: mass matrix, with the rotors, (K, nv, nv).
        v: velocity, (nv, K).
        slope: of the difference from the start of the step.
        rotors: inertia of the rotors over h, (nv, 1).
    """

    rate: Lanes
    P: Lanes
    S: tuple[Lanes, Lanes]
    sums: BodySums
    inertial: Lanes
    M: Lanes
    v: Lanes
    slope: Slope
    rotors: Lanes


class Problem(abc.ABC):
    """A step's function of the configuration at its end.

    Args:
        tree: the robot.
        contacts: None where no contact point can move.
    """

    def __init__(self, tree: Tree, contacts: Contacts | None) -> None:
        self.tree, self.contacts = tree, contacts
        self.kinematics, self.manifold = Kinematics(tree), Manifold(tree)

    @abc.abstractmethod
    def evaluate(self, q: Lanes, start: Start, gains: Gains) -> Point:
        """The function and its derivatives at configurations q, (nq, K)."""

    def expected(self, P: Lanes, before: Lanes, h: Lanes) -> Lanes:
        """Placements without forces, from those now and a step ago: 2 P - before + h^2 g."""
        gravity = jnp.asarray(self.tree.gravity[:, None], P.dtype)
        return (2.0 * P - before).at[:, 3].add(h * h * gravity)

    def metric(self, M: Lanes, gains: Gains) -> Lanes:
        """U'U of a step that starts with mass matrix M, (K, nv, nv)."""
        rate = 1.0 / gains.h
        diagonal = rate * gains.kd
        if gains.kp is not None:
            diagonal = diagonal + gains.kp
        one = jnp.eye(M.shape[-1], dtype=M.dtype)
        return rate * rate * M + one * diagonal[:, 0]

    def energies(self, point: Point) -> Lanes:
        """Energy of motion, of gravity and of the normal forces, (3, K) [J]."""
        Mv = product(point.M, point.v.T[:, :, None])[:, :, 0]
        kinetic = 0.5 * jnp.sum(Mv.T * point.v, axis=0)
        return jnp.stack([kinetic, potential(self.tree, point.P), point.stored])

    def _kinematics(self, q: Lanes, start: Start, gains: Gains) -> Moved:
        """What both functions need."""
        rate = 1.0 / gains.h
        P = self.kinematics.placements(q)
        S = self.kinematics.jacobian(P)
        sums, own = body_sums(self.tree, P, start.P_hat)
        force, moment = sums.wrench()
        M = self._assembled(jnp.concatenate(own.stiffness_of(*S), axis=1), None, S)
        M = M + jnp.diag(jnp.asarray(self.tree.armature, q.dtype))
        y = self.manifold.difference(start.q, q)
        rotors = rate * jnp.asarray(self.tree.armature[:, None], q.dtype)
        inertial = rate * rate * (dot(force, S[0]) + dot(moment, S[1]))
        return Moved(rate, P, S, sums, inertial, M, rate * y, self.manifold.slope(y), rotors)

    def _assembled(self, rows: Lanes, columns: Lanes | None, S: tuple[Lanes, Lanes]) -> Lanes:
        """A matrix from its rows and columns at and below the diagonal of the tree, (K, nv, nv).

        Args:
            rows: what is multiplied with S_l for l above k, (nv, 6, K).
            columns: what is multiplied with S_k for k above l, (nv, 6, K); None: `rows`.
            S: motions of the dofs.
        """
        above = jnp.asarray(self.tree.above, rows.dtype)
        motions = jnp.moveaxis(jnp.concatenate(S, axis=1), -1, 0)
        whole = product(jnp.moveaxis(rows, -1, 0), motions, transposed=True)
        other = whole
        if columns is not None:
            other = product(jnp.moveaxis(columns, -1, 0), motions, transposed=True)
        return above * whole + jnp.swapaxes((above * (1.0 - above.T)) * other, 1, 2)


class GradientLevel(Problem):
    """|r|^2 / 2 of PBFD and its Gauss-Newton matrix."""

    def evaluate(self, q: Lanes, start: Start, gains: Gains) -> Point:
        """See the base."""
        m = self._kinematics(q, start, gains)
        S, rate = m.S, m.rate
        r, stored = m.inertial, jnp.zeros_like(q[0])
        rows = jnp.concatenate(m.sums.stiffness_of(*S), axis=1) * (rate * rate)
        columns = None
        if self.contacts is not None:
            touch = self.contacts.sums(m.P, start.P, gains.h)
            r, stored = r - _projected(touch.wrench, S), touch.stored
            rows, columns = _with_contacts(rows, touch, S)
        J = self._assembled(rows, columns, S) + m.slope.scaled(rate * (gains.kd + m.rotors))
        tau = start.tau - gains.kd * m.v
        if gains.kp is not None:
            e = self.manifold.difference(start.q_target, q)
            tau = tau - gains.kp * e
            J = J + self.manifold.slope(e).scaled(gains.kp)
        r = r + m.rotors * (m.v - start.v) - tau
        s = product(start.scale, r.T[:, :, None])
        B = product(product(start.scale, J), start.scale, transposed=True)
        across = jnp.swapaxes(B, 1, 2)
        return Point(
            f=0.5 * jnp.sum(s[:, :, 0] ** 2, axis=1),
            error=jnp.sqrt(jnp.sum(r * r, axis=0)),
            g=product(across, s)[:, :, 0],
            H=product(across, B),
            P=m.P,
            v=m.v,
            M=m.M,
            tau=tau,
            stored=stored,
        )


class Energy(Problem):
    """E of PBD.

    Args:
        tree: the robot.
        contacts: None where no contact point can move.
        exact: give the exact Hessian; False: its positive semidefinite Gauss-Newton part.
    """

    def __init__(self, tree: Tree, contacts: Contacts | None, *, exact: bool) -> None:
        super().__init__(tree, contacts)
        self._exact = exact

    def evaluate(self, q: Lanes, start: Start, gains: Gains) -> Point:
        """See the base."""
        m = self._kinematics(q, start, gains)
        S, square = m.S, m.rate * m.rate
        f = square * energy(self.tree, m.P, start.P_hat)
        g, stored = m.inertial, jnp.zeros_like(q[0])
        if self._exact:
            rows = jnp.concatenate(m.sums.stiffness_of(*S), axis=1) * square
            H = jnp.zeros_like(m.M)
        else:
            one = jnp.eye(len(g), dtype=q.dtype)
            rows = jnp.zeros((len(g), 6, q.shape[1]), q.dtype)
            H = square * m.M - one * (m.rate * m.rotors[:, 0])  # the potential has the rotors
        columns = None
        if self.contacts is not None:
            touch = self.contacts.sums(m.P, start.P, gains.h, gauss_newton=not self._exact)
            g, stored = g - _projected(touch.wrench, S), touch.stored
            f = f + touch.stored + touch.friction
            if touch.gauss_newton is None:
                rows, columns = _with_contacts(rows, touch, S)
            else:
                rows = _applied(touch.gauss_newton, S)
        H = H + self._assembled(rows, columns, S)
        value, tau, curvature = self._potential(q, start, gains, m)
        g = g - tau
        half = product(start.scale, H + curvature)
        H = product(half, start.scale, transposed=True)
        return Point(
            f=f + value,
            error=jnp.sqrt(jnp.sum(g * g, axis=0)),
            g=product(start.scale, g.T[:, :, None])[:, :, 0],
            H=0.5 * (H + jnp.swapaxes(H, 1, 2)),
            P=m.P,
            v=m.v,
            M=m.M,
            tau=tau,
            stored=stored,
        )

    def _potential(
        self, q: Lanes, start: Start, gains: Gains, m: Moved
    ) -> tuple[Lanes, Lanes, Lanes]:
        """Energy of command, damping and rotors, minus its gradient, and its Hessian.

        The formulas are those of dynamics/difference_potential.py.
        """
        change = m.v - start.v
        value = 0.5 * (m.rotors * change * change + gains.kd * m.v * m.v) - start.tau * m.v
        value = jnp.sum(value, axis=0) / m.rate
        pull = start.tau - gains.kd * m.v - m.rotors * change
        tau = m.slope.pulled(pull)
        curvature = m.slope.squared(m.rate * (m.rotors + gains.kd))
        turning = [(start.q, -pull)]
        if gains.kp is not None:
            e = self.manifold.difference(start.q_target, q)
            spring, slope = gains.kp * e, self.manifold.slope(e)
            value = value + 0.5 * jnp.sum(spring * e, axis=0)
            tau = tau - slope.pulled(spring)
            curvature = curvature + slope.squared(gains.kp)
            turning.append((start.q_target, spring))
        if self._exact:
            for reference, force in turning:
                curvature = curvature + self.manifold.turning(reference, q, force)
        return value, tau, curvature


def _projected(wrench: Lanes, S: tuple[Lanes, Lanes]) -> Lanes:
    """S_k . F_k of wrenches (nv, 6, K)."""
    return dot(wrench[:, :3], S[0]) + dot(wrench[:, 3:], S[1])


def _applied(A: Lanes, S: tuple[Lanes, Lanes]) -> Lanes:
    """A_k S_k, (nv, 6, 6, K) to (nv, 6, K)."""
    return total(A[:, :, i] * S[i // 3][:, i % 3, None] for i in range(6))


def _with_contacts(rows: Lanes, touch: ContactSums, S: tuple[Lanes, Lanes]) -> tuple[Lanes, Lanes]:
    """Rows and columns of inertia less contacts, whose stiffness is not symmetric.

    Rows also have what carrying the wrench along adds: (S_l x S_k) . F for l above k.
    """
    A, F = touch.stiffness, touch.wrench
    v, w = S
    across = total(A[:, i] * S[i // 3][:, i % 3, None] for i in range(6))
    force, moment = F[:, :3], F[:, 3:]
    carried = jnp.concatenate([cross(w, force), cross(v, force) + cross(w, moment)], axis=1)
    return rows - across - carried, rows - _applied(A, S)
