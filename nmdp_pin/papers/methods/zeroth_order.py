"""Methods without the derivative of the contact model ([N] eq. 10)."""

from typing import ClassVar

from nmdp_pin._integrators.nmdp import Nmdp


class NeZonmdp(Nmdp):
    """The Newton-Euler form without the derivative of the contact model ([N] eq. 10)."""

    name: ClassVar[str] = "ne-zonmdp"
    material = False
    zeroth_order = True


class PbdZonmdp(Nmdp):
    """The position-based form without the derivative of the contact model."""

    name: ClassVar[str] = "pbd-zonmdp"
    material = True
    zeroth_order = True
