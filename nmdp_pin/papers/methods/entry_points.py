"""What pyproject.toml registers of the papers, besides their methods."""

from functools import partial

from nmdp_pin._simulator.step_control import Halving
from nmdp_pin.papers.methods.objectives import OBJECTIVES
from nmdp_pin.papers.methods.pgm_stages import PgmStages
from nmdp_pin.papers.methods.projected_gradient import ProjectedGradient

KINETIC, END_EFFECTOR = (
    partial(PgmStages, OBJECTIVES[name]()) for name in ("kinetic", "end_effector")
)

# The settings of the papers' authors, and Algorithms 1 and 2 as printed except for the
# direction in which gamma changes, which contradicts its program, and the length by which
# halves divide, with which zeroth order fails (docs/choices.md, 1 and 2).
PAPER = {
    "objective": "end_effector",
    "order": 1,
    "warm_start": False,
    "restarts": False,
    "secants": False,
    "pd": "explicit",
    "max_work": 2000,
    "projected_gradient": ProjectedGradient(
        carry_gamma=False,
        gamma=1.0,
        epsilon=1e-6,
        grow=1.5,
        shrink=1.0 / 1.5,
        line_search=False,
        gain_ratio=False,
        contact_scale=False,
        early_stop=False,
        predict=False,
        retreat=False,
        max_iterations=500,
        max_newton=20,
    ),
    "control": Halving(max_work=20000),
    "recovery": 0.0,  # of the contact law, whose contacts stay as deep as impacts press them in
}
