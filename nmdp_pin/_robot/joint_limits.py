"""What bounds the joints of a robot: ranges, efforts, dry friction, joints that copy others."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pinocchio as pin

from nmdp_pin._state.read_only_array import read_only

ARRAYS = ("lower", "upper", "effort", "friction")
"""Names of the fields of `JointLimits` that have a number for each velocity."""

# Pinocchio's base joints have the largest float for a limit.
_UNLIMITED = 1e300


@dataclass(frozen=True)
class Mimic:
    """A joint that copies another: position = multiplier * position of `primary` + offset.

    Args:
        joint: name of the joint that copies.
        primary: name of the joint that is copied.
        multiplier: [-].
        offset: [rad or m].
    """

    joint: str
    primary: str
    multiplier: float = 1.0
    offset: float = 0.0


def resolved(mimics: Sequence[Mimic]) -> tuple[tuple[Mimic, ...], list[str]]:
    """Mimic joints whose primaries copy none, and the names of those that copy only each other."""
    of, found, loops = {m.joint: m for m in mimics}, [], []
    for m in mimics:
        for _ in mimics:  # a chain is no longer
            if m.primary not in of:
                found.append(m)
                break
            up = of[m.primary]
            offset = m.multiplier * up.offset + m.offset
            m = Mimic(m.joint, up.primary, m.multiplier * up.multiplier, offset)
        else:
            loops.append(m.joint)
    return tuple(found), loops


@dataclass(frozen=True, eq=False)
class JointLimits:
    """Bounds of the joints, as the description of the robot gives them, in the order of v.

    Only joints with one position and one velocity are bounded; the entries of all others, of a
    floating base and of joints without a bound are infinite, those of `friction` zero.

    Args:
        lower: least positions [rad or m], shape (nv,).
        upper: largest positions [rad or m], shape (nv,).
        effort: largest magnitude of the motor's effort [N m or N], shape (nv,).
        friction: dry friction of the joint, the largest magnitude of its effort [N m or N],
            shape (nv,).
        mimics: joints that copy others.
    """

    lower: np.ndarray
    upper: np.ndarray
    effort: np.ndarray
    friction: np.ndarray
    mimics: tuple[Mimic, ...] = ()

    @classmethod
    def none(cls, nv: int) -> "JointLimits":
        """No bounds.

        Args:
            nv: size of the velocity.
        """
        return cls(np.full(nv, -np.inf), np.full(nv, np.inf), np.full(nv, np.inf), np.zeros(nv))

    @classmethod
    def of(cls, model: pin.Model, mimics: Iterable[Mimic] = ()) -> "JointLimits":
        """The bounds that a pinocchio model holds.

        A range [0, 0] and an effort of 0 bound nothing: exporters of URDF write them for unknown
        limits.

        Args:
            model: of the robot.
            mimics: joints that copy others; those of which a joint is locked are left out.
        """
        result, moving = cls.none(model.nv), simple_joints(model)
        for _, joint in named_joints(model):
            if joint.nv != 1:
                continue
            q, v = joint.idx_q, joint.idx_v
            lower, upper = model.lowerPositionLimit[q], model.upperPositionLimit[q]
            # a continuous joint, whose two coordinates are a cosine and a sine, has no stops
            if joint.nq == 1 and (lower < upper or lower == upper != 0.0):
                result.lower[v] = lower if lower > -_UNLIMITED else -np.inf
                result.upper[v] = upper if upper < _UNLIMITED else np.inf
            effort = min(model.upperEffortLimit[v], -model.lowerEffortLimit[v])
            if 0.0 < effort < _UNLIMITED:
                result.effort[v] = effort
            result.friction[v] = model.upperDryFrictionLimit[v]
        kept = [m for m in mimics if m.joint in moving and m.primary in {*moving} - {m.joint}]
        return replace(result, mimics=tuple(kept))

    @staticmethod
    def empty(model: pin.Model) -> list[str]:
        """Names of the joints with a range [0, 0] or an effort of 0, which bound nothing."""
        low, high = model.lowerPositionLimit, model.upperPositionLimit
        return [
            name
            for name, joint in named_joints(model)
            if (joint.nq == joint.nv == 1 and low[joint.idx_q] == high[joint.idx_q] == 0.0)
            or (joint.nv == 1 and model.upperEffortLimit[joint.idx_v] == 0.0)
        ]

    def read_only(self) -> "JointLimits":
        """The same bounds in arrays that cannot be written."""
        arrays = {name: read_only(getattr(self, name)) for name in ARRAYS}
        return JointLimits(**arrays, mimics=self.mimics)

    @property
    def bounded(self) -> np.ndarray:
        """The joints with a stop or dry friction, as indices in v, shape (r,)."""
        stops = np.isfinite(self.lower) | np.isfinite(self.upper)
        return np.flatnonzero(stops | (self.friction > 0.0))

    @property
    def kinds(self) -> tuple[str, ...]:
        """Which bounds there are: some of "position", "effort", "friction", "mimic"."""
        given = {
            "position": np.isfinite([self.lower, self.upper]).any(),
            "effort": np.isfinite(self.effort).any(),
            "friction": (self.friction > 0.0).any(),
            "mimic": self.mimics,
        }
        return tuple(kind for kind, there in given.items() if there)

    def beside(self, other: "JointLimits", prefix: str) -> "JointLimits":
        """The bounds of two robots in one model, the second one's joints behind the first one's.

        Args:
            other: those of the second robot.
            prefix: of the names of its joints.
        """
        mimics = tuple(
            replace(m, joint=f"{prefix}{m.joint}", primary=f"{prefix}{m.primary}")
            for m in other.mimics
        )
        both = {n: np.concatenate([getattr(self, n), getattr(other, n)]) for n in ARRAYS}
        return JointLimits(**both, mimics=self.mimics + mimics)


def named_joints(model: pin.Model) -> list[tuple[str, pin.JointModel]]:
    """Names and joints of a model, without pinocchio's world."""
    return [(str(n), j) for n, j in zip(model.names, model.joints, strict=True)][1:]


def dofs_of(model: pin.Model, joints: Iterable[str]) -> np.ndarray:
    """Whether a dof is one of the joints of some names, shape (nv,)."""
    found = np.zeros(model.nv, dtype=bool)
    for name in joints:
        joint = model.joints[model.getJointId(name)]
        found[joint.idx_v : joint.idx_v + joint.nv] = True
    return found


def simple_joints(model: pin.Model) -> Mapping[str, pin.JointModel]:
    """The joints with one position and one velocity, by name."""
    return {name: joint for name, joint in named_joints(model) if joint.nq == joint.nv == 1}
