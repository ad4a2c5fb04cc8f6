"""Frictions and contact stiffnesses of pairs of bodies, in the place of those of their surfaces."""

from collections.abc import Mapping
from dataclasses import replace

from nmdp_pin._options import PositiveOrInfinite, checked
from nmdp_pin._robot.frames import link_frame
from nmdp_pin._robot.robot import Robot
from nmdp_pin._terrain.shape import Friction
from nmdp_pin.errors import RobotError

TERRAIN = "terrain"
"""Name of the terrain in pairs."""


@checked(RobotError)
def with_frictions(robot: Robot, frictions: Mapping[tuple[str, str], Friction]) -> Robot:
    """Copy of a robot with friction coefficients of pairs of its bodies.

    Elsewhere the larger one of the coefficients of two surfaces counts.

    Args:
        robot: robot, with what is beside it.
        frictions: coefficients by two names of links or objects, of which one may be "terrain".

    Raises:
        RobotError: a name does not exist, a pair is given twice, or its bodies move as one.
    """
    return replace(robot, frictions=_extended(robot, robot.frictions, frictions, "friction"))


@checked(RobotError)
def with_stiffnesses(
    robot: Robot, stiffnesses: Mapping[tuple[str, str], PositiveOrInfinite]
) -> Robot:
    """Copy of a robot with contact stiffnesses of pairs of its bodies.

    Elsewhere the stiffnesses of two surfaces are in series, and where neither has one it is that of
    the contact law.

    Args:
        robot: robot, with what is beside it.
        stiffnesses: stiffnesses k, inf: rigid, by two names of links or objects, of which one may
            be "terrain" [N/m^p, p being the exponent of the law].

    Raises:
        RobotError: as of `with_frictions`.
    """
    return replace(robot, stiffnesses=_extended(robot, robot.stiffnesses, stiffnesses, "stiffness"))


def _extended(
    robot: Robot,
    known: Mapping[tuple[int, int], float],
    given: Mapping[tuple[str, str], float],
    what: str,
) -> dict[tuple[int, int], float]:
    """A table by joints with the values that are given by names."""
    found = dict(known)
    for pair, value in given.items():
        element = f"{what} of '{pair[0]}' and '{pair[1]}'"
        a, b = sorted(
            0
            if name == TERRAIN
            else int(link_frame(robot.model, name, robot.source, element).parentJoint)
            for name in pair
        )
        again = (a, b) in found and (a, b) not in known
        if a == b or again:
            said = "they move as one body" if a == b else "the pair is given twice"
            raise RobotError(said, file=robot.source, element=element)
        found[a, b] = float(value)
    return found
