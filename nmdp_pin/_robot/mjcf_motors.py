"""What the actuators of a compiled MJCF file do at its joints."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nmdp_pin._robot.actuator import UNBOUNDED, Actuator
from nmdp_pin._robot.joint_limits import Mimic, resolved

SLIDE = 2  # `mujoco.mjtJoint`; 3 is a hinge
_GROUPS = 31  # of actuators, which can be switched off


class Motors:
    """The actuators of a model, and what they are to its joints, in the order of MuJoCo's v.

    An actuator of a hinge, a slide or a fixed tendon has an affine force (`Actuator`). Joints that
    copy others are moved by their primaries: a tendon over such joints alone has one joint.

    The effort of a joint with servos is theirs; what else moves it is no part of it (`Actuators`).

    Args:
        m: compiled model (`mujoco.MjModel`).
        names: of its joints.
        mimics: joints that copy others.

    Attributes:
        actuators: those that are simulated.
        driven: joints with a motor, as indices of MuJoCo.
        effort: largest magnitude [N m or N], (nv,).
        armature: of the rotors [kg m^2 or kg], (nv,).
        damping: of the actuators [N m s/rad or N s/m], (nv,).
        kp: position gains of servos by joint [N m/rad or N/m].
        kd: velocity gains of servos by joint [N m s/rad or N s/m].
        left_out: what is not simulated, one sentence each.
    """

    def __init__(self, m: Any, names: Sequence[str], mimics: Sequence[Mimic] = ()) -> None:
        from mujoco import mjtBias, mjtDyn, mjtGain

        self._m, self._names = m, names
        self._titles = unique([m.actuator(a).name for a in range(m.nactuator)], "actuator")
        self._copies = {names.index(copy.joint): copy for copy in resolved(mimics)[0]}
        arms = [self._arms_of(a) for a in range(m.nactuator)]
        moving = np.array([bool(found) for found, _ in arms], dtype=bool)
        grouped = (m.actuator_group >= 0) & (m.actuator_group < _GROUPS)
        off = grouped & (m.opt.disableactuator >> np.where(grouped, m.actuator_group, 0) & 1 == 1)
        affine = (m.actuator_gaintype == mjtGain.mjGAIN_FIXED) & (m.actuator_plugin < 0)
        affine &= (m.actuator_biastype == mjtBias.mjBIAS_AFFINE) | (
            m.actuator_biastype == mjtBias.mjBIAS_NONE
        )
        bias = np.where(
            (m.actuator_biastype == mjtBias.mjBIAS_AFFINE)[:, None], m.actuator_biasprm[:, :3], 0.0
        )
        affine &= (bias[:, 1:] <= 0.0).all(axis=1) & (m.actuator_dyntype == mjtDyn.mjDYN_NONE)
        servo = bias[:, 1:].any(axis=1)
        spread = servo & np.array([len(found) > 1 for found, _ in arms], dtype=bool)
        acts = moving & ~off
        self.actuators = tuple(
            self._actuator(a, *arms[a], bias[a].tolist())
            for a in np.flatnonzero(acts & affine & ~spread).tolist()
        )
        self.armature, self.damping = np.zeros((2, m.nv))
        for a, (found, _) in enumerate(arms):
            if len(found) == 1:
                ((j, arm),) = found.items()
                self.armature[m.jnt_dofadr[j]] += arm**2 * m.actuator_armature[a]
                self.damping[m.jnt_dofadr[j]] += arm**2 * m.actuator_damping[a]
        self.effort = np.zeros(m.nv)
        self.kp, self.kd = dict[str, float](), dict[str, float]()
        said = self._of_joints()
        self.driven = sorted(
            {names.index(n) for a in self.actuators for n in a.arms if len(a.arms) == 1}
            - {j for j in range(m.njnt) if self.effort[m.jnt_dofadr[j]] == 0.0}
        )
        inertial = (m.actuator_armature != 0.0) | (m.actuator_damping != 0.0)
        left_out = {
            "actuators that move no hinge, slide or fixed tendon": ~moving,
            "actuators of groups that are switched off (actuatorgroupdisable)": moving & off,
            "activations, gains and biases that are not affine and stable, of": acts & ~affine,
            "servos on tendons of several joints that do not copy each other": acts
            & affine
            & spread,
            "damping that is not linear, of": acts & m.actuator_dampingpoly.any(axis=1),
            "rotors and damping of tendons of several joints, of": acts
            & inertial
            & np.array([len(found) > 1 for found, _ in arms], dtype=bool),
            "delays of": acts & (m.actuator_delay != 0.0),
        }
        self.left_out = [
            f"not simulated: {what}: "
            + ", ".join(f"'{m.actuator(a).name or a}'" for a in np.flatnonzero(which).tolist())
            for what, which in left_out.items()
            if which.any()
        ]
        self.left_out += [f"{what}: {', '.join(found)}" for what, found in said.items() if found]

    def _arms_of(self, a: int) -> tuple[dict[int, float], float]:
        """Arms by joint of an actuator, and its length at positions of zero; none: left out."""
        from mujoco import mjtTrn, mjtWrap

        m, target = self._m, int(self._m.actuator_trnid[a, 0])
        gear = float(m.actuator_gear[m.actuator_outadr[a], 0])
        parts: list[tuple[int, float]] = []
        if m.actuator_trntype[a] <= int(mjtTrn.mjTRN_JOINTINPARENT):
            parts = [(target, gear)]
        elif m.actuator_trntype[a] == int(mjtTrn.mjTRN_TENDON):
            rows = slice(m.tendon_adr[target], m.tendon_adr[target] + m.tendon_num[target])
            if (m.wrap_type[rows] == int(mjtWrap.mjWRAP_JOINT)).all():
                joints, factors = m.wrap_objid[rows].tolist(), m.wrap_prm[rows].tolist()
                parts = [(j, gear * factor) for j, factor in zip(joints, factors, strict=True)]
        arms, offset = dict[int, float](), 0.0
        for j, arm in parts:
            if m.jnt_type[j] < SLIDE:
                return {}, 0.0
            if j in self._copies:
                copy = self._copies[j]
                offset += arm * copy.offset
                j, arm = self._names.index(copy.primary), arm * copy.multiplier
            arms[j] = arms.get(j, 0.0) + arm
        return {j: arm for j, arm in arms.items() if arm != 0.0}, offset

    def _actuator(
        self, a: int, arms: Mapping[int, float], offset: float, bias: list[float]
    ) -> Actuator:
        """An affine actuator."""
        m, constant = self._m, (bias[0], bias[1], bias[2])
        control = force = UNBOUNDED
        at = int(m.actuator_ctrladr[a])
        if m.actuator_ctrlnum[a] > 0 and m.actuator_ctrllimited[at]:
            control = tuple(m.actuator_ctrlrange[at].tolist())
        if m.actuator_forcelimited[a]:
            force = tuple(m.actuator_forcerange[a].tolist())
        return Actuator(
            name=self._titles[a],
            arms={self._names[j]: arm for j, arm in arms.items()},
            gain=float(m.actuator_gainprm[a, 0]),
            bias=constant,
            offset=offset,
            control=control,
            force=force,
        )

    def _of_joints(self) -> dict[str, list[str]]:
        """Write efforts and gains of the joints; joints at which ranges are not what they are."""
        m, several, sided, whole = self._m, list[str](), list[str](), list[str]()
        for j, name in enumerate(self._names):
            at = [a for a in self.actuators if name in a.arms]
            servos, v = [a for a in at if a.is_servo], int(m.jnt_dofadr[j])
            if not at:
                continue
            ranges = [_reach(a, a.arms[name]) for a in servos or at]
            reach = np.sum(ranges, axis=0)
            if len(servos) > 1 and np.isfinite(ranges).any():
                several.append(f"'{name}'")
            if m.jnt_actfrclimited[j]:
                reach = np.clip(reach, *m.jnt_actfrcrange[j])
                whole += [f"'{name}'"] if servos and len(at) > len(servos) else []
            sided += [f"'{name}'"] if -reach[0] != reach[1] else []
            self.effort[v] = np.abs(reach).max()
            for gains, k in ((self.kp, 1), (self.kd, 2)):
                gain = -sum(a.bias[k] * a.arms[name] ** 2 for a in servos)
                gains |= {name: gain} if gain > 0.0 else {}
        return {
            "the force ranges of several servos of a joint are taken as one, their sum": several,
            "actuatorfrcrange of joints bounds their servo alone": whole,
            "motors that are stronger in one direction are as strong in the other": sided,
        }


def _reach(actuator: Actuator, arm: float) -> np.ndarray:
    """Least and largest effort of an actuator at a joint [N m or N], (2,)."""
    reach = np.array(actuator.force)
    if not actuator.is_servo:
        ends = actuator.gain * np.array(actuator.control) if actuator.gain else np.zeros(2)
        reach = np.clip(np.sort(ends) + actuator.bias[0], *actuator.force)
    return np.sort(arm * reach)


def unique(given: list[str], word: str, taken: Sequence[str] = ()) -> list[str]:
    """The names, with others for those that are empty or taken."""
    known, found = {*given, *taken}, []
    for k, name in enumerate(given):
        new = name or f"{word}{k}"
        while new in known and (not name or name in taken):
            new += "_"
        found.append(new)
    return found
