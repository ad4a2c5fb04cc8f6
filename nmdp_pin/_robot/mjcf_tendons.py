"""Fixed tendons of a compiled MJCF file, and which of them are joints of their own."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nmdp_pin._robot.actuator import UNBOUNDED
from nmdp_pin._robot.joint_limits import Mimic, resolved
from nmdp_pin._robot.spring import Spring
from nmdp_pin._robot.tendon import Tendon

FREE, BALL, SLIDE = range(3)  # `mujoco.mjtJoint`; 3 is a hinge
Arms = Mapping[str, float]


@dataclass(frozen=True)
class Line:
    """A tendon that is a joint of its own, and what bounds and slows its motion."""

    tendon: Tendon
    range: tuple[float, float] = UNBOUNDED  # [rad or m]
    friction: float = 0.0  # [N m or N]
    damping: float = 0.0  # [N m s/rad or N s/m]
    rotor: float = 0.0  # inertia [kg m^2 or kg]
    spring: Spring | None = None


class Tendons:
    """The fixed tendons of a model. Joints that copy others are moved by their primaries.

    Those that are no joints of their own only transmit the forces of actuators.

    Args:
        m: compiled model (`mujoco.MjModel`).
        names: of its joints.
        mimics: joints that copy others.

    Attributes:
        lines: those that are joints of their own, by their index.
        held: sums of positions that equalities hold at zero.
        left_out: what is not simulated, one sentence each.
    """

    def __init__(self, m: Any, names: Sequence[str], mimics: Sequence[Mimic]) -> None:
        self._m, self._names = m, names
        self._copies = {copy.joint: copy for copy in resolved(mimics)[0]}
        self.lines = dict[int, Line]()
        all_of = [self.arms_of(t)[0] for t in range(m.ntendon)]
        fixed = np.array([bool(arms) for arms in all_of], dtype=bool)
        apart = m.tendon_lengthspring[:, 0] < m.tendon_lengthspring[:, 1]
        slack = (m.tendon_stiffness > 0.0) & apart
        resists = (m.tendon_stiffness > 0.0) | (m.tendon_damping > 0.0)
        resists |= (m.tendon_frictionloss > 0.0) | (m.tendon_armature > 0.0)
        resists |= m.tendon_limited != 0
        for t in np.flatnonzero(resists & fixed).tolist():
            self.line_of(t)
        self.held, curved = self._equalities()
        bends = m.tendon_stiffnesspoly.any(axis=1) | m.tendon_dampingpoly.any(axis=1)
        said = {
            "springs, damping, dry friction and limits of tendons that are not fixed": resists
            & ~fixed,
            "springs of tendons that may be slack": slack & fixed,
            "springs and damping of tendons that are not linear": bends & fixed,
        }
        self.left_out = [
            f"not simulated: {what}: "
            + ", ".join(f"'{m.tendon(t).name or t}'" for t in np.flatnonzero(which).tolist())
            for what, which in said.items()
            if which.any()
        ]
        self.left_out += [f"not simulated: equalities of tendons: {', '.join(curved)}"] * any(
            curved
        )

    def arms_of(self, t: int) -> tuple[dict[str, float], float]:
        """Arms by joint of a tendon, and its length where they are at zero; {}: not fixed."""
        from mujoco import mjtWrap

        m, rows = (
            self._m,
            slice(self._m.tendon_adr[t], self._m.tendon_adr[t] + self._m.tendon_num[t]),
        )
        if (m.wrap_type[rows] != int(mjtWrap.mjWRAP_JOINT)).any():
            return {}, 0.0
        joints, factors = m.wrap_objid[rows].tolist(), m.wrap_prm[rows].tolist()
        return self.moved(zip(joints, factors, strict=True))

    def moved(self, parts: Any) -> tuple[dict[str, float], float]:
        """Arms by name of pairs of a joint's index and its arm, copies as their primaries."""
        arms, offset = dict[str, float](), 0.0
        for j, arm in parts:
            name = self._names[j]
            if self._m.jnt_type[j] < SLIDE:
                return {}, 0.0
            if name in self._copies:
                copy = self._copies[name]
                offset += arm * copy.offset
                name, arm = copy.primary, arm * copy.multiplier
            arms[name] = arms.get(name, 0.0) + arm
        return {name: arm for name, arm in arms.items() if arm != 0.0}, offset

    def line_of(self, t: int) -> Line:
        """The joint of a tendon, which is made where there is none."""
        m = self._m
        if t in self.lines:
            return self.lines[t]
        arms, offset = self.arms_of(t)
        name = f"{m.tendon(t).name or t}_tendon"
        stiffness, (rest, end) = float(m.tendon_stiffness[t]), m.tendon_lengthspring[t].tolist()
        line = self.lines[t] = Line(
            Tendon(name, arms, offset),
            tuple(m.tendon_range[t].tolist()) if m.tendon_limited[t] else UNBOUNDED,
            float(m.tendon_frictionloss[t]),
            float(m.tendon_damping[t]),
            float(m.tendon_armature[t]),
            Spring(name, stiffness, rest) if stiffness > 0.0 and rest == end else None,
        )
        return line

    def _equalities(self) -> tuple[list[Tendon], list[str]]:
        """What linear equalities of tendons hold at zero, and the names of the others."""
        from mujoco import mjtEq

        m, held, others = self._m, list[Tendon](), list[str]()
        for e in np.flatnonzero(m.eq_active0 & (m.eq_type == int(mjtEq.mjEQ_TENDON))).tolist():
            a, b = int(m.eq_obj1id[e]), int(m.eq_obj2id[e])
            constant, slope, *bends = m.eq_data[e, :5].tolist()
            arms, offset = self.arms_of(a)
            offset -= float(m.tendon_length0[a]) + constant
            if b >= 0 and arms:
                others_arms, start = self.arms_of(b)
                arms = {} if not others_arms else arms
                offset -= slope * (start - float(m.tendon_length0[b]))
                for name, arm in others_arms.items():
                    arms[name] = arms.get(name, 0.0) - slope * arm
            if not arms or (b >= 0 and any(bends)):
                others.append(f"'{m.equality(e).name or e}'")
                continue
            held.append(Tendon("", arms, offset))
        return held, others
