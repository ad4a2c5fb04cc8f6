"""Contact points of a robot as flat arrays, and their placements."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nmdp_pin.contact.wrench_space import ContactState
from nmdp_pin.dynamics.spatial import support_of
from nmdp_pin.dynamics.touched_surfaces import TouchedSurfaces
from nmdp_pin.kernels.contact_kinematics import locate
from nmdp_pin.robot import Robot


@dataclass(frozen=True, eq=False)
class ContactArrays:
    """Flat arrays of n contact points; conventions as in `kernels.contact_kinematics`.

    Args:
        joints: joints that carry the contacts, shape (n,).
        touched: joints whose surfaces the contacts may touch, 0 for the terrain, shape (n,).
        local: centres of the spheres in the frames of their joints [m], shape (n, 3).
        radii: radii of the contact spheres [m], shape (n,).
        support: 1 for dofs that move the carrier, -1 for those that move the touched body, 0 for
            both and for neither, shape (n, nv).
        moves: whether a dof moves the touched body, shape (n, nv).
        above: whether dof l belongs to the joint of dof k or to one above it, shape (nv, nv).
        index: indices of the contacts, 0 to n - 1.
    """

    joints: np.ndarray
    touched: np.ndarray
    local: np.ndarray
    radii: np.ndarray
    support: np.ndarray
    moves: np.ndarray
    above: np.ndarray
    index: np.ndarray

    @classmethod
    def of(cls, robot: Robot) -> ContactArrays:
        """The contact points of a robot."""
        points, model = robot.contact_points, robot.model
        joints = np.asarray(points.joints, dtype=np.int64)
        touched = np.asarray(points.touches, dtype=np.int64)
        carried, above = support_of(model, joints)
        moves = support_of(model, touched)[0]
        return cls(
            joints,
            touched,
            points.positions,
            np.array(points.radii, dtype=float),
            carried - moves,
            moves > 0.0,
            above > 0.0,
            np.arange(len(joints)),
        )

    @property
    def n(self) -> int:
        """Number of contact points."""
        return len(self.joints)

    def locate(
        self, P: np.ndarray, surfaces: TouchedSurfaces
    ) -> tuple[ContactState, np.ndarray, np.ndarray | None]:
        """Locate the contacts.

        Args:
            P: placements of all joints, shape (n_joints, 4, 3).
            surfaces: surfaces that the contacts may touch.

        Returns:
            The contacts in the frames of the bodies that they touch, the placements of their
            carriers in these frames (n, 4, 3), and the indices of the contacts near a surface
            (None: all).
        """
        placements, centre = np.empty((self.n, 4, 3)), np.empty((self.n, 3))
        locate(P, self.joints, self.touched, self.local, placements, centre)
        surface, near = surfaces.query(centre)
        contacts = ContactState(
            centre,
            placements[:, :3].transpose(0, 2, 1),
            self.radii - surface.distance,
            surface.normal,
            surface.curvature,
            surface.friction,
            self.radii,
            surface.shape,
            self.index,
        )
        return contacts, placements, near
