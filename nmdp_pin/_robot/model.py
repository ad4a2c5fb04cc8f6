"""Pinocchio models of robots: as their files describe them, and on their bases."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin

from nmdp_pin._robot.actuator import Actuator
from nmdp_pin._robot.joint_limits import Mimic, named_joints
from nmdp_pin._robot.lift import Lifted
from nmdp_pin._robot.loop import Loop
from nmdp_pin._robot.meshes import Missing
from nmdp_pin._robot.settings import Base
from nmdp_pin._robot.spring import Spring
from nmdp_pin._robot.tendon import Tendon
from nmdp_pin._terrain import Shape

# The largest robot known has 150 links.
MAX_LINKS = 500
# Time and memory of a step grow with the square of the joints: 200 of them take 1.1 GB.
MAX_MOVING = 250
# The joints of a planar base in order; the tangent is the configuration, nq = nv.
PLANAR_JOINTS = ("root_x", "root_z", "root_pitch")
# The joints of a floating base. Its linear velocity is the world's: in a frame that turns with the
# base, differences of velocities over a long step would bend the path of whatever spins.
FREE_JOINTS = ("root_translation", "root_rotation")
LARGEST_NUMBER = 1e10  # in descriptions; MuJoCo stops a simulation at such numbers
# Names of joints that descriptions must not have.
RESERVED = ("universe", *FREE_JOINTS, *PLANAR_JOINTS)
_BODY = "body frame "  # a name that no URDF element has, followed by the frame's index
# A mass matrix with a smaller ratio of eigenvalues is singular in double precision.
SINGULAR = 1e-14
HELD = 'base fixed, as in its description; base = "free-flyer" lets it move'


@dataclass(frozen=True, eq=False)
class Description:
    """Content of a URDF or MJCF file, before a base is put under it; see `Robot`."""

    path: Path
    name: str
    model: pin.Model  # with the root link in the world
    visual: pin.GeometryModel | None  # without missing meshes; None if not requested
    collision: pin.GeometryModel  # likewise
    hinges: Sequence[str]  # joints that can move, in the order of the file
    motors: Sequence[str] | None = None  # joints that have one; None: all
    base: Base | None = None  # how the root link is held; None: not in the file
    held: str = HELD  # said where the base is fixed
    root: pin.SE3 = pin.SE3.Identity()  # noqa: RUF009  # of the root link; never written to
    mimics: tuple[Mimic, ...] = ()
    springs: tuple[Spring, ...] = ()
    lifted: Lifted = field(default_factory=dict)
    tendons: tuple[Tendon, ...] = ()
    loops: tuple[Loop, ...] = ()
    scripted: frozenset[str] = frozenset()
    posture: Mapping[str, float | np.ndarray] = field(default_factory=dict)  # 0 where absent
    apart: frozenset[frozenset[str]] = frozenset()  # pairs of links that never touch
    # of a scene: shapes that stand still by name, and options of the shapes of all geometry
    world: Mapping[str, Shape] = field(default_factory=dict)
    shapes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    kp: Mapping[str, float] = field(default_factory=dict)
    kd: Mapping[str, float] = field(default_factory=dict)
    actuators: tuple[Actuator, ...] = ()
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    missing_visuals: Missing = ()
    missing_collisions: Missing = ()


@dataclass(frozen=True, eq=False)
class RobotModel:
    """A model in its standing configuration, (nq,), and the geometry that moves with it."""

    model: pin.Model
    standing: np.ndarray
    visual: pin.GeometryModel | None
    collision: pin.GeometryModel


def build_model(
    described: Description,
    base: Base,
    locked: Iterable[str],
    pose: Mapping[str, float | np.ndarray],
    base_pose: pin.SE3,
) -> RobotModel:
    """Build a robot on its base with some joints locked at the standing pose.

    The pose has positions by joint name, 0 where absent [rad or m]; the base pose is that of the
    root link in the world.
    """
    model = described.model
    geometries = [g for g in (described.visual, described.collision) if g is not None]
    lock = [model.getJointId(name) for name in locked]
    if lock:
        q, model = standing_configuration(model, pose, base_pose), pin.Model(model)
        names = _hide_links(model)
        model, geometries = pin.buildReducedModel(model, geometries, lock, q)
        _show_links(model, names)
    if base != "fixed" or not base_pose.isIdentity():
        name, gravity = model.name, model.gravity
        holder, place = base_model(base, base_pose)
        pairs = [(pin.GeometryModel(), geometry) for geometry in geometries]
        model, geometries = append_model(holder, model, pairs, holder.nframes - 1, place)
        model.name, model.gravity = name, gravity
    *looks, shapes = geometries
    standing = standing_configuration(model, pose, base_pose)
    return RobotModel(model, standing, looks[0] if looks else None, shapes)


def idle_joints(model: pin.Model, q: np.ndarray) -> list[str]:
    """Names of the joints without inertia to move.

    A direction in which the mass matrix has no inertia is cured by locking the joint that it
    concerns most; this is done until no such direction is left.
    """
    mass = pin.crba(model, model.createData(), q)
    free = np.arange(model.nv)
    idle: list[str] = []
    while free.size:
        values, vectors = np.linalg.eigh(mass[np.ix_(free, free)])
        if values[0] > SINGULAR * values[-1]:
            break
        worst = free[np.argmax(np.abs(vectors[:, 0]))]
        joint = max(k for k in range(1, model.njoints) if model.joints[k].idx_v <= worst)
        idle.append(str(model.names[joint]))
        start, count = model.joints[joint].idx_v, model.joints[joint].nv
        free = free[(free < start) | (free >= start + count)]
    return idle


def base_model(base: Base, base_pose: pin.SE3) -> tuple[pin.Model, pin.SE3]:
    """Joints of a base, and the placement of the root link on the last one."""
    if base == "planar":
        kinds = [pin.JointModelPX(), pin.JointModelPZ(), pin.JointModelRY()]
        x, z, pitch = _in_plane(base_pose)
        moved = pin.SE3(pin.utils.rotate("y", pitch), np.array([x, 0.0, z]))
        return _chain(PLANAR_JOINTS, kinds), moved.inverse() * base_pose
    if base == "free-flyer":
        kinds = [pin.JointModelTranslation(), pin.JointModelSpherical()]
        return _chain(FREE_JOINTS, kinds), pin.SE3.Identity()
    return pin.Model(), base_pose


def _chain(names: Sequence[str], kinds: Sequence[pin.JointModel]) -> pin.Model:
    """A chain of joints from the world, without mass."""
    model, parent = pin.Model(), 0
    for name, kind in zip(names, kinds, strict=True):
        parent = model.addJoint(parent, kind, pin.SE3.Identity(), name)
        model.addJointFrame(parent)
    return model


def append_model(
    first: pin.Model,
    second: pin.Model,
    geometries: Iterable[tuple[pin.GeometryModel, pin.GeometryModel]],
    carrier: int,
    place: pin.SE3,
) -> tuple[pin.Model, list[pin.GeometryModel]]:
    """Put a model on a frame of another one, with their geometries; names may repeat."""
    first, second = pin.Model(first), pin.Model(second)
    names = _hide_links(first, second)
    moved = [pin.appendModel(first, second, a, b, carrier, place)[1] for a, b in geometries]
    whole = pin.appendModel(first, second, carrier, place)
    # pinocchio 4.1 forgets the armature of both
    whole.armature[:] = np.concatenate([first.armature, second.armature])
    _show_links(whole, names)
    return whole, moved


def _hide_links(*models: pin.Model) -> dict[str, str]:
    """Give links other names, in place, and return theirs by the other ones.

    Pinocchio finds the frame of a joint by name alone, and many URDFs name a link like a joint.
    """
    names: dict[str, str] = {}
    for frame in (frame for model in models for frame in list(model.frames)[1:]):
        if frame.type == pin.FrameType.BODY:
            names[f"{_BODY}{len(names)}"] = frame.name
            frame.name = f"{_BODY}{len(names) - 1}"
    return names


def _show_links(model: pin.Model, names: Mapping[str, str]) -> None:
    for frame in model.frames:
        frame.name = names.get(frame.name, frame.name)


def _in_plane(base_pose: pin.SE3) -> np.ndarray:
    """The x, z and pitch of a placement, shape (3,)."""
    forward = base_pose.rotation[:, 0]
    x, _, z = base_pose.translation
    return np.array([x, z, np.arctan2(-forward[2], forward[0])])


def standing_configuration(
    model: pin.Model, pose: Mapping[str, float | np.ndarray], base_pose: pin.SE3
) -> np.ndarray:
    """The configuration with the joints at their standing positions, shape (nq,).

    A scalar of `pose` is a displacement from the joint's neutral position, an array is the
    joint's own part of the configuration; joints of `pose` that the model lacks are skipped.
    """
    q, step = pin.neutral(model), np.zeros(model.nv)
    for name in filter(model.existJointName, pose):
        value, joint = pose[name], model.joints[model.getJointId(name)]
        if isinstance(value, np.ndarray):
            q[joint.idx_q : joint.idx_q + joint.nq] = value
        else:
            step[joint.idx_v] = value
    place_base(model, q, base_pose)
    result: np.ndarray = pin.normalize(model, pin.integrate(model, q, step))
    return result


def base_velocities(model: pin.Model, driven: np.ndarray) -> np.ndarray:
    """Velocity indices of the floating bases of robots and of free bodies, shape (n,)."""
    found: list[int] = []
    for name, joint in named_joints(model):
        if joint.nv == 6 or name.split("/")[-1] in (*FREE_JOINTS, *PLANAR_JOINTS):
            found += range(joint.idx_v, joint.idx_v + joint.nv)
    return np.array([v for v in found if v not in driven], dtype=int)


def place_base(model: pin.Model, q: np.ndarray, base_pose: pin.SE3) -> None:
    """Write the standing placement of the root link into `q`."""
    if model.existJointName(FREE_JOINTS[-1]):
        q[:7] = pin.SE3ToXYZQUAT(base_pose)
    elif model.existJointName(PLANAR_JOINTS[-1]):
        q[:3] = _in_plane(base_pose)
