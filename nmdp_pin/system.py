"""Simulated system: robot, terrain and contact law."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from nmdp_pin.contact.contact_law import ContactLaw
from nmdp_pin.robot import Robot
from nmdp_pin.terrain import Terrain

Law = TypeVar("Law", bound=ContactLaw, covariant=True)


@dataclass(frozen=True, eq=False)
class System(Generic[Law]):
    """Robot, terrain and contact law.

    Args:
        robot: bodies, joints and contact points.
        terrain: the terrain.
        law: contact law.
    """

    robot: Robot
    terrain: Terrain
    law: Law

    @property
    def weights_shape(self) -> tuple[int, int]:
        """Shape of the weights: contacts, then joints with a stop or friction; of m vertices."""
        rows = len(self.robot.contact_points) + len(self.robot.limits.bounded)
        return rows, self.law.n_vertices
