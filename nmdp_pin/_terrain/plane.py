"""Half-spaces below planes."""

from dataclasses import dataclass

import coal
import numpy as np
import pinocchio as pin

from nmdp_pin._options import Number
from nmdp_pin._terrain.shape import Shape, Vector
from nmdp_pin.errors import TerrainError

_STEEPEST = 1e-9  # a smaller n_z gives no usable height: the plane is a wall


@dataclass(frozen=True, kw_only=True)
class Plane(Shape):
    """Half-space n.x <= offset, n being the unit normal.

    Args:
        normal: outward normal of any length but zero.
        offset: n.x on the surface [m]; 0 if neither `offset` nor `height` is given.
        height: z where the surface crosses the z axis [m], instead of `offset`.
    """

    normal: Vector = (0.0, 0.0, 1.0)
    offset: Number | None = None
    height: Number | None = None

    def _check(self) -> None:
        if not any(self.normal):
            raise TerrainError("Plane: normal must not be zero; give e.g. (0, 0, 1)")
        if self.offset is not None and self.height is not None:
            raise TerrainError("Plane: give offset or height, not both")
        if self.height is not None and abs(self.unit_normal[2]) < _STEEPEST:
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
