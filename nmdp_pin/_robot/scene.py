"""Scenes: robots and free bodies with what stands still in their file, which becomes terrain."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pinocchio as pin

from nmdp_pin._options import FilePath
from nmdp_pin._robot.assembly import assemble
from nmdp_pin._robot.body_contacts import connected, overlap_at, touching
from nmdp_pin._robot.body_surfaces import body_name, shape_of, shaped_joints, surfaces_of
from nmdp_pin._robot.catalog import MJCF, RobotSource, find_robot
from nmdp_pin._robot.loading import describe
from nmdp_pin._robot.robot import Robot
from nmdp_pin._robot.trees import placements_at
from nmdp_pin._terrain import Terrain
from nmdp_pin._terrain.shape import masks_of
from nmdp_pin.errors import RobotError, RobotWarning

_MOST_PAIRS = 100_000  # each of which takes some kilobytes
_OVERLAP = 1e-3  # [m]; what stands still and lies deeper in a link is the base that it turns on


def load_scene(source: RobotSource, **options: Any) -> tuple[Robot, Terrain]:
    """Load a file whose static geometry is the terrain of what moves in it.

    Of an MJCF file friction, condim 1 and 3, masks and excludes are those of its geometry, and its
    bodies may touch each other as these say. The links of a URDF that are fixed to the world are
    terrain for the others but for those that hang on them, or overlap them where the robot stands.

    Args:
        source: as of `load_robot`.
        options: those of `load_robot`.

    Returns:
        The robot, with `Robot.world`, and the terrain of the shapes there.

    Raises:
        RobotError: the file cannot be used, or nothing in it stands still.
    """
    robot = robot_of_scene(source, **options)
    if not robot.world:
        what = "nothing that touches stands still in it; use load_robot, and a Terrain of your own"
        raise RobotError(what, file=robot.source)
    return robot, Terrain([*robot.world.values()])


def robot_of_scene(
    source: RobotSource,
    *,
    variant: str | None = None,
    package_dirs: Sequence[FilePath] = (),
    keyframe: str | None = None,
    visuals: bool = True,
    friction: float | None = None,
    stiffness: float | None = None,
    **options: Any,
) -> Robot:
    """The robot of `load_scene`, whose world may be empty.

    Friction and contact stiffness are those of its bodies, in the place of those of the file.
    """
    files = find_robot(source, variant=variant, package_dirs=package_dirs)
    described = describe(files, visuals=visuals, keyframe=keyframe, scene=True)
    robot = assemble(files, described, **options)
    given = {"friction": friction, "stiffness": stiffness}
    own = {name: value for name, value in given.items() if value is not None}
    if files.urdf.suffix in MJCF:
        alone = _of_mjcf(robot, described.shapes, own)
        robot = touching(alone)
        left_out = robot.notes[len(alone.notes) :]  # bodies that overlap
        robot = replace(robot, notes=alone.notes, warnings=(*robot.warnings, *left_out))
    else:
        robot = _of_urdf(robot, own)
    pairs = len(robot.world) * robot.contact_points.n_terrain
    if pairs > _MOST_PAIRS:
        raise RobotError(
            f"has {pairs} pairs of a contact point and a shape of the world; at most {_MOST_PAIRS} "
            "can be simulated: ask for fewer points (contacts, contact_points)",
            file=robot.source,
        )
    for sentence in robot.warnings:
        warnings.warn(f"{robot.name}: {sentence}", RobotWarning, stacklevel=3)
    return robot


def _of_mjcf(
    robot: Robot, options: Mapping[str, Mapping[str, Any]], own: Mapping[str, float]
) -> Robot:
    """The robot with surfaces; its world is without what the base moves, with what is locked."""
    shapes = {name: {**given, **own} for name, given in options.items()}
    surfaces, notes = surfaces_of(robot, sorted(shaped_joints(robot)), options=shapes)
    items = {str(item.name): item for item in robot.require_collisions().geometryObjects}
    world = {
        name: shape
        for name, shape in robot.world.items()
        if name not in items or not items[name].parentJoint
    }
    moving = [shape for surface in surfaces.values() for shape in surface.shapes]
    for name, item in items.items():
        if name in options and name not in world and not item.parentJoint:
            shape, _ = shape_of(item, options[name])
            world |= {name: shape} if any(map(shape.meets, moving)) else {}
    return replace(robot, world=world, surfaces=surfaces, notes=(*robot.notes, *notes))


def _of_urdf(robot: Robot, own: Mapping[str, float]) -> Robot:
    """The robot whose links that stand still are its world."""
    geometry = robot.collision_model.geometryObjects if robot.collision_model else ()
    still = [item for item in geometry if not item.parentJoint]
    if not still:
        return robot
    surfaces, _ = surfaces_of(robot, sorted(shaped_joints(robot)), own=own)
    made = [shape_of(item, {}) for item in still]
    hulls = [item.name for item, (_, is_hull) in zip(still, made, strict=True) if is_hull]
    n, placements = len(still), placements_at(robot.model, robot.standing)
    meets, apart = np.ones((n + len(surfaces), n + len(surfaces)), dtype=bool), set[str]()
    for j, body in enumerate(surfaces, n):
        carriers = _carriers(robot.model, body)
        for i, (item, (shape, _)) in enumerate(zip(still, made, strict=True)):
            sides = {**surfaces, 0: Terrain(shape)}
            deep = overlap_at(robot, sides, placements, 0, body) > _OVERLAP
            if deep or int(item.parentFrame) in carriers:
                meets[i, j] = meets[j, i] = False
            if deep and int(item.parentFrame) not in carriers:
                apart.add(f"{item.name} and {body_name(robot, body)}")
    masks = masks_of(meets)
    bodies = {
        body: Terrain([replace(shape, mask=mask) for shape in surface.shapes])
        for (body, surface), mask in zip(surfaces.items(), masks[n:], strict=True)
        if mask is not None
    }
    said = {
        "touched as its convex hull, not being a closed mesh": hulls,
        "no contact of what overlaps where the robot stands": sorted(apart),
    }
    return replace(
        robot,
        surfaces=bodies,
        world={
            str(item.name): replace(shape, mask=mask)
            for item, (shape, _), mask in zip(still, made, masks[:n], strict=True)
        },
        warnings=(
            *robot.warnings,
            *(f"{what}: {', '.join(names)}" for what, names in said.items() if names),
        ),
    )


def _carriers(model: pin.Model, body: int) -> set[int]:
    """Frames of what stands still on which a body hangs, if no other body is between; else none."""
    if not connected(model, 0, body):
        return set()
    top = body
    while model.parents[top] > 0:
        top = int(model.parents[top])
    frame = int(model.frames[model.getFrameId(model.names[top], pin.JOINT)].parentFrame)
    return {frame}
