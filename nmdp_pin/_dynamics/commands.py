"""Commands as the kernels take them."""

from collections.abc import Sequence

import numpy as np

from nmdp_pin._control.controller import Command
from nmdp_pin._kernels.tree.joints import Commands, Torque


def new_torque(q_target: np.ndarray, nv: int) -> Torque:
    """No torque, with a target configuration that is kept."""
    constant, kp, kd, external, signs = np.zeros((5, nv))
    return Torque(constant, kp, kd, q_target, external, signs)


def length_of_commands(stages: int, nq: int, nv: int) -> int:
    """Number of values of commands."""
    return stages * (5 * nv + nq)


def new_commands(values: np.ndarray, stages: int, nv: int) -> Commands:
    """Commands whose arrays are parts of an array of values, one field after another."""
    fields = np.split(values, stages * nv * np.arange(1, 6))
    return Commands(*(field.reshape(stages, -1) for field in fields))


def values_of(commands: Sequence[Command], q: np.ndarray, nothing: np.ndarray) -> list[np.ndarray]:
    """Values of commands in the order of `new_commands`.

    Args:
        commands: commands of the stages.
        q: configuration that stands for missing targets, shape (nq,).
        nothing: zeros, shape (nv,).
    """
    targets = [q if c.q_target is None else c.q_target for c in commands]
    values = [nothing if c.tau is None else c.tau for c in commands]
    # gains do not act without a target
    values += [nothing if c.kp is None or c.q_target is None else c.kp for c in commands]
    values += [nothing if c.kd is None else c.kd for c in commands]
    values += [nothing if c.v_target is None else c.v_target for c in commands]
    values += [nothing if c.force is None else c.force for c in commands]
    return values + targets


def new_plan(steps: int, nq: int, nv: int) -> Commands:
    """Memory for the commands of steps, in rows."""
    return new_commands(np.empty(length_of_commands(steps, nq, nv)), steps, nv)


def write_plan(plan: Commands, rows: slice | int, command: Command) -> None:
    """Write a command into rows of a plan; missing targets are NaN, which is the step's start."""
    fields = plan.tau, plan.kp, plan.kd, plan.v_target, plan.force, plan.q_target
    nothing, nowhere = np.zeros(plan.tau.shape[1]), np.full(plan.q_target.shape[1], np.nan)
    for field, value in zip(fields, values_of([command], nowhere, nothing), strict=True):
        field[rows] = value
