"""Steps of pbfd on a GPU, or another device of JAX, without pinocchio (extra `jax`).

A scene is made of a simulator once, and saved; where it is loaded only NumPy and JAX are needed.
The lanes, one for each trajectory, are the last axis of all arrays.
"""

from typing import TYPE_CHECKING

from nmdp_pin._jax.joints import Commands, commands_at
from nmdp_pin._jax.scene import DeviceScene
from nmdp_pin._jax.schedule import SCHEDULES, Rolled, roll
from nmdp_pin._jax.trajectory import step, trajectory

if TYPE_CHECKING:
    from nmdp_pin._simulator.simulator import Simulator

__all__ = [
    "SCHEDULES",
    "Commands",
    "DeviceScene",
    "Rolled",
    "commands_at",
    "device_scene",
    "roll",
    "step",
    "trajectory",
]


def device_scene(simulator: "Simulator") -> DeviceScene:
    """The robot, ground and law of a simulator of `pbfd` as arrays.

    Raises:
        IntegratorError: the method is another one, or JAX lacks contacts of the scene.
    """
    from nmdp_pin._jax.compiled_scene import scene_of

    return scene_of(simulator)
