"""Where contacts are, how far they moved, and their forces as generalised ones, all at once.

Everything is read from what pinocchio's derivative algorithms leave in `pin.Data`: the placements
oMi and the world Jacobian J, whose column S_k = (linear at the world's origin, angular) is the
motion of dof k.

A contact's wrench acts at a point p: where the sphere touches (p = c - r n) for models that give
forces, the sphere's centre c for models that give wrenches.
"""

from __future__ import annotations

import abc

import numpy as np
import pinocchio as pin

from nmdp_pin.contact.wrench_space import ContactState
from nmdp_pin.dynamics.spatial import MOTION_CROSS, SKEW, placements_of, skew, support_of, times
from nmdp_pin.robot import Robot
from nmdp_pin.terrain import Terrain


class ContactTerms(abc.ABC):
    """Contact part of a dynamics residual; scratch memory, evaluated after pinocchio has run.

    Args:
        robot: gives the contact points.
        terrain: what they touch.
        data: pinocchio's results, read at each evaluation.
        n_vertices: m, weights of a contact; 0 where forces follow from q alone.
        touches: displacements are those of the points where the spheres touch; False: centres.
    """

    V: np.ndarray
    """Vertices of the polytopes at the last point, shape (n, rows, m)."""
    point: np.ndarray
    """Where the wrenches act, shape (n, 3)."""

    def __init__(
        self, robot: Robot, terrain: Terrain, data: pin.Data, *, n_vertices: int, touches: bool
    ) -> None:
        model, points = robot.model, robot.contact_points
        n, nv = len(points), model.nv
        self.n, self.m, self.nv = n, n_vertices, nv
        self._terrain = terrain
        self._data = data  # keeps the memory of the views below alive
        self._placements = placements_of(data, model.njoints)
        # a view; pinocchio gives the J of a single dof as a vector
        self._J: np.ndarray = np.reshape(data.J, (6, nv), order="F")
        self._joints = np.asarray(points.joints, dtype=int)
        self._local = np.concatenate([points.positions, np.ones((n, 1))], axis=1)[:, None, :]
        self._radii = np.asarray(points.radii, dtype=float)[:, None]
        self._radius = self._radii[:, 0].copy()
        self._index = np.arange(n)
        self._round = touches and bool(self._radii.any())
        support, self._above = support_of(model, self._joints)
        self._support = np.ascontiguousarray(support.T)
        self._mask = np.repeat(support[:, None, :], 3, axis=1)
        self._at_origin = np.zeros((n, 6))
        self._points = np.zeros((2, n, 3))
        self._jacobians = np.zeros((3, n, 3, nv))
        self.centre_jacobian, self.point_jacobian, self.angular_jacobian = self._jacobians
        self.active = False

    def begin(self, reference: np.ndarray, h: float) -> None:
        """Remember the placements from which displacements count.

        Args:
            reference: of all joints, shape (n_joints, 4, 3); need not be rigid.
            h: length of the step [s].
        """
        self._start = reference[self._joints]

    @abc.abstractmethod
    def evaluate(self, w: np.ndarray) -> np.ndarray:
        """Generalised force of all contacts at pinocchio's placements [N, N m], shape (nv,).

        Args:
            w: weights, shape (n, m).
        """

    @abc.abstractmethod
    def linearise(self) -> np.ndarray:
        """Derivative of the generalised force with respect to q (tangent), shape (nv, nv)."""

    @abc.abstractmethod
    def vertex_forces(self) -> np.ndarray:
        """V' J: generalised force of each vertex, shape (n m, nv); valid after `kinematics`."""

    @property
    @abc.abstractmethod
    def touching(self) -> np.ndarray:
        """Which contacts can feel a wrench at all, shape (n,)."""

    def stored_energy(self) -> float:
        """Energy that the contacts hold like springs [J]; polytopes hold none."""
        return 0.0

    def kinematics(self) -> None:
        """Fill the Jacobians: linear at the centres and at the points p, and angular."""
        S = np.ascontiguousarray(self._J)
        points = self._points
        points[0], points[1] = self.contacts.position, self.point
        lever = (points.reshape(-1, 3) @ -SKEW).reshape(-1, 3)
        linear = self._jacobians[:2]
        np.matmul(lever, S[3:], out=linear.reshape(-1, self.nv))
        linear += S[:3]
        linear *= self._mask
        np.multiply(self._mask, S[3:], out=self._jacobians[2])

    def displacements(self) -> np.ndarray:
        """X(q) - X_ref of the material points that touch [m], shape (n, 3); X_ref is `begin`'s.

        The point is carried by the body, so a sphere that rolls has displacement zero.
        """
        u: np.ndarray = self.contacts.position - (self._local @ self._start)[:, 0]
        if self._round:
            arm = self._radii * self.contacts.normal
            u += times(self._turn_back(), arm) - arm
        return u

    def displacement_jacobian(self) -> np.ndarray:
        """Derivative of `displacements` with respect to q, (n, 3, nv); valid after `kinematics`.

        With o = -r n the arm and Q = R_ref R' the turn back to the start of the step:
        du = J_c - Q [o]_x J_w + (1 - Q) do.
        """
        if not self._round:
            return self.centre_jacobian
        turn = self._turn_back()
        arm = self._radii * self.contacts.normal
        result: np.ndarray = self.centre_jacobian + (turn @ skew(arm)) @ self.angular_jacobian
        if self.contacts.curvature is not None:
            change = self._radii[:, :, None] * (self.contacts.curvature @ self.centre_jacobian)
            result += turn @ change - change
        return result

    def motions(self) -> np.ndarray:
        """What the contacts' wrenches work on, shape (n, rows): here the displacements."""
        return self.displacements()

    def motion_jacobian(self) -> np.ndarray:
        """Derivative of `motions` with respect to q, (n, rows, nv); valid after `kinematics`."""
        return self.displacement_jacobian()

    @property
    def depths(self) -> np.ndarray:
        """Penetration of the spheres, 0 when apart [m], shape (n,)."""
        return np.maximum(self.contacts.depth, 0.0)

    @property
    def wrenches(self) -> np.ndarray:
        """Wrenches about the spheres' centres, world frame [N, N m], shape (n, 6)."""
        result = np.zeros((self.n, 6))
        if self.active:
            result[:, : self._wrench.shape[1]] = self._wrench
            result[:, 3:] += times(skew(self.point - self.contacts.position), self._wrench[:, :3])
        return result

    def _locate(self) -> np.ndarray:
        """Find `contacts` at pinocchio's placements; the centres c, shape (n, 3)."""
        placements = self._placements.take(self._joints, axis=0)
        centre: np.ndarray = (self._local @ placements)[:, 0]
        surface = self._terrain.query(centre)
        self.contacts = ContactState(
            centre,
            placements[:, :3].transpose(0, 2, 1),
            self._radius - surface.distance,
            surface.normal,
            surface.curvature,
            surface.friction,
            self._radius,
            surface.shape,
            self._index,
        )
        return centre

    def _generalised(self, wrench: np.ndarray) -> np.ndarray:
        """Generalised force of wrenches at the points p, shapes (n, 3 or 6) to (nv,)."""
        self._wrench = wrench
        force, at_origin = wrench[:, :3], self._at_origin
        at_origin[:, :3] = force
        at_origin[:, 3:] = times(skew(self.point), force)
        if wrench.shape[1] == 6:
            at_origin[:, 3:] += wrench[:, 3:]
        self._subtree = self._support @ at_origin
        Q: np.ndarray = np.vecdot(self._J.T, self._subtree)
        return Q

    def _carried_part(self) -> np.ndarray:
        """(dS_k/dq_l) . F with dS_k/dq_l = S_l x S_k for l above k; F at the world's origin."""
        B = (self._subtree @ MOTION_CROSS).reshape(self.nv, 6, 6)
        S = self._J
        T: np.ndarray = (S.T[:, None, :] @ B)[:, 0] @ S
        T *= self._above
        return T

    def _turn_back(self) -> np.ndarray:
        """R0 R' of the bodies that carry the contacts, shape (n, 3, 3)."""
        return self._start[:, :3].transpose(0, 2, 1) @ self.contacts.rotation.transpose(0, 2, 1)
