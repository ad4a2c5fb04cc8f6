"""Sensors of joints: encoders, torques of the motors, and what joints transmit."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pinocchio as pin

from nmdp_pin._options import unknown
from nmdp_pin._robot import Robot
from nmdp_pin._robot.joint_limits import named_joints
from nmdp_pin._sensors.instant import Instant
from nmdp_pin._sensors.sensor import Sensor
from nmdp_pin.errors import SensorError


@dataclass(frozen=True)
class JointSensor(Sensor):
    """Base class of sensors that measure a number of each of some joints.

    Args:
        joints: joints with one degree of freedom; None: the driven joints.
    """

    joints: tuple[str, ...] | None = None

    def shape(self, robot: Robot) -> tuple[int, ...]:
        """See `Sensor.shape`."""
        return (len(self.joints_of(robot)),)

    def joints_of(self, robot: Robot) -> list[pin.JointModel]:
        """Joints with one degree of freedom by their names; None: those that are driven."""
        simple = {name: joint for name, joint in named_joints(robot.model) if joint.nv == 1}
        if self.joints is None:
            driven = set(np.asarray(robot.driven).tolist())
            return [joint for joint in simple.values() if joint.idx_v in driven]
        for name in self.joints:
            if name not in simple:
                what = f"a joint of robot '{robot.name}' with one degree of freedom"
                raise SensorError(f"sensor '{self.key}': {unknown(name, what, simple)}")
        return [simple[name] for name in self.joints]


@dataclass(frozen=True)
class JointPositions(JointSensor):
    """Positions of joints, as encoders measure them [rad or m], shape (n,).

    That of a continuous joint is the angle in (-pi, pi].

    Args:
        joints: joints with one degree of freedom; None: the driven joints.
    """

    kind: ClassVar[str] = "joint_positions"

    def measure(self, at: Instant) -> np.ndarray:
        """See `Sensor.measure`."""
        q = at.state.q
        return np.array(
            [
                q[joint.idx_q] if joint.nq == 1 else np.arctan2(q[joint.idx_q + 1], q[joint.idx_q])
                for joint in self.joints_of(at.robot)
            ]
        )


@dataclass(frozen=True)
class JointVelocities(JointSensor):
    """Velocities of joints [rad/s or m/s], shape (n,).

    Args:
        joints: joints with one degree of freedom; None: the driven joints.
    """

    kind: ClassVar[str] = "joint_velocities"

    def measure(self, at: Instant) -> np.ndarray:
        """See `Sensor.measure`."""
        return at.state.v[[joint.idx_v for joint in self.joints_of(at.robot)]]


@dataclass(frozen=True)
class MotorTorques(JointSensor):
    """Torques of motors at the end of the step, within their limits [N m or N], shape (n,).

    Of `Actuators` it has the servos, and the motors of joints without one: motors beside a servo
    act as `Command.force`, which is none of these.

    Args:
        joints: joints with one degree of freedom; None: the driven joints.
    """

    kind: ClassVar[str] = "motor_torques"

    def measure(self, at: Instant) -> np.ndarray:
        """See `Sensor.measure`."""
        return at.tau[[joint.idx_v for joint in self.joints_of(at.robot)]]


@dataclass(frozen=True)
class JointWrench(Sensor):
    """Force and torque that a joint transmits to the link behind it [N, N m], shape (6,).

    The force comes first. Both act on that link, about the origin of the joint, along the axes of
    its moving frame; they are means over the step. The torque about the axis is the motor's, with
    that of stops and friction, less what the armature of the rotor takes.

    Args:
        joint: joint that moves, of a robot without closed loops.
    """

    joint: str

    kind: ClassVar[str] = "joint_wrench"

    def shape(self, robot: Robot) -> tuple[int, ...]:
        """See `Sensor.shape`."""
        known = [name for name, _ in named_joints(robot.model)]
        if self.joint not in known:
            what = unknown(self.joint, f"a joint of robot '{robot.name}' that moves", known)
            raise SensorError(f"sensor '{self.key}': {what}")
        if robot.loops:
            what = "what joints transmit is not known of robots with closed loops"
            raise SensorError(f"sensor '{self.key}': {what}; use StepResult.loop_forces")
        return (6,)

    def measure(self, at: Instant) -> np.ndarray:
        """See `Sensor.measure`."""
        result: np.ndarray = at.reactions[at.robot.model.getJointId(self.joint)].copy()
        return result
