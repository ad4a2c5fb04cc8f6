"""The evaluation of the paper on position-based frictional dynamics ([P] sections V and VI)."""

from nmdp_pin.papers.evaluation import by_name
from nmdp_pin.papers.pbad.batch_table import BATCH
from nmdp_pin.papers.pbad.cost_figure import FIG6
from nmdp_pin.papers.pbad.friction_figure import FIG5
from nmdp_pin.papers.pbad.optimiser_figure import FIG4
from nmdp_pin.papers.pbad.study import PbadStudy
from nmdp_pin.papers.pbad.table1 import TABLE1

FIGURES = by_name((FIG4, FIG5, FIG6, TABLE1, BATCH))
"""Figures and tables by the name of their command."""

__all__ = ["FIGURES", "PbadStudy"]
