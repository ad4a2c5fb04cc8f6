"""The papers' own variants and baselines, made of the general parts."""

from nmdp_pin.integrators import INTEGRATORS
from nmdp_pin.papers.halving import PrintedHalving
from nmdp_pin.papers.mdp import NeMdp
from nmdp_pin.papers.ncp import NeNcp
from nmdp_pin.papers.pgm_stages import PgmStages
from nmdp_pin.papers.presets import PRESETS, preset_options

INTEGRATORS.update({method.name: method for method in (NeMdp, NeNcp)})

__all__ = ["PRESETS", "NeMdp", "NeNcp", "PgmStages", "PrintedHalving", "preset_options"]
