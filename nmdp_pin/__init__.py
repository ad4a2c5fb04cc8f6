"""A robotics simulator on Pinocchio whose time steps are optimisation problems.

Further shapes are in `nmdp_pin.terrain`, contact laws in `nmdp_pin.contact`, controllers in
`nmdp_pin.control`, derivatives in `nmdp_pin.derivatives`, adapters in `nmdp_pin.adapters`, errors
in `nmdp_pin.errors`, plots and the viewer in `nmdp_pin.viz`. What begins with an underscore may
change without notice.
"""

import nmdp_pin._papers  # noqa: F401 - registers the papers' methods, which the core does not know
from nmdp_pin._contact import DryFriction, FrictionCone, Penalty, WrenchSpace
from nmdp_pin._control import Command, Controller, StablePD
from nmdp_pin._derivatives.differentiator import step_derivatives
from nmdp_pin._derivatives.horizon import horizon_derivatives
from nmdp_pin._dynamics.system import System
from nmdp_pin._integrators import StepResult
from nmdp_pin._papers.projected_gradient import ProjectedGradient
from nmdp_pin._robot import (
    ContactPoint,
    ContactPoints,
    JointLimits,
    Robot,
    RobotReport,
    bundled_robots,
    check_robot,
    example_robots,
    load_robot,
    touching,
)
from nmdp_pin._robot.free_body import free_body, together
from nmdp_pin._runs.failed_step import FailedStep
from nmdp_pin._runs.motion import motion_of
from nmdp_pin._runs.recorder import Recorder
from nmdp_pin._runs.recording import Recording
from nmdp_pin._runs.run import run
from nmdp_pin._runs.state_file import load_state, save_state
from nmdp_pin._scenario import Scenario, Setup, bundled_scenarios
from nmdp_pin._simulator.simulator import Simulator
from nmdp_pin._simulator.state_vector import StateVector, from_free_flyer, to_free_flyer
from nmdp_pin._simulator.step_control import ErrorControl, Fixed, Halving, StepFailed
from nmdp_pin._solvers.vi_newton import ViNewton
from nmdp_pin._state.state import State, WarmStart
from nmdp_pin._state.status import Status
from nmdp_pin._sweep import GridAxis, Sweep, SweepOutcome
from nmdp_pin._terrain import Plane, Terrain
from nmdp_pin.errors import NmdpError
from nmdp_pin.rollout import Rollout, ray_cluster, rollout

__all__ = [
    "Command",
    "ContactPoint",
    "ContactPoints",
    "Controller",
    "DryFriction",
    "ErrorControl",
    "FailedStep",
    "Fixed",
    "FrictionCone",
    "GridAxis",
    "Halving",
    "JointLimits",
    "NmdpError",
    "Penalty",
    "Plane",
    "ProjectedGradient",
    "Recorder",
    "Recording",
    "Robot",
    "RobotReport",
    "Rollout",
    "Scenario",
    "Setup",
    "Simulator",
    "StablePD",
    "State",
    "StateVector",
    "Status",
    "StepFailed",
    "StepResult",
    "Sweep",
    "SweepOutcome",
    "System",
    "Terrain",
    "ViNewton",
    "WarmStart",
    "WrenchSpace",
    "bundled_robots",
    "bundled_scenarios",
    "check_robot",
    "example_robots",
    "free_body",
    "from_free_flyer",
    "horizon_derivatives",
    "load_robot",
    "load_state",
    "motion_of",
    "ray_cluster",
    "rollout",
    "run",
    "save_state",
    "step_derivatives",
    "to_free_flyer",
    "together",
    "touching",
]
