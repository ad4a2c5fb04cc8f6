"""Torques of commands, as the kernels take them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from nmdp_pin._control.controller import Command
from nmdp_pin._kernels.joints import Torque
from nmdp_pin._kernels.step import Start


def new_torque(q_target: np.ndarray, nv: int) -> Torque:
    """No torque, with a target configuration that is kept."""
    constant, kp, kd, external, signs = np.zeros((5, nv))
    return Torque(constant, kp, kd, q_target, external, signs)


def write_torques(
    torques: Start | Torque, damping: np.ndarray, q: np.ndarray, commands: Sequence[Command]
) -> None:
    """Write the torques of commands.

    Args:
        torques: output, a row for each stage, or of one stage.
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
