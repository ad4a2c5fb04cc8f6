"""Contact laws: wrench spaces, penalties and dry friction."""

from nmdp_pin.contact.anisotropic_cone import AnisotropicCone
from nmdp_pin.contact.contact_law import ContactLaw
from nmdp_pin.contact.dry_friction import DryFriction
from nmdp_pin.contact.finite_differences import FiniteDifferences
from nmdp_pin.contact.friction_cone import FrictionCone, stiffness_for_static_depth
from nmdp_pin.contact.mixed import Mixed
from nmdp_pin.contact.penalty import Penalty, friction_coefficient_for
from nmdp_pin.contact.wrench_space import ContactState, WrenchSpace

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
