"""Surfaces that contacts touch, of the terrain and of bodies, as closed-form shapes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nmdp_pin.kernels.jit import jit
from nmdp_pin.kernels.position_scene import Surfaces
from nmdp_pin.kernels.terrain import query


class Ground(NamedTuple):
    """The shapes of all surfaces, one surface after another; see `terrain` for the tables.

    Args:
        kinds: table of kinds, shape (n, 6).
        shapes: table of shapes, shape (n, 17).
        heights: heights of all height fields [m], shape (h,).
        intervals: intervals of all height fields [m], shape (k, 2).
        first_shapes: index of the first shape of each surface, of which the terrain is the first,
            shape (s + 1,).
        surface_of: surface that each contact touches, those of the terrain before all others,
            shape (m,).
    """

    kinds: np.ndarray
    shapes: np.ndarray
    heights: np.ndarray
    intervals: np.ndarray
    first_shapes: np.ndarray
    surface_of: np.ndarray


@jit
def find_surfaces(ground: Ground, found: Surfaces) -> None:
    """Describe the surfaces at the centres of the contacts.

    Args:
        ground: shapes of all surfaces.
        found: surfaces at the contacts; everything but the centres is written.
    """
    m, i = len(ground.surface_of), 0
    found.curved[0] = 0.0
    while i < m:
        surface, end = ground.surface_of[i], i + 1
        while end < m and ground.surface_of[end] == surface:
            end += 1
        first, last = ground.first_shapes[surface], ground.first_shapes[surface + 1]
        bent = query(
            ground.kinds[first:last],
            ground.shapes[first:last],
            ground.heights,
            ground.intervals,
            found.centre[i:end],
            found.distance[i:end],
            found.normal[i:end],
            found.curvature[i:end],
            found.friction[i:end],
            found.shape[i:end],
        )
        if bent:
            found.curved[0] = 1.0
        else:
            found.curvature[i:end] = 0.0
        i = end
