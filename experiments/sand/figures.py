"""All figures and tables on sand."""

from __future__ import annotations

from nmdp_pin.experiments.evaluation import by_name
from nmdp_pin.experiments.sand.calibration_figure import CALIBRATION
from nmdp_pin.experiments.sand.modes_figure import MODES
from nmdp_pin.experiments.sand.walk_figure import WALK

FIGURES = by_name((CALIBRATION, WALK, MODES))
"""Figures and tables by the name of their command."""
