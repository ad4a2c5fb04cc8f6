"""Closing of loops: loops added to robots, and configurations moved to where they are closed."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
import pinocchio as pin

from nmdp_pin._robot.loop import Grip, Loop
from nmdp_pin._robot.robot import Robot
from nmdp_pin.errors import RobotError

OPEN = 1e-6  # [m, rad] of a loop that counts as open
_CLOSED = 1e-12  # [m, rad] by which loops may be open where they are
_MOST = 100  # iterations
_LONGEST = 0.2  # [rad, m] of a step


def with_loops(robot: Robot, loops: Iterable[Loop]) -> Robot:
    """Copy of a robot with closed loops, whose standing pose is moved to where all are closed.

    Args:
        robot: robot, with what is beside it.
        loops: loops in addition to those it has: `Connect`, `Weld`, `Distance` or `Coupling`.

    Raises:
        RobotError: a name does not exist, a loop is within one body, or no pose near the standing
            one closes the loops.
    """
    model, data = robot.model, robot.model.createData()
    pin.forwardKinematics(model, data, robot.standing)
    added = []
    for loop in loops:
        if not isinstance(loop, Loop):
            kind = type(loop).__name__
            raise RobotError(f"expected a Connect, Weld, Distance or Coupling, got {kind}")
        added.append(loop.standing(model, data, robot.source))
    whole = (*robot.loops, *added)
    standing, missed, worst = closed(model, whole, robot.standing)
    if missed > OPEN:
        raise RobotError(
            f"no pose near the standing one closes it: {missed:.2g} m or rad are left; give a "
            "standing pose that nearly does",
            file=robot.source,
            element=worst,
        )
    return replace(robot, loops=whole, standing=standing)


def closed(model: pin.Model, loops: Sequence[Loop], q: np.ndarray) -> tuple[np.ndarray, float, str]:
    """A configuration that closes loops, near one that need not, by Gauss and Newton's method.

    Args:
        model: of the robot.
        loops: loops, which leave nothing open.
        q: configuration, shape (nq,).

    Returns:
        The configuration, the largest gap that is left [m, rad], and the name of its loop.
    """
    loops = [loop for loop in loops if not isinstance(loop, Grip)]
    if not loops:
        return q, 0.0, ""
    data, best, q = model.createData(), np.inf, q.copy()
    found, worst = q, ""
    for _ in range(_MOST):
        pin.computeJointJacobians(model, data, q)
        parts = [loop.gaps(model, data, q) for loop in loops]
        gaps = np.concatenate([g for g, _ in parts])
        largest = float(np.abs(gaps).max())
        if largest < best:
            at = int(np.argmax([np.abs(g).max() for g, _ in parts]))
            found, best, worst = q, largest, loops[at].name
        if largest <= _CLOSED:
            break
        dq = -np.linalg.lstsq(np.vstack([J for _, J in parts]), gaps, rcond=1e-9)[0]
        longest = np.abs(dq).max(initial=0.0)
        if longest <= _CLOSED:
            break
        q = pin.integrate(model, q, dq * min(1.0, _LONGEST / longest))
    return found, best, worst


def loop_energy(robot: Robot, q: np.ndarray) -> float:
    """What loops with a compliance store at a configuration [J]."""
    model, data, energy = robot.model, robot.model.createData(), 0.0
    pin.computeJointJacobians(model, data, q)
    for loop in robot.loops:
        if loop.compliance > 0.0:
            gaps, _ = loop.gaps(model, data, q)
            energy += 0.5 * float(gaps @ gaps) / loop.compliance
    return energy


def with_loops_that_hold(robot: Robot, loops: Sequence[Loop]) -> Robot:
    """The robot with those loops whose ends move against each other."""
    holding = [loop for loop in loops if loop.holds(robot.model, robot.source)]
    closed = with_loops(robot, holding)
    if len(holding) == len(loops):
        return closed
    idle = ", ".join(loop.name for loop in loops if loop not in holding)
    note = f"loops of what does not move against each other, left out: {idle}"
    return replace(closed, notes=(*robot.notes, note))
