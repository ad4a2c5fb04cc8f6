"""Stable PD control, passive robots, and torques from functions."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from nmdp_pin._control.controller import Command, Controller
from nmdp_pin._control.trajectory import GaitTrajectory
from nmdp_pin._options import NonNegative, Number, check_pair, checked, numbers, phrased
from nmdp_pin._robot import Robot
from nmdp_pin._robot.gait import Gait
from nmdp_pin._state.state import State
from nmdp_pin.errors import ControlError

Gains = Annotated[
    NonNegative | Mapping[str, NonNegative], phrased("a finite number >= 0, or one a joint by name")
]
Reference = Callable[[float], tuple[np.ndarray, np.ndarray]]
Motion = Annotated[str | Gait | Reference, phrased("a name, a Gait or a function of time")]


class StablePD(Controller):
    """Stable PD: tau = -kp * difference(q_target, q) - kd * (v - v_target) at the end of the step.

    Args:
        robot: robot whose driven joints get the gains.
        kp: position gain of all driven joints [N m/rad or N/m], or gains by joint name.
        kd: velocity gain [N m s/rad or N s/m], or gains by joint name.
        gait: reference motion: name of a gait of the robot, a `Gait`, or a function of time that
            returns targets (nq,) and rates (nv,); None holds the standing pose.
        track_velocity: whether to follow the velocity of the reference; False damps to rest.

    Raises:
        ControlError: a gait or joint is unknown, or a gain is negative or not finite.
    """

    follows_time: ClassVar[bool] = True

    @checked(ControlError)
    def __init__(
        self,
        robot: Robot,
        *,
        kp: Gains,
        kd: Gains,
        gait: Motion | None = None,
        track_velocity: bool = True,
    ) -> None:
        self._kp = _gain_vector(robot, "kp", kp)
        self._kd = _gain_vector(robot, "kd", kd)
        self.reference = _reference(robot, gait)
        self._track_velocity = track_velocity

    def command(self, state: State, h: float) -> Command:
        """See `Controller.command`."""
        q, v = check_pair("a motion", self.reference(state.t + h), ControlError)
        return Command(
            kp=self._kp, kd=self._kd, q_target=q, v_target=v if self._track_velocity else None
        )


class VelocityServo(Controller):
    """Servos that hold velocities: tau = -kd * (v - v_target) at the end of the step.

    Args:
        robot: robot whose driven joints get the gains.
        kd: velocity gain of all joints that `velocity` names [N m s/rad or N s/m], or gains by
            joint name.
        velocity: velocity of driven joints by name [rad/s or m/s]; the others are free.

    Raises:
        ControlError: a joint is unknown or not driven, or a gain is negative or not finite.
    """

    @checked(ControlError)
    def __init__(self, robot: Robot, *, kd: Gains, velocity: Mapping[str, Number]) -> None:
        gains = kd if isinstance(kd, Mapping) else dict.fromkeys(velocity, kd)
        if differing := sorted(gains.keys() ^ velocity.keys()):
            raise ControlError(f"joint '{differing[0]}' needs both, a gain kd and a velocity")
        self._kd, self._v = _gain_vector(robot, "kd", gains), np.zeros(robot.model.nv)
        for name, value in velocity.items():
            self._v[robot.model.joints[robot.model.getJointId(name)].idx_v] = value

    def command(self, state: State, h: float) -> Command:
        """See `Controller.command`."""
        return Command(kd=self._kd, v_target=self._v)


class Passive(Controller):
    """Controller without torque."""

    def command(self, state: State, h: float) -> Command:
        """See `Controller.command`."""
        return Command()


class TorqueFunction(Controller):
    """Controller from a function f(state, h) that returns a torque, a `Command` or None.

    Args:
        function: function, called before each step; its torque is that of `Command.tau`.
    """

    def __init__(self, function: Callable[[State, float], np.ndarray | Command | None]) -> None:
        self._function = function

    def command(self, state: State, h: float) -> Command:
        """See `Controller.command`."""
        result = self._function(state, h)
        if result is None or isinstance(result, Command):
            return result or Command()
        return Command(tau=numbers("a torque", result, ControlError))


@dataclass(frozen=True, eq=False)
class Rest:
    """A motion that stands still: its configuration, shape (nq,), and its velocity, (nv,)."""

    q: np.ndarray
    v: np.ndarray

    def __call__(self, t: float) -> tuple[np.ndarray, np.ndarray]:
        """Configuration and velocity at a time."""
        return self.q, self.v


def _reference(robot: Robot, gait: Motion | None) -> Reference:
    if gait is None:
        return Rest(np.array(robot.standing), np.zeros(robot.model.nv))
    if isinstance(gait, str):
        if gait not in robot.gaits:
            known = sorted(robot.gaits) or "none"
            raise ControlError(f"robot '{robot.name}' has no gait '{gait}'; its gaits: {known}")
        gait = robot.gaits[gait]
    if isinstance(gait, Gait):
        return GaitTrajectory(robot, gait)
    return gait


def _gain_vector(robot: Robot, name: str, gains: Gains) -> np.ndarray:
    """Gains of all velocities, zero where a joint is not driven, shape (nv,)."""
    result = np.zeros(robot.model.nv)
    driven = set(np.asarray(robot.driven).tolist())
    if isinstance(gains, Mapping):
        for joint_name, gain in gains.items():
            if not robot.model.existJointName(str(joint_name)):
                raise ControlError(
                    f"{name}: robot '{robot.name}' has no joint '{joint_name}'; its joints are "
                    f"{list(robot.model.names)[1:]}"
                )
            joint = robot.model.joints[robot.model.getJointId(joint_name)]
            indices = range(joint.idx_v, joint.idx_v + joint.nv)
            if not driven.issuperset(indices):
                raise ControlError(f"{name}: joint '{joint_name}' is not driven")
            result[joint.idx_v : joint.idx_v + joint.nv] = gain
    else:
        result[np.asarray(robot.driven, dtype=int)] = gains
    return result
