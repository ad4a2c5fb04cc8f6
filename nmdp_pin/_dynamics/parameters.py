"""Parameters of a step other than its start, and systems with perturbed parameters."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pinocchio as pin

from nmdp_pin._contact.wrench_space import WrenchSpace
from nmdp_pin._control.controller import Command
from nmdp_pin._dynamics.system import Law, System
from nmdp_pin._kernels.algebra.manifold import Manifold, difference_derivative
from nmdp_pin._robot import Robot
from nmdp_pin._terrain import Shape, Terrain
from nmdp_pin.errors import DerivativeError

MOTORS = ("tau", "kp", "kd", "q_target", "v_target")
"""Parameters of the command that motors follow, up to their limits."""

COMMAND = (*MOTORS, "force")
"""Parameters of the command, with one entry for each velocity."""

MODEL = ("friction", "stiffness", "mass")
"""Parameters of the touched shapes (one each), the contact law (one), the bodies (one a joint)."""

PARAMETERS = (*COMMAND, *MODEL)

RELATIVE = 1e-2  # of the parameters of models, where they enter linearly: any step is exact
_POINT = 1e-2  # [kg] given to joints that carry nothing


def checked(names: tuple[str, ...]) -> tuple[str, ...]:
    """Check the names of parameters."""
    for name in names:
        if name not in PARAMETERS:
            raise DerivativeError(
                f"there is no derivative with respect to '{name}'; choose from {PARAMETERS} "
                "(those with respect to the state and the torque are always there)"
            )
    return names


def columns(system: System[Law], name: str) -> int:
    """Number of entries of a parameter."""
    sizes = {
        "friction": len(shapes_of(system)),
        "stiffness": 1,
        "mass": system.robot.model.njoints - 1,
    }
    number: int = sizes.get(name, int(system.robot.model.nv))
    return number


def residual_by_command(
    name: str, space: Manifold, command: Command, error: np.ndarray, v: np.ndarray
) -> np.ndarray:
    """Derivative of -tau by a parameter of the command, of motors that are not saturated, (nv, nv).

    Args:
        name: name of the parameter, of `COMMAND`.
        space: configuration space.
        command: the command.
        error: difference(q_target, q), shape (nv,).
        v: velocity, shape (nv,).
    """
    one = np.eye(len(v))
    if name in ("tau", "force"):
        return -one
    if name == "v_target":
        return -one * (0.0 if command.kd is None else command.kd)
    if name == "kd":
        return one * (v - (0.0 if command.v_target is None else command.v_target))
    if command.q_target is None:
        raise DerivativeError(f"the command has no q_target, without which '{name}' means nothing")
    if name == "kp":
        result: np.ndarray = one * error
        return result
    difference_derivative(space, -error, one)
    kp = np.zeros(len(v)) if command.kp is None else command.kp
    return -np.reshape(kp, (-1, 1)) * one


def other_systems(
    system: System[Law], name: str, relative: float = RELATIVE
) -> Iterator[tuple[System[Law], System[Law], float]]:
    """Two systems around the given one for each entry of a parameter, and their distance.

    Args:
        system: the system.
        name: name of the parameter, of `MODEL`.
        relative: half the distance for contact laws, as a share of the parameter.
    """
    if name == "stiffness":
        law = system.law
        field = "stiffness" if hasattr(law, "stiffness") else "normal_stiffness"
        value = getattr(law, field, None)
        if not isinstance(value, float | int):
            raise DerivativeError(f"the contact law {type(law).__name__} has no single stiffness")
        step = relative * value
        ahead, behind = (
            replace(system, law=replace(law, **{field: value + s}))  # type: ignore[type-var]
            for s in (step, -step)
        )
        yield ahead, behind, 2.0 * step
    elif name == "friction":
        if all(shape.friction is None for shape in shapes_of(system)):
            raise DerivativeError(
                "no shape has a friction coefficient of its own, with respect to which there would "
                "be a derivative; give `friction` to the terrain or a body"
            )
        for i, shape in enumerate(shapes_of(system)):
            if shape.friction is None:
                yield system, system, 1.0  # it has no part in the coefficient of any contact
                continue
            if shape.friction == 0.0 and isinstance(system.law, WrenchSpace):
                raise DerivativeError(
                    "where friction is 0 the vertices of a contact are one, and it has no "
                    "derivative; use a small friction coefficient, such as 1e-6"
                )
            step = relative * max(shape.friction, 1.0)
            frictions = shape.friction + step, max(shape.friction - step, 0.0)
            ahead, behind = (with_friction(system, i, friction) for friction in frictions)
            yield ahead, behind, frictions[0] - frictions[1]
    else:
        for joint in range(1, system.robot.model.njoints):
            mass = system.robot.model.inertias[joint].mass
            masses = (_POINT, 0.0)
            if mass > 0.0:
                masses = (1.0 + RELATIVE) * mass, (1.0 - RELATIVE) * mass
            robots = [with_mass(system.robot, joint, m) for m in masses]
            ahead, behind = (replace(system, robot=robot) for robot in robots)
            yield ahead, behind, masses[0] - masses[1]


def shapes_of(system: System[Law]) -> list[Shape]:
    """Shapes that contacts may touch: those of the terrain, then those of the robot's bodies."""
    surfaces = system.robot.surfaces.values()
    return [*system.terrain.shapes, *(s for surface in surfaces for s in surface.shapes)]


def with_friction(system: System[Law], index: int, friction: float) -> System[Law]:
    """The system with another friction coefficient of one of its shapes."""
    robot, terrain = system.robot, system.terrain
    if index < len(terrain.shapes):
        return system.on(_with_shape(terrain, index, friction))
    surfaces, index = dict(robot.surfaces), index - len(terrain.shapes)
    for joint, surface in surfaces.items():
        if index < len(surface.shapes):
            surfaces[joint] = _with_shape(surface, index, friction)
            break
        index -= len(surface.shapes)
    return replace(system, robot=replace(robot, surfaces=surfaces))


def _with_shape(terrain: Terrain, index: int, friction: float) -> Terrain:
    shapes = list(terrain.shapes)
    shapes[index] = replace(shapes[index], friction=friction)
    return Terrain(shapes)


def with_mass(robot: Robot, joint: int, mass: float) -> Robot:
    """The robot with another mass of the body that a joint carries; see `set_mass`."""
    model = pin.Model(robot.model)
    set_mass(model, joint, mass)
    return replace(robot, model=model)


def set_mass(model: pin.Model, joint: int, mass: float) -> None:
    """Give the body that a joint carries another mass.

    Its centre and radii of gyration stay; a body without mass becomes a point at the joint.
    """
    inertia = model.inertias[joint]
    if inertia.mass > 0.0:
        central = mass / inertia.mass * inertia.inertia
        model.inertias[joint] = pin.Inertia(mass, inertia.lever, central)
    else:
        model.inertias[joint] = pin.Inertia(mass, np.zeros(3), np.zeros((3, 3)))
