"""What lies between the torque that is asked for and that of a motor: delay, lag, speed."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
import pinocchio as pin
from pydantic import Field

from nmdp_pin._control.controller import Command, Controller, full_torque
from nmdp_pin._control.conversion import ControllerLike, controller_of
from nmdp_pin._options import Number, Positive, checked, phrased
from nmdp_pin._robot import Robot
from nmdp_pin._state.state import State
from nmdp_pin.errors import ControlError

Seconds = Annotated[Number, Field(ge=0, le=60)]
Speeds = Annotated[
    Positive | Mapping[str, Positive], phrased("a finite number > 0, or one a joint by name")
]
_SAME = 1e-9  # [s]


@dataclass(frozen=True, eq=False)
class _Asked:
    """A step: its start [s], the torques asked for there, and those at its end, (nv,)."""

    t: float
    torque: np.ndarray
    at_end: np.ndarray


class MotorModel(Controller):
    """Controller whose torques come late, by the motors of a robot.

    Torques, with those of gains, are asked for at the start of each step. Motors follow them after
    a delay, with a first-order lag whose impulse in the step is exact. Beyond the line from the
    torque at stall to the speed without load a motor follows that line, implicitly.

    It remembers what was asked before: a state at an earlier time than the last begins anew, where
    motors are without torque; one at the same time repeats the step.

    Args:
        robot: robot whose driven joints have the motors.
        controller: what asks: a controller, a function of (state, h), a `Command`; None: no torque.
        delay: time from a torque to its effect, rounded up to whole steps [s].
        lag: time constant of the lag [s].
        free_speed: speed at which motors have no torque left, of all driven joints or by name
            [rad/s or m/s]; None: they have it at any speed.
        stall_torque: torque of these motors at rest [N m or N]; None: the effort limits.

    Raises:
        ControlError: a joint is unknown, not driven, or has a speed and no torque.
    """

    @checked(ControlError)
    def __init__(
        self,
        robot: Robot,
        controller: ControllerLike,
        *,
        delay: Seconds = 0.0,
        lag: Seconds = 0.0,
        free_speed: Speeds | None = None,
        stall_torque: Speeds | None = None,
    ) -> None:
        self._model, self._inner = robot.model, controller_of(controller)
        self._motors = np.zeros(robot.model.nv, dtype=bool)
        self._motors[robot.driven] = True
        self._delay, self._lag = float(delay), float(lag)
        speed, stall = (_by_dof(robot, x) for x in (free_speed, stall_torque))
        stall = np.where(np.isfinite(stall), stall, robot.limits.effort)
        self._limited = np.isfinite(speed)
        if not np.isfinite(stall[self._limited]).all():
            raise ControlError(
                "a free speed needs a stall_torque where joints have no effort limit"
            )
        self._stall = stall
        self._top = np.where(self._limited, stall, 0.0)
        self._slope = self._top / speed  # [N m s/rad]
        self._past: list[_Asked] = []

    def command(self, state: State, h: float) -> Command:
        """See `Controller.command`."""
        given = self._inner.command(state, h)
        zero = np.zeros(self._model.nv)
        tau, kp, kd = (zero if x is None else x for x in (given.tau, given.kp, given.kd))
        tau = full_torque(tau, np.flatnonzero(self._motors), len(zero))
        torque = np.where(self._motors, tau + self._of_gains(given, state, kp, kd), 0.0)
        mean = self._followed(state.t, h, torque)
        # beyond the line: on it, the torque at rest less what the speed at the end takes
        top = np.sign(mean) * self._top
        line = top - self._slope * state.v
        beyond = self._limited & (np.abs(mean) > np.abs(line) * (np.sign(line) == np.sign(mean)))
        return replace(
            given,
            tau=np.where(self._motors, np.where(beyond, top, mean), tau),
            kp=None if given.kp is None else np.where(self._motors, 0.0, kp),
            kd=np.where(self._motors, np.where(beyond, self._slope, 0.0), kd),
            v_target=None if given.v_target is None else np.where(self._motors, 0, given.v_target),
        )

    def _of_gains(self, given: Command, state: State, kp: np.ndarray, kd: np.ndarray) -> np.ndarray:
        """Torques of the gains at the start of the step, shape (nv,)."""
        torque: np.ndarray = kd * ((0.0 if given.v_target is None else given.v_target) - state.v)
        if given.q_target is not None:
            torque = torque + kp * pin.difference(self._model, state.q, given.q_target)
        return torque

    def _followed(self, t: float, h: float, torque: np.ndarray) -> np.ndarray:
        """Mean torques of the motors in a step in which these are asked for, shape (nv,)."""
        zero, past = np.zeros_like(torque), self._past
        if past and t < past[-1].t - _SAME:
            past.clear()
        elif past and t < past[-1].t + _SAME:
            past.pop()
        before = past[-1].at_end if past else zero
        arrived = [k for k, x in enumerate(past) if x.t <= t - self._delay + _SAME]
        goal = past[arrived[-1]].torque if arrived else zero
        if self._delay < _SAME:
            goal = torque
        left = np.exp(-h / self._lag) if self._lag > 0.0 else 0.0
        share = (1.0 - left) * self._lag / h  # mean of exp(-s / lag) in the step
        del past[: arrived[-1] if arrived else 0]
        past.append(_Asked(t, torque, goal + left * (before - goal)))
        mean: np.ndarray = np.clip(goal + share * (before - goal), -self._stall, self._stall)
        return mean


def _by_dof(robot: Robot, given: float | Mapping[str, float] | None) -> np.ndarray:
    """Numbers of driven joints, infinite where none is given, shape (nv,)."""
    result = np.full(robot.model.nv, np.inf)
    if isinstance(given, Mapping):
        for name, value in given.items():
            known = robot.model.existJointName(name)
            joint = robot.model.joints[robot.model.getJointId(name)] if known else None
            if joint is None or joint.idx_v not in robot.driven:
                raise ControlError(f"robot '{robot.name}' has no driven joint '{name}'")
            result[joint.idx_v : joint.idx_v + joint.nv] = value
    elif given is not None:
        result[robot.driven] = given
    return result
