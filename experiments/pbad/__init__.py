"""The evaluation of the paper on position-based frictional dynamics ([P] sections V and VI)."""

from nmdp_pin.experiments.pbad.figures import FIGURES
from nmdp_pin.experiments.pbad.study import Study

__all__ = ["FIGURES", "Study"]
