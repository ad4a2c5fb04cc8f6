"""Tendons: sums of joint positions that are the positions of joints of their own."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True)
class Tendon:
    """A slide with hardly a mass whose position is offset + sum of arm times position.

    What acts along a tendon acts on its slide: motors with a range of their own, stops, springs,
    dry friction. A stiff spring holds it to the joints.

    Args:
        joint: the slide; "": the sum is held at zero.
        arms: arms by joint, hinges and slides with one coordinate [m or -].
        offset: position where those of all joints are zero [rad or m].
    """

    joint: str
    arms: Mapping[str, float]
    offset: float = 0.0

    def position(self, positions: Mapping[str, float]) -> float:
        """Its position at those of joints, 0 where absent [rad or m]."""
        return self.offset + sum(arm * positions.get(j, 0.0) for j, arm in self.arms.items())

    def beside(self, prefix: str) -> "Tendon":
        """Itself in a robot beside others, whose joints are called "prefix/..."."""
        arms = {f"{prefix}/{joint}": arm for joint, arm in self.arms.items()}
        return replace(self, joint=self.joint and f"{prefix}/{self.joint}", arms=arms)


def with_tendons(
    pose: Mapping[str, Any], tendons: Iterable[Tendon], moving: Iterable[str]
) -> tuple[Mapping[str, Any], tuple[Tendon, ...]]:
    """Positions by joint with those of tendons of joints that move, and these tendons.

    Args:
        pose: positions by joint.
        tendons: tendons.
        moving: names of the joints that move.
    """
    taut = tuple(t for t in tendons if {*t.arms, t.joint} <= {*moving, ""})
    simple = {name: x for name, x in pose.items() if isinstance(x, float)}
    return {**pose, **{t.joint: t.position(simple) for t in taut}}, taut
