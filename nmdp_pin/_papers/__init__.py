"""The papers' own variants and baselines, which register themselves."""

from functools import partial

from nmdp_pin._integrators import INTEGRATORS
from nmdp_pin._integrators.presets import PRESETS
from nmdp_pin._integrators.stage_minimiser import MINIMISERS, OPTIONS
from nmdp_pin._papers.halving import PrintedHalving
from nmdp_pin._papers.mdp import NeMdp
from nmdp_pin._papers.ncp import NeNcp
from nmdp_pin._papers.objectives import OBJECTIVES
from nmdp_pin._papers.pgm_stages import PgmStages
from nmdp_pin._papers.preset import PAPER
from nmdp_pin._papers.projected_gradient import ProjectedGradient
from nmdp_pin._simulator.error_control import CONTROLS

INTEGRATORS.update({method.name: method for method in (NeMdp, NeNcp)})
MINIMISERS.update({name: partial(PgmStages, name) for name in OBJECTIVES})
OPTIONS["projected_gradient"] = ProjectedGradient
CONTROLS[PrintedHalving.name] = PrintedHalving
PRESETS["paper"] = PAPER

__all__ = ["NeMdp", "NeNcp", "PgmStages", "PrintedHalving", "ProjectedGradient"]
