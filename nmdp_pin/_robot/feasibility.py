"""Joints beyond their ranges, efforts beyond their limits, bodies under the ground."""

import numpy as np
import pinocchio as pin

from nmdp_pin._robot.joint_limits import simple_joints
from nmdp_pin._robot.robot import Robot
from nmdp_pin._terrain import Terrain

# A range that is left by rounding of the URDF's digits is not left [rad or m].
_SLACK = 1e-4


def joints_beyond_range(robot: Robot, q: np.ndarray) -> list[str]:
    """A sentence for each joint that leaves its range in configurations of shape (n, nq)."""
    limits, said = robot.limits, []
    for name, joint in simple_joints(robot.model).items():
        x, lower, upper = q[:, joint.idx_q], limits.lower[joint.idx_v], limits.upper[joint.idx_v]
        what = f"joint '{name}' at {{:.4g}} is beyond its range {lower:.4g} to {upper:.4g}"
        said += _worst(what, x, np.maximum(lower - x, x - upper) - _SLACK)
    return said


def efforts_beyond_limits(robot: Robot, tau: np.ndarray) -> list[str]:
    """A sentence for each joint whose effort, (n, nv) [N m or N], is larger than its limit."""
    limits, said = robot.limits, []
    for name, joint in simple_joints(robot.model).items():
        effort, largest = np.abs(tau[:, joint.idx_v]), limits.effort[joint.idx_v]
        what = f"joint '{name}' takes an effort of {{:.4g}}, its limit is {largest:.4g}"
        said += _worst(what, effort, effort - largest * (1.0 + _SLACK))
    return said


def _worst(what: str, values: np.ndarray, excess: np.ndarray) -> list[str]:
    """A sentence on the value with the largest excess, if it is positive."""
    worst, count = int(np.argmax(excess)), int((excess > 0.0).sum())
    return [f"{what.format(values[worst])}{how_often(count, len(values))}"] if count else []


def buried_depth(robot: Robot, terrain: Terrain, q: np.ndarray) -> np.ndarray:
    """Depth of the deepest centre of mass in the ground at q, (n, nq) [m], 0 without any, (n,).

    Bodies with contact points count only if they are the base: feet may sink into sand.
    """
    model, data, held = robot.model, robot.model.createData(), set(robot.contact_points.joints)
    base = next((j for j in range(1, model.njoints) if model.inertias[j].mass > 0.0), 0)
    bodies = [
        j
        for j in range(1, model.njoints)
        if model.inertias[j].mass > 0.0 and (j == base or j not in held)
    ]
    centres = np.empty((len(q), len(bodies), 3))
    for row, configuration in enumerate(q):
        pin.forwardKinematics(model, data, configuration)
        centres[row] = [data.oMi[j].act(model.inertias[j].lever) for j in bodies]
    depth = -terrain.query(centres.reshape(-1, 3)).distance.reshape(len(q), len(bodies))
    result: np.ndarray = np.nan_to_num(depth).max(axis=1, initial=0.0)  # NaN: beyond all terrain
    return result


def how_often(count: int, n: int) -> str:
    """Phrase for the number of states in which a condition holds; "" where there is only one."""
    return f" (in {count} of {n} states)" if n > 1 else ""
