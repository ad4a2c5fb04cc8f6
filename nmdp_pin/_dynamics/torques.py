"""Torques of commands, as the kernels take them."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pinocchio as pin

from nmdp_pin._control.controller import Command
from nmdp_pin._kernels.step import Start


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
    rows = 1 if all(command is commands[0] for command in commands) else len(commands)
    constant, kp, kd, external = np.empty((4, rows, model.nv))
    torques = Torques(constant, kp, kd, np.empty((rows, model.nq)), external)
    write_torques(torques, model.damping, q, commands[:rows])
    return torques


def write_torques(
    torques: Torques | Start, damping: np.ndarray, q: np.ndarray, commands: Sequence[Command]
) -> None:
    """Write the torques of commands.

    Args:
        torques: output.
        damping: viscous damping of the joints [N m s/rad, N s/m], shape (nv,).
        q: configuration that stands for missing targets, shape (nq,).
        commands: commands of the stages; one is that of all.
    """
    for i, command in enumerate(commands):
        row = i if len(commands) > 1 else slice(None)
        constant: Any = 0.0 if command.tau is None else command.tau
        kd, target, force = command.kd, command.q_target, command.force
        if kd is not None and command.v_target is not None:
            constant = constant + kd * command.v_target
        if force is not None:
            constant = constant + force
        acts = command.kp is not None and target is not None
        torques.constant[row] = constant
        torques.kp[row] = command.kp if acts else 0.0
        torques.kd[row] = damping if kd is None else damping + kd
        torques.q_target[row] = target if acts else q
        torques.external[row] = 0.0 if force is None else force
