"""Options of Newton's method for the dissipation principle; see `kernels.vi_newton`."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from pydantic import Field

from nmdp_pin._options import Count, Positive, check_fields, readable
from nmdp_pin.errors import IntegratorError


@readable
@dataclass(frozen=True, kw_only=True)
class ViNewton:
    """Josephy and Newton's method for the dissipation principle.

    The default tolerances change no error of a trajectory in its third digit (docs/choices.md, 6).

    Args:
        tolerance: tolerance of the entries of G, as shares of the forces that give their dofs the
            acceleration of gravity.
        slip: sliding velocity that other forces could still prevent at a contact [m/s].
        max_iterations: largest number of iterations from one initial guess.

    Raises:
        IntegratorError: an option is out of range.
    """

    objective: ClassVar[str] = "dissipation"

    tolerance: Positive = 1e-4
    slip: Positive = 1e-4
    max_iterations: Annotated[Count, Field(ge=1)] = 40

    def __post_init__(self) -> None:
        check_fields(self, IntegratorError)
