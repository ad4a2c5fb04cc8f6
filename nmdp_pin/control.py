"""Controllers, which make commands, and what else commands move and attach."""

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
from nmdp_pin._control.attachment import Attached, Attachment
from nmdp_pin._control.body_motion import BodyMotion
from nmdp_pin._control.controller import ExternalWrench
from nmdp_pin._control.flight import Flight
from nmdp_pin._control.hold import hold
from nmdp_pin._control.push import Push
from nmdp_pin._control.scripted import Scripted
from nmdp_pin._robot.gait import Gait
from nmdp_pin._robot.loop import Grip
from nmdp_pin._robot.scripted import scripted

__all__ = [
    "Actuators",
    "Attached",
    "Attachment",
    "BodyMotion",
    "Command",
    "Controller",
    "ExternalWrench",
    "Flight",
    "Gait",
    "GaitTrajectory",
    "Grip",
    "MotorModel",
    "Passive",
    "Push",
    "Scripted",
    "StablePD",
    "TorqueFunction",
    "VelocityServo",
    "hold",
    "scripted",
]
