"""Boxes, spheres, cylinders and capsules."""

from __future__ import annotations

import abc
from dataclasses import dataclass

import coal
import numpy as np

from nmdp_pin.errors import TerrainError
from nmdp_pin.terrain.shape import Solid, Vector, checked_positive, checked_vector

_CLOSEST = 1e-12  # [m] radius below which the curvature at an edge is no longer let grow


@dataclass(frozen=True, kw_only=True, eq=False)
class Primitive(Solid):
    """A solid that the half extents of its bounding box describe wholly, centred on its frame."""

    @property
    @abc.abstractmethod
    def half_extents(self) -> Vector:
        """Half the size of the bounding box along the axes of the shape's frame [m]."""

    @staticmethod
    @abc.abstractmethod
    def curvature(local: np.ndarray, half: np.ndarray) -> np.ndarray | None:
        """Hessian of the signed distance [1/m], shape (n, 3, 3); None where all are zero.

        Args:
            local: points in the frames of their shapes [m], shape (n, 3).
            half: half extents of their shapes [m], shape (n, 3).
        """


@dataclass(frozen=True, kw_only=True)
class Box(Primitive):
    """A box centred on its frame.

    Args:
        size: full lengths along the axes [m].
        position: of the centre [m].
        rpy: orientation [rad].
        friction: friction coefficient [-].
    """

    size: Vector

    def _check_size(self) -> None:
        size = checked_vector(self, "size", self.size)
        if min(size) <= 0.0:
            raise TerrainError(f"Box: size must be three lengths > 0, got {self.size}")
        self._set(size=size)

    @property
    def half_extents(self) -> Vector:
        """Half the size [m]."""
        return self.size[0] / 2.0, self.size[1] / 2.0, self.size[2] / 2.0

    def collision_geometry(self) -> coal.Box:
        """A new box."""
        return coal.Box(*self.size)

    @staticmethod
    def curvature(local: np.ndarray, half: np.ndarray) -> np.ndarray | None:
        """0 inside and over faces, (P - nn') / phi over edges and vertices.

        P projects on the axes along which the point is outside.
        """
        gap = np.abs(local) - half
        outside = gap > 0.0
        bent = outside.sum(axis=1) >= 2
        if not bent.any():
            return None
        gap[~outside] = 0.0
        phi = np.maximum(np.sqrt((gap * gap).sum(axis=1)), _CLOSEST)
        normal = np.copysign(gap / phi[:, None], local)
        hessian = -normal[:, :, None] * normal[:, None, :]
        diagonal = np.arange(3)
        hessian[:, diagonal, diagonal] += outside
        hessian *= (bent / phi)[:, None, None]
        return hessian


@dataclass(frozen=True, kw_only=True)
class Sphere(Primitive):
    """A ball.

    Args:
        radius: [m].
        position: of the centre [m].
        rpy: orientation, which does not matter [rad].
        friction: friction coefficient [-].
    """

    radius: float

    def _check_size(self) -> None:
        self._set(radius=checked_positive(self, "radius", self.radius))

    @property
    def half_extents(self) -> Vector:
        """The radius, three times [m]."""
        return self.radius, self.radius, self.radius

    def collision_geometry(self) -> coal.Sphere:
        """A new sphere."""
        return coal.Sphere(self.radius)

    @staticmethod
    def curvature(local: np.ndarray, half: np.ndarray) -> np.ndarray | None:
        """(I - nn') / |x|."""
        r = np.maximum(np.sqrt((local * local).sum(axis=1)), _CLOSEST)[:, None]
        normal = local / r
        return (np.eye(3) - normal[:, :, None] * normal[:, None, :]) / r[:, :, None]


@dataclass(frozen=True, kw_only=True, eq=False)
class _Bar(Primitive):
    """A round solid along the z axis of its frame."""

    radius: float
    length: float

    def _check_size(self) -> None:
        self._set(
            radius=checked_positive(self, "radius", self.radius),
            length=checked_positive(self, "length", self.length),
        )


@dataclass(frozen=True, kw_only=True)
class Cylinder(_Bar):
    """A solid cylinder about the z axis of its frame, centred on it.

    Args:
        radius: [m].
        length: along z [m].
        position: of the centre [m].
        rpy: orientation [rad].
        friction: friction coefficient [-].
    """

    @property
    def half_extents(self) -> Vector:
        """Radius, radius, half the length [m]."""
        return self.radius, self.radius, self.length / 2.0

    def collision_geometry(self) -> coal.Cylinder:
        """A new cylinder."""
        return coal.Cylinder(self.radius, self.length)

    @staticmethod
    def inside(local: np.ndarray, half: np.ndarray) -> tuple[float, np.ndarray]:
        """Signed distance [m] and local normal at a point inside, in closed form.

        coal 3.0.3 measures to the side alone there, even from just below a cap (docs/terrain.md).

        Args:
            local: point in the cylinder's frame [m], shape (3,).
            half: half extents [m], shape (3,).
        """
        rho = float(np.hypot(local[0], local[1]))
        side, cap = rho - float(half[0]), abs(float(local[2])) - float(half[2])
        if cap >= side:
            return cap, np.array([0.0, 0.0, 1.0 if local[2] >= 0.0 else -1.0])
        if rho == 0.0:
            return side, np.array([1.0, 0.0, 0.0])
        return side, np.array([local[0] / rho, local[1] / rho, 0.0])

    @staticmethod
    def curvature(local: np.ndarray, half: np.ndarray) -> np.ndarray | None:
        """0 at the caps, tt'/rho at the side, (I - nn' - tt') / phi + tt' (n.e) / rho at the rim.

        e points away from the axis, t = z x e goes around it.
        """
        rho = np.maximum(np.hypot(local[:, 0], local[:, 1]), _CLOSEST)
        side, cap = rho - half[:, 0], np.abs(local[:, 2]) - half[:, 2]
        rim = (side > 0.0) & (cap > 0.0)
        phi = np.maximum(np.hypot(side, cap), _CLOSEST)
        e_n = np.where(rim, side / phi, (side > cap).astype(float))  # n.e
        z_n = np.where(rim, np.copysign(cap, local[:, 2]) / phi, 0.0)
        zeros, ones = np.zeros_like(rho), np.ones_like(rho)
        e = np.array([local[:, 0] / rho, local[:, 1] / rho, zeros]).T
        t = np.array([-e[:, 1], e[:, 0], zeros]).T
        # At the rim I - nn' - tt' = mm', m being the other unit vector of the plane of e and z.
        m = -z_n[:, None] * e + e_n[:, None] * np.array([zeros, zeros, ones]).T
        hessian = (e_n / rho)[:, None, None] * (t[:, :, None] * t[:, None, :])
        hessian += (rim / phi)[:, None, None] * (m[:, :, None] * m[:, None, :])
        return hessian


@dataclass(frozen=True, kw_only=True)
class Capsule(_Bar):
    """A cylinder about the z axis of its frame with a hemisphere at each end, centred on it.

    Args:
        radius: [m].
        length: along z, between the centres of the hemispheres [m].
        position: of the centre [m].
        rpy: orientation [rad].
        friction: friction coefficient [-].
    """

    @property
    def half_extents(self) -> Vector:
        """Radius, radius, half the length and the radius [m]."""
        return self.radius, self.radius, self.length / 2.0 + self.radius

    def collision_geometry(self) -> coal.Capsule:
        """A new capsule."""
        return coal.Capsule(self.radius, self.length)

    @staticmethod
    def curvature(local: np.ndarray, half: np.ndarray) -> np.ndarray | None:
        """(I - nn') / |x - c|, c being nearest on the axis; beside the tube also less zz'."""
        straight = half[:, 2] - half[:, 0]
        arm = local.copy()
        arm[:, 2] -= np.clip(arm[:, 2], -straight, straight)
        r = np.maximum(np.sqrt((arm * arm).sum(axis=1)), _CLOSEST)[:, None]
        normal = arm / r
        hessian = np.eye(3) - normal[:, :, None] * normal[:, None, :]
        hessian[np.abs(local[:, 2]) < straight, 2, 2] = 0.0
        return hessian / r[:, :, None]
