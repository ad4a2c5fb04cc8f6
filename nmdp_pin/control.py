"""Controllers, which make commands."""

from nmdp_pin._control import Command, Controller, GaitTrajectory, Passive, StablePD, TorqueFunction
from nmdp_pin._control.hold import hold
from nmdp_pin._control.push import Push
from nmdp_pin._robot.gait import Gait

__all__ = [
    "Command",
    "Controller",
    "Gait",
    "GaitTrajectory",
    "Passive",
    "Push",
    "StablePD",
    "TorqueFunction",
    "hold",
]
