"""What the terrain is like at some points, and how the nearest shape is found."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Surface(NamedTuple):
    """The terrain at n points; the arrays may be shared, so they are only to be read.

    Args:
        distance: signed distance to the nearest shape, negative inside [m], shape (n,).
        normal: outward unit normal, the gradient of the distance, shape (n, 3).
        curvature: derivative of the normal with respect to the point, which is the Hessian of the
            distance [1/m], shape (n, 3, 3); None where it is zero at every point.
        friction: friction coefficient of the nearest shape [-], shape (n,).
        shape: index of the nearest shape, -1 where there is none, shape (n,).
    """

    distance: np.ndarray
    normal: np.ndarray
    curvature: np.ndarray | None
    friction: np.ndarray
    shape: np.ndarray


class Nearest:
    """The nearest shapes found so far: what a `Surface` is filled from, shape after shape.

    Args:
        surface: what to start from; its distance is taken over, the rest is copied.
    """

    __slots__ = ("curvature", "distance", "friction", "normal", "shape")

    def __init__(self, surface: Surface) -> None:
        self.distance = surface.distance
        self.normal, self.friction = surface.normal.copy(), surface.friction.copy()
        self.shape = surface.shape.copy()
        self.curvature = surface.curvature

    def replace(self, rows: np.ndarray, by: Surface) -> None:
        """Take `by` at the points `rows` (indices)."""
        self.distance[rows] = by.distance
        self.normal[rows] = by.normal
        self.describe(rows, by.friction, by.curvature, by.shape)

    def describe(
        self,
        rows: np.ndarray,
        friction: np.ndarray,
        curvature: np.ndarray | None,
        shape: np.ndarray,
    ) -> None:
        """Take friction, curvature and shape at the points `rows` (indices)."""
        self.friction[rows] = friction
        self.shape[rows] = shape
        if curvature is not None:
            if self.curvature is None:
                self.curvature = np.zeros((len(self.distance), 3, 3))
            self.curvature[rows] = curvature
        elif self.curvature is not None:
            self.curvature[rows] = 0.0

    def surface(self) -> Surface:
        """The surface of the shapes found."""
        return Surface(self.distance, self.normal, self.curvature, self.friction, self.shape)


def no_surface(n: int) -> Surface:
    """Nothing at n points: infinitely far."""
    nowhere, none = np.full(n, np.inf), np.full(n, -1)
    return Surface(nowhere, np.zeros((n, 3)), None, np.zeros(n), none)
