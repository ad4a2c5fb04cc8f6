"""A robotics simulator on Pinocchio whose time steps are optimisation problems.

The most common names are exported here. Further shapes are in `nmdp_pin.terrain`, contact laws in
`nmdp_pin.contact`, controllers in `nmdp_pin.control`, errors in `nmdp_pin.errors`, plots and the
viewer in `nmdp_pin.viz`.
"""

import nmdp_pin.papers  # noqa: F401 - registers the papers' methods, which the core does not know
from nmdp_pin.contact import DryFriction, FrictionCone, Penalty, WrenchSpace
from nmdp_pin.control import Command, Controller, StablePD
from nmdp_pin.errors import NmdpError
from nmdp_pin.integrators import StepResult
from nmdp_pin.robot import Robot, load_robot
from nmdp_pin.runs.recording import Recording
from nmdp_pin.runs.run import run
from nmdp_pin.scenario import Scenario
from nmdp_pin.simulator import Simulator
from nmdp_pin.state import State
from nmdp_pin.status import Status
from nmdp_pin.terrain import Plane, Terrain

__all__ = [
    "Command",
    "Controller",
    "DryFriction",
    "FrictionCone",
    "NmdpError",
    "Penalty",
    "Plane",
    "Recording",
    "Robot",
    "Scenario",
    "Simulator",
    "StablePD",
    "State",
    "Status",
    "StepResult",
    "Terrain",
    "WrenchSpace",
    "load_robot",
    "run",
]
