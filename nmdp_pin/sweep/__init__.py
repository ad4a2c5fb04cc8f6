"""One scenario under many settings, as one table."""

from nmdp_pin.sweep.grid import GridAxis
from nmdp_pin.sweep.sweep import Sweep, SweepOutcome

__all__ = ["GridAxis", "Sweep", "SweepOutcome"]
