"""Named sets of options of the methods and of step control."""

from collections.abc import Iterable, Mapping
from typing import Any

from nmdp_pin._contact import ContactLaw, WrenchSpace
from nmdp_pin._integrators.nmdp import DISSIPATION
from nmdp_pin._integrators.stage_minimiser import OPTIONS
from nmdp_pin._registry import Registry
from nmdp_pin.errors import IntegratorError

PRESETS: Registry[Mapping[str, Any]] = Registry("nmdp_pin.presets")
"""Options by the name of the preset; "control" is the step control, "recovery" the law's."""


def check_recovery(name: str, law: ContactLaw) -> None:
    """Refuse a contact law that recovers at another rate than that of a preset."""
    rate = PRESETS[name].get("recovery")
    if rate is not None and isinstance(law, WrenchSpace) and law.recovery != rate:
        raise IntegratorError(
            f"preset '{name}' takes contact laws with recovery = {rate:g} 1/s, "
            f"got {law.recovery:g}: give recovery={rate:g} to the law"
        )


def preset_options(name: str, known: Iterable[str], given: Mapping[str, Any]) -> dict[str, Any]:
    """Options of a preset that a method accepts, to be overruled by those given."""
    if not isinstance(name, str) or name not in PRESETS:
        raise IntegratorError(f"preset '{name}' is not known; choose from {sorted(PRESETS)}")
    known = set(known)
    if given.get("objective") == DISSIPATION:
        known -= OPTIONS.keys()
    return {key: value for key, value in PRESETS[name].items() if key in known}
