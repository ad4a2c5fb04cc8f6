"""Contacts that may not penetrate: where they are and how they move."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from nmdp_pin.contact.friction_cone import tangent_frames
from nmdp_pin.dynamics.contact_terms import ContactTerms
from nmdp_pin.dynamics.spatial import times
from nmdp_pin.robot import Robot
from nmdp_pin.terrain import Terrain


class RigidContact(ContactTerms):
    """Forces are no function of the configuration: whoever solves for them gives them.

    Args:
        robot: gives the contact points.
        terrain: what they touch.
        data: pinocchio's results, read at each evaluation.
    """

    def __init__(self, robot: Robot, terrain: Terrain, data: pin.Data) -> None:
        super().__init__(robot, terrain, data, n_vertices=0, touches=True)
        self.V = np.zeros((self.n, 3, 0))

    def evaluate(self, w: np.ndarray) -> np.ndarray:
        """See the base; no force, and `w` is empty."""
        centre = self._locate()
        self.point = self._place(centre - self._radii * self.contacts.normal)
        self.active = False
        return np.zeros(self.nv)

    def linearise(self) -> np.ndarray:
        """See the base; a force that is given does not change."""
        return np.zeros((self.nv, self.nv))

    def vertex_forces(self) -> np.ndarray:
        """See the base; there are none."""
        return np.zeros((0, self.nv))

    @property
    def touching(self) -> np.ndarray:
        """See the base."""
        return np.asarray(self.contacts.depth >= 0.0)

    def rows(self) -> np.ndarray:
        """Jacobian of the points that touch, in the frames of the contacts, shape (3 n, nv).

        Sets `frames`, whose columns are two tangents and the normal, shape (n, 3, 3).
        """
        self.kinematics()
        self.frames = tangent_frames(self.contacts.normal)
        rows: np.ndarray = self.frames.transpose(0, 2, 1) @ self.point_jacobian
        return rows.reshape(-1, self.nv)

    def in_frames(self, forces: np.ndarray) -> np.ndarray:
        """Forces in the frames of the contacts, shape (n, 3); the inverse of `give`."""
        return times(self.frames.transpose(0, 2, 1), forces)

    def give(self, forces: np.ndarray) -> np.ndarray:
        """Set forces [N] in the frames of the contacts; as seen from what is touched, (n, 3)."""
        self._wrench = times(self.frames, forces)
        self.active = bool(self._wrench.any())
        return self._wrench
