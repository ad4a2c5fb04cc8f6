"""One scenario under many settings, as one table."""

from nmdp_pin._sweep.grid import GridAxis
from nmdp_pin._sweep.sweep import Sweep, SweepOutcome

__all__ = ["GridAxis", "Sweep", "SweepOutcome"]
