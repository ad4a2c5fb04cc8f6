"""Named sets of options of the methods and of step control."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from nmdp_pin._integrators.nmdp import DISSIPATION
from nmdp_pin._integrators.stage_minimiser import OPTIONS
from nmdp_pin.errors import IntegratorError

PRESETS: dict[str, Mapping[str, Any]] = {}
"""Options by the name of the preset; "control" is the step control."""


def preset_options(name: str, known: Iterable[str], given: Mapping[str, Any]) -> dict[str, Any]:
    """Options of a preset that a method accepts, to be overruled by those given.

    Args:
        name: name of the preset.
        known: names of the method's options.
        given: options of the user; with the objective "dissipation" the options of minimisers,
            which do not solve it, are left out.

    Raises:
        IntegratorError: the name is unknown.
    """
    if name not in PRESETS:
        raise IntegratorError(f"preset '{name}' is not known; choose from {sorted(PRESETS)}")
    known = set(known)
    if given.get("objective") == DISSIPATION:
        known -= OPTIONS.keys()
    return {key: value for key, value in PRESETS[name].items() if key in known}
