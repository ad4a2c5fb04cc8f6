"""Derivatives of steps and of trajectories."""

from nmdp_pin._derivatives.differentiator import (
    StepDerivatives,
    StepDifferentiator,
    step_derivatives,
)
from nmdp_pin._derivatives.horizon import Horizon, horizon_derivatives
from nmdp_pin._dynamics.parameters import PARAMETERS
from nmdp_pin._integrators.step_response import Switch

__all__ = [
    "PARAMETERS",
    "Horizon",
    "StepDerivatives",
    "StepDifferentiator",
    "Switch",
    "horizon_derivatives",
    "step_derivatives",
]
