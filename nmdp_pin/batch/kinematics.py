"""Placements of all joints and their world Jacobian, without a loop over the joints."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from nmdp_pin.batch.lanes import Lanes, combine, cross, total
from nmdp_pin.batch.rigid import rotation
from nmdp_pin.batch.tree import ANGLE, RIGID, TURN, Tree


class Kinematics:
    """Forward kinematics of a tree by doubling.

    Every joint starts with its placement in its parent's frame; each round composes what it has
    with what the joint at the end of that has, so after r rounds a placement reaches over 2^r
    joints. A chain of 40 links takes six rounds, and XLA sees six products instead of forty.

    Args:
        tree: the robot.
    """

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        angles = tree.groups.get(ANGLE)
        self._angles = angles.q[:, 0] if angles is not None else np.zeros(0, dtype=int)
        turning = angles.joints if angles is not None else np.zeros(0, dtype=int)
        others = [g.joints for kind, g in tree.groups.items() if kind != ANGLE]
        self._order = np.concatenate([turning, *others])
        self._back = np.argsort(self._order)
        self._quaternions = [
            group.q[:, -4:] for kind in (TURN, RIGID) if (group := tree.groups.get(kind))
        ]
        self._jumps = _doubling(tree.parents)

    def placements(self, q: Lanes) -> Lanes:
        """Placements of the principal frames in the world.

        Args:
            q: configurations, shape (nq, K).

        Returns:
            The rotation's columns, then the origin, shape (n, 4, 3, K).
        """
        P = self._local(q)
        root = jnp.broadcast_to(jnp.eye(4, 3, dtype=q.dtype)[None, :, :, None], (1, *P.shape[1:]))
        for jump in self._jumps:
            carrier = jnp.concatenate([root, P])[jump]
            moved = total(P[:, :, i, None] * carrier[:, i, None] for i in range(3))
            P = moved.at[:, 3].add(carrier[:, 3])
        return P

    def jacobian(self, P: Lanes) -> tuple[Lanes, Lanes]:
        """Motion of each dof at the world's origin: linear and angular, (nv, 3, K) each.

        Args:
            P: of `placements`.
        """
        joint_of, S = self._tree.joint_of, self._tree.motion.astype(P.dtype)
        linear, angular = (
            total(S[:, start + i, None] * P[joint_of, i] for i in range(3)) for start in (0, 3)
        )
        return linear + cross(P[joint_of, 3], angular), angular

    def _local(self, q: Lanes) -> Lanes:
        """Placements in the parents' frames, (n, 4, 3, K)."""
        tree = self._tree
        constant = tree.constant[self._order].astype(q.dtype)
        n = len(self._angles)
        parts = []
        if n:
            angle = q[self._angles][:, None, None]
            turn = jnp.cos(angle) * tree.cosine.astype(q.dtype)
            parts.append(constant[:n] + turn + jnp.sin(angle) * tree.sine.astype(q.dtype))
        if n < len(self._order):
            features = [q[tree.raw]]
            features += [
                rotation(q[index]).reshape(9 * len(index), -1) for index in self._quaternions
            ]
            parts.append(constant[n:] + combine(tree.features, jnp.concatenate(features)))
        return jnp.concatenate(parts)[self._back]


def _doubling(parents: np.ndarray) -> list[np.ndarray]:
    """For each round the joint, one-based, whose placement each joint's is composed with."""
    jump, rounds = parents, []
    while jump.any():
        rounds.append(jump)
        jump = np.concatenate([[0], jump])[jump]
    return rounds
