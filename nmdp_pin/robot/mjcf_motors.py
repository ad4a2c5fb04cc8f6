"""Motors of the joints, from the actuators of a compiled MJCF file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class Motors:
    """What the actuators of an MJCF file do at its joints, in the order of MuJoCo's v.

    Args:
        driven: joints with a motor, as indices of MuJoCo.
        effort: largest magnitude of the effort of each dof [N m or N], shape (nv,).
        armature: inertia of the rotors [kg m^2 or kg], shape (nv,).
        damping: [N m s/rad or N s/m], shape (nv,).
        kp: position gain of each dof [N m/rad or N/m], shape (nv,).
        kd: velocity gain of each dof [N m s/rad or N s/m], shape (nv,).
        left_out: what is not simulated, one sentence each.
    """

    driven: list[int]
    effort: np.ndarray
    armature: np.ndarray
    damping: np.ndarray
    kp: np.ndarray
    kd: np.ndarray
    left_out: list[str]


def motors_of(m: Any, names: Sequence[str]) -> Motors:
    """The motors of a model.

    An actuator of a hinge or slide has the force gear (gain u + bias), where gain and bias are
    those of a motor (torque u), or of a servo of position or velocity. The effort that bounds it
    follows from `forcerange`, from the `ctrlrange` of a motor and from `actuatorfrcrange`.

    Args:
        m: the compiled model (`mujoco.MjModel`).
        names: names of its joints.
    """
    import mujoco as mj

    reach = np.zeros((m.nv, 2))  # least and largest effort
    armature, damping, kp, kd = np.zeros((4, m.nv))
    motors: dict[int, int] = {}  # joint by dof
    away, odd, targets = [], [], []
    scalar = m.jnt_type >= int(mj.mjtJoint.mjJNT_SLIDE)  # and hinges
    for a in range(m.nactuator):
        name = f"'{m.actuator(a).name or a}'"
        joint, gear = int(m.actuator_trnid[a, 0]), m.actuator_gear[m.actuator_outadr[a], 0]
        at_joint = m.actuator_trntype[a] <= int(mj.mjtTrn.mjTRN_JOINTINPARENT)
        if not (at_joint and scalar[joint] and gear != 0.0):
            away.append(name)
            continue
        v = int(m.jnt_dofadr[joint])
        motors[v] = joint
        armature[v] += gear**2 * m.actuator_armature[a]
        damping[v] += gear**2 * m.actuator_damping[a]
        force = np.array([-np.inf, np.inf])
        biased = m.actuator_biastype[a] != mj.mjtBias.mjBIAS_NONE
        affine = m.actuator_biastype[a] == mj.mjtBias.mjBIAS_AFFINE
        fixed = m.actuator_gaintype[a] == mj.mjtGain.mjGAIN_FIXED
        bias, control = m.actuator_biasprm[a, :3], m.actuator_ctrladr[a]
        plain = m.actuator_dyntype[a] == mj.mjtDyn.mjDYN_NONE and m.actuator_plugin[a] < 0
        if fixed and plain and not biased and m.actuator_ctrllimited[control]:
            force = np.sort(m.actuator_gainprm[a, 0] * m.actuator_ctrlrange[control])
        elif m.actuator_ctrlnum[a] and m.actuator_ctrllimited[control]:
            targets.append(name)
        if fixed and affine and bias[0] == 0.0 and (bias[1:] <= 0.0).all():
            kp[v] -= gear**2 * bias[1]
            kd[v] -= gear**2 * bias[2]
            biased = False
        if m.actuator_forcelimited[a]:
            force = np.clip(force, *m.actuator_forcerange[a])
        if not (fixed and plain) or biased or m.actuator_dampingpoly[a].any():
            odd.append(name)
        reach[v] += np.sort(gear * force)
    for v, joint in motors.items():
        if m.jnt_actfrclimited[joint]:
            reach[v] = np.clip(reach[v], *m.jnt_actfrcrange[joint])
    effort = np.abs(reach).max(axis=1, initial=0.0)
    lopsided = [f"'{names[joint]}'" for v, joint in motors.items() if -reach[v, 0] != reach[v, 1]]
    said = [
        (away, "actuators that move no hinge or slide"),
        (odd, "activations, gains and biases that are not those of a motor or servo, of"),
        (targets, "ranges of controls (ctrlrange) that are no torques, of"),
    ]
    left_out = [f"not simulated: {what}: {', '.join(some)}" for some, what in said if some]
    if lopsided:
        left_out.append(
            "motors that are stronger in one direction are as strong in the other: "
            + ", ".join(lopsided)
        )
    driven = sorted(joint for v, joint in motors.items() if effort[v] > 0.0)
    return Motors(driven, effort, armature, damping, kp, kd, left_out)
