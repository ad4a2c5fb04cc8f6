"""Half-spaces, boxes and round solids."""

from dataclasses import dataclass

import coal
import numpy as np
import pinocchio as pin

from nmdp_pin._options import Number, Positive
from nmdp_pin._terrain.shape import Lengths, Shape, Solid, Vector
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
        result: np.ndarray = normal / np.linalg.norm(normal)
        return result

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


@dataclass(frozen=True, kw_only=True, eq=False)
class Primitive(Solid):
    """Base class of solids that are described by the half extents of their bounding box.

    Args:
        position: position of the centre [m].
    """

    @property
    def half_extents(self) -> np.ndarray:
        """Half the size of the bounding box along the axes of the shape's frame [m], shape (3,)."""
        geometry = self.collision_geometry()
        geometry.computeLocalAABB()
        return np.array(geometry.aabb_local.max_)


@dataclass(frozen=True, kw_only=True)
class Box(Primitive):
    """Box centred on its frame.

    Args:
        size: full lengths along the axes [m].
    """

    size: Lengths

    def collision_geometry(self) -> coal.Box:
        """A new box."""
        return coal.Box(*self.size)


@dataclass(frozen=True, kw_only=True)
class Sphere(Primitive):
    """Ball.

    Args:
        radius: radius [m].
    """

    radius: Positive

    def collision_geometry(self) -> coal.Sphere:
        """A new sphere."""
        return coal.Sphere(self.radius)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Bar(Primitive):
    """A round solid along the z axis of its frame."""

    radius: Positive
    length: Positive


@dataclass(frozen=True, kw_only=True)
class Cylinder(_Bar):
    """Solid cylinder about the z axis of its frame, centred on it.

    Args:
        radius: radius [m].
        length: length along z [m].
    """

    def collision_geometry(self) -> coal.Cylinder:
        """A new cylinder."""
        return coal.Cylinder(self.radius, self.length)


@dataclass(frozen=True, kw_only=True)
class Capsule(_Bar):
    """Cylinder about the z axis of its frame with hemispherical caps, centred on it.

    Args:
        radius: radius [m].
        length: length along z between the centres of the caps [m].
    """

    def collision_geometry(self) -> coal.Capsule:
        """A new capsule."""
        return coal.Capsule(self.radius, self.length)


@dataclass(frozen=True, kw_only=True)
class Cone(_Bar):
    """Solid cone about the z axis of its frame, whose tip is at half its length.

    Args:
        radius: radius of the base [m].
        length: length along z [m].
        position: position of the middle of its axis [m].
    """

    def collision_geometry(self) -> coal.Cone:
        """A new cone."""
        return coal.Cone(self.radius, self.length)


@dataclass(frozen=True, kw_only=True)
class Ellipsoid(Primitive):
    """Ellipsoid.

    Args:
        radii: semi-axes along the axes of its frame [m].
    """

    radii: Lengths

    def collision_geometry(self) -> coal.Ellipsoid:
        """A new ellipsoid."""
        return coal.Ellipsoid(*self.radii)
