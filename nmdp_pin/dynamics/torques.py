"""Torques of commands, as the kernels take them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pinocchio as pin

from nmdp_pin.control.controller import Command


class Torques(NamedTuple):
    """The torque constant - kp difference(q_target, q) - kd v of one stage or of several.

    Args:
        constant: feed-forward torque with kd v_target and `external` [N m or N], shape (..., nv).
        kp: position gains [N m/rad], shape (..., nv).
        kd: velocity gains and damping of the joints [N m s/rad], shape (..., nv).
        q_target: target configuration, shape (..., nq); without position gains any.
        external: forces from outside [N m or N], shape (..., nv).
    """

    constant: np.ndarray
    kp: np.ndarray
    kd: np.ndarray
    q_target: np.ndarray
    external: np.ndarray


def plain(array: np.ndarray) -> np.ndarray:
    """The array, or a copy of one that is strided or read-only, for which no kernel is compiled."""
    if array.flags.carray:
        return array
    return np.require(array, requirements=["C", "A", "W"])


def torques_of(model: pin.Model, q: np.ndarray, *commands: Command) -> Torques:
    """The torques of the stages of a step, a row each; one row where all have one command.

    Args:
        model: model of the robot, whose `damping` is the joints' viscous damping.
        q: configuration that stands for missing targets, shape (nq,).
        commands: commands of the stages.
    """
    if len(commands) > 1 and all(command is commands[0] for command in commands):
        commands = commands[:1]
    constant, kp, kd, external = np.zeros((4, len(commands), model.nv))
    targets = np.empty((len(commands), model.nq))
    targets[:] = q
    kd[:] = model.damping
    for i, command in enumerate(commands):
        if command.tau is not None:
            constant[i] = command.tau
        if command.kd is not None:
            kd[i] += command.kd
            if command.v_target is not None:
                constant[i] += command.kd * command.v_target
        if command.kp is not None and command.q_target is not None:
            kp[i], targets[i] = command.kp, command.q_target
        if command.force is not None:
            external[i] = command.force
            constant[i] += command.force
    return Torques(constant, kp, kd, targets, external)
