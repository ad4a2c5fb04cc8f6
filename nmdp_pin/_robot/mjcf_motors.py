"""What the actuators of a compiled MJCF file do at its joints."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

SLIDE = 2  # `mujoco.mjtJoint`; 3 is a hinge
_GROUPS = 31  # of actuators, which can be switched off


class Motors:
    """The motors of a model, in the order of MuJoCo's v, (nv,).

    An actuator of a hinge or slide has the force gear (gain u + bias), where gain and bias are
    those of a motor (torque u), or of a servo, whose gain times its target u less the position or
    velocity is its force. The effort that bounds it follows from `forcerange`, from the
    `ctrlrange` of a motor and from `actuatorfrcrange`.

    Args:
        m: compiled model (`mujoco.MjModel`).
        names: of its joints.

    Attributes:
        driven: joints with a motor, as indices of MuJoCo.
        effort: largest magnitude [N m or N].
        armature: of the rotors [kg m^2 or kg].
        damping: of the actuators [N m s/rad or N s/m].
        kp: position gains of servos [N m/rad or N/m].
        kd: velocity gains of servos [N m s/rad or N s/m].
        left_out: what is not simulated, one sentence each.
    """

    def __init__(self, m: Any, names: Sequence[str]) -> None:
        from mujoco import mjtDyn, mjtTrn

        joint, gear = m.actuator_trnid[:, 0], m.actuator_gear[m.actuator_outadr, 0]
        gain, bias = m.actuator_gainprm[:, 0], m.actuator_biasprm[:, :3]
        at_joint = (m.actuator_trntype <= int(mjtTrn.mjTRN_JOINTINPARENT)) & (gear != 0.0)
        at_joint[at_joint] = m.jnt_type[joint[at_joint]] >= SLIDE
        v = np.where(at_joint, m.jnt_dofadr[np.where(at_joint, joint, 0)], 0) if m.njnt else joint
        grouped = (m.actuator_group >= 0) & (m.actuator_group < _GROUPS)
        off = grouped & (m.opt.disableactuator >> np.where(grouped, m.actuator_group, 0) & 1 == 1)
        acts = at_joint & ~off

        torque, servo = _kinds_of(m, gain, bias)
        direct = m.actuator_dyntype == mjtDyn.mjDYN_NONE
        limited = m.actuator_ctrlnum > 0
        limited[limited] = m.actuator_ctrllimited[m.actuator_ctrladr[limited]] != 0
        odd = ~((torque | servo) & direct) | m.actuator_dampingpoly.any(axis=1)

        def summed(values: np.ndarray, which: np.ndarray) -> np.ndarray:
            """Sums over the actuators of each dof, (nv, ...)."""
            found = np.zeros((m.nv, *values.shape[1:]))
            np.add.at(found, v[which], values[which])
            return found

        force = _force_ranges(m, gain, limited & torque & direct)
        force[acts] = np.sort(gear[acts, None] * force[acts])
        reach = summed(force, acts)  # least and largest effort
        motors = {int(v[a]): int(joint[a]) for a in np.flatnonzero(acts)}
        for dof, j in motors.items():
            if m.jnt_actfrclimited[j]:
                reach[dof] = np.clip(reach[dof], *m.jnt_actfrcrange[j])
        self.effort = np.abs(reach).max(axis=1, initial=0.0)
        self.driven = sorted(j for dof, j in motors.items() if self.effort[dof] > 0.0)
        self.armature = summed(gear**2 * m.actuator_armature, at_joint)
        self.damping = summed(gear**2 * m.actuator_damping, at_joint)
        self.kp = summed(-(gear**2) * bias[:, 1], acts & servo)
        self.kd = summed(-(gear**2) * bias[:, 2], acts & servo)

        self.left_out = _left_out(
            m,
            {
                "actuators that move no hinge or slide": ~at_joint,
                "actuators of groups that are switched off (actuatorgroupdisable)": at_joint & off,
                "ranges of controls (ctrlrange) that are no torques, of": acts
                & limited
                & ~(torque & direct),
                "activations, gains and biases that are not those of a motor or servo, of": acts
                & odd,
                "delays of": acts & (m.actuator_delay != 0.0),
            },
        )
        lopsided = [f"'{names[j]}'" for dof, j in motors.items() if -reach[dof, 0] != reach[dof, 1]]
        if lopsided:
            self.left_out.append(
                "motors that are stronger in one direction are as strong in the other: "
                + ", ".join(lopsided)
            )


def _kinds_of(m: Any, gain: np.ndarray, bias: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Whether each actuator is a motor, and whether it is a servo, but for its activation."""
    from mujoco import mjtBias, mjtGain

    plain = (m.actuator_gaintype == mjtGain.mjGAIN_FIXED) & (m.actuator_plugin < 0)
    affine = m.actuator_biastype == mjtBias.mjBIAS_AFFINE
    torque = plain & ((m.actuator_biastype == mjtBias.mjBIAS_NONE) | (affine & ~bias.any(axis=1)))
    servo = plain & affine & (bias[:, 0] == 0.0) & (bias <= 0.0).all(axis=1) & bias.any(axis=1)
    return torque, servo & (gain == -np.where(bias[:, 1] != 0.0, bias[:, 1], bias[:, 2]))


def _force_ranges(m: Any, gain: np.ndarray, bounded: np.ndarray) -> np.ndarray:
    """Least and largest forces of the actuators, some bounded by their controls, shape (n, 2)."""
    force = np.full((m.nactuator, 2), [-np.inf, np.inf])
    controls = m.actuator_ctrlrange[m.actuator_ctrladr[bounded]]
    force[bounded] = np.sort(gain[bounded, None] * controls)
    rows = m.actuator_forcelimited != 0
    force[rows] = np.clip(force[rows].T, *m.actuator_forcerange[rows].T).T
    return force


def _left_out(m: Any, actuators: Mapping[str, np.ndarray]) -> list[str]:
    """Sentences on the actuators that are not simulated, by what is odd about them."""
    return [
        f"not simulated: {what}: "
        + ", ".join(f"'{m.actuator(a).name or a}'" for a in np.flatnonzero(which).tolist())
        for what, which in actuators.items()
        if which.any()
    ]
