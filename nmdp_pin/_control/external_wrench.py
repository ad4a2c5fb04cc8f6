"""Forces and torques from outside on links."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pinocchio as pin

from nmdp_pin._control.controller import Command, CommandSource, ExternalWrench
from nmdp_pin._robot.frames import frame_named
from nmdp_pin._state.state import State
from nmdp_pin.errors import ControlError


class Loads:
    """Wrenches of commands as generalised forces of a robot.

    Args:
        model: model of the robot.
    """

    def __init__(self, model: pin.Model) -> None:
        self._model, self._weightless = model, pin.Model(model)
        self._weightless.gravity = pin.Motion.Zero()

    def on(self, source: CommandSource, state: State) -> Command | Loaded:
        """Source of a step whose commands hold their wrenches in `force`, too.

        Args:
            source: source of the commands.
            state: start of the step, at which the Jacobians are taken.
        """
        if isinstance(source, Command):
            return self.added(source, state.q)
        return Loaded(source, self, state)

    def added(self, command: Command, q: np.ndarray) -> Command:
        """A command whose `force` is that of its wrenches at q, (nq,), added to its own."""
        if not command.wrenches:
            return command
        force = self.generalised(command.wrenches, q)
        return replace(command, force=force if command.force is None else command.force + force)

    def generalised(self, wrenches: Sequence[ExternalWrench], q: np.ndarray) -> np.ndarray:
        """Sum of J' w [N m or N], shape (nv,)."""
        data, total = self._model.createData(), np.zeros(self._model.nv)
        for wrench in wrenches:
            index = frame_named(self._model, wrench.frame, ControlError, "a wrench")
            J = pin.computeFrameJacobian(self._model, data, q, index, pin.LOCAL_WORLD_ALIGNED)
            R = data.oMf[index].rotation
            arm, (force, torque) = R @ np.array(wrench.point), wrench.in_world(R)
            total += J.reshape(6, -1).T @ np.concatenate([force, torque + np.cross(arm, force)])
        return total

    def by_configuration(self, wrenches: Sequence[ExternalWrench], q: np.ndarray) -> np.ndarray:
        """Derivative of `generalised` by q, shape (nv, nv)."""
        model, data, still = (
            self._weightless,
            self._weightless.createData(),
            np.zeros(self._model.nv),
        )
        on_joints = pin.StdVec_Force([pin.Force.Zero()] * model.njoints)
        total = np.zeros((model.nv, model.nv))
        pin.framesForwardKinematics(model, data, q)
        for wrench in wrenches:
            index = frame_named(model, wrench.frame, ControlError, "a wrench")
            J = pin.computeFrameJacobian(model, data, q, index, pin.LOCAL).reshape(6, -1)
            R, frame = data.oMf[index].rotation, model.frames[index]
            force, torque = (R.T @ x for x in wrench.in_world(R))
            arm = np.array(wrench.point)
            local = pin.Force(force, torque + np.cross(arm, force))
            on_joints[frame.parentJoint] += frame.placement.act(local)
            if not wrench.turned:  # in the frame it turns the other way
                of_force = pin.skew(force) @ J[3:]
                of_torque = pin.skew(torque) @ J[3:] + pin.skew(arm) @ of_force
                total += J.T @ np.concatenate([of_force, of_torque])
        pin.computeRNEADerivatives(model, data, q, still, still, on_joints)
        result: np.ndarray = total - data.dtau_dq
        return result


class Loaded(CommandSource):
    """Commands of a source, with their wrenches in `force`.

    Attributes:
        wrenches: wrenches of the command that was asked for last.
    """

    def __init__(self, inner: CommandSource, loads: Loads, state: State) -> None:
        self._inner, self._loads, self._state = inner, loads, state
        self.wrenches: tuple[ExternalWrench, ...] = ()

    def at(self, t: float) -> Command:
        """See `CommandSource.at`."""
        command = self._inner.at(t)
        self.wrenches = command.wrenches
        return self._loads.added(command, self._state.q)
