"""Terrain data at points."""

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
