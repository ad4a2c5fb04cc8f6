"""Named sets of options of the methods and of step control."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from nmdp_pin.errors import IntegratorError
from nmdp_pin.papers.projected_gradient import ProjectedGradient
from nmdp_pin.solvers.vi_newton import ViNewton
from nmdp_pin.step_control import Halving

PRESETS: dict[str, dict[str, Any]] = {
    # The settings of the papers' authors, and Algorithms 1 and 2 as printed except for the
    # direction in which gamma changes, which contradicts its program, and the length by which
    # halves divide, with which zeroth order fails (docs/choices.md, 1 and 2).
    "paper": {
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
    }
}


def preset_options(name: str, known: Iterable[str], given: Mapping[str, Any]) -> dict[str, Any]:
    """Options of a preset that a method accepts, to be overruled by those given.

    Args:
        name: name of the preset.
        known: names of the method's options.
        given: options of the user; with the objective "dissipation" the projected gradient, which
            does not solve it, is left out.

    Raises:
        IntegratorError: the name is unknown.
    """
    if name not in PRESETS:
        raise IntegratorError(f"preset '{name}' is not known; choose from {sorted(PRESETS)}")
    known = set(known)
    if given.get("objective") == ViNewton.objective:
        known.discard("projected_gradient")
    return {key: value for key, value in PRESETS[name].items() if key in known}
