"""Shapes of feet in granular media, as surface elements about the centre of the contact.

Shapes are round about their axis. The frame of an intruder has its origin at the centre of the
contact sphere and z along the axis, from the foot up into the robot.
"""

import abc
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from nmdp_pin._options import Positive, check_fields, readable
from nmdp_pin.errors import ContactError

_AROUND = 16  # elements around the axis; a multiple of 4 is symmetric under both mirrors
_ROUNDED = 0.4  # sine of the tilt below which the reach of a disc is rounded off
_RINGS = 10  # elements from pole to equator, and half as many along a shaft


class Surface(NamedTuple):
    """Elements of a surface."""

    points: np.ndarray  # centres of the elements [m], (k, 3)
    normals: np.ndarray  # outward unit normals, (k, 3)
    areas: np.ndarray  # [m^2], (k,)
    thin: bool  # an element stands for both sides of a plate; else only leading sides count


@readable
@dataclass(frozen=True, kw_only=True)
class Intruder(abc.ABC):
    """Base class of shapes.

    Args:
        radius: radius [m].
    """

    radius: Positive
    tilts: ClassVar[bool] = True
    """Its wrenches depend on where the axis points."""

    def __post_init__(self) -> None:
        check_fields(self, ContactError)

    @abc.abstractmethod
    def surface(self) -> Surface:
        """The surface in the intruder's frame."""

    @property
    @abc.abstractmethod
    def height(self) -> float:
        """Height of the centre above the bottom of the contact sphere [m]."""

    @property
    @abc.abstractmethod
    def size(self) -> float:
        """Depth at which the shape is covered [m]."""

    def reach(self, tilt: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Distance that the intruder reaches below the contact sphere [m], with its derivative.

        Args:
            tilt: sine squared of the angle between axis and normal, shape (n,).
        """
        return np.zeros_like(tilt), np.zeros_like(tilt)


@dataclass(frozen=True, kw_only=True)
class Sphere(Intruder):
    """Ball: the contact sphere itself."""

    tilts: ClassVar[bool] = False

    def surface(self) -> Surface:
        """Two hemispheres."""
        _, normals, areas = _half_sphere(self.radius)
        up = np.array([1.0, 1.0, -1.0])
        both = np.concatenate([normals, normals * up])
        return Surface(self.radius * both, both, np.concatenate([areas, areas]), thin=False)

    @property
    def height(self) -> float:
        """The radius."""
        return self.radius

    @property
    def size(self) -> float:
        """The diameter."""
        return 2.0 * self.radius


@dataclass(frozen=True, kw_only=True)
class _FlatEnded(Intruder):
    """A shape whose lowest part is a disc square to the axis, its middle at a bare contact point.

    A bare point is a contact sphere of radius 0.
    """

    @property
    def height(self) -> float:
        """The middle of the disc is the point itself."""
        return 0.0

    def reach(self, tilt: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Reach of the edge, R sin(tilt), rounded off near an upright axis."""
        edge = np.sqrt(tilt + _ROUNDED**2)
        slope = (1.0 - 0.5 * tilt / edge**2) / edge
        return self.radius * tilt / edge, self.radius * slope


@dataclass(frozen=True, kw_only=True)
class Rod(_FlatEnded):
    """Rod with a flat end, whose other end is out of the sand.

    Args:
        length: length from the flat end [m].
    """

    length: Positive

    def surface(self) -> Surface:
        """The end, which faces down, and the shaft."""
        points, normals, areas = _disc(self.radius)
        n = 2 * _RINGS
        angles = 2.0 * np.pi * (np.arange(_AROUND) + 0.5) / _AROUND
        around = np.array([np.cos(angles), np.sin(angles), 0.0 * angles]).T
        z = self.length * (np.arange(n) + 0.5) / n
        shaft = np.repeat(self.radius * around, n, axis=0)
        shaft[:, 2] = np.tile(z, _AROUND)
        element = 2.0 * np.pi * self.radius * self.length / (n * _AROUND)
        return Surface(
            np.concatenate([points, shaft]),
            np.concatenate([normals, np.repeat(around, n, axis=0)]),
            np.concatenate([areas, np.full(len(shaft), element)]),
            thin=False,
        )

    @property
    def size(self) -> float:
        """The length."""
        return self.length


@dataclass(frozen=True, kw_only=True)
class Plate(_FlatEnded):
    """Thin round plate square to the axis."""

    def surface(self) -> Surface:
        """One disc for both sides."""
        return Surface(*_disc(self.radius), thin=True)

    @property
    def size(self) -> float:
        """The diameter."""
        return 2.0 * self.radius


INTRUDERS: dict[str, type[Intruder]] = {"rod": Rod, "sphere": Sphere, "plate": Plate}


def _disc(radius: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points, normals and areas of a disc that faces down, in rings of equal area."""
    edges = radius * np.sqrt(np.arange(_RINGS + 1) / _RINGS)
    # the mean of the radius over a ring, so that first moments are exact
    r = 2.0 / 3.0 * np.diff(edges**3) / np.diff(edges**2)
    angles = 2.0 * np.pi * (np.arange(_AROUND) + 0.5) / _AROUND
    spokes = np.array([np.cos(angles), np.sin(angles), 0.0 * angles]).T
    points = (r[:, None, None] * spokes).reshape(-1, 3)
    normals = np.tile([0.0, 0.0, -1.0], (len(points), 1))
    return points, normals, np.full(len(points), np.pi * radius**2 / len(points))


def _half_sphere(radius: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points, normals and areas of the lower half, rings by Gauss's rule in the height."""
    nodes, weights = np.polynomial.legendre.leggauss(_RINGS)
    z = 0.5 * (nodes - 1.0)
    angles = 2.0 * np.pi * (np.arange(_AROUND) + 0.5) / _AROUND
    r = np.sqrt(1.0 - z * z)
    normals = np.empty((_RINGS, _AROUND, 3))
    normals[:, :, 0], normals[:, :, 1] = np.outer(r, np.cos(angles)), np.outer(r, np.sin(angles))
    normals[:, :, 2] = z[:, None]
    areas = np.repeat(0.5 * weights * 2.0 * np.pi / _AROUND * radius**2, _AROUND)
    flat = normals.reshape(-1, 3)
    return radius * flat, flat, areas
