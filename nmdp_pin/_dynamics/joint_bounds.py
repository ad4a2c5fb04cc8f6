"""Stops, dry friction and motors of a robot's joints as arrays for the kernels."""

import numpy as np
import pinocchio as pin

from nmdp_pin._contact.friction_cone import STANDARD_GRAVITY
from nmdp_pin._dynamics.springs import springs_of
from nmdp_pin._kernels.tree.joints import Joints
from nmdp_pin._robot import Robot
from nmdp_pin._robot.joint_limits import simple_joints

_STATIC_DEPTH = 1e-4  # [rad or m] to which the largest static load presses a joint into its stop


def joints_of(robot: Robot) -> Joints:
    """The bounds and springs of a robot's joints.

    At a penetration of 0.1 mrad or 0.1 mm a stop carries the largest static load.
    """
    model, limits, loads = robot.model, robot.limits, largest_loads(robot)
    dofs = limits.bounded
    coordinates = {joint.idx_v: joint.idx_q for joint in simple_joints(model).values()}
    return Joints(
        coordinates=np.array([coordinates.get(dof, -1) for dof in dofs.tolist()], dtype=np.int64),
        dofs=np.array(dofs, dtype=np.int64),
        lower=limits.lower[dofs],
        upper=limits.upper[dofs],
        stiffness=loads[dofs] / _STATIC_DEPTH,
        friction=limits.friction[dofs],
        effort=np.array(limits.effort, dtype=float),
        damping=np.array(model.damping, dtype=float),
        springs=springs_of(robot, loads),
    )


def largest_loads(robot: Robot) -> np.ndarray:
    """Larger one of the motor's effort and the weight that each dof moves [N m or N], (nv,).

    The moment of a weight m g with inertia M about the axis is at most g sqrt(m M). Where a spring
    presses the joint into a stop, its force there counts as well.
    """
    model, effort = robot.model, robot.limits.effort
    data = model.createData()
    pin.computeSubtreeMasses(model, data)
    inertia = pin.crba(model, data, robot.standing).diagonal()
    joints = enumerate(list(model.joints)[1:], 1)
    mass = np.concatenate([np.full(joint.nv, data.mass[index]) for index, joint in joints])
    weight = STANDARD_GRAVITY * np.sqrt(mass * inertia)
    result: np.ndarray = np.maximum(weight, np.where(np.isfinite(effort), effort, 0.0))
    simple = simple_joints(model)
    for spring in robot.springs:
        if spring.joint in simple:
            dof = simple[spring.joint].idx_v
            stops = np.array([robot.limits.lower[dof], robot.limits.upper[dof]])
            ways = np.abs(stops[np.isfinite(stops)] - spring.rest)
            result[dof] = max(result[dof], spring.stiffness * ways.max(initial=0.0))
    return result
