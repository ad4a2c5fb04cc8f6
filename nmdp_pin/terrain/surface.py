"""Terrain data at points, and the search for the nearest of several shapes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Surface(NamedTuple):
    """Terrain data at n points.

    Attributes:
        distance: signed distance to the nearest shape, negative inside [m], shape (n,).
        normal: outward unit normal, the gradient of the distance, shape (n, 3).
        curvature: derivative of the normal, the Hessian of the distance [1/m], shape (n, 3, 3);
            None if it is zero at all points.
        friction: friction coefficient of the nearest shape [-], shape (n,).
        shape: index of the nearest shape, -1 where there is none, shape (n,).
    """

    distance: np.ndarray
    normal: np.ndarray
    curvature: np.ndarray | None
    friction: np.ndarray
    shape: np.ndarray


class Nearest:
    """Nearest shapes found so far, updated shape by shape.

    Args:
        surface: initial values, whose arrays are reused.
    """

    __slots__ = ("curvature", "distance", "friction", "normal", "shape")

    def __init__(self, surface: Surface) -> None:
        self.distance, self.normal, self.curvature = surface[:3]
        self.friction, self.shape = surface[3:]

    def take_nearer(self, rows: np.ndarray, by: Surface) -> None:
        """Take `by`, a surface at the points `rows` (indices), where it is nearer."""
        kept = (by.distance < self.distance[rows]).nonzero()[0]
        if not len(kept):
            return
        rows = rows[kept]
        by = Surface._make(None if part is None else part[kept] for part in by)
        self.distance[rows], self.normal[rows] = by.distance, by.normal
        self.friction[rows], self.shape[rows] = by.friction, by.shape
        if by.curvature is not None:
            if self.curvature is None:
                self.curvature = np.zeros((len(self.distance), 3, 3))
            self.curvature[rows] = by.curvature
        elif self.curvature is not None:
            self.curvature[rows] = 0.0

    def surface(self) -> Surface:
        """Terrain data of the shapes found."""
        return Surface(self.distance, self.normal, self.curvature, self.friction, self.shape)
