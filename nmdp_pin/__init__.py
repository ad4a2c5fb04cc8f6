"""A robotics simulator on Pinocchio whose time steps are optimisation problems.

Further shapes are in `nmdp_pin.terrain`, contact laws in `nmdp_pin.contact`, controllers in
`nmdp_pin.control`, sensors in `nmdp_pin.sensors`, derivatives in `nmdp_pin.derivatives`, adapters
in `nmdp_pin.adapters`, errors in `nmdp_pin.errors`, plots and the viewer in `nmdp_pin.viz`. What
begins with an underscore may change without notice.
"""

import importlib
import sys
import threading
from types import ModuleType
from typing import TYPE_CHECKING, Any

from nmdp_pin.errors import NmdpError

if TYPE_CHECKING:  # what type checkers and editors read; at run time `_HOMES` says the same
    from nmdp_pin._contact import DryFriction, FrictionCone, Penalty, WrenchSpace
    from nmdp_pin._control import Command, Controller, StablePD
    from nmdp_pin._derivatives.differentiator import step_derivatives
    from nmdp_pin._derivatives.horizon import horizon_derivatives
    from nmdp_pin._dynamics.system import System
    from nmdp_pin._integrators import StepResult
    from nmdp_pin._integrators.vi_newton import ViNewton
    from nmdp_pin._robot import ContactPoint, ContactPoints, JointLimits, Robot, RobotReport
    from nmdp_pin._robot.body_contacts import touching
    from nmdp_pin._robot.catalog import bundled_robots, example_robots
    from nmdp_pin._robot.check import check_robot
    from nmdp_pin._robot.free_body import free_body, together
    from nmdp_pin._robot.loading import load_robot
    from nmdp_pin._robot.loop import Connect, Coupling, Distance, Weld
    from nmdp_pin._robot.loop_closure import with_loops
    from nmdp_pin._robot.pair_tables import with_frictions, with_stiffnesses
    from nmdp_pin._robot.scene import load_scene
    from nmdp_pin._runs.failed_step import FailedStep
    from nmdp_pin._runs.motion import motion_of
    from nmdp_pin._runs.recorder import Recorder
    from nmdp_pin._runs.recording import Recording
    from nmdp_pin._runs.run import run
    from nmdp_pin._runs.state_file import load_state, save_state
    from nmdp_pin._scenario import Scenario, Setup, bundled_scenarios
    from nmdp_pin._sensors.sensors import Sensors
    from nmdp_pin._simulator.simulator import Simulator
    from nmdp_pin._simulator.state_vector import StateVector, from_free_flyer, to_free_flyer
    from nmdp_pin._simulator.step_control import ErrorControl, Fixed, Halving, StepFailed
    from nmdp_pin._state.state import State, WarmStart
    from nmdp_pin._state.status import Status
    from nmdp_pin._sweep import GridAxis, Sweep, SweepOutcome
    from nmdp_pin._terrain import Plane, Terrain
    from nmdp_pin.papers.methods.projected_gradient import ProjectedGradient
    from nmdp_pin.rollout import Rollout, ray_cluster, rollout

__all__ = [
    "Command",
    "Connect",
    "ContactPoint",
    "ContactPoints",
    "Controller",
    "Coupling",
    "Distance",
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
    "Sensors",
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
    "Weld",
    "WrenchSpace",
    "bundled_robots",
    "bundled_scenarios",
    "check_robot",
    "example_robots",
    "free_body",
    "from_free_flyer",
    "horizon_derivatives",
    "load_robot",
    "load_scene",
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
    "with_frictions",
    "with_loops",
    "with_stiffnesses",
]

_HOMES = {
    name: f"nmdp_pin.{module}"
    for module, names in {
        "_contact": "DryFriction FrictionCone Penalty WrenchSpace",
        "_control": "Command Controller StablePD",
        "_derivatives.differentiator": "step_derivatives",
        "_derivatives.horizon": "horizon_derivatives",
        "_dynamics.system": "System",
        "_integrators": "StepResult",
        "_robot": "ContactPoint ContactPoints JointLimits Robot RobotReport",
        "_robot.body_contacts": "touching",
        "_robot.catalog": "bundled_robots example_robots",
        "_robot.check": "check_robot",
        "_robot.free_body": "free_body together",
        "_robot.loading": "load_robot",
        "_robot.loop": "Connect Coupling Distance Weld",
        "_robot.loop_closure": "with_loops",
        "_robot.pair_tables": "with_frictions with_stiffnesses",
        "_robot.scene": "load_scene",
        "_runs.failed_step": "FailedStep",
        "_runs.motion": "motion_of",
        "_runs.recorder": "Recorder",
        "_runs.recording": "Recording",
        "_runs.run": "run",
        "_runs.state_file": "load_state save_state",
        "_scenario": "Scenario Setup bundled_scenarios",
        "_sensors.sensors": "Sensors",
        "_simulator.simulator": "Simulator",
        "_simulator.state_vector": "StateVector from_free_flyer to_free_flyer",
        "_simulator.step_control": "ErrorControl Fixed Halving StepFailed",
        "_integrators.vi_newton": "ViNewton",
        "_state.state": "State WarmStart",
        "_state.status": "Status",
        "_sweep": "GridAxis Sweep SweepOutcome",
        "_terrain": "Plane Terrain",
        "papers.methods.projected_gradient": "ProjectedGradient",
        "rollout": "Rollout ray_cluster rollout",
    }.items()
    for name in names.split()
}
"""Module of each public name, which is imported when the name is first used."""
_LOCK = threading.RLock()  # no thread gets a module that another one has imported in part


class _Package(ModuleType):
    """The package, which imports on demand."""

    def __getattr__(self, name: str) -> Any:
        if name not in _HOMES:
            text = f"module {self.__name__!r} has no attribute {name!r}"
            raise AttributeError(text, name=name, obj=self)
        with _LOCK:
            value = getattr(importlib.import_module(_HOMES[name]), name)
        setattr(self, name, value)
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute, as imports do with each module of the package."""
        if isinstance(value, ModuleType) and name in _HOMES:
            value = getattr(value, name)  # `rollout` is the function, not its module
        super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *__all__})


sys.modules[__name__].__class__ = _Package
