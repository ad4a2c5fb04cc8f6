"""Contact points of a robot: spheres, and spheres swept over discs and ellipsoids."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pinocchio as pin

from nmdp_pin._robot.frames import link_frame
from nmdp_pin._robot.settings import ContactPoint
from nmdp_pin._state.read_only_array import read_only
from nmdp_pin.errors import RobotError

ARRAYS = ("joints", "positions", "radii", "touches", "semi_axes")
"""Names of the fields of `ContactPoints` that have a row for each point."""


@dataclass(frozen=True, eq=False)
class ContactPoints:
    """Spheres fixed to the robot that may touch the terrain, or the surface of another body.

    A sphere swept over a disc, such as the end of a wheel, or over an ellipsoid is one point. What
    may touch several surfaces is listed several times.

    Args:
        names: unique names of the points, (n,).
        joints: index of the pinocchio joint that carries each point, shape (n,).
        positions: centres in the joint's frame [m], shape (n, 3).
        radii: radii of the spheres, 0 for a bare point [m], shape (n,).
        touches: index of the joint of the surface that each point may touch, 0 for the terrain,
            which come first, shape (n,); the default is the terrain for all points.
        semi_axes: rows are those of the discs and ellipsoids in the joint's frame, 0 where there
            are fewer than three [m], shape (n, 3, 3); the default is 0 for all points.
        links: links or frames to which the points are fixed, (n,); the default is "", unknown.
    """

    names: tuple[str, ...]
    joints: np.ndarray
    positions: np.ndarray
    radii: np.ndarray
    touches: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=int))
    semi_axes: np.ndarray = field(default_factory=lambda: np.zeros((0, 3, 3)))
    links: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        # Kernels are compiled for each order of memory.
        positions = np.ascontiguousarray(self.positions, dtype=float).reshape(-1, 3)
        object.__setattr__(self, "positions", positions)
        if not len(self.touches):
            object.__setattr__(self, "touches", np.zeros(len(self.names), dtype=int))
        if not len(self.semi_axes):
            object.__setattr__(self, "semi_axes", np.zeros((len(self.names), 3, 3)))
        for name in ARRAYS:
            object.__setattr__(self, name, read_only(getattr(self, name)))
        if not self.links:
            object.__setattr__(self, "links", ("",) * len(self.names))
        if (np.diff((self.touches != 0).astype(int)) < 0).any():
            raise RobotError("contact points with the terrain must come before those with bodies")

    @property
    def n_terrain(self) -> int:
        """Number of contact points that may touch the terrain."""
        return int((self.touches == 0).sum())

    def bottoms(self, model: pin.Model, q: np.ndarray) -> np.ndarray:
        """Heights of the lowest points of the spheres that may touch the terrain [m], (n_terrain,).

        Args:
            model: model of the robot.
            q: configuration, shape (nq,).
        """
        n, data = self.n_terrain, model.createData()
        pin.forwardKinematics(model, data, q)
        centres = in_world(data, self.joints[:n], self.positions[:n])
        up = np.array([M.rotation[2] for M in data.oMi])[self.joints[:n]]
        return np.asarray(centres[:, 2] - self.radii[:n] - reach(self.semi_axes[:n], up))

    def __len__(self) -> int:
        return len(self.names)


def reach(semi_axes: np.ndarray, directions: np.ndarray) -> np.ndarray:
    """How far discs and ellipsoids, (..., 3, 3), reach in unit directions, (..., 3) [m], (...)."""
    return np.asarray(np.linalg.norm((semi_axes @ directions[..., None])[..., 0], axis=-1))


def in_world(data: pin.Data, joints: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Points of joints, (n, 3), in the world frame after forward kinematics [m], shape (n, 3)."""
    rotations = np.array([M.rotation for M in data.oMi])
    origins = np.array([M.translation for M in data.oMi])
    world: np.ndarray = (rotations[joints] @ points[:, :, None])[:, :, 0] + origins[joints]
    return world


def place_points(model: pin.Model, points: Sequence[ContactPoint], file: str) -> ContactPoints:
    """Attach points, given in the frames of links, to the joints of the model."""
    counts = Counter(point.name for point in points)
    if twice := [name for name, count in counts.items() if count > 1]:
        what = "this name is given twice; contact points need unique names"
        raise RobotError(what, file=file, element=f"contact '{twice[0]}'")
    axes, centres, joints = np.zeros((len(points), 3, 3)), np.zeros((len(points), 3)), []
    for k, point in enumerate(points):
        frame = link_frame(model, point.link, file, f"contact '{point.name}'")
        joints.append(int(frame.parentJoint))
        centres[k] = frame.placement.act(np.array(point.position))
        rows = np.reshape(point.semi_axes, (-1, 3))
        axes[k, : len(rows)] = rows @ frame.placement.rotation.T
    return ContactPoints(
        names=tuple(point.name for point in points),
        joints=np.array(joints, dtype=int),
        positions=centres,
        radii=np.array([point.radius for point in points]),
        semi_axes=axes,
        links=tuple(point.link for point in points),
    )
