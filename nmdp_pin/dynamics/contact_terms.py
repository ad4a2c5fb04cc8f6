"""Contact forces as generalised forces, with their derivatives, for all contacts at once.

Everything is read from what pinocchio's derivative algorithms leave in `pin.Data`: the placements oMi and
the world Jacobian J. Wrenches are (force, moment) about the contact spheres' centres, world frame.
"""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from nmdp_pin.contact.wrench_space import ContactState, WrenchSpace
from nmdp_pin.robot import Robot
from nmdp_pin.terrain import Terrain

# Row-major [a]_x as a linear map of a, so that skew matrices are one matrix product.
_SKEW = np.zeros((3, 9))
for _i, _j, _k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
    _SKEW[_k, 3 * _i + _j] = -1.0
    _SKEW[_k, 3 * _j + _i] = 1.0

# F -> B(F) with (S_l x S_k) . F = S_k' B(F) S_l: B = [[0, [f]_x], [[f]_x, [tau]_x]].
_MOTION_CROSS = np.zeros((6, 6, 6))
_MOTION_CROSS[:3, :3, 3:] = _SKEW.reshape(3, 3, 3)
_MOTION_CROSS[:3, 3:, :3] = _SKEW.reshape(3, 3, 3)
_MOTION_CROSS[3:, 3:, 3:] = _SKEW.reshape(3, 3, 3)
_MOTION_CROSS = _MOTION_CROSS.reshape(6, 36)


def skew(a: np.ndarray) -> np.ndarray:
    """Matrices [a]_x with [a]_x b = a x b; shape (n, 3) to (n, 3, 3)."""
    return (a @ _SKEW).reshape(-1, 3, 3)


def placements_of(data: pin.Data, n_joints: int) -> np.ndarray:
    """View of all oMi, shape (n_joints, 4, 3): rotation columns, then the translation."""
    first = data.oMi[0].rotation
    view = np.lib.stride_tricks.as_strided(first, (n_joints, 4, 3), (96, 24, 8))
    last = data.oMi[n_joints - 1]
    if view[-1, 3].__array_interface__["data"] != last.translation.__array_interface__["data"]:
        raise RuntimeError("pinocchio stores its placements in a layout that is not known here")
    return view


class ContactTerms:
    """Contact part of a dynamics residual; scratch memory, evaluated after pinocchio has run.

    Args:
        robot: gives the contact points.
        terrain: what they touch.
        wrench_space: what they feel.
        data: pinocchio's results, read at each evaluation.
    """

    def __init__(
        self, robot: Robot, terrain: Terrain, wrench_space: WrenchSpace, data: pin.Data
    ) -> None:
        model, points = robot.model, robot.contact_points
        n, nv = len(points), model.nv
        self.n, self.m, self.nv = n, wrench_space.n_vertices, nv
        self._terrain, self._wrench_space = terrain, wrench_space
        self._data = data  # keeps the memory of the views below alive
        self._placements = placements_of(data, model.njoints)
        self._S: np.ndarray = data.J
        self._joints = np.asarray(points.joints, dtype=int)
        self._local = np.concatenate([points.positions, np.ones((n, 1))], axis=1)[:, None, :]
        self.radii = np.asarray(points.radii, dtype=float)
        self._round = wrench_space.rows == 3 and bool(self.radii.any())
        joint_of = np.concatenate(
            [np.full(model.joints[j].nv, j) for j in range(1, model.njoints)]
        ).astype(int)
        # support[i, k]: dof k moves contact i; above[k, l]: the joint of l is that of k or above it
        supports = [set(model.supports[int(j)]) for j in range(model.njoints)]
        self._support = np.array(
            [[float(j in supports[i]) for j in joint_of] for i in self._joints]
        ).reshape(n, nv)
        self._above = np.array([[float(l in supports[k]) for l in joint_of] for k in joint_of])
        self._mask = np.repeat(self._support[:, None, :], 3, axis=1)
        self._J = np.zeros((n, 6, nv))
        self._vertices = np.zeros((n, 6, self.m))
        self._wrench = np.zeros((n, 6))
        self._at_origin = np.zeros((n, 6))
        self._arm: np.ndarray | None = None
        self.active = False

    def begin(self) -> None:
        """Remember pinocchio's current placements as those at the start of the step."""
        self._start = self._placements[self._joints]

    def evaluate(self, w: np.ndarray) -> np.ndarray:
        """Generalised force sum J' V w at pinocchio's current placements [N, N m], shape (nv,).

        Args:
            w: weights, shape (n, m).
        """
        placements = self._placements[self._joints]
        position = (self._local @ placements)[:, 0, :]
        surface = self._terrain.query(position)
        self.contacts = ContactState(
            position,
            placements[:, :3].transpose(0, 2, 1),
            self.radii - surface.distance,
            surface.normal,
            surface.curvature,
            surface.friction,
        )
        self.w = w
        self._rows = self._wrench_space.vertices(self.contacts)
        self.active = bool(self._rows.any())
        if not self.active:
            self._wrench[:] = 0.0
            return np.zeros(self.nv)
        rows = self._rows.shape[1]
        self._wrench[:, :rows] = (self._rows @ w[:, :, None])[:, :, 0]
        if self._round:
            # A force acts where the sphere touches: its moment about the centre is -r n x f.
            self._arm = skew(-self.radii[:, None] * surface.normal)
            self._wrench[:, 3:] = (self._arm @ self._wrench[:, :3, None])[:, :, 0]
        at_origin = self._at_origin
        at_origin[:] = self._wrench
        at_origin[:, 3:] += (skew(position) @ self._wrench[:, :3, None])[:, :, 0]
        self._subtree = self._support.T @ at_origin
        return np.einsum("kn,nk->n", self._S, self._subtree)

    def linearise(self) -> np.ndarray:
        """Derivative of the generalised force with respect to q (tangent), shape (nv, nv).

        The sum of three parts: the wrenches are carried along by the joints above
        (`_kinematic_part`), and they change with V(q) (the part that zeroth order drops).
        """
        self.kinematics()
        if not self.active:
            return np.zeros((self.nv, self.nv))
        return self._kinematic_part() + self._wrench_part()

    def kinematics(self) -> None:
        """Fill `jacobians`: of the spheres' centres in the world, linear over angular."""
        S, J = self._S, self._J
        np.multiply(self._mask, S[3:], out=J[:, 3:])
        np.matmul(skew(-self.contacts.position), S[3:], out=J[:, :3])
        J[:, :3] += S[:3]
        J[:, :3] *= self._mask

    def _kinematic_part(self) -> np.ndarray:
        """sum_i (dS_k/dq_l)' F_i with dS_k/dq_l = S_l x S_k for l above k; F at the origin.

        The centre's own displacement, the moment dx x f, is in `_wrench_part`.
        """
        B = (self._subtree @ _MOTION_CROSS).reshape(self.nv, 6, 6)
        rows = (self._S.T[:, None, :] @ B)[:, 0, :]
        T: np.ndarray = rows @ self._S
        T *= self._above
        return T

    def _wrench_part(self) -> np.ndarray:
        """J' (dF/dx J), with the moment of the displaced force."""
        J = self._J
        derivative = self._wrench_derivative()
        derivative[:, 3:, :3] -= skew(self._wrench[:, :3])
        change = derivative @ J[:, : derivative.shape[2]]
        return J.reshape(-1, self.nv).T @ change.reshape(-1, self.nv)

    def _wrench_derivative(self) -> np.ndarray:
        """Derivative of the wrenches about the centres with respect to their pose, (n, 6, 3 or 6)."""
        of_model = self._wrench_space.derivative(self.contacts, self.w)
        if of_model.shape[1] == 6:
            return of_model.copy()
        result = np.zeros((self.n, 6, of_model.shape[2]))
        result[:, :3] = of_model
        if self._round:
            # d(-r n x f) = -r n x df + r f x dn
            result[:, 3:] = self._arm @ of_model
            if self.contacts.curvature is not None:
                force = skew(self.radii[:, None] * self._wrench[:, :3])
                result[:, 3:, :3] += force @ self.contacts.curvature
        return result

    @property
    def jacobians(self) -> np.ndarray:
        """Jacobians of the spheres' centres, (n, 6, nv); valid after `kinematics` or `linearise`."""
        return self._J

    @property
    def touching(self) -> np.ndarray:
        """Which contacts can feel a wrench at all (V is not zero), shape (n,)."""
        return self._rows.any(axis=(1, 2))

    @property
    def depths(self) -> np.ndarray:
        """Penetration of the spheres, 0 when apart [m], shape (n,)."""
        return np.maximum(self.contacts.depth, 0.0)

    @property
    def wrenches(self) -> np.ndarray:
        """Wrenches about the spheres' centres [N, N m], shape (n, 6); a copy."""
        return self._wrench.copy()

    def displacements(self) -> np.ndarray:
        """X(q) - X(q0) of the material points that touch [m], shape (n, 3).

        The point of a sphere that touches is at the centre plus o = -r n; it is carried by the body, so
        a sphere that rolls has displacement zero.
        """
        start_of_centre = (self._local @ self._start)[:, 0, :]
        u: np.ndarray = self.contacts.position - start_of_centre
        if self._round:
            o = -self.radii[:, None] * self.contacts.normal
            u += o - (self._turn_back() @ o[:, :, None])[:, :, 0]
        return u

    def displacement_jacobian(self) -> np.ndarray:
        """Derivative of `displacements` with respect to q, (n, 3, nv); after `linearise`.

        du = J_x - Q [o]_x J_w + (1 - Q) do with Q = R0 R' the turn back to the start of the step.
        """
        J = self._J
        if not self._round:
            return J[:, :3]
        turn = self._turn_back()
        o = -self.radii[:, None] * self.contacts.normal
        result = J[:, :3] - (turn @ skew(o)) @ J[:, 3:]
        if self.contacts.curvature is not None:
            do = -self.radii[:, None, None] * (self.contacts.curvature @ J[:, :3])
            result += do - turn @ do
        return result

    def _turn_back(self) -> np.ndarray:
        """R0 R' of the bodies that carry the contacts, shape (n, 3, 3)."""
        return self._start[:, :3].transpose(0, 2, 1) @ self.contacts.rotation.transpose(0, 2, 1)

    def vertex_forces(self) -> np.ndarray:
        """J' V: generalised force of each vertex, shape (n m, nv); valid after `linearise`."""
        if not self.active:
            return np.zeros((self.n * self.m, self.nv))
        rows = self._rows.shape[1]
        self._vertices[:, :rows] = self._rows
        if self._round:
            self._vertices[:, 3:] = self._arm @ self._rows
        return (self._vertices.transpose(0, 2, 1) @ self._J).reshape(-1, self.nv)
