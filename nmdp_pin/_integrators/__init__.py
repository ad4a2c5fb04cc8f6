"""Integrators, by the names of the methods."""

from nmdp_pin._integrators.integrator import Integrator, StepResult
from nmdp_pin._integrators.nmdp import NeNmdp, PbdNmdp
from nmdp_pin._integrators.pbfd import Pbfd
from nmdp_pin._registry import Registry
from nmdp_pin.errors import IntegratorError

__all__ = [
    "INTEGRATORS",
    "Integrator",
    "NeNmdp",
    "PbdNmdp",
    "Pbfd",
    "StepResult",
    "integrator_named",
    "methods_that_take",
]

INTEGRATORS: Registry[type[Integrator]] = Registry(
    "nmdp_pin.integrators", {c.name: c for c in (NeNmdp, PbdNmdp, Pbfd)}
)


def integrator_named(name: str) -> type[Integrator]:
    """The class of a method."""
    if not isinstance(name, str) or name not in INTEGRATORS:
        raise IntegratorError(f"method '{name}' is not known; choose from {sorted(INTEGRATORS)}")
    return INTEGRATORS[name]


def methods_that_take(law: object) -> list[str]:
    """Names of the methods that take a contact law of that kind."""
    return [name for name, method in INTEGRATORS.items() if isinstance(law, method.law_type)]
