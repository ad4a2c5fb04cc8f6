"""Contact models: polytopes of feasible wrenches."""

from nmdp_pin.contact.anisotropic_cone import AnisotropicCone
from nmdp_pin.contact.finite_differences import FiniteDifferences
from nmdp_pin.contact.friction_cone import FrictionCone, stiffness_for_static_depth
from nmdp_pin.contact.mixed import Mixed
from nmdp_pin.contact.wrench_space import ContactState, WrenchSpace

__all__ = [
    "AnisotropicCone",
    "ContactState",
    "FiniteDifferences",
    "FrictionCone",
    "Mixed",
    "WrenchSpace",
    "stiffness_for_static_depth",
]
