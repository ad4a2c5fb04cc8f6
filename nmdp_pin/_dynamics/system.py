"""Simulated system: robot, terrain and contact law."""

import functools
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import numpy as np

from nmdp_pin._contact.contact_law import ContactLaw
from nmdp_pin._dynamics.geometry.candidates import candidates_of
from nmdp_pin._kernels.geometry.contacts import ContactPairs
from nmdp_pin._robot import Robot
from nmdp_pin._terrain import Terrain
from nmdp_pin.errors import RobotError, TerrainError

Law = TypeVar("Law", bound=ContactLaw, covariant=True)


@dataclass(frozen=True, eq=False)
class System(Generic[Law]):
    """Robot, terrain and contact law.

    Args:
        robot: bodies, joints and contact points.
        terrain: the terrain.
        law: contact law.

    Raises:
        RobotError, TerrainError: an argument is of another type.
    """

    robot: Robot
    terrain: Terrain
    law: Law

    def __post_init__(self) -> None:
        if not isinstance(self.robot, Robot):
            kind = type(self.robot).__name__
            raise RobotError(f"expected a Robot, such as that of load_robot, got {kind}")
        if not isinstance(self.terrain, Terrain):
            kind = type(self.terrain).__name__
            raise TerrainError(f"expected a Terrain, such as Terrain(Plane()), got {kind}")

    @functools.cached_property
    def pairs(self) -> ContactPairs:
        """Pairs that may touch."""
        return candidates_of(self.robot, self.terrain, self.law.power)

    def fits(self, other: "System[Any]") -> bool:
        """Whether the other one, which parameters have made of this one, has arrays of its sizes.

        Coal's solids are of one simulator alone.
        """
        own, limits = self.robot.limits, other.robot.limits
        bounds = limits is own or (
            np.array_equal(own.bounded, limits.bounded) and own.mimics == limits.mimics
        )
        return bounds and not self.pairs.solids

    def varied(self, robot: Robot, law: Any) -> "System[Any]":
        """The system with other inertias, limits and gravity, and another law; the pairs stay."""
        result = System(robot, self.terrain, law)
        if not self.pairs.solids:  # coal's solids move, and are of one simulator
            result.__dict__["pairs"] = self.pairs
        return result

    def on(self, terrain: Terrain) -> "System[Law]":
        """The system on the same shapes with other frictions; pairs of points stay."""
        result = replace(self, terrain=terrain)
        if not (self.robot.surfaces or self.pairs.solids):
            shapes, pairs = terrain.arrays.shapes.copy(), self.pairs
            own = np.where(pairs.rubbing < 0, pairs.friction, shapes[pairs.surfaces, 15])
            result.__dict__["pairs"] = replace(pairs, shapes=shapes, friction=own)
        return result
