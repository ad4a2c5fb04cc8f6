"""Controllers, which make commands."""

from nmdp_pin._control import (
    Actuators,
    Command,
    Controller,
    GaitTrajectory,
    MotorModel,
    Passive,
    StablePD,
    TorqueFunction,
    VelocityServo,
)
from nmdp_pin._control.controller import ExternalWrench
from nmdp_pin._control.hold import hold
from nmdp_pin._control.push import Push
from nmdp_pin._robot.gait import Gait

__all__ = [
    "Actuators",
    "Command",
    "Controller",
    "ExternalWrench",
    "Gait",
    "GaitTrajectory",
    "MotorModel",
    "Passive",
    "Push",
    "StablePD",
    "TorqueFunction",
    "VelocityServo",
    "hold",
]
