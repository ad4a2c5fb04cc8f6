"""Controllers: commands as data."""

from nmdp_pin._control.actuators import Actuators
from nmdp_pin._control.controller import Command, Controller
from nmdp_pin._control.hold import hold
from nmdp_pin._control.motor_model import MotorModel
from nmdp_pin._control.stable_pd import Passive, StablePD, TorqueFunction, VelocityServo
from nmdp_pin._control.trajectory import GaitTrajectory

__all__ = [
    "Actuators",
    "Command",
    "Controller",
    "GaitTrajectory",
    "MotorModel",
    "Passive",
    "StablePD",
    "TorqueFunction",
    "VelocityServo",
    "hold",
]
