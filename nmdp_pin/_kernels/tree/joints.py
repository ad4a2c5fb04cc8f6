"""Forces of joints: motors, stops and dry friction."""

from __future__ import annotations

import numpy as np

from nmdp_pin._kernels.algebra.linear import copy_vector
from nmdp_pin._kernels.compiler.jit import Array, jit
from nmdp_pin._kernels.compiler.record import record
from nmdp_pin._kernels.tree.loops import Loops
from nmdp_pin._kernels.tree.springs import Springs

LEAST_SHARE = 1e-3  # share of the largest force below which a contact's own force is not its unit


@record
class Joints:
    """Bounds of the joints.

    The r joints with a stop or dry friction come in the order of `JointLimits.bounded`. Behind them
    are the rows of closed loops, which are dry friction without a limit along their gaps.

    Args:
        coordinates: index of each of the r joints in q, -1 without a stop, shape (r,).
        dofs: index of each in v, shape (r,).
        lower: position of the lower stop [rad or m], shape (r,).
        upper: position of the upper stop [rad or m], shape (r,).
        stiffness: stiffness of the stops [N m/rad or N/m], shape (r,).
        friction: dry friction [N m or N], shape (r,).
        effort: limit of the motor of each dof [N m or N], shape (nv,).
        damping: viscous damping of each dof, which is not its motor's [N m s/rad, N s/m], (nv,).
        springs: springs of joints, and those that hold mimic joints.
        loops: closed loops.
    """

    coordinates: Array
    dofs: Array
    lower: Array
    upper: Array
    stiffness: Array
    friction: Array
    effort: Array
    damping: Array
    springs: Springs
    loops: Loops


@record
class Commands:
    """Commands of the stages of a step, a row each.

    Args:
        tau: feed-forward torques [N m or N], shape (s, nv).
        kp: position gains [N m/rad], shape (s, nv).
        kd: velocity gains [N m s/rad], shape (s, nv).
        v_target: target velocities [rad/s or m/s], shape (s, nv).
        force: forces from outside, which no motor makes or limits [N m or N], shape (s, nv).
        q_target: target configurations, shape (s, nq).
    """

    tau: Array
    kp: Array
    kd: Array
    v_target: Array
    force: Array
    q_target: Array


@record
class Torque:
    """The joint torque tau(q, v) = constant - kp e - kd v, e = difference(q_target, q).

    Args:
        constant: feed-forward torque with kd v_target and `external` [N m or N], shape (nv,).
        kp: position gains [N m/rad], shape (nv,).
        kd: velocity gains and damping [N m s/rad], shape (nv,).
        q_target: target configuration, shape (nq,).
        external: forces from outside, which no motor makes or limits [N m or N], shape (nv,).
        signs: signs of the motors that are saturated: their torque is the limit, and their gains
            do not act; 0 for the others, shape (nv,).
    """

    constant: Array
    kp: Array
    kd: Array
    q_target: Array
    external: Array
    signs: Array


@jit
def write_torque(joints: Joints, commands: Commands, i: int, torque: Torque) -> None:
    """Write the torque of a command, but for its signs.

    Args:
        joints: bounds of the joints.
        commands: commands.
        i: index of the command.
        torque: output.
    """
    for l in range(torque.kp.size):
        kd, force = commands.kd[i, l], commands.force[i, l]
        torque.constant[l] = commands.tau[i, l] + kd * commands.v_target[i, l] + force
        torque.kp[l], torque.kd[l] = commands.kp[i, l], joints.damping[l] + kd
        torque.external[l] = force
    copy_vector(commands.q_target[i], torque.q_target)


@jit
def hold_command(plan: Commands, k: int, q: Array, commands: Commands) -> None:
    """Hold row k of a plan over all stages of a step.

    Args:
        plan: commands of several steps; a target that is NaN stands for `q`.
        k: number of the step.
        q: configuration at its start, shape (nq,).
        commands: output.
    """
    target = plan.q_target[k]
    if q.size and np.isnan(target[0]):
        target = q
    for s in range(commands.kp.shape[0]):
        copy_vector(plan.tau[k], commands.tau[s])
        copy_vector(plan.kp[k], commands.kp[s])
        copy_vector(plan.kd[k], commands.kd[s])
        copy_vector(plan.v_target[k], commands.v_target[s])
        copy_vector(plan.force[k], commands.force[s])
        copy_vector(target, commands.q_target[s])


@jit
def motor(joints: Joints, torque: Torque, l: int, error: float, v: float) -> float:
    """The effort that the command asks of the motor of dof l [N m or N]."""
    damper = torque.kd[l] - joints.damping[l]
    value: float = torque.constant[l] - torque.external[l] - damper * v - torque.kp[l] * error
    return value


@jit
def saturate(joints: Joints, torque: Torque, error: Array, v: Array, again: bool) -> bool:
    """Write the signs of the motors that are saturated at a state; whether they have changed.

    Args:
        joints: bounds of the joints.
        torque: the torque; its signs are written.
        error: difference(q_target, q), shape (nv,).
        v: velocity, shape (nv,).
        again: whether the state was found with the present signs: a motor whose sign would turn is
            then not saturated, since a torque between its limits leads to neither.
    """
    changed = False
    for l in range(v.size):
        effort, sign = motor(joints, torque, l, error[l], v[l]), 0.0
        if abs(effort) > joints.effort[l] and not (again and effort * torque.signs[l] < 0.0):
            sign = 1.0 if effort > 0.0 else -1.0
        if sign != torque.signs[l]:
            torque.signs[l] = sign
            changed = True
    return changed


@jit
def gains(joints: Joints, torque: Torque, l: int) -> tuple[float, float, float]:
    """Constant torque, kp and kd of dof l, with its limit where its motor is saturated."""
    if torque.signs[l] != 0.0:
        limit = torque.signs[l] * joints.effort[l]
        return limit + torque.external[l], 0.0, joints.damping[l]
    return torque.constant[l], torque.kp[l], torque.kd[l]


@jit
def stop(joints: Joints, j: int, q: Array) -> tuple[float, float]:
    """Distance of joint j from the nearer stop, and the direction away from it.

    The distance is negative beyond the stop; the direction is 1 or -1, and 0 without a stop.
    """
    if joints.coordinates[j] < 0:
        return np.inf, 0.0
    x = q[joints.coordinates[j]]
    above, below = x - joints.lower[j], joints.upper[j] - x
    gap = min(above, below)
    if gap == np.inf:
        return gap, 0.0
    return gap, (1.0 if above < below else -1.0)


@jit
def interval(joints: Joints, j: int, q: Array) -> tuple[float, float, float, float]:
    """Least force of joint j and width of the interval, with their derivatives.

    Dry friction applies any force in [-friction, friction], a stop one up to stiffness times the
    penetration, directed away from it. The element of the interval that dissipates the most acts.
    """
    friction, stiffness = joints.friction[j], joints.stiffness[j]
    least, width, d_least, d_width = -friction, 2.0 * friction, 0.0, 0.0
    if joints.coordinates[j] < 0:
        return least, width, d_least, d_width
    x = q[joints.coordinates[j]]
    below, above = joints.lower[j] - x, x - joints.upper[j]
    if below > 0.0:
        width += stiffness * below
        d_width -= stiffness
    if above > 0.0:
        least -= stiffness * above
        width += stiffness * above
        d_least -= stiffness
        d_width += stiffness
    return least, width, d_least, d_width
