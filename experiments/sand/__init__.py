"""Evaluation of granular contact: lift of a rod, walking, and a foot that sticks and slides."""

from nmdp_pin.experiments.sand.figures import FIGURES
from nmdp_pin.experiments.sand.study import Study

__all__ = ["FIGURES", "Study"]
