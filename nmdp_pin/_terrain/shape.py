"""Base classes of terrain shapes."""

import abc
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import coal
import numpy as np
import pinocchio as pin
from pydantic import Field

from nmdp_pin._options import (
    Count,
    Number,
    Positive,
    PositiveOrInfinite,
    Vector3,
    check_fields,
    readable,
)
from nmdp_pin.errors import TerrainError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    Table = ArrayLike
else:
    Table = Any  # lists in a scenario file

Vector = Vector3
Lengths = tuple[Positive, Positive, Positive]
Friction = Annotated[Number, Field(ge=0, le=10)]
Bits = Annotated[Count, Field(ge=0)]
Mask = tuple[Bits, Bits]

LARGEST = 1e9  # [m] of heights and vertices; further out they no longer resolve a micrometre
DEFAULT_FRICTION = 0.7  # [-] rubber on concrete, and the papers' scenarios


@readable
@dataclass(frozen=True, kw_only=True, eq=False)
class Shape(abc.ABC):
    """Base class of terrain shapes.

    Args:
        friction: friction coefficient; None: that of what it touches, and 0.7 where that has none
            either [-].
        stiffness: contact stiffness k, inf: rigid; None: that of what it touches, and that of the
            contact law where that has none either [N/m^p, p being the exponent of the law].
        mask: two sets of bits, as the contype and conaffinity of MJCF: two shapes may touch where
            the first one of either shares a bit with the second one of the other; None: all may.
        surface_velocity: velocity along the surface, as of a belt, in the shape's frame; what leads
            out of the surface is left out; None: 0 [m/s].
        surface_angular_velocity: likewise, as of a turntable, about the frame's origin [rad/s].

    Raises:
        TerrainError: an option is out of range.
    """

    friction: Friction | None = None
    stiffness: PositiveOrInfinite | None = None
    mask: Mask | None = None
    surface_velocity: Vector | None = None
    surface_angular_velocity: Vector | None = None

    def __post_init__(self) -> None:
        check_fields(self, TerrainError)
        self._check()

    def _check(self) -> None:  # noqa: B027
        """Check what the types of the options do not say; a shape may have nothing to check."""

    @property
    def coefficient(self) -> float:
        """Its friction coefficient on what has none of its own [-]."""
        return DEFAULT_FRICTION if self.friction is None else self.friction

    def meets(self, other: "Shape") -> bool:
        """Whether the masks let two shapes touch."""
        if self.mask is None or other.mask is None:
            return True
        return bool(self.mask[0] & other.mask[1] or other.mask[0] & self.mask[1])

    @property
    def surface_twist(self) -> np.ndarray:
        """Twist of its surface about the world's origin, linear, then angular, shape (6,)."""
        parts = self.surface_velocity or (0.0,) * 3, self.surface_angular_velocity or (0.0,) * 3
        twist = pin.Motion(*map(np.array, parts))
        return np.array(self.placement.act(twist).vector)

    @abc.abstractmethod
    def collision_geometry(self) -> coal.CollisionGeometry:
        """A new coal geometry of the shape, in the shape's own frame."""

    @property
    @abc.abstractmethod
    def placement(self) -> pin.SE3:
        """Pose of the shape's frame in the world."""

    def _set(self, **values: object) -> None:
        """Write normalised options while the shape is being made."""
        for name, value in values.items():
            object.__setattr__(self, name, value)


@dataclass(frozen=True, kw_only=True, eq=False)
class Solid(Shape):
    """Base class of shapes with a pose.

    Args:
        position: position of the shape's frame in the world [m].
        rpy: orientation, roll-pitch-yaw as in a URDF [rad].
    """

    position: Vector = (0.0, 0.0, 0.0)
    rpy: Vector = (0.0, 0.0, 0.0)

    @property
    def placement(self) -> pin.SE3:
        """Pose of the shape's frame in the world."""
        return pin.SE3(pin.rpy.rpyToMatrix(np.array(self.rpy)), np.array(self.position))


def masks_of(meets: np.ndarray) -> list[Mask | None]:
    """Masks of shapes whose pairs may touch where this symmetric table is true, (n, n)."""
    _, first, classes = np.unique(meets, axis=0, return_index=True, return_inverse=True)
    of_classes = meets[np.ix_(first, first)]  # alike rows have alike columns
    masks = [
        None if row.all() else (1 << c, sum(1 << int(d) for d in row.nonzero()[0]))
        for c, row in enumerate(of_classes)
    ]
    return [masks[c] for c in classes.reshape(-1).tolist()]


def checked_table(shape: Shape, option: str, value: object, columns: int | None) -> np.ndarray:
    """A read-only table of floats up to `LARGEST`, with `columns` columns where given."""
    try:
        table = np.array(value, dtype=float)
    except (TypeError, ValueError):
        table = np.empty(0)
    wide = "" if columns is None else f" with {columns} columns"
    if table.ndim != 2 or columns not in (None, table.shape[1]) or not np.isfinite(table).all():
        raise TerrainError(
            f"{type(shape).__name__}: {option} must be a table of finite numbers{wide}, "
            f"got shape {np.shape(table)} or entries that are not numbers"
        )
    if np.abs(table).max(initial=0.0) > LARGEST:
        raise TerrainError(
            f"{type(shape).__name__}: {option} must be at most {LARGEST:g}, got "
            f"{np.abs(table).max():g}; lengths are in metres"
        )
    table.setflags(write=False)
    return table


def box_around(geometry: coal.CollisionGeometry, M: pin.SE3) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper corner of a box around a geometry [m], shapes (3,)."""
    geometry.computeLocalAABB()
    box = geometry.aabb_local
    middle = M.act(0.5 * (box.min_ + box.max_))
    half = np.abs(M.rotation) @ (0.5 * (box.max_ - box.min_))
    return middle - half, middle + half
