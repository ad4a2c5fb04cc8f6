"""Robots and objects in one model."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pinocchio as pin

from nmdp_pin._robot.contact_points import ContactPoints
from nmdp_pin._robot.model import append_model
from nmdp_pin._robot.robot import Robot
from nmdp_pin.errors import RobotError


def together(robot: Robot, others: Sequence[Robot]) -> Robot:
    """Combine a robot and others beside it, such as free bodies, into one robot.

    Standing poses are kept. Joints, frames and contact points of the others are called "name/...",
    except the frame with the name of its robot. Driven joints and gaits are those of the first
    robot. Contacts between the bodies are added by `touching`.

    Args:
        robot: first robot.
        others: other robots and bodies, with distinct names.

    Raises:
        RobotError: two names are equal.
    """
    names = [robot.name, *(other.name for other in others)]
    for name in names:
        if names.count(name) > 1:
            raise RobotError("two robots or objects have this name", element=f"'{name}'")
    for other in others:
        robot = _beside(robot, _prefixed(other))
    return robot


def _prefixed(robot: Robot) -> Robot:
    """A copy whose joints, frames and contact points begin with its name."""
    model = pin.Model(robot.model)
    for joint in range(1, model.njoints):
        model.names[joint] = f"{robot.name}/{model.names[joint]}"
    for index, frame in enumerate(model.frames):
        if index and frame.name != robot.name:
            frame.name = f"{robot.name}/{frame.name}"
    points = robot.contact_points
    names = tuple(_full_name(robot.name, name) for name in points.names)
    return replace(robot, model=model, contact_points=replace(points, names=names))


def _full_name(robot: str, name: str) -> str:
    """The name of a contact point; those of a free body begin with its name as they are."""
    own = name == robot or name.startswith(f"{robot}_")
    return name if own else f"{robot}/{name}"


def _beside(robot: Robot, other: Robot) -> Robot:
    """Both in one world; the joints of the first one come first."""
    a, b = robot, other
    pairs = [
        (first or pin.GeometryModel(), second or pin.GeometryModel())
        for first, second in (
            (a.visual_model, b.visual_model),
            (a.collision_model, b.collision_model),
        )
    ]
    model, (visual, collision) = append_model(a.model, b.model, pairs, 0, pin.SE3.Identity())
    model.name, model.gravity = a.model.name, a.model.gravity
    shift = a.model.njoints - 1
    return replace(
        a,
        model=model,
        contact_points=_both(a.contact_points, b.contact_points, shift),
        standing=np.concatenate([a.standing, b.standing]),
        visual_model=None if a.missing_visuals or b.missing_visuals else visual,
        collision_model=None if a.missing_collisions or b.missing_collisions else collision,
        limits=a.limits.beside(b.limits, f"{b.name}/"),
        surfaces={**a.surfaces, **{joint + shift: s for joint, s in b.surfaces.items()}},
        disabled=a.disabled | {(i + shift, j + shift) for i, j in b.disabled},
        notes=(*a.notes, *(f"{b.name}: {note}" for note in b.notes)),
        warnings=(*a.warnings, *(f"{b.name}: {warning}" for warning in b.warnings)),
        missing_visuals=a.missing_visuals + b.missing_visuals,
        missing_collisions=a.missing_collisions + b.missing_collisions,
    )


def _both(first: ContactPoints, second: ContactPoints, shift: int) -> ContactPoints:
    """The points of both, those with the terrain first; joints of the second are shifted."""
    touches = np.concatenate([first.touches, second.touches + shift * (second.touches > 0)])
    order = np.argsort(touches > 0, kind="stable")
    names = (*first.names, *second.names)
    return ContactPoints(
        tuple(names[k] for k in order),
        np.concatenate([first.joints, second.joints + shift * (second.joints > 0)])[order],
        np.concatenate([first.positions, second.positions])[order],
        np.concatenate([first.radii, second.radii])[order],
        touches[order],
        np.concatenate([first.semi_axes, second.semi_axes])[order],
    )
