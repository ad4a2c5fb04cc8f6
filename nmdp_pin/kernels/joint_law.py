"""Stops, dry friction, effort limits and mimic joints of position-based steps.

All are gradients of energies of one coordinate each: a stop is a spring, dry friction is viscous up
to its creeping speed, and a saturated motor has a constant effort.
"""

from __future__ import annotations

import numpy as np

from nmdp_pin.kernels.jit import jit
from nmdp_pin.kernels.joint_springs import joint_springs
from nmdp_pin.kernels.position_scene import JointLaw, Point, Scene, StepStart


@jit
def penetration(law: JointLaw, point: Point, k: int) -> float:
    """Displacement of dof k beyond the upper stop, negative beyond the lower one [rad or m]."""
    x = point.q[law.coordinates[k]]
    return max(x - law.upper[k], 0.0) + min(x - law.lower[k], 0.0)


@jit
def excess(scene: Scene, start: StepStart, point: Point, k: int) -> float:
    """Excess of the commanded effort of dof k over its limit [N m or N]."""
    damping, limit = scene.tree.damping[k], scene.joints.effort[k]
    motor = start.tau[k] - (start.kd[k] - damping) * point.v[k] - start.kp[k] * point.e[k]
    return max(motor - limit, 0.0) + min(motor + limit, 0.0)


@jit
def motor_stiffness(scene: Scene, start: StepStart, k: int) -> float:
    """Stiffness kp + kd / h of the motor of dof k, without the joint's damping [N m/rad or N/m]."""
    return start.kp[k] + (start.kd[k] - scene.tree.damping[k]) / start.h


@jit
def add_joint_forces(scene: Scene, start: StepStart, point: Point) -> float:
    """Subtract the joints' forces from the residual, and return the energy that they add [J].

    Args:
        scene: data that all steps share.
        start: data of the step.
        point: `q`, `v`, `y` and `e` are read; `r` and `tau`, and the stored energy of `forces`
            are changed.
    """
    law, h, stored, value = scene.joints, start.h, 0.0, 0.0
    for k in range(len(start.v0)):
        if law.coordinates[k] < 0:
            continue
        depth, y, friction = penetration(law, point, k), point.y[k], law.friction[k]
        point.r[k] += law.stiffness[k] * depth
        stored += 0.5 * law.stiffness[k] * depth * depth
        if friction > 0.0:
            stick = h * law.creep
            if abs(y) <= stick:
                point.r[k] += friction * y / stick
                value += 0.5 * friction * y * y / stick
            else:
                point.r[k] += friction * np.sign(y)
                value += friction * (abs(y) - 0.5 * stick)
        more = excess(scene, start, point, k)
        if more != 0.0:
            point.r[k] += more
            point.tau[k] -= more
            curvature = motor_stiffness(scene, start, k)
            if curvature > 0.0:
                value -= 0.5 * more * more / curvature
            else:
                value += more * y
    none = np.empty((0, 0))
    stored += joint_springs(*law.mimics, point.q, point.r, none)  # type: ignore[call-arg]
    point.forces.energies[0] += stored
    return value + stored


@jit
def add_joint_stiffness(scene: Scene, start: StepStart, point: Point) -> None:
    """Add the derivative of `add_joint_forces` to `point.A`."""
    law, h = scene.joints, start.h
    for k in range(len(start.v0)):
        if law.coordinates[k] < 0:
            continue
        if penetration(law, point, k) != 0.0:
            point.A[k, k] += law.stiffness[k]
        stick = h * law.creep
        if law.friction[k] > 0.0 and abs(point.y[k]) <= stick:
            point.A[k, k] += law.friction[k] / stick
        if excess(scene, start, point, k) != 0.0:
            point.A[k, k] -= motor_stiffness(scene, start, k)
    unused = np.zeros(len(start.v0))
    joint_springs(*law.mimics, point.q, unused, point.A)  # type: ignore[call-arg]


@jit
def free_motors(
    scene: Scene, start: StepStart, point: Point, signs: np.ndarray, freed: np.ndarray
) -> None:
    """Add the stiffness of motors whose limits act at this point but not at the last to `point.A`.

    Without their stiffness such motors swing through to the other limit, and back.

    Args:
        scene: what all steps share.
        start: the step.
        point: after `linearise`.
        signs: sign of the limit that acts on each motor at the last point, or 0, shape (nv,); those
            of this point are written.
        freed: stiffness that is added, shape (nv,); written.
    """
    for k in range(len(signs)):
        sign = 0.0
        if scene.joints.coordinates[k] >= 0:
            sign = np.sign(excess(scene, start, point, k))
        freed[k] = 0.0
        if sign != signs[k] and sign != 0.0:
            freed[k] = motor_stiffness(scene, start, k)
            point.A[k, k] += freed[k]
        signs[k] = sign


@jit
def replace_kinks(
    scene: Scene,
    start: StepStart,
    point: Point,
    tau: np.ndarray,
    kp: np.ndarray,
    kd: np.ndarray,
    following: np.ndarray,
) -> None:
    """Change gains and torques to those that do around the point what friction and limits do.

    Args:
        scene: what all steps share.
        start: the step.
        point: its end.
        tau: feed-forward torque of the step, shape (nv,); changed.
        kp: position gains, shape (nv,); changed.
        kd: velocity gains and damping, shape (nv,); changed.
        following: 1, and 0 for the dofs whose motors are saturated, shape (nv,); changed.
    """
    law = scene.joints
    for k in range(len(tau)):
        if law.coordinates[k] < 0:
            continue
        beyond = excess(scene, start, point, k)
        if beyond != 0.0:
            following[k], kp[k], kd[k] = 0.0, 0.0, scene.tree.damping[k]
            tau[k] = np.copysign(law.effort[k], beyond)
        if abs(point.y[k]) > start.h * law.creep:
            tau[k] -= np.copysign(law.friction[k], point.y[k])
        else:
            kd[k] += law.friction[k] / law.creep
