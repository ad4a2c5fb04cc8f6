"""From the description of a robot and its options to the robot."""

import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

import numpy as np
import pinocchio as pin

from nmdp_pin._options import checked, phrased
from nmdp_pin._robot.actuator import Actuator
from nmdp_pin._robot.body_surfaces import decomposed
from nmdp_pin._robot.catalog import MJCF, RobotFiles
from nmdp_pin._robot.contact_choice import Contacts, choose_contact_points
from nmdp_pin._robot.contact_points import ContactPoints
from nmdp_pin._robot.gait import Gait
from nmdp_pin._robot.joint_limits import JointLimits, Mimic, resolved, simple_joints
from nmdp_pin._robot.lift import lifts_of
from nmdp_pin._robot.loop_closure import with_loops_that_hold
from nmdp_pin._robot.model import (
    FREE_JOINTS,
    PLANAR_JOINTS,
    Description,
    RobotModel,
    build_model,
    idle_joints,
    standing_configuration,
)
from nmdp_pin._robot.robot import Robot
from nmdp_pin._robot.scripted import scripted
from nmdp_pin._robot.settings import Base
from nmdp_pin._robot.spring import Spring
from nmdp_pin._robot.srdf import Srdf
from nmdp_pin._robot.surface_points import ContactCount
from nmdp_pin._robot.tendon import with_tendons
from nmdp_pin.errors import RobotError

Joints = Annotated[
    Literal["driven", "all"] | Sequence[str], phrased('"driven", "all" or a list of names')
]


_BASE_JOINTS = (*FREE_JOINTS, *PLANAR_JOINTS)

Pose = Mapping[str, float | np.ndarray]
"""Positions of joints by name; see `nmdp_pin._robot.model.standing_configuration`."""


def standing_pose(
    files: RobotFiles, srdf: Srdf | None, described: Description
) -> tuple[Pose, pin.SE3]:
    """Joints and root link as the robot.toml, the SRDF or the MJCF file has them, else at 0."""
    standing = files.settings.standing
    root = pin.SE3(files.base_rotation, np.array([0.0, 0.0, standing.base_height]))
    if srdf is None:
        return {**described.posture, **standing.joints}, described.root * root
    free = files.settings.base == "free-flyer"
    pose, placed = srdf.posture(files.posture, described.model, free=free)
    return pose, placed or root


def within_ranges(pose: Pose, model: pin.Model, copies: Sequence[Mimic]) -> tuple[Pose, list[str]]:
    """The pose with joints that stand outside their range at its nearer end, and a note on them.

    Mimic joints that it does not name stand where their primaries put them.
    """
    limits, inside, moved = JointLimits.of(model), dict(pose), []
    unnamed = [m for m in copies if m.joint not in pose]
    for name, joint in simple_joints(model).items():
        at = float(np.atleast_1d(pose.get(name, 0.0))[0])
        end = float(np.clip(at, limits.lower[joint.idx_v], limits.upper[joint.idx_v]))
        if end != at and name not in [m.joint for m in unnamed]:
            inside[name] = end
            moved.append(f"{name} from {at:.4g} to {end:.4g}")
    for m in unnamed:
        primary = float(np.atleast_1d(inside.get(m.primary, 0.0))[0])
        inside[m.joint] = m.multiplier * primary + m.offset
    note = f"standing pose outside the range of joints, moved into it: {', '.join(moved)}"
    return inside, [note] if moved else []


@checked(RobotError)
def assemble(
    files: RobotFiles,
    described: Description,
    *,
    base: Base | None = None,
    joints: Joints | None = None,
    contacts: Contacts | None = None,
    contact_points: ContactCount | None = None,
    decompose: bool = False,
    limits: bool = True,
) -> Robot:
    """Build a robot from its description; the options are those of `load_robot`."""
    settings, notes, odd = files.settings, list(described.notes), list(described.warnings)
    described = _decomposed(described, notes) if decompose else described
    given = base or (settings.base if "base" in settings.model_fields_set else described.base)
    srdf = Srdf(files.srdf) if files.srdf else None
    pose, root = standing_pose(files, srdf, described)
    standing = standing_configuration(described.model, pose, root)
    moving, notes[:0] = _moving_joints(files, described, standing, joints)
    pose, copies = _bounded(described, moving, pose, notes, odd) if limits else (pose, [])
    pose, tendons = with_tendons(pose, described.tendons, moving)
    body, fixed = _body_of(files, described, given, moving, pose, root, notes)
    model, standing = body.model, body.standing
    _add_rotors(model, files, srdf, moving)
    _refuse_singular(described, body)
    missing, n = described.missing_collisions, contact_points
    points, why = choose_contact_points(files, contacts, body, missing, fixed=fixed, count=n)
    notes += [why, described.held] if fixed and described.base == "fixed" else [why]
    if not files.settings_file and not fixed and len(points) and not described.world:
        standing = _put_down(points, body, pose, root, notes)
    driven, gains = _motors(files, described, moving, copies, srdf)
    gaits, still = _gaits(files, moving)
    odd += _without_range(model) if limits else []
    notes += _unused(files, described, srdf, still, moving)
    return _held(
        Robot(
            name=files.name or described.name,
            model=model,
            contact_points=points,
            driven=_dofs_of(model, driven),
            standing=standing,
            gaits=gaits,
            visual_model=None if described.missing_visuals else body.visual,
            collision_model=None if described.missing_collisions else body.collision,
            source=str(files.urdf),
            limits=JointLimits.of(model, copies) if limits else JointLimits.none(model.nv),
            springs=_springs(files, described, model),
            kp=gains["kp"],
            kd=gains["kd"],
            tendons=tendons,
            actuators=_actuators(files, described, model, moving),
            world=described.world,
            disabled=_disabled(body, srdf.apart if srdf else described.apart),
            notes=tuple(notes),
            warnings=tuple(odd),
            missing_visuals=described.missing_visuals,
            missing_collisions=described.missing_collisions,
        ),
        files,
        described,
    )


def _held(robot: Robot, files: RobotFiles, described: Description) -> Robot:
    """The robot with its lifts and closed loops, and with mocap bodies that scripts move."""
    robot = dataclasses.replace(robot, lifts=lifts_of(robot.model, described.lifted))
    loops = [*described.loops, *files.settings.build_loops(files.settings_file)]
    moved = scripted(robot, described.scripted & {*robot.model.names})
    return with_loops_that_hold(moved, loops)


def _decomposed(described: Description, notes: list[str]) -> Description:
    """The description with convex parts of its collision meshes; notes say which."""
    collision, parts = decomposed(described.collision)
    notes += parts
    return dataclasses.replace(described, collision=collision)


def _bounded(
    described: Description, moving: Sequence[str], pose: Pose, notes: list[str], odd: list[str]
) -> tuple[Pose, list[Mimic]]:
    """The pose within the ranges of the joints, and the mimic joints, with notes and warnings."""
    copies, free = _copies(described, moving)
    pose, outside = within_ranges(pose, described.model, copies)
    odd += free
    notes += outside
    return pose, copies


def _body_of(
    files: RobotFiles,
    described: Description,
    given: Base | None,
    moving: Sequence[str],
    pose: Pose,
    root: pin.SE3,
    notes: list[str],
) -> tuple[RobotModel, bool]:
    """The model at the standing pose, and whether its base is fixed; scenery is, with a note."""
    locked = [name for name in described.hinges if name not in moving]
    if described.scripted and given not in (None, "fixed"):
        raise RobotError(
            "a base would carry its mocap bodies: leave out `base`, or use load_robot, by which "
            "they stand still",
            file=str(described.path),
        )
    body = build_model(described, given or files.settings.base, locked, pose, root)
    if given is None and _is_scenery(described, body):
        notes.append("base fixed: its root link has no mass, and nothing would hold it")
        return build_model(described, "fixed", locked, pose, root), True
    return body, given == "fixed"


def _without_range(model: pin.Model) -> list[str]:
    """A warning of joints whose range or effort is 0."""
    empty = JointLimits.empty(model)
    return [f"a range or effort of 0 is taken as none given: {', '.join(empty)}"] if empty else []


def _dofs_of(model: pin.Model, driven: Sequence[str]) -> np.ndarray:
    """Dofs of the driven joints with one, ascending."""
    joints = [model.joints[model.getJointId(name)] for name in driven]
    return np.array(sorted(joint.idx_v for joint in joints if joint.nv == 1), dtype=int)


def _moving_joints(
    files: RobotFiles,
    described: Description,
    standing: np.ndarray,
    joints: str | Sequence[str] | None,
) -> tuple[list[str], list[str]]:
    """Names of the joints that move, and notes on those that do not."""
    hinges, settings, file = described.hinges, files.settings, str(described.path)
    wanted = list(hinges)
    if joints is not None and not isinstance(joints, str):
        wanted = list(joints)
    elif joints != "all" and settings.driven is not None:
        wanted = settings.driven
    armature = settings.armature if isinstance(settings.armature, dict) else {}
    posed = [name for gait in settings.gaits.values() for name in gait.joints]
    idle = settings.passive if isinstance(settings.passive, list) else []
    for name in [*wanted, *settings.standing.joints, *armature, *settings.springs, *idle, *posed]:
        if name not in hinges:
            raise RobotError(
                f"does not exist or is fixed; joints that can move: {', '.join(hinges) or 'none'}",
                file=file,
                element=f"joint '{name}'",
            )
    idle = [name for name in idle_joints(described.model, standing) if name in wanted]
    if idle and joints is not None:
        raise RobotError(
            "moves links that have no mass, or none off its axis, so no torque on it makes "
            "sense; give them an <inertial>, make the joint fixed, or leave it out of `joints`"
            + (f" (also: {', '.join(idle[1:])})" if idle[1:] else ""),
            file=file,
            element=f"joint '{idle[0]}'",
        )
    lines = {t.joint: {*t.arms} <= {*wanted} for t in described.tendons}
    wanted = [name for name in hinges if lines.get(name, name in wanted)]
    locked = [name for name in hinges if name not in wanted]
    notes = [f"locked at the standing pose: {', '.join(locked)}"] if locked else []
    if idle:
        notes.append(f"locked, having nothing to move: {', '.join(idle)}")
    return [name for name in hinges if name in wanted and name not in idle], notes


def _copies(described: Description, moving: Sequence[str]) -> tuple[list[Mimic], list[str]]:
    """The mimic joints that copy another, and sentences on those that move by themselves."""
    mimics, loops = resolved(described.mimics)
    both = [m for m in mimics if {m.joint, m.primary} <= {*moving}]
    copies = [m for m in both if {m.joint, m.primary} <= {*simple_joints(described.model)}]
    free = ", ".join(f"{m.joint} of {m.primary}" for m in both if m not in copies)
    notes = {
        f"mimic joints that copy each other move by themselves: {', '.join(loops)}": loops,
        f"copies that move by themselves, since a mimic joint and its primary have one axis each: "
        f"{free}": free,
    }
    return copies, [note for note, there in notes.items() if there]


def _is_scenery(described: Description, body: RobotModel) -> bool:
    """Whether the root link carries joints without mass, and its base without inertia."""
    if described.model.nv == 0 or described.model.inertias[0].mass > 0.0:
        return False
    return any(name in _BASE_JOINTS for name in idle_joints(body.model, body.standing))


def _refuse_singular(described: Description, body: RobotModel) -> None:
    file = str(described.path)
    if body.model.nv == 0:
        raise RobotError(
            "nothing can move: the base is fixed and no joint is free; choose another base "
            "or free a joint",
            file=file,
        )
    for name in idle_joints(body.model, body.standing):
        what = (
            "its mass matrix is singular in the standing pose: the links that move with this "
            "joint have too little inertia of their own, or one that is not physical; correct "
            "their <inertial> or lock a joint"
        )
        if name in _BASE_JOINTS and described.model.inertias[0].mass == 0.0:
            what = (
                "its root link has no mass, so nothing holds a base that moves: static scenery "
                'has base = "fixed"; else give the link an <inertial>'
            )
        raise RobotError(what, file=file, element=f"joint '{name}'")


def _add_rotors(
    model: pin.Model, files: RobotFiles, srdf: Srdf | None, moving: Sequence[str]
) -> None:
    """Add the reflected inertias of the rotors, of the SRDF and of the robot.toml, in place."""
    if srdf:
        srdf.add_rotors(model)
    given = files.settings.armature
    table = given if isinstance(given, dict) else dict.fromkeys(moving, given)
    for name, inertia in table.items():
        if model.existJointName(name):
            joint = model.joints[model.getJointId(name)]
            model.armature[joint.idx_v : joint.idx_v + joint.nv] += inertia


def _put_down(
    points: ContactPoints, body: RobotModel, pose: Pose, root: pin.SE3, notes: list[str]
) -> np.ndarray:
    """The standing configuration whose lowest contact point is at z = 0; a note says so."""
    lowest = points.bottoms(body.model, body.standing).min()
    place = pin.SE3(root.rotation, root.translation - [0.0, 0.0, lowest])
    height = place.translation[2]
    notes.append(f"base put at {height:.4g} m, where its lowest contact point touches z = 0")
    return standing_configuration(body.model, pose, place)


def _springs(files: RobotFiles, described: Description, model: pin.Model) -> tuple[Spring, ...]:
    """Springs of the joints that move; those of a robot.toml come instead of the description's."""
    given = {spring.joint: spring for spring in described.springs}
    for name, table in files.settings.springs.items():
        if name not in simple_joints(described.model):
            raise RobotError(
                "can have no spring, since it is no hinge or slide with one coordinate; write "
                '"revolute" for "continuous", with a range',
                file=files.settings_file,
                element=f"joint '{name}'",
            )
        given[name] = Spring(name, table.stiffness, table.springref)
    return tuple(s for s in given.values() if s.stiffness > 0.0 and model.existJointName(s.joint))


def _motors(
    files: RobotFiles,
    described: Description,
    moving: Sequence[str],
    copies: Sequence[Mimic],
    srdf: Srdf | None,
) -> tuple[list[str], dict[str, dict[str, float]]]:
    """Joints with a motor among those that move by themselves, and their gains kp and kd."""
    passive = files.settings.passive
    idle = {*moving} if passive is True else {*(passive or [])}
    idle |= {m.joint for m in copies} | (srdf.passive if srdf else set())
    motors = moving if described.motors is None else described.motors
    driven = [name for name in motors if name in moving and name not in idle]
    gains = {"kp": described.kp, "kd": described.kd}
    return driven, {key: {n: x for n, x in of.items() if n in driven} for key, of in gains.items()}


def _gaits(files: RobotFiles, moving: Sequence[str]) -> tuple[dict[str, Gait], list[str]]:
    """Gaits of the joints that move, and the names of the others."""
    gaits = files.settings.build_gaits(files.settings_file)
    still = [name for name, gait in gaits.items() if not {*gait.joints} <= {*moving}]
    return {name: gait for name, gait in gaits.items() if name not in still}, still


def _actuators(
    files: RobotFiles, described: Description, model: pin.Model, moving: Sequence[str]
) -> tuple[Actuator, ...]:
    """Actuators of the joints that move, and thrusters."""
    along = [actuator for actuator in described.actuators if {*actuator.arms} <= {*moving}]
    return (*along, *files.settings.build_thrusters(model, files.settings_file))


def _unused(
    files: RobotFiles,
    described: Description,
    srdf: Srdf | None,
    still: Sequence[str],
    moving: Sequence[str],
) -> list[str]:
    """Sentences on what is given and not used; `still` are gaits of joints that are locked."""
    idle = [a.name for a in described.actuators if not {*a.arms} <= {*moving}]
    folders = [str(folder) for folder in files.package_dirs if files.urdf.suffix in MJCF]
    given = {
        "gaits of joints that are locked, left out": still,
        "actuators of joints that are locked, left out": idle,
        "package_dirs, of which MJCF files know nothing": folders,
        "joints of the SRDF that the URDF lacks or fixes": (
            srdf.strangers(files.posture, described.model) if srdf else []
        ),
    }
    return [f"{what}: {', '.join(names)}" for what, names in given.items() if names]


def _disabled(body: RobotModel, apart: frozenset[frozenset[str]]) -> frozenset[tuple[int, int]]:
    """Pairs of joints that carry geometry of links that never touch alone."""
    links: dict[int, set[str]] = {}
    for item in body.collision.geometryObjects:
        name = str(body.model.frames[item.parentFrame].name)
        links.setdefault(int(item.parentJoint), set()).add(name)
    return frozenset(
        (a, b)
        for a, b in itertools.combinations(sorted(links), 2)
        if apart and all({x, y} in apart for x in links[a] for y in links[b])
    )
