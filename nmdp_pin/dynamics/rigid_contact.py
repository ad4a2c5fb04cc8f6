"""Contacts that may not penetrate: their frames, Jacobians and depths."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nmdp_pin.contact.friction_cone import tangent_frames
from nmdp_pin.contact.wrench_space import ContactState
from nmdp_pin.dynamics.contact_arrays import ContactArrays
from nmdp_pin.dynamics.form import Workspace
from nmdp_pin.dynamics.joint_bounds import JointBounds
from nmdp_pin.dynamics.touched_surfaces import TouchedSurfaces
from nmdp_pin.kernels.contact_jacobians import point_jacobians
from nmdp_pin.kernels.wrenches import world_wrenches


class RigidContact(NamedTuple):
    """The contacts of a system at one configuration.

    Args:
        contacts: contacts in the frames of the bodies that they touch.
        frames: two tangents and the normal as columns, shape (n, 3, 3).
        rows: Jacobian of the touching points in these frames, shape (3 n, nv), followed by that of
            the stops of joints, shape (3 r, nv).
        depth: penetrations, negative when apart, shape (n + r,).
        friction: coefficients, shape (n + r,).
    """

    contacts: ContactState
    frames: np.ndarray
    rows: np.ndarray
    depth: np.ndarray
    friction: np.ndarray

    def with_stops(self, bounds: JointBounds, q: np.ndarray) -> RigidContact:
        """The contacts with the nearer stops of the joints as frictionless contacts.

        Their tangents have no effect; they are the joint's own motion so that no diagonal entry of
        the Delassus matrix is zero.

        Args:
            bounds: stops of the joints.
            q: configuration, shape (nq,).
        """
        inward = bounds.inward(q)
        stops = np.flatnonzero(inward)
        rows = np.zeros((len(stops), 3, self.rows.shape[1]))
        rows[np.arange(len(stops)), :, bounds.dofs[stops]] = inward[stops][:, None]
        return self._replace(
            rows=np.concatenate([self.rows, rows.reshape(-1, self.rows.shape[1])]),
            depth=np.concatenate([self.depth, -bounds.gap(q)[stops]]),
            friction=np.concatenate([self.friction, np.zeros(len(stops))]),
        )

    def in_frames(self, forces: np.ndarray) -> np.ndarray:
        """Forces in the frames of the contacts, shape (n, 3); the inverse of `seen`."""
        return (self.frames.transpose(0, 2, 1) @ forces[:, :, None])[:, :, 0]

    def seen(self, forces: np.ndarray) -> np.ndarray:
        """Forces in the axes of the touched bodies, from those in the frames, shape (n, 3)."""
        return (self.frames @ forces[:, :, None])[:, :, 0]

    def wrenches(self, points: ContactArrays, work: Workspace, forces: np.ndarray) -> np.ndarray:
        """Wrenches about the centres of the spheres, in the world, shape (n, 6).

        Args:
            points: contact points.
            work: scratch memory whose placements are those of the contacts.
            forces: forces in the frames of the touched bodies, shape (n, 3).
        """
        result = np.empty((points.n, 6))
        normal = self.contacts.normal
        world_wrenches(work.placements, points.touched, points.radii, normal, forces, result)
        return result


def rigid_contact(
    points: ContactArrays, surfaces: TouchedSurfaces, work: Workspace
) -> RigidContact:
    """The contacts at the configuration whose placements and Jacobian the workspace holds."""
    contacts = points.locate(work.placements, surfaces)[0]
    S = np.ascontiguousarray(work.J.T)
    J = np.empty((points.n, 3, len(S)))
    point = contacts.position - points.radii[:, None] * contacts.normal
    point_jacobians(work.placements, S, points.touched, points.support, contacts.position, point, J)
    frames = tangent_frames(contacts.normal)
    rows: np.ndarray = frames.transpose(0, 2, 1) @ J
    return RigidContact(
        contacts, frames, rows.reshape(-1, len(S)), contacts.depth, contacts.friction
    )
