"""A robot as its file describes it, before a base is put under it or a joint is locked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pinocchio as pin

from nmdp_pin.errors import RobotError
from nmdp_pin.robot.joint_limits import Mimic
from nmdp_pin.robot.mesh_files import locate_meshes
from nmdp_pin.robot.mesh_placement import far_off, turn_y_up
from nmdp_pin.robot.mesh_trial import try_meshes
from nmdp_pin.robot.settings import Base
from nmdp_pin.robot.urdf import Urdf
from nmdp_pin.robot.urdf_problems import find_problems


@dataclass(frozen=True, eq=False)
class Description:
    """Content of a URDF or MJCF file.

    Args:
        path: the file.
        name: name of the robot.
        model: kinematics and inertias, with the root link in the world.
        visual: visual geometry, without missing meshes; None if not requested.
        collision: collision geometry, likewise.
        hinges: names of the joints that can move, in the order of the file.
        motors: names of the joints that have a motor; None: all.
        base: how the root link is held; None: not in the file.
        root: placement of the root link in the world.
        mimics: joints that copy others.
        posture: standing positions of the joints, 0 where absent [rad or m].
        kp: position gains of servos, by joint [N m/rad or N/m].
        kd: velocity gains of servos, by joint [N m s/rad or N s/m].
        notes: choices made while reading, one sentence each.
        warnings: oddities that stop no simulation, one sentence each.
        missing_visuals: link and file of each visual mesh that was not found.
        missing_collisions: link and file of each collision mesh that was not found.
    """

    path: Path
    name: str
    model: pin.Model
    visual: pin.GeometryModel | None
    collision: pin.GeometryModel
    hinges: Sequence[str]
    motors: Sequence[str] | None = None
    base: Base | None = None
    root: pin.SE3 = pin.SE3.Identity()  # noqa: RUF009  # never written to
    mimics: tuple[Mimic, ...] = ()
    posture: Mapping[str, float | np.ndarray] = field(default_factory=dict)
    kp: Mapping[str, float] = field(default_factory=dict)
    kd: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    missing_visuals: tuple[tuple[str, str], ...] = ()
    missing_collisions: tuple[tuple[str, str], ...] = ()


def describe_urdf(urdf: Urdf, package_dirs: Sequence[Path], *, visuals: bool) -> Description:
    """Description of a URDF.

    Args:
        urdf: as read.
        package_dirs: folders in which `package://` is looked up first.
        visuals: whether what it looks like is read too.

    Raises:
        RobotError: a problem that stops a simulation, or a mesh that cannot be read.
    """
    warnings = refuse_problems(urdf)
    solid = "collision" if urdf.root.find("link/collision") is not None else "visual"
    if solid == "visual" and urdf.root.find("link/visual") is not None:
        warnings += ("it has no collision geometry: it touches with what it looks like",)
    collision = locate_meshes(urdf, solid, package_dirs)
    visual = locate_meshes(urdf, "visual", package_dirs) if visuals else None
    try_meshes([*collision.paths, *(visual.paths if visual else ())], str(urdf.path))
    try:
        model = pin.buildModelFromXML(urdf.text())
        kind = pin.COLLISION if solid == "collision" else pin.VISUAL
        shapes = pin.buildGeomFromUrdfString(model, collision.text, kind)
        looks = visual and pin.buildGeomFromUrdfString(model, visual.text, pin.VISUAL)
    except (ValueError, RuntimeError) as error:
        raise RobotError(f"pinocchio cannot read it: {error}", file=str(urdf.path)) from error
    notes = turn_y_up(model, shapes)
    if looks:
        turn_y_up(model, looks)
    warnings += far_off(model, shapes)
    return Description(
        urdf.path,
        urdf.name,
        model,
        looks,
        shapes,
        hinges=[j.get("name", "") for j in urdf.joints if j.get("type") != "fixed"],
        base="fixed" if urdf.held else None,
        mimics=urdf.mimics,
        notes=notes,
        warnings=warnings,
        missing_visuals=visual.missing if visual else (),
        missing_collisions=collision.missing if solid == "collision" else (),
    )


def refuse_problems(urdf: Urdf) -> tuple[str, ...]:
    """Refuse fatal problems, and return the others.

    Raises:
        RobotError: the first of those that do.
    """
    problems = find_problems(urdf)
    fatal = [problem for problem in problems if problem.fatal]
    if fatal:
        more = f" ({len(fatal) - 1} more problems: see nmdp-pin check)" if len(fatal) > 1 else ""
        raise RobotError(f"{fatal[0].message}{more}", file=str(urdf.path), element=fatal[0].element)
    return tuple(str(problem) for problem in problems)
