"""Forces of stops, dry friction and limited motors in a step of position-based dynamics."""

from __future__ import annotations

import numpy as np

from nmdp_pin._kernels.compiler.jit import Array, jit
from nmdp_pin._kernels.compiler.record import matrix
from nmdp_pin._kernels.step.position_records import PositionStep
from nmdp_pin._kernels.tree.joints import Torque, gains, motor, stop
from nmdp_pin._kernels.tree.loops import add_loops
from nmdp_pin._kernels.tree.springs import add_springs

CREEP = 1e-3  # [rad/s or m/s] up to which dry friction of a joint is viscous


@jit
def _excess(step: PositionStep, k: int) -> float:
    """Excess of the commanded effort of dof k over its limit [N m or N]."""
    joints, trial = step.scene.joints, step.trial
    effort = motor(joints, step.start.torque, k, trial.e[k], trial.v[k])
    value: float = max(effort - joints.effort[k], 0.0) + min(effort + joints.effort[k], 0.0)
    return value


@jit
def _motor_stiffness(step: PositionStep, k: int) -> float:
    """Stiffness kp + kd / h of the motor of dof k, without the joint's damping [N m/rad or N/m]."""
    torque = step.start.torque
    value: float = torque.kp[k] + (torque.kd[k] - step.scene.joints.damping[k]) / step.start.h
    return value


@jit
def _add_loops(step: PositionStep, r: Array, A: Array, forces: bool) -> float:
    """See `add_loops`, at the trial."""
    tree, loops, trial = step.scene.tree, step.scene.joints.loops, step.trial
    held, frames = step.start.held, step.ref.frames
    stored: float = add_loops(tree, loops, held, frames, trial.P, trial.S, trial.q, r, A, forces)
    return stored


@jit
def add_joint_forces(step: PositionStep) -> float:
    """Subtract the joints' forces from the residual, and return the energy that they add [J].

    The energy stored in stops and loops is added to that of the contacts.
    """
    joints, trial, h, stored, value = step.scene.joints, step.trial, step.start.h, 0.0, 0.0
    for j in range(joints.loops.first[0]):
        gap, away = stop(joints, j, trial.q)
        k, depth = joints.dofs[j], -away * max(-gap, 0.0)  # negative beyond the lower stop
        y, friction = trial.y[k], joints.friction[j]
        trial.r[k] += joints.stiffness[j] * depth
        stored += 0.5 * joints.stiffness[j] * depth * depth
        if friction > 0.0:
            stick = h * CREEP
            if abs(y) <= stick:
                trial.r[k] += friction * y / stick
                value += 0.5 * friction * y * y / stick
            else:
                trial.r[k] += friction * np.sign(y)
                value += friction * (abs(y) - 0.5 * stick)
    for k in range(len(trial.v)):
        more = _excess(step, k)
        if more != 0.0:
            trial.r[k] += more
            trial.tau[k] -= more
            curvature = _motor_stiffness(step, k)
            if curvature > 0.0:
                value -= 0.5 * more * more / curvature
            else:
                value += more * trial.y[k]
    value += add_springs(joints.springs, trial.q, trial.r, matrix(0, 0))
    stored += _add_loops(step, trial.r, matrix(0, 0), False)
    trial.forces.stored += stored
    return value + stored


@jit
def add_joint_stiffness(step: PositionStep, exact: bool) -> None:
    """Add the derivative of the joints' forces to `trial.A`."""
    joints, trial, stick = step.scene.joints, step.trial, step.start.h * CREEP
    for j in range(joints.loops.first[0]):
        k = joints.dofs[j]
        if stop(joints, j, trial.q)[0] < 0.0:
            trial.A[k, k] += joints.stiffness[j]
        if joints.friction[j] > 0.0 and abs(trial.y[k]) <= stick:
            trial.A[k, k] += joints.friction[j] / stick
    for k in range(len(trial.v)):
        if _excess(step, k) != 0.0:
            trial.A[k, k] -= _motor_stiffness(step, k)
    unused = trial.space[3]
    add_springs(joints.springs, trial.q, unused, trial.A)
    _add_loops(step, unused, trial.A, exact)


@jit
def free_motors(step: PositionStep) -> None:
    """Add the stiffness of motors whose limits act at this point but not at the last to `trial.A`.

    Without their stiffness such motors swing through to the other limit, and back.
    """
    signs = step.start.torque.signs
    for k in range(len(signs)):
        sign = np.sign(_excess(step, k))
        step.freed[k] = 0.0
        if sign != signs[k] and sign != 0.0:
            step.freed[k] = _motor_stiffness(step, k)
            step.trial.A[k, k] += step.freed[k]
        signs[k] = sign


@jit
def replace_kinks(step: PositionStep, torque: Torque) -> None:
    """Replace friction and limits of joints by gains and torques that equal them near the trial.

    The torque is a copy of that of the step.
    """
    joints, y = step.scene.joints, step.trial.y
    for k in range(len(y)):
        torque.signs[k] = np.sign(_excess(step, k))
        torque.constant[k], torque.kp[k], torque.kd[k] = gains(joints, torque, k)
    for j in range(joints.loops.first[0]):
        k = joints.dofs[j]
        if abs(y[k]) > step.start.h * CREEP:
            torque.constant[k] -= np.copysign(joints.friction[j], y[k])
        else:
            torque.kd[k] += joints.friction[j] / CREEP
