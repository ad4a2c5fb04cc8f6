"""Friction coefficients of pairs of bodies, in the place of those of their surfaces."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated

from pydantic import Field

from nmdp_pin._options import Number, checked
from nmdp_pin._robot.frames import link_frame
from nmdp_pin._robot.robot import Robot
from nmdp_pin.errors import RobotError

TERRAIN = "terrain"
"""Name of the terrain in pairs."""

Coefficient = Annotated[Number, Field(ge=0, le=10)]


@checked(RobotError)
def with_frictions(robot: Robot, frictions: Mapping[tuple[str, str], Coefficient]) -> Robot:
    """Copy of a robot with friction coefficients of pairs of its bodies.

    Elsewhere the larger one of the coefficients of two surfaces counts.

    Args:
        robot: robot, with what is beside it.
        frictions: coefficients by two names of links or objects, of which one may be "terrain".

    Raises:
        RobotError: a name does not exist, a pair is given twice, or its bodies move as one.
    """
    found = dict(robot.frictions)
    for pair, value in frictions.items():
        element = f"friction of '{pair[0]}' and '{pair[1]}'"
        a, b = sorted(
            0
            if name == TERRAIN
            else int(link_frame(robot.model, name, robot.source, element).parentJoint)
            for name in pair
        )
        known = (a, b) in found and (a, b) not in robot.frictions
        for there, what in ((a == b, "they move as one body"), (known, "the pair is given twice")):
            if there:
                raise RobotError(what, file=robot.source, element=element)
        found[a, b] = float(value)
    return replace(robot, frictions=found)
