"""The evaluation of the NMDP paper ([N2] section VI), and the errors that it leaves out."""

from nmdp_pin.papers.evaluation import by_name
from nmdp_pin.papers.nmdp.cost_figure import FIG6
from nmdp_pin.papers.nmdp.error_figure import ERROR
from nmdp_pin.papers.nmdp.motion_figure import FIG3, FIG4, FIG5
from nmdp_pin.papers.nmdp.preset import PRESETS, preset_named
from nmdp_pin.papers.nmdp.strip_figure import FIG2
from nmdp_pin.papers.nmdp.study import NmdpStudy
from nmdp_pin.papers.nmdp.table1 import TABLE1

FIGURES = by_name((FIG2, FIG3, FIG4, FIG5, FIG6, TABLE1, ERROR))
"""Figures and tables by the name of their command."""

__all__ = ["FIGURES", "PRESETS", "NmdpStudy", "preset_named"]
