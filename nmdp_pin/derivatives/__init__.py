"""Derivatives of steps, with respect to states, torques and parameters."""

from nmdp_pin.derivatives.differentiator import StepDifferentiator, step_derivatives
from nmdp_pin.derivatives.horizon import Horizon, horizon_derivatives
from nmdp_pin.derivatives.step_derivatives import StepDerivatives
from nmdp_pin.dynamics.parameters import PARAMETERS
from nmdp_pin.integrators.step_response import Switch

__all__ = [
    "PARAMETERS",
    "Horizon",
    "StepDerivatives",
    "StepDifferentiator",
    "Switch",
    "horizon_derivatives",
    "step_derivatives",
]
