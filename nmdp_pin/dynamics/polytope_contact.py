"""Contact forces V(q) w out of the polytopes of a wrench space, with their derivatives."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from nmdp_pin.contact.cross import SKEW, skew
from nmdp_pin.contact.wrench_space import WrenchSpace
from nmdp_pin.dynamics.contact_terms import ContactTerms
from nmdp_pin.dynamics.spatial import times
from nmdp_pin.dynamics.vertex_secant import VertexSecant
from nmdp_pin.robot import Robot
from nmdp_pin.terrain import Terrain

_WORTH = 8  # contacts that do not act, from which on leaving them out is less work


class PolytopeContact(ContactTerms):
    """The generalised force sum J' V(q) w.

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
        super().__init__(
            robot,
            terrain,
            data,
            n_vertices=wrench_space.n_vertices,
            touches=wrench_space.rows == 3,
        )
        self._wrench_space = wrench_space
        self._zeroth_order = zeroth_order
        self._secant = VertexSecant() if zeroth_order and secants else None

    def begin(self, start: np.ndarray, h: float) -> None:
        """See the base; what secants learned is of the last step."""
        super().begin(start, h)
        if self._secant is not None:
            self._secant.forget()

    def evaluate(self, w: np.ndarray) -> np.ndarray:
        """See the base."""
        centre = self._locate()
        self.w = w
        self.V = self._vertices()
        if self._secant is not None:
            self._secant.learn(centre, self.V)
        self.point = self.centre
        if self._round:
            self.point = self._place(centre - self._radii * self.contacts.normal)
        acting = np.logical_or.reduce(self.V, axis=(1, 2))
        count = int(np.count_nonzero(acting))
        self.active = count > 0
        self._acting = None if self.n - count < _WORTH else acting.nonzero()[0]
        if not self.active:
            return np.zeros(self.nv)
        return self._generalised(times(self.V, w))

    def linearise(self) -> np.ndarray:
        """See the base.

        The wrenches are carried along by the joints above, and they change with V(q) (left out in
        zeroth order, [N] eq. 10).
        """
        self.kinematics(self._acting)
        if not self.active:
            return np.zeros((self.nv, self.nv))
        return self._carried_part() + self._changing_part()

    def _vertices(self) -> np.ndarray:
        """V of all contacts; bodies that are far off are not asked, and nothing is felt there."""
        near = self._surfaces.near
        if near is None:
            return self._wrench_space.vertices(self.contacts)
        V = np.zeros((self.n, self._wrench_space.rows, self.m))
        V[near] = self._wrench_space.vertices(self.contacts.take(near))
        return V

    def _changing_part(self) -> np.ndarray:
        """S . dF: the wrench's own change, and its moment as p moves with the sphere."""
        rows = self._jacobian_rows
        contacts = self.contacts if rows is None else self.contacts.take(rows)
        wrench = self._of(self._wrench)
        D = np.empty((2, len(wrench), 3, 3))
        move = skew(-wrench[:, :3])
        if self._round and contacts.curvature is not None:
            move -= move @ (contacts.radius[:, None, None] * contacts.curvature)
        if not self._zeroth_order:
            own = self._wrench_space.derivative(contacts, self._of(self.w), wrench)
        elif self._secant is not None:
            own = self._of(self._secant.derivative(self.w))
        else:
            turned = move @ self.centre_jacobian
            return self.angular_jacobian.reshape(-1, self.nv).T @ turned.reshape(-1, self.nv)
        D[0], D[1] = own[:, :3, :3], move
        if own.shape[1] == 6:
            D[1] += own[:, 3:, :3]
        change = D @ self.centre_jacobian
        if own.shape[2] == 6:
            change[0] += own[:, :3, 3:] @ self.angular_jacobian
            if own.shape[1] == 6:
                change[1] += own[:, 3:, 3:] @ self.angular_jacobian
        return self._wrench_jacobian.reshape(-1, self.nv).T @ change.reshape(-1, self.nv)

    def vertex_forces(self) -> np.ndarray:
        """See the base."""
        V = self._of(self.V).transpose(0, 2, 1)
        forces = V[:, :, :3] @ self.point_jacobian
        if V.shape[2] == 6:
            forces += V[:, :, 3:] @ self.angular_jacobian
        return self._spread(forces)

    def vertex_changes(self) -> np.ndarray:
        """See the base; the contact model has to know its derivative."""
        rows = self._jacobian_rows
        contacts = self.contacts if rows is None else self.contacts.take(rows)
        V, u = self._of(self.V), self._of(self.motions())
        result = np.zeros((len(V), self.m, self.nv))
        for j in range(self.m):
            one = np.zeros((len(V), self.m))
            one[:, j] = 1.0
            row = u[:, None, :] @ self._wrench_space.derivative(contacts, one, V[:, :, j])
            result[:, j] = (row[:, :, :3] @ self.centre_jacobian)[:, 0]
            if row.shape[2] == 6:
                result[:, j] += (row[:, :, 3:] @ self.angular_jacobian)[:, 0]
        return self._spread(result)

    def motions(self) -> np.ndarray:
        """See the base: displacements, and turns for models of wrenches.

        A turn is the axis times the sine of the angle since the start.
        """
        if self._wrench_space.rows == 3:
            return self.displacements()
        turn = self._turn_back().transpose(0, 2, 1)
        axis = 0.5 * (turn.reshape(-1, 9) @ SKEW.T)
        return np.concatenate([self.displacements(), axis], axis=1)

    def motion_jacobian(self) -> np.ndarray:
        """See the base."""
        if self._wrench_space.rows == 3:
            return self.displacement_jacobian()
        turn = self._of(self._turn_back()).transpose(0, 2, 1)
        trace = turn.trace(axis1=1, axis2=2)[:, None, None] * np.eye(3)
        turns = 0.5 * (trace - turn) @ self.angular_jacobian
        return np.concatenate([self.displacement_jacobian(), turns], axis=1)

    @property
    def touching(self) -> np.ndarray:
        """See the base: V is not zero."""
        return np.asarray(self.V.any(axis=(1, 2)))
