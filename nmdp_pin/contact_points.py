"""The spheres of a robot that may touch the terrain, and how they are chosen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class ContactPoints:
    """Spheres fixed to the robot that may touch the terrain.

    Args:
        names: one unique name a point, (n,).
        joints: index of the pinocchio joint that carries each point, shape (n,).
        positions: centres in the joint's frame [m], shape (n, 3).
        radii: radii of the spheres, 0 for a bare point [m], shape (n,).
    """

    names: tuple[str, ...]
    joints: np.ndarray
    positions: np.ndarray
    radii: np.ndarray

    def __len__(self) -> int:
        return len(self.names)
