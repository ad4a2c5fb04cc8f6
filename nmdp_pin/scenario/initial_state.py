"""The state in which a scenario starts: the standing pose, moved as its file says."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pinocchio as pin

from nmdp_pin.errors import ScenarioError
from nmdp_pin.options import unknown
from nmdp_pin.robot import Robot
from nmdp_pin.robot.model import FREE_JOINTS, PLANAR_JOINTS
from nmdp_pin.scenario.robot_section import InitialSection
from nmdp_pin.state import State


def initial_state(robot: Robot, initial: InitialSection, *, file: str = "") -> State:
    """State at t = 0.

    Args:
        robot: gives the standing pose.
        initial: differences from the standing pose.
        file: the scenario file, for messages.

    Raises:
        ScenarioError: the robot lacks a joint, or its base cannot make the motion.
    """
    try:
        q = _joint_positions(robot, initial.joints)
        v = _joint_velocities(robot.model, initial.joint_velocities)
        names = list(robot.model.names)
        if tuple(names[1:3]) == FREE_JOINTS:
            _place_free_base(q, v, initial)
        elif tuple(names[1:4]) == PLANAR_JOINTS:
            _place_planar(q, v, initial)
        else:
            _refuse_base(initial)
    except _Refused as error:
        raise ScenarioError(error.sentence, file=file, key=f"robot.initial.{error.key}") from None
    return State(0.0, q, v)


class _Refused(Exception):
    """A key of the section that does not fit this robot."""

    def __init__(self, key: str, sentence: str) -> None:
        self.key = key
        self.sentence = sentence


def _joint_positions(robot: Robot, joints: Mapping[str, float]) -> np.ndarray:
    """The standing pose with some joints displaced from their neutral positions, shape (nq,)."""
    model = robot.model
    q = robot.standing.copy()
    neutral = pin.neutral(model)
    step = np.zeros(model.nv)
    for name, value in joints.items():
        joint = _joint(model, name, f"joints.{name}")
        part = slice(joint.idx_q, joint.idx_q + joint.nq)
        q[part] = neutral[part]  # a continuous joint has two numbers for one angle
        step[joint.idx_v] = value
    return pin.integrate(model, q, step) if joints else q


def _joint_velocities(model: pin.Model, velocities: Mapping[str, float]) -> np.ndarray:
    """Velocities of the named joints, zero elsewhere, shape (nv,)."""
    v = np.zeros(model.nv)
    for name, value in velocities.items():
        v[_joint(model, name, f"joint_velocities.{name}").idx_v] = value
    return v


def _joint(model: pin.Model, name: str, key: str) -> pin.JointModel:
    """The joint of one axis with that name."""
    axes = [n for n, joint in zip(model.names, model.joints, strict=True) if joint.nv == 1]
    if name not in axes:
        raise _Refused(key, unknown(name, "a joint of one axis of this robot", axes))
    return model.joints[model.getJointId(name)]


def _place_free_base(q: np.ndarray, v: np.ndarray, initial: InitialSection) -> None:
    """Write position, attitude and velocities of a floating base."""
    if initial.position is not None:
        q[:3] = initial.position
    if initial.rpy is not None:
        q[3:7] = pin.Quaternion(pin.rpy.rpyToMatrix(np.array(initial.rpy))).coeffs()
    R = pin.Quaternion(q[3:7]).toRotationMatrix()
    v[:3] = initial.velocity
    v[3:6] = R.T @ np.array(initial.angular_velocity)


def _place_planar(q: np.ndarray, v: np.ndarray, initial: InitialSection) -> None:
    """Write x, z, pitch and their rates; the other three must be zero."""
    vectors = {
        "position": (initial.position, (1,)),
        "rpy": (initial.rpy, (0, 2)),
        "velocity": (initial.velocity, (1,)),
        "angular_velocity": (initial.angular_velocity, (0, 2)),
    }
    for key, (vector, still) in vectors.items():
        if vector is not None and any(vector[i] != 0.0 for i in still):
            raise _Refused(key, f"a planar base moves in x, z and pitch only, got {list(vector)}")
    if initial.position is not None:
        q[0], q[1] = initial.position[0], initial.position[2]
    if initial.rpy is not None:
        q[2] = initial.rpy[1]
    # += because the base's own joints may also be named in joint_velocities
    v[0] += initial.velocity[0]
    v[1] += initial.velocity[2]
    v[2] += initial.angular_velocity[1]


def _refuse_base(initial: InitialSection) -> None:
    """A fixed base takes none of the keys that move one."""
    for key in ("position", "rpy"):
        if getattr(initial, key) is not None:
            raise _Refused(key, "this robot's base is fixed; set robot.base or leave it out")
    for key in ("velocity", "angular_velocity"):
        if any(getattr(initial, key)):
            raise _Refused(key, "this robot's base is fixed; set robot.base or leave it out")
