"""What the actuators of a compiled MJCF file do at its joints and bodies."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nmdp_pin._robot.actuator import UNBOUNDED, Activation, Actuator
from nmdp_pin._robot.joint_limits import Mimic
from nmdp_pin._robot.mjcf_tendons import Line, Tendons
from nmdp_pin._robot.tendon import Tendon

_GROUPS = 31  # of actuators, which can be switched off
_FEW = 2  # arms of a tendon whose servo cannot be that of a joint


class Motors:
    """The actuators of a model, and what they are to its joints, in the order of MuJoCo's v.

    An actuator of a hinge, a slide, a fixed tendon or a site has an affine force (`Actuator`).
    Servos whose force is not that of one joint alone have a joint of their own (`Tendon`): those of
    tendons of several joints, and those besides another one of a joint, if one has a range.

    The effort of a joint with servos is theirs; what else moves it is no part of it (`Actuators`).

    Args:
        m: compiled model (`mujoco.MjModel`).
        names: of its joints.
        mimics: joints that copy others.
        sites: frame of each site, and where it is there, None where it does not move.

    Attributes:
        actuators: those that are simulated.
        lines: tendons that are joints of their own.
        held: sums of positions that are held at zero.
        driven: names of the joints with a motor.
        effort: largest magnitude [N m or N], by joint.
        armature: of the rotors [kg m^2 or kg], (nv,).
        damping: of the actuators [N m s/rad or N s/m], (nv,).
        kp: position gains of servos by joint [N m/rad or N/m].
        kd: velocity gains of servos by joint [N m s/rad or N s/m].
        left_out: what is not simulated, one sentence each.
    """

    def __init__(
        self,
        m: Any,
        names: Sequence[str],
        mimics: Sequence[Mimic] = (),
        sites: Sequence[tuple[str, Any] | None] = (),
        key: int | None = None,
    ) -> None:
        self._m, self._names, self._sites, self._key = m, names, sites, key
        self._tendons = Tendons(m, names, mimics)
        self._titles = unique([m.actuator(a).name for a in range(m.nactuator)], "actuator")
        affine, bias = _affine(m)
        servo: np.ndarray = np.any(bias[:, 1:], axis=1)
        on = _switched_on(m)
        arms = [
            self._arms_of(a, own=bool(servo[a] & affine[a] & on[a])) for a in range(m.nactuator)
        ]
        pushes = np.array([self._wrench_of(a) is not None for a in range(m.nactuator)], dtype=bool)
        moving = np.array([bool(found) for found, _ in arms], dtype=bool) | (pushes & ~servo)
        made = np.flatnonzero(moving & on & affine).tolist()
        self._extra = dict[str, Line]()
        self.actuators = tuple(self._actuator(a, *arms[a], bias[a].tolist()) for a in made)
        self._part_servos()
        self.armature, self.damping = self._of_rotors(arms)
        self.effort = dict[str, float]()
        self.kp, self.kd = dict[str, float](), dict[str, float]()
        said = self._of_joints()
        self.lines = [*self._tendons.lines.values(), *self._extra.values()]
        self.held = self._tendons.held
        order = [*names, *(line.tendon.joint for line in self.lines)]
        alone = {name for a in self.actuators for name in a.arms if len(a.arms) == 1}
        self.driven = [name for name in order if name in alone and self.effort.get(name, 0.0) > 0.0]
        spread = np.array([len(found) > 1 for found, _ in arms], dtype=bool)
        inertial = (m.actuator_armature != 0.0) | (m.actuator_damping != 0.0)
        left_out = {
            "actuators that move no hinge, slide, fixed tendon or site": ~moving,
            "actuators of groups that are switched off (actuatorgroupdisable)": moving & ~on,
            "muscles, and gains and biases that are not affine and stable, of": moving
            & on
            & ~affine,
            "damping that is not linear, of": moving & on & m.actuator_dampingpoly.any(axis=1),
            "rotors and damping of tendons of several joints, of": moving & on & inertial & spread,
            "delays of": moving & on & (m.actuator_delay != 0.0),
        }
        self.left_out = [*self._tendons.left_out] + [
            f"not simulated: {what}: "
            + ", ".join(f"'{m.actuator(a).name or a}'" for a in np.flatnonzero(which).tolist())
            for what, which in left_out.items()
            if which.any()
        ]
        self.left_out += [f"{what}: {', '.join(found)}" for what, found in said.items() if found]

    def _arms_of(self, a: int, *, own: bool) -> tuple[dict[str, float], float]:
        """Arms by joint of an actuator, and its length at positions of zero; none: left out.

        A servo of several joints is given the `own` joint of its tendon.
        """
        from mujoco import mjtTrn

        m, target = self._m, int(self._m.actuator_trnid[a, 0])
        gear = float(m.actuator_gear[m.actuator_outadr[a], 0])
        if m.actuator_trntype[a] <= int(mjtTrn.mjTRN_JOINTINPARENT):
            return self._tendons.moved([(target, gear)])
        if m.actuator_trntype[a] != int(mjtTrn.mjTRN_TENDON):
            return {}, 0.0
        arms, offset = self._tendons.arms_of(target)
        if target in self._tendons.lines or (own and len(arms) >= _FEW):
            return {self._tendons.line_of(target).tendon.joint: gear}, 0.0
        return {name: gear * arm for name, arm in arms.items()}, gear * offset

    def _wrench_of(self, a: int) -> tuple[str, np.ndarray] | None:
        """Frame that an actuator on a site pushes, and its wrench there, (6,); None: none."""
        from mujoco import mjtTrn
        from pinocchio import Force

        m, (target, other) = self._m, self._m.actuator_trnid[a].tolist()
        if m.actuator_trntype[a] != int(mjtTrn.mjTRN_SITE) or other >= 0 or not self._sites:
            return None
        if (found := self._sites[target]) is None:
            return None
        frame, place = found
        return frame, place.act(Force(np.array(m.actuator_gear[m.actuator_outadr[a]]))).vector

    def _actuator(self, a: int, arms: Mapping[str, float], offset: float, bias: Any) -> Actuator:
        """An affine actuator."""
        m = self._m
        control = force = UNBOUNDED
        at = int(m.actuator_ctrladr[a])
        if m.actuator_ctrlnum[a] > 0 and m.actuator_ctrllimited[at]:
            control = tuple(m.actuator_ctrlrange[at].tolist())
        if m.actuator_forcelimited[a]:
            force = tuple(m.actuator_forcerange[a].tolist())
        frame, wrench = ("", np.zeros(6)) if arms else self._wrench_of(a) or ("", np.zeros(6))
        return Actuator(
            name=self._titles[a],
            arms=arms,
            gain=float(m.actuator_gainprm[a, 0]),
            bias=tuple(bias),
            offset=offset,
            control=control,
            force=force,
            activation=self._activation(a),
            frame=frame,
            wrench=tuple(wrench.tolist()),
        )

    def _activation(self, a: int) -> Activation | None:
        from mujoco import mjtDyn

        m, at, kind = self._m, int(self._m.actuator_actadr[a]), self._m.actuator_dyntype[a]
        if kind == mjtDyn.mjDYN_NONE:
            return None
        return Activation(
            None if kind == mjtDyn.mjDYN_INTEGRATOR else float(m.actuator_dynprm[a, 0]),
            0.0 if self._key is None else float(m.key_act[self._key, at]),
            tuple(m.actuator_actrange[a].tolist()) if m.actuator_actlimited[a] else UNBOUNDED,
        )

    def _part_servos(self) -> None:
        """Give servos besides the first one of a joint a joint of their own, if one has a range."""
        seen, parted = dict[str, Actuator](), list[Actuator]()
        ranged = {
            name
            for a in self.actuators
            for name in a.arms
            if a.is_servo and np.isfinite(a.force).any()
        }
        for a in self.actuators:
            (name,) = a.arms if len(a.arms) == 1 else ("",)
            if a.is_servo and name in seen and name in ranged:
                slide = f"{a.name}_tendon"
                self._extra[slide] = Line(Tendon(slide, a.arms, a.offset))
                a = Actuator(**{**vars(a), "arms": {slide: 1.0}, "offset": 0.0})
            elif a.is_servo and name:
                seen[name] = a
            parted.append(a)
        self.actuators = tuple(parted)

    def _of_rotors(self, arms: Sequence[tuple[Mapping[str, float], float]]) -> np.ndarray:
        """Armature and damping that actuators of one joint have, (2, nv)."""
        m, result = self._m, np.zeros((2, self._m.nv))
        for a, (found, _) in enumerate(arms):
            if len(found) == 1:
                ((name, arm),) = found.items()
                if name in self._names:
                    v = m.jnt_dofadr[self._names.index(name)]
                    result[:, v] += arm**2 * m.actuator_armature[a], arm**2 * m.actuator_damping[a]
        return result

    def _of_joints(self) -> dict[str, list[str]]:
        """Write efforts and gains of the joints; joints at which ranges are not what they are."""
        sided, whole = list[str](), list[str]()
        for name in dict.fromkeys(name for a in self.actuators for name in a.arms):
            at = [a for a in self.actuators if name in a.arms]
            servos = [a for a in at if a.is_servo]
            reach = np.sum([_reach(a, a.arms[name]) for a in servos or at], axis=0)
            bounds = self._range_of(name)
            if bounds is not None:
                reach = np.clip(reach, *bounds)
                whole += [f"'{name}'"] if servos and len(at) > len(servos) else []
            sided += [f"'{name}'"] if -reach[0] != reach[1] else []
            self.effort[name] = float(np.abs(reach).max())
            for gains, k in ((self.kp, 1), (self.kd, 2)):
                gain = -sum(a.bias[k] * a.arms[name] ** 2 for a in servos)
                gains |= {name: gain} if gain > 0.0 else {}
        return {
            "actuatorfrcrange of joints bounds their servo alone": whole,
            "motors that are stronger in one direction are as strong in the other": sided,
        }

    def _range_of(self, name: str) -> np.ndarray | None:
        """The `actuatorfrcrange` of a joint or tendon; None: there is none."""
        m = self._m
        if name in self._names:
            j = self._names.index(name)
            return m.jnt_actfrcrange[j] if m.jnt_actfrclimited[j] else None
        for t, line in self._tendons.lines.items():
            if line.tendon.joint == name and m.tendon_actfrclimited[t]:
                return np.asarray(m.tendon_actfrcrange[t])
        return None


def _affine(m: Any) -> tuple[np.ndarray, np.ndarray]:
    """Whether actuators have an affine and stable force, (n,), and their biases, (n, 3)."""
    from mujoco import mjtBias, mjtDyn, mjtGain

    follows = m.actuator_biastype == mjtBias.mjBIAS_AFFINE
    bias = np.where(follows[:, None], m.actuator_biasprm[:, :3], 0.0)
    affine = (m.actuator_gaintype == mjtGain.mjGAIN_FIXED) & (m.actuator_plugin < 0)
    affine &= follows | (m.actuator_biastype == mjtBias.mjBIAS_NONE)
    kinds = ("NONE", "INTEGRATOR", "FILTER", "FILTEREXACT")
    affine &= np.isin(m.actuator_dyntype, [int(getattr(mjtDyn, f"mjDYN_{k}")) for k in kinds])
    return np.asarray(affine & (bias[:, 1:] <= 0.0).all(axis=1)), bias


def _switched_on(m: Any) -> np.ndarray:
    """Whether actuators belong to no group that is switched off, (n,)."""
    grouped = (m.actuator_group >= 0) & (m.actuator_group < _GROUPS)
    bits = m.opt.disableactuator >> np.where(grouped, m.actuator_group, 0) & 1
    on: np.ndarray = ~(grouped & (bits == 1))
    return on


def _reach(actuator: Actuator, arm: float) -> np.ndarray:
    """Least and largest effort of an actuator at a joint [N m or N], (2,)."""
    reach = np.array(actuator.force)
    if not actuator.is_servo:
        follows = actuator.activation
        own = follows is not None and follows.time_constant is None
        control = follows.range if own and follows else actuator.control
        ends = actuator.gain * np.array(control) if actuator.gain else np.zeros(2)
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
