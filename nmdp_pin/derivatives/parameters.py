"""Parameters of a step other than its start: what they are, and a step with others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pinocchio as pin

from nmdp_pin.control.controller import Command
from nmdp_pin.dynamics.step_residual import StepResidual
from nmdp_pin.errors import DerivativeError
from nmdp_pin.robot import Robot
from nmdp_pin.terrain import Shape, Terrain

COMMAND = ("tau", "kp", "kd", "q_target", "v_target")
"""Of the command, each with one entry a velocity."""

MODEL = ("friction", "stiffness", "mass")
"""Of what is touched, one a shape; of the contact model, one; of the bodies, one a joint."""

PARAMETERS = (*COMMAND, *MODEL)

_TARGET_STEP = 1e-6  # [rad, m]; all else enters linearly, so that any step does
_RELATIVE = 1e-2  # of the parameters of models
_POINT = 1e-2  # [kg] given to joints that carry nothing


def checked(names: tuple[str, ...]) -> tuple[str, ...]:
    """The names, all of which are known.

    Raises:
        DerivativeError: one is not.
    """
    for name in names:
        if name not in PARAMETERS:
            raise DerivativeError(
                f"there is no derivative with respect to '{name}'; choose from {PARAMETERS} "
                "(those with respect to the state and the torque are always there)"
            )
    return names


def other_commands(
    model: pin.Model, command: Command, name: str
) -> list[tuple[Command, Command, float]]:
    """For each entry two commands around the given one, and how far they are apart.

    Raises:
        DerivativeError: the target of a command that has none.
    """
    nv, pairs = model.nv, []
    if name == "q_target":
        if command.q_target is None:
            raise DerivativeError("the command has no q_target to differentiate with respect to")
        for dq in _TARGET_STEP * np.eye(nv):
            ahead, behind = (pin.integrate(model, command.q_target, s * dq) for s in (1.0, -1.0))
            pairs.append((replace(command, q_target=ahead), replace(command, q_target=behind)))
        return [(*pair, 2.0 * _TARGET_STEP) for pair in pairs]
    if name == "kp" and command.q_target is None:
        raise DerivativeError("the command has no q_target, without which kp means nothing")
    given = getattr(command, name)
    given = np.zeros(nv) if given is None else given
    for one in np.eye(nv):
        ahead, behind = given + one, given - one
        pairs.append((replace(command, **{name: ahead}), replace(command, **{name: behind})))
    return [(*pair, 2.0) for pair in pairs]


def other_residuals(
    name: str,
    robot: Robot,
    terrain: Terrain,
    stiffness: float,
    make: Callable[[Robot, Terrain, float], StepResidual],
) -> list[tuple[StepResidual, StepResidual, float]]:
    """For each entry two residuals around the given one, and how far they are apart.

    Args:
        name: one of MODEL.
        robot: what moves.
        terrain: the ground.
        stiffness: of the contact model.
        make: builds a residual of a robot on a ground, with a stiffness.
    """
    if name == "stiffness":
        step = _RELATIVE * stiffness
        around = [make(robot, terrain, stiffness + s) for s in (step, -step)]
        return [(around[0], around[1], 2.0 * step)]
    result = []
    if name == "friction":
        for i, shape in enumerate(all_shapes(robot, terrain)):
            step = _RELATIVE * max(shape.friction, 1.0)
            ahead, behind = (
                make(*_with_friction(robot, terrain, i, shape.friction + s), stiffness)
                for s in (step, -step)
            )
            result.append((ahead, behind, 2.0 * step))
        return result
    for joint in range(1, robot.model.njoints):
        mass = robot.model.inertias[joint].mass
        step = _RELATIVE * mass if mass > 0.0 else _POINT
        behind = mass - step if mass > 0.0 else mass
        pair = [
            make(_with_mass(robot, joint, m), terrain, stiffness) for m in (mass + step, behind)
        ]
        result.append((pair[0], pair[1], mass + step - behind))
    return result


def all_shapes(robot: Robot, terrain: Terrain) -> list[Shape]:
    """What contacts may touch: the shapes of the terrain, then those of the robot's bodies."""
    return [*terrain.shapes, *(s for surface in robot.surfaces.values() for s in surface.shapes)]


def _with_friction(
    robot: Robot, terrain: Terrain, index: int, friction: float
) -> tuple[Robot, Terrain]:
    """The robot and the ground, one of `all_shapes` with another friction."""
    if index < len(terrain.shapes):
        return robot, _with_shape(terrain, index, friction)
    surfaces, index = dict(robot.surfaces), index - len(terrain.shapes)
    for joint, surface in surfaces.items():
        if index < len(surface.shapes):
            surfaces[joint] = _with_shape(surface, index, friction)
            break
        index -= len(surface.shapes)
    return replace(robot, surfaces=surfaces), terrain


def _with_shape(terrain: Terrain, index: int, friction: float) -> Terrain:
    shapes = list(terrain.shapes)
    shapes[index] = replace(shapes[index], friction=friction)
    return Terrain(shapes, query=terrain.measured_by)


def _with_mass(robot: Robot, joint: int, mass: float) -> Robot:
    """The robot with another mass of what a joint carries.

    Its shape and its centre stay; what had no mass gets that of a point at the joint.
    """
    model = pin.Model(robot.model)
    inertia = model.inertias[joint]
    share = mass / inertia.mass if inertia.mass > 0.0 else 0.0
    model.inertias[joint] = pin.Inertia(mass, inertia.lever, share * inertia.inertia)
    return replace(robot, model=model)
