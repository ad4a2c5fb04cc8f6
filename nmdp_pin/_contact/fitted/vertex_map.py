"""Vertices as a function of the pose of a contact: the core of a fitted contact model."""

import abc

import numpy as np

from nmdp_pin.errors import ContactError

POSES = (("depth",), ("depth", "tilt_x", "tilt_y"))


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
