"""Evaluation of granular contact: lift of a rod, walking, and a foot that sticks and slides."""

from nmdp_pin.papers.evaluation import by_name
from nmdp_pin.papers.sand.calibration_figure import CALIBRATION
from nmdp_pin.papers.sand.modes_figure import MODES
from nmdp_pin.papers.sand.study import SandStudy
from nmdp_pin.papers.sand.walk_figure import WALK

FIGURES = by_name((CALIBRATION, WALK, MODES))
"""Figures and tables by the name of their command."""

__all__ = ["FIGURES", "SandStudy"]
