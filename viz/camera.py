"""Where cameras stand: beside the robot, higher where the ground would hide it."""

from __future__ import annotations

import numpy as np

from nmdp_pin._terrain import Terrain

FIELD_OF_VIEW = 35.0
"""Angle between the upper and the lower edge of a picture [deg]."""

DISTANCE = 1.97
"""Distance from the robot, in units of its size."""

_AZIMUTH, _ELEVATION = -1.17, 0.27  # [rad]
_STEEPEST, _RISE = 1.5, 0.1  # [rad] of the camera over the horizon, and of a try to get higher
_NEAR = 1e-3  # [m] from the ground, where a ray ends in it
_PROBES = 100  # of the distance to the ground along a ray, at most


def free_direction(terrain: Terrain | None, target: np.ndarray, distance: float) -> np.ndarray:
    """Direction of the lowest ray to the camera that no ground crosses.

    Args:
        terrain: the ground; None: none.
        target: point to look at [m], shape (3,).
        distance: length of the ray [m].

    Returns:
        unit vector from the target to the camera, shape (3,).
    """
    elevations = np.arange(_ELEVATION, _STEEPEST, _RISE)
    flat = np.cos(elevations)
    rays = np.column_stack([flat * np.cos(_AZIMUTH), flat * np.sin(_AZIMUTH), np.sin(elevations)])
    if terrain is None:
        return np.asarray(rays[0])
    reached, hidden = np.zeros(len(rays)), np.zeros(len(rays), dtype=bool)
    for _ in range(_PROBES):  # nothing is nearer than the ground, so a step of its distance is free
        gap = terrain.query(target + reached[:, None] * rays).distance
        going = (reached < distance) & ~hidden
        if not going.any():
            break
        hidden |= going & (gap < _NEAR)
        reached += np.maximum(gap, 0.0)
    result: np.ndarray = rays[int(np.argmin(hidden))]
    return result
