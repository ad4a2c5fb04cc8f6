"""Stops, dry friction, motors and mimic joints of a robot as arrays for the kernels."""

import numpy as np

from nmdp_pin._contact.friction_cone import STANDARD_GRAVITY
from nmdp_pin._kernels.tree.joints import Joints
from nmdp_pin._robot import Robot
from nmdp_pin._robot.joint_limits import simple_joints
from nmdp_pin._robot.trees import inertia_at

_STATIC_DEPTH = 1e-4  # [rad or m] to which the largest static load presses a joint into its stop
_STATIC_ERROR = 1e-6  # [rad or m] by which the largest static load moves a joint off its primary


def joints_of(robot: Robot) -> Joints:
    """The bounds of a robot's joints.

    At a penetration of 0.1 mrad or 0.1 mm a stop carries the largest static load. Stiff springs
    hold mimic joints: an implicit step is stable at any stiffness, and damps their oscillations.
    """
    model, limits, loads = robot.model, robot.limits, largest_loads(robot)
    dofs, mimics = limits.bounded, limits.mimics
    coordinates = {joint.idx_v: joint.idx_q for joint in simple_joints(model).values()}
    pairs = [
        [model.joints[model.getJointId(name)] for name in (m.joint, m.primary)] for m in mimics
    ]
    mimic_dofs = np.array([[joint.idx_v for joint in pair] for pair in pairs], dtype=np.int64)
    places = np.array([[joint.idx_q for joint in pair] for pair in pairs], dtype=np.int64)
    mimic_dofs = mimic_dofs.reshape(-1, 2)
    return Joints(
        coordinates=np.array([coordinates.get(dof, -1) for dof in dofs.tolist()], dtype=np.int64),
        dofs=np.array(dofs, dtype=np.int64),
        lower=limits.lower[dofs],
        upper=limits.upper[dofs],
        stiffness=loads[dofs] / _STATIC_DEPTH,
        friction=limits.friction[dofs],
        effort=np.array(limits.effort, dtype=float),
        damping=np.array(model.damping, dtype=float),
        mimic_coordinates=places.reshape(-1, 2),
        mimic_dofs=mimic_dofs,
        multiplier=np.array([m.multiplier for m in mimics], dtype=float),
        offset=np.array([m.offset for m in mimics], dtype=float),
        mimic_stiffness=loads[mimic_dofs].max(axis=1, initial=0.0) / _STATIC_ERROR,
    )


def largest_loads(robot: Robot) -> np.ndarray:
    """Larger one of the motor's effort and the weight that each dof moves [N m or N], (nv,).

    The moment of a weight m g with inertia M about the axis is at most g sqrt(m M).
    """
    model, effort = robot.model, robot.limits.effort
    inertia, mass = inertia_at(model, robot.standing)
    weight = STANDARD_GRAVITY * np.sqrt(mass * inertia.diagonal())
    result: np.ndarray = np.maximum(weight, np.where(np.isfinite(effort), effort, 0.0))
    return result
