"""The half-space below a plane, and the fast way to many of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import coal
import numpy as np
import pinocchio as pin

from nmdp_pin.errors import TerrainError
from nmdp_pin.terrain.shape import Shape, Vector, checked_number, checked_vector
from nmdp_pin.terrain.surface import Surface

_STEEPEST = 1e-9  # a smaller n_z gives no usable height: the plane is a wall
_READY = 256  # points for which the constant arrays of a single plane lie ready


@dataclass(frozen=True, kw_only=True)
class Plane(Shape):
    """Solid where n.x <= offset, n being the unit normal.

    Args:
        normal: any vector but zero; it is made a unit vector.
        offset: n.x of the surface [m]; 0 if neither it nor `height` is given.
        height: z at which the surface crosses the z axis [m], instead of `offset`.
        friction: friction coefficient [-].
    """

    normal: Vector = (0.0, 0.0, 1.0)
    offset: float | None = None
    height: float | None = None

    def _check(self) -> None:
        self._set(normal=checked_vector(self, "normal", self.normal))
        if not any(self.normal):
            raise TerrainError("Plane: normal must not be zero; give e.g. (0, 0, 1)")
        if self.offset is not None and self.height is not None:
            raise TerrainError("Plane: give offset or height, not both")
        if self.offset is not None:
            self._set(offset=checked_number(self, "offset", self.offset))
        if self.height is not None:
            self._set(height=checked_number(self, "height", self.height))
            if abs(self.unit_normal[2]) < _STEEPEST:
                raise TerrainError(
                    f"Plane: a vertical plane (normal {self.normal}) has no height; give its offset"
                )

    @property
    def unit_normal(self) -> np.ndarray:
        """Outward unit normal n, shape (3,)."""
        normal = np.array(self.normal)
        normal /= np.abs(normal).max()  # before the norm, which may overflow
        return normal / np.linalg.norm(normal)

    @property
    def level(self) -> float:
        """n.x of the surface [m]."""
        if self.height is not None:
            return float(self.height * self.unit_normal[2])
        return self.offset or 0.0

    def collision_geometry(self) -> coal.Halfspace:
        """A new half-space, in the world frame."""
        return coal.Halfspace(self.unit_normal, self.level)

    @property
    def placement(self) -> pin.SE3:
        """The identity: the half-space is given in the world frame."""
        return pin.SE3.Identity()


class HalfSpaces:
    """Planes, measured all at once: n.x - level is exact, so there is nothing to ask coal.

    Args:
        planes: at least one.
        indices: of the planes among the terrain's shapes.
    """

    def __init__(self, planes: Sequence[Plane], indices: Sequence[int]) -> None:
        self._normals = np.array([plane.unit_normal for plane in planes])
        self._levels = np.array([plane.level for plane in planes])
        self._friction = np.array([plane.friction for plane in planes])
        self._indices = np.array(indices)
        self._single = len(planes) == 1
        if self._single:
            self._n, self._level = self._normals[0], float(self._levels[0])
            self._normal_rows, self._friction_rows, self._index_rows = self._rows(_READY)

    def measure(self, points: np.ndarray) -> Surface:
        """The nearest plane at `points`, shape (n, 3); the arrays may be shared."""
        if self._single:
            n = len(points)
            distance = points.dot(self._n)
            distance -= self._level
            if n > _READY:
                normal, friction, index = self._rows(n)
                return Surface(distance, normal, None, friction, index)
            return Surface(
                distance,
                self._normal_rows[:n],
                None,
                self._friction_rows[:n],
                self._index_rows[:n],
            )
        distances = points.dot(self._normals.T)
        distances -= self._levels
        nearest = distances.argmin(axis=1)
        return Surface(
            distances.min(axis=1),
            self._normals[nearest],
            None,
            self._friction[nearest],
            self._indices[nearest],
        )

    def _rows(self, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Normals, friction and indices of n points over a single plane, read-only."""
        normal, friction = np.tile(self._n, (n, 1)), np.full(n, self._friction[0])
        index = np.full(n, self._indices[0])
        for rows in (normal, friction, index):
            rows.setflags(write=False)
        return normal, friction, index
