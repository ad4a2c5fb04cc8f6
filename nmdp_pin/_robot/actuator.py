"""Actuators of a description: forces along joints, each with a range of its own."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

UNBOUNDED = (-float("inf"), float("inf"))


@dataclass(frozen=True)
class Actuator:
    """The force gain u + bias_0 + bias_1 l + bias_2 dl/dt, within its range, of a control u.

    Its length l is offset + sum of arm times position, and it moves each joint by arm times force.

    Args:
        name: name of the actuator.
        arms: arms by joint [m or -].
        gain: force per control.
        bias: force at zero length, per length and per speed.
        offset: length where all positions are zero [m or rad].
        control: least and largest control.
        force: least and largest force [N or N m].
    """

    name: str
    arms: Mapping[str, float]
    gain: float
    bias: tuple[float, float, float] = (0.0, 0.0, 0.0)
    offset: float = 0.0
    control: tuple[float, float] = UNBOUNDED
    force: tuple[float, float] = UNBOUNDED

    @property
    def is_servo(self) -> bool:
        """Whether its force follows its length or speed."""
        return self.bias[1:] != (0.0, 0.0)

    def beside(self, prefix: str) -> "Actuator":
        """Itself in a robot beside others, whose names begin with a prefix.

        Args:
            prefix: of its name and of joints.
        """
        arms = {f"{prefix}/{joint}": arm for joint, arm in self.arms.items()}
        return replace(self, name=f"{prefix}/{self.name}", arms=arms)
