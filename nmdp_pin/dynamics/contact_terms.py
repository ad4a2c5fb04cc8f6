"""Where contacts are, how far they moved, and their forces as generalised ones, all at once.

Everything is read from what pinocchio's derivative algorithms leave in `pin.Data`: the placements
oMi and the world Jacobian J, whose column S_k = (linear at the world's origin, angular) is the
motion of dof k.

A contact's wrench acts at a point p: where the sphere touches (p = c - r n) for models that give
forces, the sphere's centre c for models that give wrenches.

Every contact is seen from the body whose surface it touches: positions, normals, vertices, motions
and their Jacobians have the axes of that body, and motions are those relative to it. From there a
moving body looks like the terrain, which is the world itself. Only where wrenches become
generalised forces they are turned to the axes of the world; what touches gets them, what is touched
gets them with the other sign. A body that moves takes the wrenches of its contacts along.
"""

from __future__ import annotations

import abc

import numpy as np
import pinocchio as pin

from nmdp_pin.contact.cross import SKEW, skew
from nmdp_pin.contact.wrench_space import ContactState
from nmdp_pin.dynamics.spatial import MOTION_CROSS, over_tree, placements_of, support_of, times
from nmdp_pin.dynamics.touched_surfaces import TouchedSurfaces
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

    _rows: np.ndarray
    _carriers: np.ndarray
    V: np.ndarray
    """Vertices of the polytopes at the last point, shape (n, rows, m)."""
    centre: np.ndarray
    """Centres of the spheres in the world, shape (n, 3)."""
    point: np.ndarray
    """Where the wrenches act, in the world, shape (n, 3)."""

    def __init__(
        self, robot: Robot, terrain: Terrain, data: pin.Data, *, n_vertices: int, touches: bool
    ) -> None:
        model, points = robot.model, robot.contact_points
        n, nv = len(points), model.nv
        self.n, self.m, self.nv = n, n_vertices, nv
        self.terrain = terrain
        self._surfaces = TouchedSurfaces(robot, terrain)
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
        self._touches = np.asarray(points.touches, dtype=int)
        self._n_terrain = points.n_terrain  # contacts with bodies come after them
        self._touched = self._touches[self._n_terrain :]
        moves = support_of(model, self._touched)[0]
        support[self._n_terrain :] -= moves
        self._bodies = [
            (int(body), moves[self._touched == body][0])
            for body in np.unique(self._touched).tolist()
        ]
        pairs = self._joints[self._n_terrain :] * model.njoints + self._touched
        self._pair = np.unique(pairs, return_inverse=True)[1].reshape(-1)
        self._support = np.ascontiguousarray(support.T)
        self._mask = np.repeat(support[:, None, :], 3, axis=1)
        self._at_origin = np.zeros((n, 6))
        self._points = np.zeros((2, n, 3))
        self._jacobians = np.zeros((3, n, 3, nv))
        self.centre_jacobian, self.point_jacobian, self.angular_jacobian = self._jacobians
        self._jacobian_rows: np.ndarray | None = None
        self.active = False

    def begin(self, start: np.ndarray, h: float) -> None:
        """Remember the placements from which displacements count.

        Args:
            start: what `carriers` gives, shape (n, 4, 3); need not be rigid.
            h: length of the step [s].
        """
        self._start = start

    def carriers(self, placements: np.ndarray) -> np.ndarray:
        """Placements of the bodies that carry the contacts, seen from what they touch, (n, 4, 3).

        Args:
            placements: of all joints, in the world, shape (n_joints, 4, 3).
        """
        result: np.ndarray = placements.take(self._joints, axis=0)
        if self._bodies:
            touched = placements.take(self._touched, axis=0)
            relative = result[self._n_terrain :]
            relative[:, 3] -= touched[:, 3]
            result[self._n_terrain :] = relative @ touched[:, :3].transpose(0, 2, 1)
        return result

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
        """V' J: generalised force of each vertex, shape (n m, nv); after `linearise`."""

    def vertex_motions(self) -> np.ndarray:
        """V' du/dq: how far each vertex's wrench would move, (n m, nv); after `linearise`."""
        V = self._of(self.V).transpose(0, 2, 1)
        return self._spread(V @ self.motion_jacobian())

    def vertex_changes(self) -> np.ndarray:
        """(dV/dq)' u: work of the vertices' change, (n m, nv); after `linearise`. Here none."""
        return np.zeros((self.n * self.m, self.nv))

    def _spread(self, values: np.ndarray) -> np.ndarray:
        """Rows of all contacts' vertices from those of the Jacobians, zero elsewhere."""
        if self._jacobian_rows is not None:
            whole = np.zeros((self.n, *values.shape[1:]))
            whole[self._jacobian_rows] = values
            values = whole
        return values.reshape(-1, self.nv)

    @property
    @abc.abstractmethod
    def touching(self) -> np.ndarray:
        """Which contacts can feel a wrench at all, shape (n,)."""

    @property
    def counted(self) -> slice | np.ndarray:
        """The contacts with the terrain, and of those with bodies the ones that touch; an index."""
        if not self._bodies:
            return slice(None)
        counted = self.touching
        counted[: self._n_terrain] = True
        return counted

    def stored_energy(self) -> float:
        """Energy that the contacts hold like springs [J]; polytopes hold none."""
        return 0.0

    def kinematics(self, rows: np.ndarray | None = None) -> None:
        """Fill the Jacobians: linear at the centres and at the points p, and angular.

        Args:
            rows: of which contacts, ascending; None: of all.
        """
        self._jacobian_rows = rows
        points, mask, whole = self._points, self._mask, self._jacobians
        if rows is not None:
            k = len(rows)
            points, mask, whole = points[:, :k], mask[rows], np.empty((3, k, 3, self.nv))
        self.centre_jacobian, self.point_jacobian, self.angular_jacobian = whole
        self._wrench_jacobian = whole[1:]  # what forces work on, then what moments do
        S = np.ascontiguousarray(self._J)
        points[0], points[1] = self._of(self.centre), self._of(self.point)
        lever = (points.reshape(-1, 3) @ -SKEW).reshape(-1, 3)
        linear = whole[:2]
        np.matmul(lever, S[3:], out=linear.reshape(-1, self.nv))
        linear += S[:3]
        linear *= mask
        np.multiply(mask, S[3:], out=whole[2])
        if self._bodies:
            first, axes = self._n_terrain, self._axes
            if rows is not None:
                first = int(np.searchsorted(rows, first))
                axes = axes[rows[first:] - self._n_terrain]
            whole[:, first:] = axes[:, :3] @ whole[:, first:]

    def _of(self, values: np.ndarray) -> np.ndarray:
        """Of something of all contacts what belongs to those of the Jacobians."""
        return values if self._jacobian_rows is None else values[self._jacobian_rows]

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
        """Derivative of `displacements` with respect to q, (k, 3, nv), of those of `kinematics`.

        With o = -r n the arm and Q = R_ref R' the turn back to the start of the step:
        du = J_c - Q [o]_x J_w + (1 - Q) do.
        """
        if not self._round:
            return self.centre_jacobian
        turn, radii = self._of(self._turn_back()), self._of(self._radii)
        arm = radii * self._of(self.contacts.normal)
        result: np.ndarray = self.centre_jacobian + (turn @ skew(arm)) @ self.angular_jacobian
        if self.contacts.curvature is not None:
            change = radii[:, :, None] * (self._of(self.contacts.curvature) @ self.centre_jacobian)
            result += turn @ change - change
        return result

    def motions(self) -> np.ndarray:
        """What the contacts' wrenches work on, shape (n, rows): here the displacements."""
        return self.displacements()

    def motion_jacobian(self) -> np.ndarray:
        """Derivative of `motions` with respect to q, (k, rows, nv), of those of `kinematics`."""
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
            wrench = self._in_world(self._wrench)
            result[:, : wrench.shape[1]] = wrench
            result[:, 3:] += times(skew(self.point - self.centre), wrench[:, :3])
        return result

    def _locate(self) -> np.ndarray:
        """Find `contacts` at pinocchio's placements; the centres as seen from there, (n, 3)."""
        placements = self.carriers(self._placements)
        centre: np.ndarray = (self._local @ placements)[:, 0]
        if self._bodies:
            self._axes = self._placements.take(self._touched, axis=0)
        self.centre = self._place(centre)
        surface, _ = self._surfaces.query(centre)
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
        wrench = self._in_world(wrench)
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
        T = self._crossed(self._subtree)
        T *= self._above
        if self._bodies:
            rows = self._of(self._index)
            self._subtract_taken(T, rows, self._at_origin[rows])
        return T

    def _assembled(self, A: np.ndarray, *, carried: bool = False) -> np.ndarray:
        """Sum over the contacts `_rows` of J' A J, J being motions relative to what is touched.

        Args:
            A: from motions to wrenches at the world's origin, shape (k, 6, 6).
            carried: add `_carried_part`.

        Returns:
            Shape (nv, nv).
        """
        rows, S = self._rows, self._J
        k = int(np.searchsorted(rows, self._n_terrain)) if self._bodies else len(rows)
        force = self._subtree if carried else None
        A_terrain = self._carriers[:, :k] @ A[:k].reshape(k, 36)
        T = over_tree(S, A_terrain, self._above, force)
        if k < len(rows):
            pairs = self._pair[rows[k:] - self._n_terrain]
            for pair in np.unique(pairs):
                same = k + np.flatnonzero(pairs == pair)
                relative = S * self._carriers[:, same[0]]
                T += relative.T @ A[same].sum(axis=0) @ relative
            if carried:
                self._subtract_taken(T, rows, self._at_origin)
        return T

    def _subtract_taken(self, T: np.ndarray, rows: np.ndarray, at_origin: np.ndarray) -> None:
        """Where l moves what is touched it takes F along, which is -(S_l x S_k) . F.

        Args:
            T: subtracted from, shape (nv, nv).
            rows: contacts.
            at_origin: their wrenches at the world's origin, shape (len(rows), 6).
        """
        touches = self._touches[rows]
        if not touches.any():
            return
        for body, moves in self._bodies:
            same = np.flatnonzero(touches == body)
            if same.size:
                force = self._support[:, rows[same]] @ at_origin[same]
                T -= moves * self._crossed(force)

    def _crossed(self, force: np.ndarray) -> np.ndarray:
        """(S_l x S_k) . F_k of forces F, shapes (nv, 6) to (nv, nv)."""
        B = (force @ MOTION_CROSS).reshape(self.nv, 6, 6)
        T: np.ndarray = (self._J.T[:, None, :] @ B)[:, 0] @ self._J
        return T

    def _in_world(self, vectors: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        """Forces, or forces and moments, with the axes of the world; shape (n, 3 or 6).

        Args:
            vectors: as seen from what is touched.
            rows: of which contacts they are, ascending; None: of all.
        """
        if not self._bodies:
            return vectors
        k, axes, result = self._n_terrain, self._axes[:, :3], vectors.copy()
        if rows is not None:
            k = int(np.searchsorted(rows, k))
            axes = axes[rows[k:] - self._n_terrain]
        parts = vectors.shape[1] // 3
        turned = vectors[k:].reshape(-1, parts, 3) @ axes
        result[k:] = turned.reshape(-1, 3 * parts)
        return result

    def _place(self, points: np.ndarray) -> np.ndarray:
        """Points, seen from what is touched, in the world, shape (n, 3)."""
        if not self._bodies:
            return points
        result = self._in_world(points)
        result[self._n_terrain :] += self._axes[:, 3]
        return result

    def _turn_back(self) -> np.ndarray:
        """R0 R' of the bodies that carry the contacts, shape (n, 3, 3)."""
        return self._start[:, :3].transpose(0, 2, 1) @ self.contacts.rotation.transpose(0, 2, 1)
