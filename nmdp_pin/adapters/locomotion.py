"""Tasks of locomotion."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from nmdp_pin._robot import Robot
from nmdp_pin._robot.model import FREE_JOINTS, PLANAR_JOINTS
from nmdp_pin._simulator.simulator import Simulator
from nmdp_pin.adapters.task import Start, States, near
from nmdp_pin.errors import StateError

FARTHEST = 100.0  # [m, rad] what is observed of a configuration lies within it


@dataclass(frozen=True, kw_only=True)
class Forward:
    """Moving forward along x and staying upright; called with a robot, its task.

    Reward of a step: forward_weight * speed along x + healthy_reward - control_weight * |a|^2
    - lateral_weight * |speed along y|, with a the action in [-1, 1].

    Args:
        healthy_height: lowest and highest base [m].
        healthy_tilt: largest angle of the base from upright [rad].
        forward_weight: weight of the forward speed [s/m].
        healthy_reward: reward of each step at whose end the robot is healthy.
        control_weight: weight of the square of the action.
        lateral_weight: weight of the sideways speed [s/m].
        noise: bound of the uniform noise of the start in each direction [m, rad, m/s, rad/s].
        fastest: bound to which observed velocities are clipped [m/s, rad/s].
    """

    healthy_height: tuple[float, float]
    healthy_tilt: float
    forward_weight: float = 1.0
    healthy_reward: float = 1.0
    control_weight: float = 1e-3
    lateral_weight: float = 0.0
    noise: float = 5e-3
    fastest: float = 10.0

    def __call__(self, robot: Robot) -> "Locomotion":
        """The task of a robot.

        Raises:
            StateError: its base is fixed.
        """
        return Locomotion(self, Base.of(robot))


@dataclass(frozen=True)
class Base:
    """Indices of the base in q.

    Args:
        ground: index of its place on the ground: x, or x and y.
        height: index of z.
        pitch: index of a planar base's angle; None: it has none.
        rotation: index of the first of a quaternion's four numbers; None: it has none.
    """

    ground: tuple[int, ...]
    height: int
    pitch: int | None = None
    rotation: int | None = None

    @classmethod
    def of(cls, robot: Robot) -> "Base":
        """Observation of a robot.

        Raises:
            StateError: its base is fixed.
        """
        names = list(robot.model.names)
        place = {
            name: robot.model.joints[names.index(name)].idx_q
            for name in (*PLANAR_JOINTS, *FREE_JOINTS)
            if name in names
        }
        if PLANAR_JOINTS[0] in place:
            x, z, pitch = (place[name] for name in PLANAR_JOINTS)
            return cls((x,), z, pitch=pitch)
        if FREE_JOINTS[0] in place:
            first = place[FREE_JOINTS[0]]
            return cls((first, first + 1), first + 2, rotation=place[FREE_JOINTS[1]])
        raise StateError(
            f"robot '{robot.name}' has a fixed base, so it cannot go anywhere; load it with "
            'base="planar" or base="free-flyer"'
        )

    def place(self, q: np.ndarray) -> np.ndarray:
        """x, or x and y [m]."""
        return q[..., list(self.ground)]

    def tilt(self, q: np.ndarray) -> Any:
        """Angle of the base from upright [rad]; of a planar base with its sign."""
        if self.pitch is not None:
            return q[..., self.pitch]
        if self.rotation is None:
            return 0.0
        x, y = q[..., self.rotation], q[..., self.rotation + 1]
        return np.arccos(np.clip(1.0 - 2.0 * (x * x + y * y), -1.0, 1.0))


@dataclass(frozen=True)
class Locomotion:
    """A `Task` of locomotion.

    Args:
        forward: what is rewarded.
        base: of the robot.
    """

    forward: Forward
    base: Base

    def reset(self, simulator: Simulator, random: np.random.Generator) -> Start:
        """A configuration and a velocity near the standing pose."""
        return near(simulator.robot, random, self.forward.noise)

    def observation(self, state: States) -> np.ndarray:
        """Configuration without the position on the ground, then v clipped to `fastest`."""
        base, fastest = self.base, self.forward.fastest
        q = np.delete(state.q, base.ground, axis=-1)
        if base.rotation is not None:
            # A quaternion and its opposite are the same rotation.
            here = base.rotation - len(base.ground)
            q[..., here : here + 4] *= np.where(q[..., here + 3 : here + 4] < 0.0, -1.0, 1.0)
        parts = [np.clip(q, -FARTHEST, FARTHEST), np.clip(state.v, -fastest, fastest)]
        return np.concatenate(parts, axis=-1)

    def healthy(self, state: States) -> Any:
        """Whether the robot is upright."""
        (low, high), height = self.forward.healthy_height, state.q[..., self.base.height]
        tilt = np.abs(self.base.tilt(state.q))
        return (low < height) & (height < high) & (tilt < self.forward.healthy_tilt)

    def terminated(self, state: States) -> Any:
        """Whether it is not."""
        return ~self.healthy(state)

    def reward(self, before: States, after: States, action: np.ndarray) -> dict[str, Any]:
        """The terms of the reward by name; their sum is the reward."""
        given, base = self.forward, self.base
        moved, time = base.place(after.q) - base.place(before.q), np.subtract(after.t, before.t)
        speed = moved / time[..., None]
        return {
            "reward_forward": given.forward_weight * speed[..., 0],
            "reward_healthy": given.healthy_reward * self.healthy(after),
            "reward_control": -given.control_weight * np.square(action).sum(axis=-1),
            "reward_lateral": -given.lateral_weight * np.abs(speed[..., 1:]).sum(axis=-1),
        }
