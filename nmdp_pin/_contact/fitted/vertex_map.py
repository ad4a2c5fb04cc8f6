"""Vertices as a function of the pose of a contact: the core of a fitted contact model."""

import abc
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from nmdp_pin.errors import ContactError

POSES = (("depth",), ("depth", "tilt_x", "tilt_y"))
PoseFunction = Callable[[np.ndarray], np.ndarray]


class VertexMap(abc.ABC):
    """Base class of vertex maps: vertices in the frame of the patch, for poses within a range.

    A pose is (depth) or (depth, tilt_x, tilt_y) [m, rad, rad]; see `WrenchSamples` for both frames.

    Attributes:
        rows: number of components of a vertex: 3 for a force, 6 for a wrench.
        n_vertices: number of vertices, without the origin.
        lower: smallest pose of the range, shape (1,) or (3,).
        upper: largest pose of the range, shape (1,) or (3,).
    """

    rows: int
    n_vertices: int
    lower: np.ndarray
    upper: np.ndarray

    @property
    def differentiable(self) -> bool:
        """Whether the map has a `jacobian`."""
        return type(self).jacobian is not VertexMap.jacobian

    @abc.abstractmethod
    def vertices(self, poses: np.ndarray) -> np.ndarray:
        """Vertices [N, N m] at poses of shape (n, k), shape (n, rows, n_vertices)."""

    def jacobian(self, poses: np.ndarray) -> np.ndarray:
        """Derivative of the vertices by the pose, shape (n, rows, n_vertices, k).

        Raises:
            ContactError: the map has no derivative.
        """
        raise ContactError(f"{type(self).__name__} has no jacobian")


@dataclass(frozen=True, kw_only=True)
class FunctionVertices(VertexMap):
    """Vertex map of a function of the pose, at the top of a module so that it can be pickled.

    Args:
        function: poses (n, k) to vertices (n, 3 or 6, m) in the patch's frame.
        range: smallest and largest pose of the function [m, rad, rad].
        slope: derivative of the function, poses (n, k) to (n, 3 or 6, m, k), or None.

    Raises:
        ContactError: an argument is no function, or returns a wrong shape.
    """

    function: PoseFunction
    range: tuple[tuple[float, ...], tuple[float, ...]]
    slope: PoseFunction | None = None

    def __post_init__(self) -> None:
        poses = np.array(self.range, dtype=float)
        if poses.ndim != 2 or len(poses) != 2 or poses.shape[1] not in (1, 3):
            raise ContactError(f"range must be two poses of 1 or 3 numbers, got {self.range!r}")
        V = self._asked("function", self.function, poses)
        if V.ndim != 3 or len(V) != 2 or V.shape[1] not in (3, 6):
            raise ContactError(f"function gives shape {V.shape} for 2 poses, not (2, 3 or 6, m)")
        sizes = {"rows": V.shape[1], "n_vertices": V.shape[2]}
        for name, value in {**sizes, "lower": poses[0], "upper": poses[1]}.items():
            object.__setattr__(self, name, value)
        if self.slope is not None:
            expected = (*V.shape, poses.shape[1])
            found = self._asked("slope", self.slope, poses)
            if found.shape != expected:
                raise ContactError(f"slope gives shape {found.shape} for 2 poses, not {expected}")

    @property
    def differentiable(self) -> bool:
        """Whether the function's derivative is given."""
        return self.slope is not None

    def vertices(self, poses: np.ndarray) -> np.ndarray:
        """See `VertexMap`."""
        return self.function(poses)

    def jacobian(self, poses: np.ndarray) -> np.ndarray:
        """See `VertexMap`."""
        return super().jacobian(poses) if self.slope is None else self.slope(poses)

    @staticmethod
    def _asked(name: str, function: object, poses: np.ndarray) -> np.ndarray:
        if not callable(function):
            raise ContactError(f"{name} must be a function of poses, got {function!r}")
        return np.asarray(function(poses), dtype=float)
