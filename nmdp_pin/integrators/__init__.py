"""The named methods: one step each."""

from nmdp_pin.errors import IntegratorError
from nmdp_pin.integrators.integrator import Integrator, StepResult
from nmdp_pin.integrators.ne_mdp import NeMdp
from nmdp_pin.integrators.nmdp import NeNmdp

INTEGRATORS: dict[str, type[Integrator]] = {c.name: c for c in (NeMdp, NeNmdp)}


def integrator_named(name: str) -> type[Integrator]:
    """The class of a method.

    Raises:
        IntegratorError: the name is not known.
    """
    if name not in INTEGRATORS:
        raise IntegratorError(f"method '{name}' is not known; choose from {sorted(INTEGRATORS)}")
    return INTEGRATORS[name]


__all__ = ["INTEGRATORS", "Integrator", "StepResult", "integrator_named"]
