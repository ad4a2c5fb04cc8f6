"""Settings and results of the NMDP paper ([N2] section VI)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from nmdp_pin.papers.curve import DISTANCE, HEIGHT, Quantity

METHODS = ("ne-mdp", "ne-nmdp", "ne-zonmdp", "pbd-nmdp", "pbd-zonmdp")
"""The simulators that the paper compares, in the order of its panels (a) to (e)."""

BASELINE = "ne-mdp"

MDP_STEPS = tuple(k / 1000 for k in range(1, 11))
"""Steps of NE-MDP that are compared with a reference [s]: 1 to 10 ms."""

NMDP_STEPS = tuple(k / 1000 for k in range(5, 51, 5))
"""Steps of all other methods [s]: 5 to 50 ms in 5 ms."""

SPANS = {"published": (MDP_STEPS[:5], NMDP_STEPS[5:]), "wide": ((*MDP_STEPS, 0.014), NMDP_STEPS)}
"""Steps of NE-MDP and of all other methods [s].

Those in the legends of Fig. 4 and 5, 1 to 5 ms and 30 to 50 ms; or all that the text speaks of,
up to one at which NE-MDP with the explicit PD explodes.
"""

COST_STEP = 0.05
"""Step of Fig. 6 a, b and d [s]."""


@dataclass(frozen=True)
class Motion:
    """A robot that does something, and what is read off it.

    Args:
        scenario: bundled scenario.
        title: for people.
        robot: bundled robot.
        duration: simulated time [s].
        quantity: what Table I states of it.
        variants: it has URDFs of other inertias.
        planar: its base slides in a plane unless it is asked to float.
    """

    scenario: str
    title: str
    robot: str
    duration: float
    quantity: Quantity
    variants: bool = False
    planar: bool = True


WALK = Motion("robosimian-walk", "Robosimian walk", "robosimian", 10.0, DISTANCE, True)
WALK_FAST = Motion(
    "robosimian-walk-fast", "Robosimian walk-fast", "robosimian", 10.0, DISTANCE, True
)
JUMP = Motion("robosimian-jump-paper", "Robosimian jump", "robosimian", 10.0, HEIGHT, True)
JUMP_HIGH = Motion("robosimian-jump-high", "Robosimian jump-high", "robosimian", 10.0, HEIGHT, True)
SPIDER_WALK = Motion("spider-walk", "Spider walk", "spider", 20.0, DISTANCE)
SPIDER_JUMP = Motion("spider-jump", "Spider jump", "spider", 20.0, HEIGHT)
SLIDING_BOX = Motion("sliding-box", "Sliding box", "box", 1.0, DISTANCE, planar=False)

FOUR_TRAJECTORIES = (WALK, JUMP, SPIDER_WALK, SPIDER_JUMP)
"""Those of [N2] Fig. 2, over which Fig. 6 collects its steps."""


TABLE_METHODS = ("ne-mdp", "pbd-nmdp", "ne-nmdp")
"""Columns of Table I."""

TABLE: Mapping[Motion, tuple[float, ...]] = {
    WALK: (0.72, 0.25, 0.10),
    WALK_FAST: (),
    JUMP: (0.26, 0.01, 0.02),
    JUMP_HIGH: (),
    SPIDER_WALK: (0.09, 0.09, 0.10),
    SPIDER_JUMP: (0.13, 0.04, 0.05),
}
"""Rows of Table I: mean over time of the standard deviation across the steps [m], by method.

Empty where the paper has no such row.
"""
