"""Planners: MPPI and CEM by rollouts, iLQR by the derivatives of steps."""

from nmdp_pin.planning.ilqr import ilqr
from nmdp_pin.planning.problem import Plan, Problem
from nmdp_pin.planning.sampling import cem, mppi

__all__ = ["Plan", "Problem", "cem", "ilqr", "mppi"]
