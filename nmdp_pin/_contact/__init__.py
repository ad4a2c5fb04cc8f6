"""Contact laws: wrench spaces, penalties and dry friction."""

from nmdp_pin._contact.anisotropic_cone import AnisotropicCone
from nmdp_pin._contact.contact_law import ContactLaw, DryFriction
from nmdp_pin._contact.finite_differences import FiniteDifferences
from nmdp_pin._contact.friction_cone import FrictionCone, stiffness_for_static_depth
from nmdp_pin._contact.mixed import Mixed
from nmdp_pin._contact.penalty import Penalty, friction_coefficient_for
from nmdp_pin._contact.wrench_space import ContactState, WrenchSpace

__all__ = [
    "AnisotropicCone",
    "ContactLaw",
    "ContactState",
    "DryFriction",
    "FiniteDifferences",
    "FrictionCone",
    "Mixed",
    "Penalty",
    "WrenchSpace",
    "friction_coefficient_for",
    "stiffness_for_static_depth",
]
