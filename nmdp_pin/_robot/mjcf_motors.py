"""Motors of the joints, from the actuators of a compiled MJCF file."""

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
    """
    from mujoco import mjtBias, mjtDyn, mjtGain, mjtJoint, mjtTrn

    reach = np.zeros((m.nv, 2))  # least and largest effort
    armature, damping, kp, kd = np.zeros((4, m.nv))
    motors: dict[int, int] = {}  # joint by dof
    left_out: dict[str, list[str]] = {}
    for a in range(m.nactuator):
        name, joint = f"'{m.actuator(a).name or a}'", int(m.actuator_trnid[a, 0])
        gear, control = m.actuator_gear[m.actuator_outadr[a], 0], m.actuator_ctrladr[a]
        at_joint = m.actuator_trntype[a] <= int(mjtTrn.mjTRN_JOINTINPARENT)
        if not (at_joint and m.jnt_type[joint] >= int(mjtJoint.mjJNT_SLIDE) and gear != 0.0):
            left_out.setdefault("actuators that move no hinge or slide", []).append(name)
            continue
        v = int(m.jnt_dofadr[joint])
        motors[v] = joint
        armature[v] += gear**2 * m.actuator_armature[a]
        damping[v] += gear**2 * m.actuator_damping[a]
        fixed = m.actuator_gaintype[a] == mjtGain.mjGAIN_FIXED
        plain = m.actuator_dyntype[a] == mjtDyn.mjDYN_NONE and m.actuator_plugin[a] < 0
        biased = m.actuator_biastype[a] != mjtBias.mjBIAS_NONE
        bias, force = m.actuator_biasprm[a, :3], np.array([-np.inf, np.inf])
        if m.actuator_ctrlnum[a] and m.actuator_ctrllimited[control]:
            if fixed and plain and not biased:
                force = np.sort(m.actuator_gainprm[a, 0] * m.actuator_ctrlrange[control])
            else:
                what = "ranges of controls (ctrlrange) that are no torques, of"
                left_out.setdefault(what, []).append(name)
        affine = m.actuator_biastype[a] == mjtBias.mjBIAS_AFFINE
        if fixed and affine and bias[0] == 0.0 and (bias[1:] <= 0.0).all():
            kp[v] -= gear**2 * bias[1]
            kd[v] -= gear**2 * bias[2]
            biased = False
        if m.actuator_forcelimited[a]:
            force = np.clip(force, *m.actuator_forcerange[a])
        if not (fixed and plain) or biased or m.actuator_dampingpoly[a].any():
            what = "activations, gains and biases that are not those of a motor or servo, of"
            left_out.setdefault(what, []).append(name)
        reach[v] += np.sort(gear * force)
    for v, joint in motors.items():
        if m.jnt_actfrclimited[joint]:
            reach[v] = np.clip(reach[v], *m.jnt_actfrcrange[joint])
    effort = np.abs(reach).max(axis=1, initial=0.0)
    said = [f"not simulated: {what}: {', '.join(some)}" for what, some in left_out.items()]
    lopsided = [f"'{names[joint]}'" for v, joint in motors.items() if -reach[v, 0] != reach[v, 1]]
    if lopsided:
        said.append(
            "motors that are stronger in one direction are as strong in the other: "
            + ", ".join(lopsided)
        )
    driven = sorted(joint for v, joint in motors.items() if effort[v] > 0.0)
    return Motors(driven, effort, armature, damping, kp, kd, said)
