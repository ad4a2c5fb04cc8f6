"""Scripted joints: those that are where commands put them, whatever acts on them."""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from nmdp_pin._options import check_part, check_parts, unknown
from nmdp_pin._robot.joint_limits import dofs_of
from nmdp_pin._robot.robot import Robot
from nmdp_pin.errors import RobotError


def scripted(robot: Robot, joints: Iterable[str] | None = None) -> Robot:
    """Copy of a robot with joints that move as commands say, such as a door or a moving obstacle.

    At the end of a step such a joint is at `Command.q_target` with the velocity `Command.v_target`,
    whatever force that takes; `StepResult.tau` has the force. It has no motor, stops or friction.

    Args:
        robot: robot, or a body of `free_body`.
        joints: names of its joints; None: all.

    Raises:
        RobotError: a joint does not exist, or copies another one.
    """
    check_part("robot", robot, Robot, RobotError)
    model, names = robot.model, [*robot.model.names][1:]
    chosen = frozenset(names if joints is None else check_parts("joints", joints, str, RobotError))
    mimics = {name for m in robot.limits.mimics for name in (m.joint, m.primary)}
    for name in sorted(chosen):
        if name not in names:
            what = unknown(name, f"a joint of robot '{robot.name}'", names)
            raise RobotError(what, file=robot.source)
        if name in mimics:
            what = "copies a joint or is copied, and cannot be scripted"
            raise RobotError(what, file=robot.source, element=f"joint '{name}'")
    dofs = dofs_of(model, chosen)
    limits = replace(
        robot.limits,
        lower=np.where(dofs, -np.inf, robot.limits.lower),
        upper=np.where(dofs, np.inf, robot.limits.upper),
        effort=np.where(dofs, np.inf, robot.limits.effort),
        friction=np.where(dofs, 0.0, robot.limits.friction),
    )
    driven = robot.driven[~dofs[robot.driven]]
    return replace(robot, limits=limits, driven=driven, scripted=robot.scripted | chosen)
