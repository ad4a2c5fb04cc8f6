"""Controllers: commands as data."""

from nmdp_pin.control.controller import Command, Controller
from nmdp_pin.control.hold import hold
from nmdp_pin.control.stable_pd import Passive, StablePD, TorqueFunction
from nmdp_pin.control.trajectory import GaitTrajectory

__all__ = [
    "Command",
    "Controller",
    "GaitTrajectory",
    "Passive",
    "StablePD",
    "TorqueFunction",
    "hold",
]
