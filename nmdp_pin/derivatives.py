"""Derivatives of steps and of trajectories."""

from nmdp_pin._derivatives import (
    PARAMETERS,
    Horizon,
    StepDerivatives,
    StepDifferentiator,
    Switch,
    horizon_derivatives,
)
from nmdp_pin._derivatives.differentiator import step_derivatives

__all__ = [
    "PARAMETERS",
    "Horizon",
    "StepDerivatives",
    "StepDifferentiator",
    "Switch",
    "horizon_derivatives",
    "step_derivatives",
]
