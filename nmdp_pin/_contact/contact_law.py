"""Contact laws: their base class, and hard contacts with dry friction."""

from dataclasses import dataclass


class ContactLaw:
    """Base class of contact laws.

    Each method takes one kind of law: a `WrenchSpace` (a set of feasible wrenches, from which the
    method chooses), a `Penalty` (forces as functions of the configuration), or `DryFriction`
    (Signorini's condition and Coulomb's law).
    """

    @property
    def n_vertices(self) -> int:
        """Number of weights of one contact."""
        return 0

    @property
    def power(self) -> float:
        """Exponent p of the penetration in normal forces, or in the largest ones."""
        return 1.0


@dataclass(frozen=True)
class DryFriction(ContactLaw):
    """Signorini's condition and Coulomb's law with the friction coefficients of the terrain."""
