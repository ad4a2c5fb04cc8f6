"""Base class of contact laws."""


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
