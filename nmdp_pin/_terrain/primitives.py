"""Boxes and round solids."""

from dataclasses import dataclass

import coal
import numpy as np

from nmdp_pin._options import Positive
from nmdp_pin._terrain.shape import Lengths, Solid


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
