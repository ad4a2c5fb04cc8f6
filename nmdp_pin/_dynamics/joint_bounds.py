"""Stops, dry friction and motors of a robot's joints as arrays for the kernels."""

import numpy as np

from nmdp_pin._contact.friction_cone import STANDARD_GRAVITY
from nmdp_pin._dynamics.loops import loops_of
from nmdp_pin._dynamics.springs import springs_of
from nmdp_pin._kernels.tree.joints import Joints
from nmdp_pin._robot import Robot
from nmdp_pin._robot.actuator import Actuator
from nmdp_pin._robot.joint_limits import simple_joints
from nmdp_pin._robot.trees import Inertia, inertia_at

_STATIC_DEPTH = 1e-4  # [rad or m] to which the largest static load presses a joint into its stop


def joints_of(
    robot: Robot, inertia: Inertia | None = None, *, known: Joints | None = None
) -> Joints:
    """The bounds and springs of a robot's joints, and its loops.

    At a penetration of 0.1 mrad or 0.1 mm a stop carries the largest static load.

    Args:
        robot: the robot.
        inertia: `inertia_at` in the standing pose, if it is known.
        known: those of the robot with other inertias and bounds of the same joints, if they exist.
    """
    model, limits, loads = robot.model, robot.limits, largest_loads(robot, inertia)
    dofs = limits.bounded
    loops = known.loops if known and not robot.loops else loops_of(robot, len(dofs))
    alone = not (robot.springs or robot.tendons or limits.mimics)
    rows = len(loops.compliance)
    first = [int(loops.dofs[x]) for x in loops.dof_ranges[:-1].tolist()]
    owners = np.repeat(first, np.diff(loops.first)).astype(np.int64)
    coordinates = {joint.idx_v: joint.idx_q for joint in simple_joints(model).values()}
    stops = np.array([coordinates.get(dof, -1) for dof in dofs.tolist()], dtype=np.int64)
    return Joints(
        coordinates=np.append(stops, np.full(rows, -1)),
        dofs=np.append(np.array(dofs, dtype=np.int64), owners),
        lower=np.append(limits.lower[dofs], np.full(rows, -np.inf)),
        upper=np.append(limits.upper[dofs], np.full(rows, np.inf)),
        stiffness=np.append(loads[dofs] / _STATIC_DEPTH, np.zeros(rows)),
        friction=np.append(limits.friction[dofs], np.full(rows, np.inf)),
        effort=np.array(limits.effort, dtype=float),
        damping=np.array(model.damping, dtype=float),
        springs=known.springs if known and alone else springs_of(robot, loads),
        loops=loops,
    )


def largest_loads(robot: Robot, inertia: Inertia | None = None) -> np.ndarray:
    """Larger one of the motor's effort and the weight that each dof moves [N m or N], (nv,).

    The moment of a weight m g with inertia M about the axis is at most g sqrt(m M). Where a spring
    or an actuator presses the joint into a stop, its force there counts as well, also on joints
    that a tendon holds to it.
    """
    model, effort = robot.model, robot.limits.effort
    M, mass = inertia or inertia_at(model, robot.standing)
    weight = STANDARD_GRAVITY * np.sqrt(mass * M.diagonal())
    result: np.ndarray = np.maximum(weight, np.where(np.isfinite(effort), effort, 0.0))
    simple = simple_joints(model)
    for actuator in robot.actuators:
        for name, arm in actuator.arms.items():
            dof = simple[name].idx_v
            push = abs(arm) * max(map(actuator.strongest, _lengths(robot, actuator, dof)))
            result[dof] = max(result[dof], push if np.isfinite(push) else 0.0)
    for tendon in [t for _ in robot.tendons for t in robot.tendons]:  # one pulls at the next
        along = {simple[j].idx_v: abs(arm) for j, arm in tendon.arms.items()}
        pull = max(result[dof] / arm for dof, arm in along.items())
        moved = {simple[tendon.joint].idx_v: 1.0} if tendon.joint else along
        for dof, arm in moved.items():
            result[dof] = max(result[dof], arm * pull)
    for spring in robot.springs:
        if spring.joint in simple:
            dof = simple[spring.joint].idx_v
            stops = np.array([robot.limits.lower[dof], robot.limits.upper[dof]])
            ways = np.abs(stops[np.isfinite(stops)] - spring.rest)
            result[dof] = max(result[dof], spring.stiffness * ways.max(initial=0.0))
    return result


def _lengths(robot: Robot, actuator: Actuator, dof: int) -> list[float]:
    """Lengths of an actuator where a joint is at its stops, and others as the robot stands."""
    simple, length, own = simple_joints(robot.model), actuator.offset, 0.0
    for name, arm in actuator.arms.items():
        if simple[name].idx_v == dof:
            own = arm
        else:
            length += arm * float(robot.standing[simple[name].idx_q])
    stops = robot.limits.lower[dof], robot.limits.upper[dof]
    return [length + own * float(stop) for stop in stops if np.isfinite(stop)] or [length]


def largest_push(robot: Robot) -> float:
    """Largest effort of the motors of slides [N]; 0 without a bounded one."""
    slides = [
        joint.idx_v
        for joint in list(robot.model.joints)[1:]
        if joint.nv == 1 and joint.shortname().startswith("JointModelP")
    ]
    effort = robot.limits.effort[slides]
    return float(effort[np.isfinite(effort)].max(initial=0.0))
