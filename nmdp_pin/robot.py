"""A robot: a URDF made ready for simulation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pinocchio as pin

from nmdp_pin.gait import Gait


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


@dataclass(frozen=True, eq=False)
class Robot:
    """A robot made ready for simulation; knows nothing of time or contact forces.

    Args:
        name: what scenarios call it.
        model: kinematics and inertias.
        contact_points: the spheres that may touch the terrain.
        driven: velocity indices of the driven joints, shape (n_driven,).
        standing: standing configuration, shape (nq,).
        gaits: reference motions by name.
        visual_model: what it looks like, None if its meshes are absent.
        collision_model: its collision geometry, None if its meshes are absent.
        source: path of the URDF.
    """

    name: str
    model: pin.Model
    contact_points: ContactPoints
    driven: np.ndarray
    standing: np.ndarray
    gaits: Mapping[str, Gait] = field(default_factory=dict)
    visual_model: pin.GeometryModel | None = None
    collision_model: pin.GeometryModel | None = None
    source: str = ""
