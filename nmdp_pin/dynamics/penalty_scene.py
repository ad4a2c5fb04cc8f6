"""A system with a penalty law as arrays for the kernels, and the memory of its steps."""

from __future__ import annotations

import numpy as np

from nmdp_pin.contact.penalty import Penalty
from nmdp_pin.control.controller import Command
from nmdp_pin.dynamics.joint_bounds import JointBounds
from nmdp_pin.dynamics.kinematic_tree import tree_of
from nmdp_pin.dynamics.mimic_springs import MimicSprings
from nmdp_pin.errors import ContactError
from nmdp_pin.kernels.ground import Ground
from nmdp_pin.kernels.levenberg_marquardt import ENTRIES
from nmdp_pin.kernels.penalty import Law
from nmdp_pin.kernels.position_scene import (
    ContactForces,
    Contacts,
    JointLaw,
    Point,
    Scene,
    StepReference,
    StepStart,
    Surfaces,
)
from nmdp_pin.kernels.position_solver import Memory
from nmdp_pin.robot import Robot
from nmdp_pin.robot.joint_limits import simple_joints
from nmdp_pin.state import State
from nmdp_pin.terrain import Terrain

_CREEP = 1e-3  # [rad/s or m/s] up to which dry friction of a joint is viscous


def scene_of(robot: Robot, law: Penalty, *, kind: int, semidefinite: bool) -> Scene:
    """Data that all steps of a robot share.

    Args:
        robot: simulated robot.
        law: penalty law whose normal stiffness is known; see `Penalty.for_weight`.
        kind: kind of the friction, FRICTIONAL or CONSERVATIVE.
        semidefinite: as in `Scene`.

    Raises:
        IntegratorError: a joint is of a kind that the kernels lack.
        ContactError: the normal stiffness of the law is unknown.
    """
    if law.normal_stiffness is None:
        raise ContactError("the normal stiffness is not known; use law.for_weight(weight)")
    points = robot.contact_points
    contacts = Contacts(
        joints=np.array(points.joints, dtype=np.int64),
        touched=np.array(points.touches, dtype=np.int64),
        local=points.positions,
        radii=np.array(points.radii, dtype=float),
    )
    numbers = Law(
        kind=kind,
        stiffness=float(law.normal_stiffness),
        friction=-1.0 if law.friction_stiffness is None else float(law.friction_stiffness),
        slip_speed=float(law.slip_speed),
        alpha=float(law.alpha),
        beta=float(law.beta),
        gamma=float(law.gamma),
    )
    return Scene(tree_of(robot.model), contacts, _joint_law(robot), numbers, semidefinite)


def _joint_law(robot: Robot) -> JointLaw:
    """Stops, dry friction, effort limits and mimic joints of a robot."""
    limits, bounds = robot.limits, JointBounds.of(robot)
    coordinates, stiffness = np.full(robot.model.nv, -1), np.zeros(robot.model.nv)
    for joint in simple_joints(robot.model).values():
        coordinates[joint.idx_v] = joint.idx_q
    stiffness[bounds.dofs] = bounds.stiffness
    return JointLaw(
        coordinates,
        limits.lower,
        limits.upper,
        stiffness,
        limits.friction,
        _CREEP,
        limits.effort,
        tuple(MimicSprings.of(robot)),
    )


def ground_of(robot: Robot, terrain: Terrain) -> Ground | None:
    """Surfaces that the robot's contacts touch; None where coal queries some of the shapes."""
    surfaces = [terrain, *robot.surfaces.values()]
    if not all(surface.compiled for surface in surfaces):
        return None
    indices = {0: 0} | {int(joint): i for i, joint in enumerate(robot.surfaces, 1)}
    kinds, first, n_heights, n_intervals = [], 0, 0, 0
    for surface in surfaces:
        rows = surface.arrays.kinds + np.array([0, first, 0, 0, n_heights, n_intervals])
        kinds.append(rows)
        first += len(surface.shapes)
        n_heights += len(surface.arrays.heights)
        n_intervals += len(surface.arrays.intervals)
    touched = np.asarray(robot.contact_points.touches, dtype=int).tolist()
    return Ground(
        kinds=np.concatenate(kinds),
        shapes=np.concatenate([surface.arrays.shapes for surface in surfaces]),
        heights=np.concatenate([surface.arrays.heights for surface in surfaces]),
        intervals=np.concatenate([surface.arrays.intervals for surface in surfaces]),
        first_shapes=np.cumsum([0, *map(len, kinds)], dtype=np.int64),
        surface_of=np.array([indices[joint] for joint in touched], dtype=np.int64),
    )


def start_of(scene: Scene, state: State, command: Command, h: float, dt: float) -> StepStart:
    """Data of a step for the kernels.

    Args:
        scene: data that all steps share.
        state: state at its start.
        command: command at its end.
        h: length of the step [s].
        dt: divisor of differences of velocities [s].
    """
    nothing = np.zeros(len(scene.tree.damping))
    kd = nothing if command.kd is None else command.kd
    tau = nothing if command.tau is None else command.tau
    if command.v_target is not None:
        tau = tau + kd * command.v_target
    return StepStart(
        q0=_plain(state.q),
        v0=_plain(state.v),
        tau=_plain(tau),
        kp=nothing if command.kp is None else _plain(command.kp),
        kd=kd + scene.tree.damping,
        q_target=_plain(state.q if command.q_target is None else command.q_target),
        h=float(h),
        rate=1.0 / float(dt),
    )


def _plain(array: np.ndarray) -> np.ndarray:
    """Contiguous and writable array, as the compiled kernels expect."""
    plain = array.flags.carray and array.dtype == float  # `np.require` takes ten times as long
    return array if plain else np.require(array, dtype=float, requirements=["C", "W"])


def new_memory(scene: Scene) -> Memory:
    """Memory for the steps of a robot, one at a time."""
    n, m = len(scene.tree.kinds), len(scene.contacts.joints)
    nq, nv = int(scene.tree.first_q[-1]), int(scene.tree.first_dofs[-1])
    square = (nv, nv)
    reference = StepReference(
        P0=np.zeros((n + 1, 4, 3)),
        target=np.zeros((n, 4, 3)),
        carriers=np.zeros((m, 4, 3)),
        metric=np.zeros(square),
        U=np.zeros(square),
        energies=np.zeros(2),
    )
    surfaces = Surfaces(
        centre=np.zeros((m, 3)),
        distance=np.zeros(m),
        normal=np.zeros((m, 3)),
        curvature=np.zeros((m, 3, 3)),
        friction=np.zeros(m),
        shape=np.zeros(m, dtype=np.int64),
        curved=np.zeros(1),
    )
    forces = ContactForces(
        wrenches=np.zeros((m, 6)),
        origin=np.zeros((m, 6)),
        stiffness=np.zeros((m, 36)),
        energies=np.zeros(2),
    )
    point = Point(
        q=np.zeros(nq),
        v=np.zeros(nv),
        y=np.zeros(nv),
        e=np.zeros(nv),
        D=np.eye(nv),
        D_t=np.eye(nv),
        P=np.zeros((n + 1, 4, 3)),
        S=np.zeros((nv, 6)),
        frames=np.zeros((m, 4, 3)),
        surfaces=surfaces,
        forces=forces,
        wrenches=np.zeros((n, 6)),
        stiffness=np.zeros((n, 36)),
        r=np.zeros(nv),
        tau=np.zeros(nv),
        A=np.zeros(square),
        work=np.zeros((4, nv)),
    )
    return Memory(
        ref=reference,
        point=point,
        q=np.zeros(nq),
        r=np.zeros(nv),
        F=np.zeros(square),
        dx=np.zeros(nv),
        account=np.zeros(ENTRIES),
        energies=np.zeros(4),
        gram=np.zeros(square),
        descent=np.zeros(nv),
        formed=np.zeros(1),
        signs=np.zeros(nv),
        freed=np.zeros(nv),
    )
