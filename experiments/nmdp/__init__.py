"""The evaluation of the NMDP paper ([N2] section VI), and the errors that it leaves out."""

from nmdp_pin.experiments.nmdp.figures import FIGURES
from nmdp_pin.experiments.nmdp.preset import PRESETS, preset_named
from nmdp_pin.experiments.nmdp.study import Reference, Study

__all__ = [
    "FIGURES",
    "PRESETS",
    "Reference",
    "Study",
    "preset_named",
]
