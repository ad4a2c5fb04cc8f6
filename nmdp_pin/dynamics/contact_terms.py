"""Contact forces as generalised forces, with their derivatives, for all contacts at once.

Everything is read from what pinocchio's derivative algorithms leave in `pin.Data`: the placements
oMi and the world Jacobian J, whose column S_k = (linear at the world's origin, angular) is the
motion of dof k.

A contact's wrench acts at a point p: where the sphere touches (p = c - r n) for models that give
forces, the sphere's centre c for models that give wrenches.
"""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from nmdp_pin.contact.wrench_space import ContactState, WrenchSpace
from nmdp_pin.dynamics.spatial import MOTION_CROSS, SKEW, placements_of, skew, support_of, times
from nmdp_pin.dynamics.vertex_secant import VertexSecant
from nmdp_pin.robot import Robot
from nmdp_pin.terrain import Terrain


class ContactTerms:
    """Contact part of a dynamics residual; scratch memory, evaluated after pinocchio has run.

    Args:
        robot: gives the contact points.
        terrain: what they touch.
        wrench_space: what they feel.
        data: pinocchio's results, read at each evaluation.
        zeroth_order: `linearise` knows no derivative of V: it leaves it out, or takes secants.
        secants: in zeroth order, estimate the derivative of V from the points already evaluated.
    """

    def __init__(
        self,
        robot: Robot,
        terrain: Terrain,
        wrench_space: WrenchSpace,
        data: pin.Data,
        *,
        zeroth_order: bool = False,
        secants: bool = True,
    ) -> None:
        model, points = robot.model, robot.contact_points
        n, nv = len(points), model.nv
        self.n, self.m, self.nv = n, wrench_space.n_vertices, nv
        self._terrain, self._wrench_space = terrain, wrench_space
        self._zeroth_order = zeroth_order
        self._secant = VertexSecant() if zeroth_order and secants else None
        self._data = data  # keeps the memory of the views below alive
        self._placements = placements_of(data, model.njoints)
        # a view; pinocchio gives the J of a single dof as a vector
        self._J: np.ndarray = np.reshape(data.J, (6, nv), order="F")
        self._joints = np.asarray(points.joints, dtype=int)
        self._local = np.concatenate([points.positions, np.ones((n, 1))], axis=1)[:, None, :]
        self._radii = np.asarray(points.radii, dtype=float)[:, None]
        self._round = wrench_space.rows == 3 and bool(self._radii.any())
        support, self._above = support_of(model, self._joints)
        self._support = np.ascontiguousarray(support.T)
        self._mask = np.repeat(support[:, None, :], 3, axis=1)
        self._at_origin = np.zeros((n, 6))
        self._D = np.zeros((2, n, 3, 3))
        self._points = np.zeros((2, n, 3))
        self._jacobians = np.zeros((3, n, 3, nv))
        self.centre_jacobian, self.point_jacobian, self.angular_jacobian = self._jacobians
        self.active = False

    def begin(self, reference: np.ndarray) -> None:
        """Remember the placements from which displacements count.

        Args:
            reference: of all joints, shape (n_joints, 4, 3); need not be rigid.
        """
        self._start = reference[self._joints]
        if self._secant is not None:
            self._secant.forget()

    def evaluate(self, w: np.ndarray) -> np.ndarray:
        """Generalised force sum J' V w at pinocchio's current placements [N, N m], shape (nv,).

        Args:
            w: weights, shape (n, m).
        """
        placements = self._placements.take(self._joints, axis=0)
        centre = (self._local @ placements)[:, 0]
        distance, normal, curvature, friction = self._terrain.query(centre)
        self.contacts = ContactState(
            centre,
            placements[:, :3].transpose(0, 2, 1),
            self._radii[:, 0] - distance,
            normal,
            curvature,
            friction,
        )
        self.w = w
        self.V = self._wrench_space.vertices(self.contacts)
        if self._secant is not None:
            self._secant.learn(centre, self.V)
        self.point = centre - self._radii * normal if self._round else centre
        self.active = bool(np.count_nonzero(self.V))
        if not self.active:
            return np.zeros(self.nv)
        self._wrench = wrench = times(self.V, w)
        force, at_origin = wrench[:, :3], self._at_origin
        at_origin[:, :3] = force
        at_origin[:, 3:] = times(skew(self.point), force)
        if wrench.shape[1] == 6:
            at_origin[:, 3:] += wrench[:, 3:]
        self._subtree = self._support @ at_origin
        Q: np.ndarray = np.vecdot(self._J.T, self._subtree)
        return Q

    def linearise(self) -> np.ndarray:
        """Derivative of the generalised force with respect to q (tangent), shape (nv, nv).

        The wrenches are carried along by the joints above, and they change with V(q) (left out in
        zeroth order, [N] eq. 10).
        """
        self.kinematics()
        if not self.active:
            return np.zeros((self.nv, self.nv))
        return self._carried_part() + self._changing_part()

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

    def _carried_part(self) -> np.ndarray:
        """(dS_k/dq_l) . F with dS_k/dq_l = S_l x S_k for l above k; F at the world's origin."""
        B = (self._subtree @ MOTION_CROSS).reshape(self.nv, 6, 6)
        S = self._J
        T: np.ndarray = (S.T[:, None, :] @ B)[:, 0] @ S
        T *= self._above
        return T

    def _changing_part(self) -> np.ndarray:
        """S . dF: the wrench's own change, and its moment as p moves with the sphere."""
        D = self._D
        move = skew(-self._wrench[:, :3])
        if self._round and self.contacts.curvature is not None:
            move -= move @ (self._radii[:, :, None] * self.contacts.curvature)
        if not self._zeroth_order:
            own = self._wrench_space.derivative(self.contacts, self.w, self._wrench)
        elif self._secant is not None:
            own = self._secant.derivative(self.w)
        else:
            turned = move @ self.centre_jacobian
            return self.angular_jacobian.reshape(-1, self.nv).T @ turned.reshape(-1, self.nv)
        D[0], D[1] = own[:, :3, :3], move
        if own.shape[1] == 6:
            D[1] += own[:, 3:, :3]
        change = D @ self.centre_jacobian
        if own.shape[2] == 6:
            change[0] += own[:, :3, 3:] @ self.angular_jacobian
            change[1] += own[:, 3:, 3:] @ self.angular_jacobian
        return self._jacobians[1:].reshape(-1, self.nv).T @ change.reshape(-1, self.nv)

    def vertex_forces(self) -> np.ndarray:
        """V' J: generalised force of each vertex, shape (n m, nv); valid after `kinematics`."""
        V = self.V.transpose(0, 2, 1)
        forces = V[:, :, :3] @ self.point_jacobian
        if V.shape[2] == 6:
            forces += V[:, :, 3:] @ self.angular_jacobian
        return forces.reshape(-1, self.nv)

    def displacements(self) -> np.ndarray:
        """X(q) - X_ref of the material points at p [m], shape (n, 3); X_ref is X(q0) or `begin`'s.

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
        """What the wrenches work on: displacements, and turns for models of wrenches, (n, rows).

        A turn is the axis times the sine of the angle since the start.
        """
        if self._wrench_space.rows == 3:
            return self.displacements()
        turn = self._turn_back().transpose(0, 2, 1)
        axis = 0.5 * (turn.reshape(-1, 9) @ SKEW.T)
        return np.concatenate([self.displacements(), axis], axis=1)

    def motion_jacobian(self) -> np.ndarray:
        """Derivative of `motions` with respect to q, (n, rows, nv); valid after `kinematics`."""
        if self._wrench_space.rows == 3:
            return self.displacement_jacobian()
        turn = self._turn_back().transpose(0, 2, 1)
        trace = turn.trace(axis1=1, axis2=2)[:, None, None] * np.eye(3)
        turns = 0.5 * (trace - turn) @ self.angular_jacobian
        return np.concatenate([self.displacement_jacobian(), turns], axis=1)

    def _turn_back(self) -> np.ndarray:
        """R0 R' of the bodies that carry the contacts, shape (n, 3, 3)."""
        return self._start[:, :3].transpose(0, 2, 1) @ self.contacts.rotation.transpose(0, 2, 1)

    @property
    def touching(self) -> np.ndarray:
        """Which contacts can feel a wrench at all (V is not zero), shape (n,)."""
        return np.asarray(self.V.any(axis=(1, 2)))

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
