"""Actuators of a description: forces along joints or on a body, each with a range of its own."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

UNBOUNDED = (-float("inf"), float("inf"))


@dataclass(frozen=True)
class Activation:
    """What follows a control: it integrates it, or goes to it at a rate.

    Args:
        time_constant: time in which 63 % of the way to a control is gone [s]; None: it integrates.
        start: value at the start.
        range: least and largest value.
    """

    time_constant: float | None = None
    start: float = 0.0
    range: tuple[float, float] = UNBOUNDED

    def after(self, value: float, u: float, h: float) -> float:
        """The value after a time h [s] in which the control is u."""
        if self.time_constant is None:
            value += h * u
        else:
            share = math.exp(-h / self.time_constant) if self.time_constant > 0.0 else 0.0
            value = u + (value - u) * share
        return min(max(value, self.range[0]), self.range[1])


@dataclass(frozen=True)
class Actuator:
    """The force gain u + bias_0 + bias_1 l + bias_2 dl/dt, within its range, of a control u.

    Its length l is offset + sum of arm times position, and it moves each joint by arm times force.
    A thruster, which has a frame instead of arms, pushes it by wrench times force.

    Args:
        name: name of the actuator.
        arms: arms by joint [m or -].
        gain: force per control.
        bias: force at zero length, per length and per speed.
        offset: length where all positions are zero [m or rad].
        control: least and largest control.
        force: least and largest force [N or N m].
        activation: what takes the place of u; None: the control itself.
        frame: link or frame that a thruster pushes; "": none.
        wrench: force and torque about the frame's origin, along its axes, by a unit of force.
    """

    name: str
    arms: Mapping[str, float] = field(default_factory=dict)
    gain: float = 1.0
    bias: tuple[float, float, float] = (0.0, 0.0, 0.0)
    offset: float = 0.0
    control: tuple[float, float] = UNBOUNDED
    force: tuple[float, float] = UNBOUNDED
    activation: Activation | None = None
    frame: str = ""
    wrench: tuple[float, float, float, float, float, float] = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)

    @property
    def is_servo(self) -> bool:
        """Whether its force follows its length or speed."""
        return self.bias[1:] != (0.0, 0.0)

    def strongest(self, length: float) -> float:
        """Largest magnitude of its force at a length and at rest; infinite without a bound."""
        follows = self.activation
        own = follows is not None and follows.time_constant is None
        ends = follows.range if follows and own else self.control
        forces = (self.gain * end + self.bias[0] + self.bias[1] * length for end in ends)
        return max(abs(min(max(force, self.force[0]), self.force[1])) for force in forces)

    def beside(self, prefix: str) -> "Actuator":
        """Itself in a robot beside others, whose names begin with a prefix.

        Args:
            prefix: of its name, of joints and of frames, but for that with this name.
        """
        arms = {f"{prefix}/{joint}": arm for joint, arm in self.arms.items()}
        frame = self.frame if self.frame in ("", prefix) else f"{prefix}/{self.frame}"
        return replace(self, name=f"{prefix}/{self.name}", arms=arms, frame=frame)
