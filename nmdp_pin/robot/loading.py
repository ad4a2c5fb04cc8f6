"""The steps from the files of a robot to its parts, each checked before the next."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np
import pinocchio as pin

from nmdp_pin.errors import RobotError
from nmdp_pin.gait import Gait
from nmdp_pin.robot.catalog import RobotFiles
from nmdp_pin.robot.contact_choice import Contacts, choose_contact_points
from nmdp_pin.robot.contact_points import ContactPoints
from nmdp_pin.robot.joint_limits import Mimic
from nmdp_pin.robot.mesh_files import locate_meshes
from nmdp_pin.robot.model import (
    RobotModel,
    build_model,
    idle_joints,
    standing_configuration,
)
from nmdp_pin.robot.settings import Base
from nmdp_pin.robot.urdf import Urdf
from nmdp_pin.robot.urdf_problems import find_problems


@dataclass(frozen=True)
class Options:
    """What a caller asks of a robot; see `nmdp_pin.robot.load_robot`."""

    base: Base | None = None
    joints: str | Sequence[str] | None = None
    contacts: Contacts | None = None
    contact_points: int | None = None
    visuals: bool = True


@dataclass(frozen=True, eq=False)
class Parts:
    """All that a `Robot` is made of; see its fields."""

    name: str
    body: RobotModel
    contact_points: ContactPoints
    driven: np.ndarray
    gaits: Mapping[str, Gait]
    mimics: tuple[Mimic, ...]
    notes: tuple[str, ...]
    warnings: tuple[str, ...]
    missing_visuals: tuple[tuple[str, str], ...]
    missing_collisions: tuple[tuple[str, str], ...]


@dataclass(frozen=True, eq=False)
class _Pose:
    """Standing positions of the joints by name, and the placement of the root link."""

    joints: Mapping[str, float | np.ndarray]
    base: pin.SE3


def assemble(files: RobotFiles, urdf: Urdf, options: Options) -> Parts:
    """Build the parts of a robot.

    Raises:
        RobotError: names the file and the element that cannot be used.
    """
    file = str(urdf.path)
    warnings = refuse_problems(urdf)
    base = _base(files, options)
    visual = locate_meshes(urdf, "visual", files.package_dirs) if options.visuals else None
    collision = locate_meshes(urdf, "collision", files.package_dirs)
    pose = _standing_pose(files, urdf)
    moving, notes = _moving_joints(files, urdf, pose, options.joints)
    body = _build(
        urdf.text(),
        file,
        base=base,
        locked=[name for name in _hinges(urdf) if name not in moving],
        pose=pose.joints,
        base_pose=pose.base,
        visual=visual.text if visual else None,
        collision=collision.text,
    )
    _add_armature(body.model, files, moving)
    _refuse_singular(body, file)
    points, why = choose_contact_points(
        files,
        options.contacts,
        body,
        collision.missing,
        fixed=base == "fixed",
        count=options.contact_points,
    )
    notes.append(why)
    if files.foreign and base != "fixed" and len(points):
        body, height = _put_on_ground(body, points, pose)
        notes.append(f"base put at {height:.4g} m, where its lowest contact point touches z = 0")
    return Parts(
        files.name or urdf.name,
        body,
        points,
        _driven(body.model, [] if files.settings.passive else moving),
        _gaits(files, moving),
        urdf.mimics,
        tuple(notes),
        warnings,
        visual.missing if visual else (),
        collision.missing,
    )


def refuse_problems(urdf: Urdf) -> tuple[str, ...]:
    """The problems that stop no simulation.

    Raises:
        RobotError: the first of those that do.
    """
    problems = find_problems(urdf)
    fatal = [problem for problem in problems if problem.fatal]
    if fatal:
        more = f" ({len(fatal) - 1} more problems: see nmdp-pin check)" if len(fatal) > 1 else ""
        raise RobotError(f"{fatal[0].message}{more}", file=str(urdf.path), element=fatal[0].element)
    return tuple(str(problem) for problem in problems)


def _base(files: RobotFiles, options: Options) -> Base:
    base = options.base or files.settings.base
    if base not in get_args(Base):
        known = ", ".join(get_args(Base))
        raise RobotError(f"unknown base '{base}'; known: {known}", file=files.name, element="base")
    return base


def _hinges(urdf: Urdf) -> list[str]:
    """Names of the joints that are not fixed."""
    return [joint.get("name", "") for joint in urdf.joints if joint.get("type") != "fixed"]


def _moving_joints(
    files: RobotFiles, urdf: Urdf, pose: _Pose, joints: str | Sequence[str] | None
) -> tuple[list[str], list[str]]:
    """Names of the joints that move, and notes on those that do not."""
    hinges = _hinges(urdf)
    if joints is None or joints == "driven":
        wanted = hinges if files.settings.driven is None else files.settings.driven
    elif isinstance(joints, str):
        if joints != "all":
            raise RobotError(
                f"joints = '{joints}' is not one of 'driven', 'all', a list of joint names",
                file=str(urdf.path),
                element="joints",
            )
        wanted = hinges
    else:
        wanted = list(joints)
    armature = files.settings.armature if isinstance(files.settings.armature, dict) else {}
    for name in [*wanted, *files.settings.standing.joints, *armature]:
        if name not in hinges:
            raise RobotError(
                f"does not exist or is fixed; joints that can move: {', '.join(hinges) or 'none'}",
                file=str(urdf.path),
                element=f"joint '{name}'",
            )
    plain = _plain_model(urdf)
    standing = standing_configuration(plain, pose.joints, pose.base)
    idle = [name for name in idle_joints(plain, standing) if name in wanted]
    if idle and not (files.lock_idle and joints is None):
        raise RobotError(
            "moves links that have no mass, or none off its axis, so no torque on it makes "
            "sense; give them an <inertial>, make the joint fixed, or leave it out of `joints`"
            + (f" (also: {', '.join(idle[1:])})" if idle[1:] else ""),
            file=str(urdf.path),
            element=f"joint '{idle[0]}'",
        )
    locked = [name for name in hinges if name not in wanted]
    notes = [f"locked at the standing pose: {', '.join(locked)}"] if locked else []
    if idle:
        notes.append(f"locked, having nothing to move: {', '.join(idle)}")
    return [name for name in hinges if name in wanted and name not in idle], notes


def _plain_model(urdf: Urdf) -> pin.Model:
    try:
        return pin.buildModelFromXML(urdf.text())
    except (ValueError, RuntimeError) as error:
        raise RobotError(f"pinocchio cannot read it: {error}", file=str(urdf.path)) from error


def _standing_pose(files: RobotFiles, urdf: Urdf) -> _Pose:
    """The standing pose of the robot.toml, of the SRDF, or all joints at 0."""
    standing = files.settings.standing
    base = pin.SE3(files.base_rotation, np.array([0.0, 0.0, standing.base_height]))
    if files.srdf is None or files.posture is None:
        return _Pose(dict(standing.joints), base)
    root = pin.JointModelFreeFlyer() if files.settings.base == "free-flyer" else None
    model = pin.buildModelFromXML(urdf.text(), root) if root else _plain_model(urdf)
    pin.loadReferenceConfigurations(model, str(files.srdf), False)
    if files.posture not in model.referenceConfigurations:
        return _Pose({}, base)
    q = pin.normalize(model, model.referenceConfigurations[files.posture])
    if root:
        base = pin.XYZQUATToSE3(q[:7])
    hinges = {
        name: q[joint.idx_q : joint.idx_q + joint.nq].copy()
        for name, joint in zip(model.names, model.joints, strict=True)
        if name in _hinges(urdf)
    }
    return _Pose(hinges, base)


def _build(text: str, file: str, **options: object) -> RobotModel:
    try:
        return build_model(text, **options)  # type: ignore[arg-type]
    except (ValueError, RuntimeError) as error:
        raise RobotError(f"pinocchio cannot read it: {error}", file=file) from error


def _refuse_singular(body: RobotModel, file: str) -> None:
    if body.model.nv == 0:
        raise RobotError(
            "nothing can move: the base is fixed and no joint is free; choose another base "
            "or free a joint",
            file=file,
        )
    idle = idle_joints(body.model, body.standing)
    if idle:
        raise RobotError(
            "its mass matrix is singular in the standing pose: the links that move with this "
            "joint have too little inertia of their own, or one that is not physical; correct "
            "their <inertial> or lock a joint",
            file=file,
            element=f"joint '{idle[0]}'",
        )


def _add_armature(model: pin.Model, files: RobotFiles, moving: Sequence[str]) -> None:
    """Add the reflected inertias of the rotors that the robot.toml gives, in place."""
    given = files.settings.armature
    table = given if isinstance(given, dict) else dict.fromkeys(moving, given)
    for name, inertia in table.items():
        if not model.existJointName(name):
            continue
        joint = model.joints[model.getJointId(name)]
        model.armature[joint.idx_v : joint.idx_v + joint.nv] += inertia


def _put_on_ground(
    body: RobotModel, points: ContactPoints, pose: _Pose
) -> tuple[RobotModel, float]:
    """Lift or lower the base until the lowest contact sphere touches z = 0; the height [m]."""
    lowest = points.bottoms(body.model, body.standing).min()
    place = pin.SE3(pose.base.rotation, pose.base.translation - [0.0, 0.0, lowest])
    standing = standing_configuration(body.model, pose.joints, place)
    return dataclasses.replace(body, standing=standing), float(place.translation[2])


def _driven(model: pin.Model, moving: Sequence[str]) -> np.ndarray:
    """Velocity indices of the joints with one degree of freedom among `moving`."""
    joints = [model.joints[model.getJointId(name)] for name in moving]
    return np.array(sorted(joint.idx_v for joint in joints if joint.nv == 1), dtype=int)


def _gaits(files: RobotFiles, moving: Sequence[str]) -> dict[str, Gait]:
    """The gaits all of whose joints move."""
    gaits = files.settings.build_gaits(files.settings_file)
    return {name: gait for name, gait in gaits.items() if set(gait.joints) <= set(moving)}
