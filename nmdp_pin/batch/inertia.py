"""Inertia and gravity of the position-based form: energy, wrenches and stiffness of all bodies.

The energy is ½ sum s_j |P_j - P_hat_j|^2 over the rows of the placements in principal frames, s
being the diagonal second moments (dynamics/attraction.py has it for any frame). All that its
derivatives need of a body are fifteen numbers, and these add up over subtrees:

    c = m x,   c_hat = m x_hat,   Y = sum s_j P_j P_hat_j'

with the force c - c_hat, the moment of the antisymmetric part of Y, and the stiffness

    A = [[m 1, -[c]], [[c_hat], tr(Y) 1 - Y]].

Where l is above k, H_kl = (A_k S_k) . S_l: what carrying the wrench along adds to A makes it A'.
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp

from nmdp_pin.batch.lanes import Lanes, combine, cross, outer, times, total
from nmdp_pin.batch.tree import Tree


class BodySums(NamedTuple):
    """Sums over all that each dof moves.

    Args:
        mass: [kg], shape (nv, 1, 1).
        c: first moments about the world's origin, (nv, 3, K).
        c_hat: those of where the bodies are drawn to, (nv, 3, K).
        Y: second moments between the two, (nv, 3, 3, K).
    """

    mass: Lanes
    c: Lanes
    c_hat: Lanes
    Y: Lanes

    def wrench(self) -> tuple[Lanes, Lanes]:
        """Force and moment at the world's origin that draw the bodies back, (nv, 3, K) each."""
        Y = self.Y
        pairs = ((2, 1), (0, 2), (1, 0))
        return self.c - self.c_hat, jnp.stack([Y[:, i, j] - Y[:, j, i] for i, j in pairs], axis=1)

    def stiffness_of(self, linear: Lanes, angular: Lanes) -> tuple[Lanes, Lanes]:
        """A S for the motion S of each dof, as force and moment, (nv, 3, K) each."""
        trace = total(self.Y[:, i, i] for i in range(3))[:, None]
        force = self.mass * linear + cross(angular, self.c)
        moment = cross(self.c_hat, linear) + trace * angular - times(self.Y, angular)
        return force, moment


def energy(tree: Tree, P: Lanes, P_hat: Lanes) -> Lanes:
    """½ sum s_j |P_j - P_hat_j|^2 of all bodies, (n, 4, 3, K) twice to (K,)."""
    D = P - P_hat
    square = total(D[:, :, i] * D[:, :, i] for i in range(3))
    return 0.5 * jnp.sum(tree.moments.astype(P.dtype) * square, axis=(0, 1))


def body_sums(tree: Tree, P: Lanes, P_hat: Lanes) -> tuple[BodySums, BodySums]:
    """The sums at placements P drawn to P_hat, (n, 4, 3, K) twice; and drawn to P itself.

    The stiffness of the second ones makes the mass matrix.
    """
    s = jnp.asarray(tree.moments[:, :, None], P.dtype)
    weighted = s * P
    numbers = [weighted[:, 3], s[:, 3] * P_hat[:, 3]]
    for other in (P_hat, P):
        Y = total(outer(weighted[:, j], other[:, j]) for j in range(4))
        numbers.append(Y.reshape(len(Y), 9, -1))
    sums = combine(tree.subtree, jnp.concatenate(numbers, axis=1))[tree.joint_of]
    mass = jnp.asarray((tree.subtree @ tree.moments[:, 3])[tree.joint_of][:, None], P.dtype)
    c, c_hat = sums[:, :3], sums[:, 3:6]
    Y, Y_own = (sums[:, i : i + 9].reshape(len(sums), 3, 3, -1) for i in (6, 15))
    return BodySums(mass, c, c_hat, Y), BodySums(mass, c, c, Y_own)


def potential(tree: Tree, P: Lanes) -> Lanes:
    """Potential energy of gravity [J], (K,)."""
    pull = (tree.moments[:, 3] * tree.gravity)[:, :, None]
    return -jnp.sum(pull.astype(P.dtype) * P[:, 3], axis=(0, 1))
