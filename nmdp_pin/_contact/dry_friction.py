"""Hard contacts with dry friction."""

from dataclasses import dataclass

from nmdp_pin._contact.contact_law import ContactLaw


@dataclass(frozen=True)
class DryFriction(ContactLaw):
    """Signorini's condition and Coulomb's law with the friction coefficients of the terrain."""
