"""The position-based step of [P] eq. 6, whose friction has an energy."""

from typing import ClassVar

from nmdp_pin._integrators.pbfd import PositionBasedStep
from nmdp_pin._kernels.contact.penalty import CONSERVATIVE


class Pbd(PositionBasedStep):
    """argmin E(q), whose friction is the gradient of an energy ([P] eq. 6 and 11)."""

    name: ClassVar[str] = "pbd"
    kind: ClassVar[int] = CONSERVATIVE
    optimisers: ClassVar[dict[str, int]] = {"lm": 100, "jtj-lm": 200}
