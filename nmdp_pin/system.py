"""The system that is simulated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from nmdp_pin.contact.contact_law import ContactLaw
from nmdp_pin.robot import Robot
from nmdp_pin.terrain import Terrain

Law = TypeVar("Law", bound=ContactLaw, covariant=True)


@dataclass(frozen=True, eq=False)
class System(Generic[Law]):
    """Bodies, the ground and the law of their contacts.

    Args:
        robot: the bodies, their joints and their contact points.
        terrain: the static world.
        law: the contact law.
    """

    robot: Robot
    terrain: Terrain
    law: Law
