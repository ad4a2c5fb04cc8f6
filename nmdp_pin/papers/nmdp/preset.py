"""Settings that an evaluation runs with: the paper's, or ours."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from nmdp_pin.errors import ExperimentError
from nmdp_pin.papers.nmdp.paper import BASELINE, Motion


@dataclass(frozen=True)
class Preset:
    """Settings beyond those of the scenario files.

    Args:
        name: in file names and titles.
        objective: what the methods minimise that have a choice.
        order: order of these methods.
        zeta: force without contact in units of d^p, by robot; the baseline has none.
        solver: preset of the scenario's [integrator]; "" for its defaults.
        angle: angle of the first edge of the friction cones, of motions in a plane [rad].
        limits: stops, dry friction and effort limits of the joints, which the paper's robots lack.
    """

    name: str
    objective: str
    order: int
    zeta: Mapping[str, float] = field(default_factory=dict)
    solver: str = ""
    angle: float = 0.0
    limits: bool = True

    def __str__(self) -> str:
        return self.name

    def overrides(self, motion: Motion, method: str) -> tuple[str, ...]:
        """Settings of a run, beside objective and order; no contact recovers, as in the paper."""
        settings = ["contact.recovery=0"]
        if motion.robot in self.zeta and method != BASELINE:
            settings.append(f"contact.zeta={self.zeta[motion.robot]!r}")
        if self.angle and motion.planar:
            settings.append(f"contact.angle={self.angle!r}")
        if not self.limits:
            settings.append("robot.limits=false")
        if self.solver:
            settings.append(f'integrator.preset="{self.solver}"')
        return tuple(settings)


# The authors' contact: power 2, 6 directions, k = 1e6 and the friction are in the scenario files
# already; Spider has zeta = 0. Their edges begin across the plane of the motion, so that along it
# friction is mu cos(30 degrees) (docs/choices.md, 5).
_ZETA, _ACROSS = {"robosimian": 1e-4}, math.pi / 2
# What the authors ran; P = 1000 and D = 1 are in the scenario files.
_PAPER = Preset("paper", "end_effector", 1, zeta=_ZETA, solver="paper", angle=_ACROSS, limits=False)
_RECOMMENDED = Preset("recommended", "dissipation", 1)
# Our objective and solver with the authors' contact: what changes where only the method does.
_PAPER_CONTACT = Preset("paper-contact", "dissipation", 1, zeta=_ZETA, angle=_ACROSS, limits=False)

PRESETS = {preset.name: preset for preset in (_PAPER, _RECOMMENDED, _PAPER_CONTACT)}


def preset_named(name: str) -> Preset:
    """The settings of that name.

    Raises:
        ExperimentError: there are none.
    """
    if name not in PRESETS:
        raise ExperimentError(f"preset '{name}' is not known; choose from {sorted(PRESETS)}")
    return PRESETS[name]
