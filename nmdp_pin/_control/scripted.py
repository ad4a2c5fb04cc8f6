"""Motions of scripted joints, as functions of time."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pinocchio as pin

from nmdp_pin._control.controller import Command, CommandSource, Controller
from nmdp_pin._control.conversion import ControllerLike, controller_of
from nmdp_pin._options import check_pair, check_part, numbers, unknown
from nmdp_pin._robot import Robot
from nmdp_pin._robot.model import FREE_JOINTS
from nmdp_pin._state.state import State
from nmdp_pin.errors import ControlError

_ROUNDING = 1e-9  # share of a step by which its end may be missed
Motion = Callable[[float], tuple[Any, Any]]
"""Position and velocity of a joint at a time [s], or pose and velocity of a body."""


class Scripted(Controller):
    """A controller with the motions of scripted joints and bodies.

    Args:
        robot: robot of `scripted`, with what is beside it.
        motions: functions of the time by the name of a scripted joint or free body. That of a joint
            returns its position and its velocity [rad, rad/s or m, m/s], that of a body its pose,
            `pin.SE3`, and its velocity and angular velocity along the axes of the world, shape (6,)
            [m/s, rad/s].
        controller: commands of the other joints; None: no torque.

    Raises:
        ControlError: there is no scripted joint or body of a name.
    """

    follows_time: ClassVar[bool] = True

    def __init__(
        self, robot: Robot, motions: Mapping[str, Motion], controller: ControllerLike = None
    ) -> None:
        check_part("robot", robot, Robot, ControlError)
        check_part("motions", motions, Mapping, ControlError)
        model, self.controller = robot.model, controller_of(controller)
        self._motions: list[tuple[str, Motion, int, int, bool]] = []
        for name, motion in motions.items():
            check_part(f"the motion of '{name}'", motion, Callable, ControlError)
            base = _base_joints(robot, name)
            for joint in base or (name,):
                if joint not in robot.scripted:
                    what = unknown(name, "a scripted joint or body", sorted(robot.scripted))
                    raise ControlError(what)
            first = model.joints[model.getJointId((base or (name,))[0])]
            self._motions.append((name, motion, first.idx_q, first.idx_v, bool(base)))

    def on(self, state: State) -> State:
        """The state with what is scripted where it is at that time."""
        q, v = state.q.copy(), state.v.copy()
        self._write(state.t, q, v)
        return replace(state, q=q, v=v)

    def command(self, state: State, h: float) -> Command:
        """See `Controller.command`."""
        return self.within(state, h, h)

    def within(self, state: State, s: float, h: float) -> Command:
        """See `Controller.within`."""
        command = self.controller.within(state, s, h)
        q = np.array(state.q if command.q_target is None else command.q_target, dtype=float)
        v = np.zeros(len(state.v)) if command.v_target is None else command.v_target.copy()
        self._write(state.t + s, q, v)
        return replace(command, q_target=q, v_target=v)

    def _write(self, t: float, q: np.ndarray, v: np.ndarray) -> None:
        """Write the coordinates and velocities at a time."""
        for name, motion, i, k, free in self._motions:
            place, velocity = check_pair(f"the motion of '{name}'", motion(t), ControlError)
            if free:
                check_part(f"the pose of '{name}'", place, pin.SE3, ControlError)
                q[i : i + 7] = pin.SE3ToXYZQUAT(place)
                twist = numbers(f"the velocity of '{name}'", velocity, ControlError, 6)
                v[k : k + 6] = *twist[:3], *(place.rotation.T @ twist[3:])
            else:
                q[i], v[k] = numbers(f"the motion of '{name}'", (place, velocity), ControlError, 2)
            if not (np.isfinite(q).all() and np.isfinite(v).all()):
                raise ControlError(f"the motion of '{name}' is not finite at t = {t:g} s")


class _Spread(CommandSource):
    """A command that is held over a step, with scripted joints on their way to its end.

    They move on the parabola from the start to the target with its velocity there.
    """

    def __init__(self, robot: Robot, command: Command, state: State, h: float) -> None:
        self._robot, self._command, self._state, self._h = robot, command, state, h

    def at(self, t: float) -> Command:
        """See `CommandSource.at`."""
        command, state, h, model = self._command, self._state, self._h, self._robot.model
        s = (t - state.t) / h
        if command.q_target is None or s > 1.0 - _ROUNDING:
            return command
        v = np.zeros(model.nv) if command.v_target is None else command.v_target.copy()
        way, q = pin.difference(model, state.q, command.q_target), command.q_target.copy()
        there = pin.integrate(model, state.q, s * ((2.0 - s) * way - (1.0 - s) * h * v))
        rates = 2.0 * (1.0 - s) * way / h - (1.0 - 2.0 * s) * v
        for name in self._robot.scripted:
            joint = model.joints[model.getJointId(name)]
            places, dofs = (
                slice(first, first + size)
                for first, size in ((joint.idx_q, joint.nq), (joint.idx_v, joint.nv))
            )
            q[places], v[dofs] = there[places], rates[dofs]
        return replace(command, q_target=q, v_target=v)


def spread(robot: Robot, source: CommandSource, state: State, h: float) -> CommandSource:
    """The source of a step, in which scripted joints of a held command take all of it to move."""
    if robot.scripted and isinstance(source, Command):
        return _Spread(robot, source, state, h)
    return source


def _base_joints(robot: Robot, name: str) -> tuple[str, ...]:
    """Names of the joints of a free body; none where there is no such body."""
    for prefix in ("", f"{name}/"):
        if not prefix and name != robot.name:
            continue
        joints = tuple(prefix + joint for joint in FREE_JOINTS)
        if all(robot.model.existJointName(joint) for joint in joints):
            return joints
    return ()
