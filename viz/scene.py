"""Scenes: meshes of a robot on its terrain, and their poses over time."""

from __future__ import annotations

from collections.abc import Mapping
from types import NoneType

import numpy as np
import pinocchio as pin

from nmdp_pin._options import check_part, numbers, shown
from nmdp_pin._robot import Robot
from nmdp_pin._robot.frames import base_frame
from nmdp_pin._terrain import Terrain
from nmdp_pin.errors import ViewerError
from nmdp_pin.viz.body_shapes import Piece, body_pieces, corners
from nmdp_pin.viz.ground import terrain_pieces

WEIGHT_ARROW = 0.5
"""Length of the arrow of a force as large as the robot's weight, in units of its size."""

LONGEST_ARROW = 1.0
"""Length beyond which no arrow grows, in units of the robot's size; such an arrow is orange."""

ARROW_RADII = 0.009, 0.022
"""Radii of shaft and head, in units of the robot's size."""

ARROW_TAPER = 0.12
"""Length below which an arrow is thinner, in units of the robot's size."""

SMALLEST_MARK = 0.005
"""Radius of the mark of a contact point without one, in units of the robot's size."""

TOUCHING = 1e-3
"""Length of an arrow from which on its point is marked as loaded, in units of the robot's size."""


class Scene:
    """Scene of a robot with its terrain, contact points and contact forces.

    What moves are nodes, which `frame` places: joints, and the points where rims of wheels are next
    to the ground. Windows, pages and films show the same scene.

    Args:
        robot: the robot; without visual geometry its collision shapes are drawn, and without
            these sticks between its joints.
        terrain: the terrain; None: no terrain.
        kinds: index of a terrain shape → "rock", "ice", "sand" or "floor"; default: by friction.

    Attributes:
        robot: the robot.
        bodies: pieces of the robot.
        terrain: pieces of the terrain.
        ground: the terrain itself, or None.
        joints: indices of the joints that carry pieces; they are the first nodes.
        n_nodes: number of nodes.
        rows: index of a joint → its node; -1 of the world, which is none.
        carriers: nodes of the contact points, shape (n_contacts,).
        positions: centres of the contact points in the frames of these nodes [m], (n_contacts, 3).
        base: position of the joint of the base in `joints`.
        size: diagonal of the box around the standing robot [m].
        center: vector from the origin of the base to the centre of that box, shape (3,) [m].
        arrow_scale: length of an arrow for a force [m/N].
        notes: one sentence for each mesh that is not drawn as in its file.
    """

    def __init__(
        self, robot: Robot, terrain: Terrain | None, *, kinds: Mapping[int, str] | None = None
    ) -> None:
        check_part("robot", robot, Robot, ViewerError)
        check_part("terrain", terrain, (Terrain, NoneType), ViewerError)
        self.robot = robot
        self._data = robot.model.createData()
        self.bodies, self.notes = body_pieces(robot)
        base = robot.model.frames[base_frame(robot.model)]
        carried = {int(joint) for joint in robot.contact_points.joints}
        carried |= {piece.joint for piece in self.bodies} | {base.parentJoint}
        self.joints = tuple(sorted(carried - {0}))
        self.rows = {joint: row for row, joint in enumerate(self.joints)} | {0: -1}
        points = robot.contact_points
        self._swept = np.flatnonzero(points.semi_axes.any(axis=(1, 2)))
        self.n_nodes = len(self.joints) + len(self._swept)
        self.carriers = np.array([self.rows[int(joint)] for joint in points.joints], dtype=int)
        self.carriers[self._swept] = np.arange(len(self.joints), self.n_nodes)
        self.positions = points.positions.copy()
        self.positions[self._swept] = 0.0
        self.base = self.joints.index(base.parentJoint) if base.parentJoint else None
        middle, self.size = self._extent()
        pose = self._data.oMi[base.parentJoint]
        self.center = middle - pose.translation
        weight = float(pin.computeTotalMass(robot.model)) * 9.81
        self.arrow_scale = WEIGHT_ARROW * self.size / weight if weight > 0.0 else 1.0
        self.ground = terrain
        self.terrain: list[Piece] = []
        if terrain is not None:
            self.terrain = terrain_pieces(terrain, middle, kinds or {})

    @property
    def mark_radii(self) -> np.ndarray:
        """Radii of the marks at the contact points [m], shape (n_contacts,)."""
        result: np.ndarray = np.maximum(self.robot.contact_points.radii, SMALLEST_MARK * self.size)
        return result

    @property
    def frame_size(self) -> int:
        """Size of a frame."""
        return 1 + 7 * self.n_nodes + 3 * len(self.robot.contact_points)

    def checked(
        self, t: float, q: np.ndarray, contact_forces: np.ndarray | None
    ) -> tuple[float, np.ndarray, np.ndarray | None]:
        """Arguments of `frame`, which fit the robot."""
        if not isinstance(t, float | int | np.number):
            raise ViewerError(f"t must be a time [s], got {shown(t)}")
        q = numbers("q", q, ViewerError, self.robot.model.nq)
        if contact_forces is not None:
            contact_forces = numbers("contact_forces", contact_forces, ViewerError)
            if contact_forces.shape != (len(self.robot.contact_points), 3):
                raise ViewerError(
                    f"contact_forces have shape {contact_forces.shape}, expected "
                    f"({len(self.robot.contact_points)}, 3)"
                )
        return float(t), q, contact_forces

    def frame(
        self, t: float, q: np.ndarray, contact_forces: np.ndarray | None = None
    ) -> np.ndarray:
        """Poses of all parts at a time.

        Args:
            t: time [s].
            q: configuration, shape (nq,).
            contact_forces: forces on the robot, world frame [N], shape (n_contacts, 3), or None;
                forces that are not finite are not shown.

        Returns:
            Time, position and quaternion (x, y, z, w) of each node in the world, and the contact
            forces, shape (frame_size,), single precision.

        Raises:
            ViewerError: an argument does not fit the robot.
        """
        t, q, contact_forces = self.checked(t, q, contact_forces)
        pin.forwardKinematics(self.robot.model, self._data, q)
        frame = np.zeros(self.frame_size, dtype=np.float32)
        frame[0] = t
        for k, joint in enumerate(self.joints):
            frame[1 + 7 * k : 8 + 7 * k] = pin.SE3ToXYZQUAT(self._data.oMi[joint])
        for k, point in enumerate(self._swept, start=len(self.joints)):
            frame[1 + 7 * k : 8 + 7 * k] = [*self._swept_place(int(point)), 0.0, 0.0, 0.0, 1.0]
        if contact_forces is not None:
            with np.errstate(over="ignore"):  # a force beyond single precision is none
                force = np.asarray(contact_forces, dtype=np.float32).reshape(-1)
            frame[1 + 7 * self.n_nodes :] = np.where(np.isfinite(force), force, 0.0)
        return frame

    def _swept_place(self, point: int) -> np.ndarray:
        """Point of a disc or ellipsoid that is next to the ground, or the lowest, shape (3,)."""
        points = self.robot.contact_points
        place = self._data.oMi[int(points.joints[point])]
        center = place.act(points.positions[point])
        semi_axes = points.semi_axes[point] @ place.rotation.T
        normal = np.array([0.0, 0.0, 1.0])
        if self.ground is not None:
            normal = self.ground.query(center[None]).normal[0]
        along = semi_axes @ normal
        size = float(np.linalg.norm(along))
        return np.asarray(center - along @ semi_axes / size if size > 1e-9 else center)

    def _extent(self) -> tuple[np.ndarray, float]:
        """Centre of the standing robot, shape (3,), and the diagonal of its bounding box [m]."""
        model, data, points = self.robot.model, self._data, self.robot.contact_points
        pin.forwardKinematics(model, data, self.robot.standing)
        seen = [data.oMi[j].translation for j in self.joints] or [np.zeros(3)]
        seen += [
            data.oMi[int(j)].act(p) for j, p in zip(points.joints, points.positions, strict=True)
        ]
        seen += corners(self.bodies, data)
        low, high = np.min(seen, axis=0), np.max(seen, axis=0)
        return (low + high) / 2.0, max(float(np.linalg.norm(high - low)), 0.2)
